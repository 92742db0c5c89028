"""The list of rows of unlike height: heights, mouse, selection, keyboard, screen readers."""
