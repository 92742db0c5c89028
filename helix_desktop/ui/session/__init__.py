"""Controllers of the session on screen."""
