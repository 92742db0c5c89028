"""Markdown as paragraphs, code and tables, also while it arrives."""
