"""The window: its frame, its lists, what is on screen in it, and what joins its pages."""
