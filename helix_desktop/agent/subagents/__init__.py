"""Subagents: the tool that delegates, their conversations, and how they are watched."""
