"""The changes of sessions: recorded around calls, listed, reverted, accepted."""
