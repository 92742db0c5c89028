"""The threads that read and write, and how they meet the event loop."""
