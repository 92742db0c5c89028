"""Where messages are written, queued and attached to."""
