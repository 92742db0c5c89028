"""Ctrl+K: workspaces, sessions, messages and commands, found by a few letters."""
