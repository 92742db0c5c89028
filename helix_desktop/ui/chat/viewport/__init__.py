"""The scrolling view of items: layout, mouse, selection, find."""
