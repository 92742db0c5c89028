"""The session on screen replayed, and what of it stays in context."""
