"""Which icon stands for a tool. Apart from `style.icons`: the first frame waits for those, not for tools."""

from __future__ import annotations

from helix_desktop.domain.builtin_tools import BUILTIN_TOOLS

_TOOLS = {
    "server": ("mcp__",),
    "archive-restore": ("recall",),
    "terminal": ("bash", "shell", "run", "exec"),
    "file-pen": ("edit", "patch"),
    "file-plus": ("write", "create"),
    "file-text": ("read",),
    "folder-tree": ("list",),
    "folder-search": ("glob",),
    "text-search": ("find", "grep", "search"),
    "globe": ("fetch", "web"),
    "bot": ("agent",),
    "list": ("todo",),
}
"""Parts of the names of tools that are not Helix's own, by icon; the first that fits counts."""
_CONTENTS = {
    "": "database",
    "argument": "braces",
    "handover": "history",
    "observations": "eye",
    "fold": "list-tree",
}


def tool_icon(tool: str) -> str:
    if tool in _CONTENTS:
        return _CONTENTS[tool]
    if (builtin := BUILTIN_TOOLS.get(tool)) is not None:
        return builtin.icon
    return next((name for name, parts in _TOOLS.items() if any(it in tool.lower() for it in parts)), "wrench")
