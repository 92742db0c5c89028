"""Presenters of the settings pages."""
