"""Dialogs before files are changed back: what a plan does, the three-way view, the preview of a rewind."""
