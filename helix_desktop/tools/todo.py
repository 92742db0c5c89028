"""The agent's todo list: replaced as a whole by each call, shown to the user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered
from helix_desktop.domain.todo import TODO, TodoItem, changes_text, list_text, parse_items, progress_text
from helix_desktop.domain.tools import OutputCallback, ToolResult, ignore_output
from helix_desktop.tools.cache.origins import CallingSession
from helix_desktop.tools.tool import Arguments, UnguardedTool

_MAX_ITEMS = 50
_MAX_LENGTH = 300  # characters of one item


class TodoArguments(Arguments, frozen=True):
    """The arguments of todo."""

    items: Annotated[tuple[TodoItem, ...], msgspec.Meta(min_length=1, max_length=_MAX_ITEMS)]


class Todo(UnguardedTool[TodoArguments]):
    """Takes the current list: whole in the window when it is new, one line when little changed."""

    name = TODO
    arguments_type = TodoArguments

    def __init__(self, session: CallingSession | None = None) -> None:
        """Without the session that calls, each list is new."""
        self._session = session

    async def run(
        self, call_id: str, args: TodoArguments, on_output: OutputCallback = ignore_output
    ) -> ToolResult:
        """Return what changed. Raises ToolError for an empty or too long item, and two in progress."""
        for item in args.items:
            if not item.content.strip() or len(item.content) > _MAX_LENGTH:
                raise ToolError("An item is empty or over 300 characters.", fix="Say each in a few words.")
        if sum(item.status == "in_progress" for item in args.items) > 1:
            raise ToolError("More than one item is in progress.", fix="Begin the next when one is done.")
        previous = self._previous_items(call_id)
        text = changes_text(previous, args.items) if previous else ""
        return ToolResult(
            f"{text or list_text(args.items)}\n".encode(), target=f"{progress_text(args.items)} done"
        )

    def _previous_items(self, call_id: str) -> Sequence[TodoItem]:
        """Return the session's list of before; empty if there is none."""
        refused = {call_id}
        for item in reversed(self._session.transcript.messages.items if self._session is not None else ()):
            match item.event:
                case ToolAnswered(call_id=answered, ok=False):
                    refused.add(answered)
                case AssistantSpoke(calls=calls):
                    for call in reversed(calls):
                        if call.name == TODO and call.id not in refused:
                            return parse_items(call.arguments)
        return ()
