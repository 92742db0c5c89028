"""Which model a session uses for what, and how one is asked."""
