"""Keeps the window within its policy: applies rewrites, writes handovers and observations."""
