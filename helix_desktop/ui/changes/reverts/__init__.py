"""Dialogs before files are changed back: what a plan does, the preview of a rewind."""
