"""The agent's todo list: parsed from its calls, and its progress as the model reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec

TODO = "todo"
"""The tool's name."""
_MAX_CHANGES = 3  # changes that are named; of more the whole list is easier to read
_STATUS_MARKS = {"done": "x", "in_progress": ">", "pending": " "}
TodoStatus = Literal["pending", "in_progress", "done"]


class TodoItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    content: str
    status: TodoStatus = "pending"


class _TodoArguments(msgspec.Struct, frozen=True):
    items: tuple[TodoItem, ...]


def parse_items(arguments: str) -> tuple[TodoItem, ...]:
    """Parse the list from a call's arguments; empty if they are invalid."""
    try:
        return msgspec.json.decode(arguments, type=_TodoArguments, strict=False).items
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
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


def list_text(items: Sequence[TodoItem]) -> str:
    lines = [f"[{_STATUS_MARKS[item.status]}] {_one_line(item)}" for item in items]
    return "\n".join([f"Todo list, {progress_text(items)} done:", *lines])


class TodoList(NamedTuple):
    """A session's present list: the messages with its call and its answer (0: none), and its items."""

    call_seq: int = 0
    answer_seq: int = 0
    items: tuple[TodoItem, ...] = ()

    @property
    def is_open(self) -> bool:
        return bool(current_item(self.items))

    @property
    def open_tasks(self) -> dict[str, int]:
        """What is left to do, each with the message of the answer."""
        return {_one_line(item): self.answer_seq for item in self.items if item.status != "done"}

    @property
    def open_lines(self) -> list[str]:
        left = [item for item in self.items if item.status != "done"]
        marks = {"in_progress": "- now: ", "pending": "- then: "}
        title = f"Todo list (e{self.answer_seq}), {progress_text(self.items)} done:"
        return [title, *(f"{marks[item.status]}{_one_line(item)}" for item in left)]


NO_LIST = TodoList()


def changes_text(previous: Sequence[TodoItem], items: Sequence[TodoItem]) -> str:
    """Return progress and changes since `previous` as one line for the model; empty if many things changed.

    That an item was begun is no change of its own: the line says which one it is.
    """
    before = {_one_line(item): item.status for item in previous}
    after = {_one_line(item): item.status for item in items}
    changes = {
        "done": [name for name, status in after.items() if status == "done" != before.get(name, "")],
        "again open": [name for name, status in after.items() if before.get(name) == "done" != status],
        "new": [name for name, status in after.items() if name not in before and status != "done"],
        "dropped": [name for name in before if name not in after],
    }
    if sum(map(len, changes.values())) > _MAX_CHANGES:
        return ""
    parts = [f"{kind}: {', '.join(names)}" for kind, names in changes.items() if names]
    current = " ".join(current_item(items).split())
    parts += [f"now: {current}"] if current else []
    return "; ".join([f"Todo: {progress_text(items)} done", *parts])


def _one_line(item: TodoItem) -> str:
    return " ".join(item.content.split())
