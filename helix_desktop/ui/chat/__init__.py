"""The conversation on screen."""
