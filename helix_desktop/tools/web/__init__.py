"""Fetching a page from the web."""
