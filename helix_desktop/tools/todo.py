"""The agent's todo list: replaced as a whole by each call, shown to the user."""

from __future__ import annotations

from typing import Annotated

import msgspec

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.todo import TodoItem, progress_text
from helix_desktop.domain.tools import OutputCallback, ToolResult, ignore_output
from helix_desktop.tools.arguments import Arguments
from helix_desktop.tools.tool import UnguardedTool

_MAX_ITEMS = 50
_MAX_LENGTH = 300  # characters of one item
_STATUS_MARKS = {"done": "x", "in_progress": ">", "pending": " "}


class TodoArguments(Arguments, frozen=True):
    """The arguments of todo."""

    items: Annotated[tuple[TodoItem, ...], msgspec.Meta(min_length=1, max_length=_MAX_ITEMS)]


class Todo(UnguardedTool[TodoArguments]):
    """Returns the current list, so that the newest one is in the window."""

    name = "todo"
    arguments_type = TodoArguments

    async def run(
        self, call_id: str, args: TodoArguments, on_output: OutputCallback = ignore_output
    ) -> ToolResult:
        """Return the list. Raises ToolError for items that are empty, too long, or in progress together."""
        for item in args.items:
            if not item.content.strip() or len(item.content) > _MAX_LENGTH:
                raise ToolError("An item is empty or over 300 characters.", fix="Say each in a few words.")
        if sum(item.status == "in_progress" for item in args.items) > 1:
            raise ToolError("More than one item is in progress.", fix="Begin the next when one is done.")
        lines = [f"[{_STATUS_MARKS[item.status]}] {' '.join(item.content.split())}" for item in args.items]
        text = "\n".join([f"Todo list, {progress_text(args.items)} done:", *lines])
        return ToolResult(f"{text}\n".encode(), target=f"{progress_text(args.items)} done")
