"""The forms in which a large output enters the window, and the marker that stands there once it has left."""
