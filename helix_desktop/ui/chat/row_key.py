"""Which row of the chat is meant: the event it shows, or what it shows before there is one."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered

RowPart: TypeAlias = Literal[
    "event", "call", "approval", "arriving", "cut", "error", "retry", "side", "past", "handover"
]
_PREFIXES: dict[RowPart, str] = {
    "event": "e",
    "call": "t",
    "approval": "ask",
    "arriving": "live",
    "cut": "cut",
    "error": "trouble",
    "retry": "retry",
    "side": "side",
    "past": "past",
    "handover": "from",
}
_TEXT = re.compile(r"([a-z]+)(\d*)(?::(.+))?", re.DOTALL)


class RowKey(NamedTuple):
    """The key of a row, ordered by event.

    `seq` is the row's event, the step of a call, or a count of answers and errors that are not events.
    """

    seq: int = 0
    call_id: str = ""
    part: RowPart = "event"

    def __str__(self) -> str:
        """Return the key as it is stored."""
        call = f":{self.call_id}" if self.call_id else ""
        return f"{_PREFIXES[self.part]}{self.seq or ''}{call}"

    @classmethod
    def parse(cls, text: str) -> RowKey | None:
        """Return the key that was stored as a text; None when it is none."""
        match = _TEXT.fullmatch(text)
        part = next((part for part, prefix in _PREFIXES.items() if match and prefix == match[1]), None)
        return cls(int(match[2] or 0), match[3] or "", part) if match and part else None


def row_key_of_event(transcript: Transcript, seq: int) -> RowKey:
    """Return the key of the row that shows an event: a call for its output, or for an answer without text."""
    item = transcript.messages.item(seq)
    match item.event if item is not None else None:
        case AssistantSpoke(text=text, calls=calls) if calls and not text.strip():
            return RowKey(seq, calls[0].id, "call")
        case ToolAnswered(call_id=call_id):
            for step in reversed(transcript.messages.items[: transcript.messages.position(seq)]):
                if isinstance(step.event, AssistantSpoke):
                    return RowKey(step.seq, call_id, "call")
    return RowKey(seq)
