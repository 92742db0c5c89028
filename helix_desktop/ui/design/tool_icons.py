"""Which icon stands for a tool: the same in the chat and in the cache."""

from __future__ import annotations

_ICONS = (
    ("mcp__", "server"),
    ("show_output", "eye"),
    ("ask_user", "circle-question-mark"),
    ("recall", "archive-restore"),
    ("search_cached", "text-search"),
    ("bash", "terminal"),
    ("shell", "terminal"),
    ("run", "terminal"),
    ("exec", "terminal"),
    ("edit", "file-pen"),
    ("patch", "file-pen"),
    ("write", "file-plus"),
    ("create", "file-plus"),
    ("read", "file-text"),
    ("list", "folder-tree"),
    ("glob", "folder-search"),
    ("find", "text-search"),
    ("grep", "text-search"),
    ("search", "text-search"),
    ("fetch", "globe"),
    ("web", "globe"),
    ("agent", "bot"),
    ("delegate", "bot"),
    ("todo", "list"),
)


def tool_icon(tool: str) -> str:
    """Return the icon for a tool's name; for what comes from no tool, that of stored content."""
    if not tool:
        return "database"
    return next((name for part, name in _ICONS if part in tool.lower()), "wrench")
