"""Workspaces and sessions on screen."""
