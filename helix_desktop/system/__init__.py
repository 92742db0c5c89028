"""Differences between operating systems. Imports nothing else of this program."""
