"""The chart of the window over a session, and the scrubber on it."""
