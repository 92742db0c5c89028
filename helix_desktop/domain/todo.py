"""The agent's todo list: parsed from its calls, and its progress as the model reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

TODO = "todo"
"""The tool's name."""
TodoStatus = Literal["pending", "in_progress", "done"]


class TodoItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One item."""

    content: str
    status: TodoStatus = "pending"


class _TodoArguments(msgspec.Struct, frozen=True):
    items: tuple[TodoItem, ...]


def parse_items(arguments: str) -> tuple[TodoItem, ...]:
    """Parse the list from a call's arguments; empty if they are invalid."""
    try:
        return msgspec.json.decode(arguments, type=_TodoArguments, strict=False).items
    except (msgspec.MsgspecError, UnicodeError):
        return ()


def progress_text(items: Sequence[TodoItem]) -> str:
    """Return the progress for the model, as `2 of 5`."""
    return f"{sum(item.status == 'done' for item in items)} of {len(items)}"


def current_item(items: Sequence[TodoItem]) -> str:
    """Return the item in progress, else the next one; empty if none is left."""
    for status in ("in_progress", "pending"):
        content = next((item.content for item in items if item.status == status), "")
        if content:
            return content
    return ""
