"""The agent's list of what it has to do, as it writes it in a call and as people see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

TODO = "todo"
"""The tool's name."""
TodoStatus = Literal["pending", "in_progress", "done"]


class TodoItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing to do."""

    content: str
    status: TodoStatus = "pending"


class _TodoArguments(msgspec.Struct, frozen=True):
    items: tuple[TodoItem, ...]


def parse_items(arguments: str) -> tuple[TodoItem, ...]:
    """The list that a call of the tool wrote; empty when its arguments are not such a list."""
    try:
        return msgspec.json.decode(arguments, type=_TodoArguments, strict=False).items
    except (msgspec.MsgspecError, UnicodeError):
        return ()


def progress_text(items: Sequence[TodoItem]) -> str:
    """How much of a list is done, as `2 of 5`."""
    return f"{sum(item.status == 'done' for item in items)} of {len(items)}"


def current_item(items: Sequence[TodoItem]) -> str:
    """What is being done, else what comes next; empty when nothing is left."""
    for status in ("in_progress", "pending"):
        content = next((item.content for item in items if item.status == status), "")
        if content:
            return content
    return ""
