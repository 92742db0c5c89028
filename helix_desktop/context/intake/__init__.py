"""The forms in which a large output enters the window."""
