"""The agent's list of what it has to do: written anew as a whole each time, shown to the person."""

from __future__ import annotations

from typing import Annotated

import msgspec

from helix_desktop.context.errors import ToolError
from helix_desktop.context.todo import TodoItem, done_of
from helix_desktop.context.tool import Progress, ToolResult, unheard
from helix_desktop.tools.arguments import Arguments
from helix_desktop.tools.base import Free

_MOST = 50
_LONGEST = 300  # characters of one item
_SIGNS = {"done": "x", "in_progress": ">", "pending": " "}


class TodoArguments(Arguments, frozen=True):
    """What todo takes."""

    items: Annotated[tuple[TodoItem, ...], msgspec.Meta(min_length=1, max_length=_MOST)]


class Todo(Free):
    """Answers with the list as it stands now, so that the newest one is in the window."""

    async def run(self, call_id: str, given: TodoArguments, told: Progress = unheard) -> ToolResult:
        """The list. Raises ToolError for items that are empty, too long, or all begun at once."""
        for item in given.items:
            if not item.content.strip() or len(item.content) > _LONGEST:
                raise ToolError("An item is empty or over 300 characters.", fix="Say each in a few words.")
        if sum(item.status == "in_progress" for item in given.items) > 1:
            raise ToolError("More than one item is in progress.", fix="Begin the next when one is done.")
        lines = [f"[{_SIGNS[item.status]}] {' '.join(item.content.split())}" for item in given.items]
        text = "\n".join([f"Todo list, {done_of(given.items)} done:", *lines])
        return ToolResult(f"{text}\n".encode(), target=f"{done_of(given.items)} done")
