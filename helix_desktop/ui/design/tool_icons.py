"""Which icon stands for a tool: the same in the chat and in the cache."""

from __future__ import annotations

from helix_desktop.domain.own_tools import OWN_TOOLS

_ICONS = (
    ("mcp__", "server"),
    ("recall", "archive-restore"),
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
    ("todo", "list"),
)


_CONTENT_ICONS = {
    "": "database",
    "argument": "braces",
    "handover": "history",
    "observations": "eye",
    "fold": "list-tree",
}


def tool_icon(tool: str) -> str:
    """Return the icon for a tool's name, or for what wrote stored content that comes from no tool."""
    if tool in _CONTENT_ICONS:
        return _CONTENT_ICONS[tool]
    if (own := OWN_TOOLS.get(tool)) is not None:
        return own.icon
    return next((name for part, name in _ICONS if part in tool.lower()), "wrench")
