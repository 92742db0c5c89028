"""The log as messages: the transcript, the layout of rewrites over it, and its rows."""
