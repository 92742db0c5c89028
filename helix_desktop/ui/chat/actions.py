"""Which row of the chat is meant, and what clicks in it do: one value for each action."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered
from helix_desktop.domain.question import QuestionReply
from helix_desktop.domain.tools import PermissionRule
from helix_desktop.ui.kit.intents import (
    ApplyRemedy,
    Intent,
    OpenOutput,
    OpenSession,
    Recall,
    Redo,
    RetryFailed,
    ShowInTimeline,
    Undo,
)
from helix_desktop.words.button_labels import ActionName

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


RowSection: TypeAlias = Literal[
    "about", "card", "changed_lines", "changes", "detail", "details", "more", "thoughts"
]
ApprovalAnswer: TypeAlias = Literal["once", "session", "always", "deny", "never", "demo"]


# fmt: off

# What the list of rows does itself.
class ListAction(msgspec.Struct, frozen=True): ...
class ToggleSection(ListAction, frozen=True):
    section: RowSection
class OpenMenu(ListAction, frozen=True): ...  # of a card
class CopyCode(ListAction, frozen=True):  # of a text of the row, by the number of the text
    text_number: int
class ScrollText(ListAction, frozen=True):  # a table or a formula, sideways, by the number of its text
    text_number: int
class CopyAnswer(ListAction, frozen=True): ...  # the last answer above the row, as Markdown
class MarkOption(ListAction, frozen=True):  # an option of a question, by its number from 1; or no longer
    number: int
class OpenInWindow(ListAction, frozen=True): ...  # all of what a card asks about, in a window
class FocusField(ListAction, frozen=True):  # give the keyboard to a widget in the row, by its object name
    name: str

# What rows want of the session: cards that wait, what cards read, calls, the context, and branches.
class Decide(Intent, frozen=True):  # whether a call may run; `rule` is the one shown, which `always` saves
    call_id: str
    answer: ApprovalAnswer
    rule: PermissionRule | None = None
class AllowAllOnce(Intent, frozen=True):
    call_ids: tuple[str, ...]
class AnswerQuestion(Intent, frozen=True):  # of a call, or skip it; `has_message`: what is typed is in it
    call_id: str
    reply: QuestionReply
    has_message: bool = False
# show in a row what it has of the cache: a call its output, or the first and last lines of it, or what it
# changed; a message what its images look like
class ReadContent(Intent, frozen=True):
    key: RowKey
    section: Literal["card", "changes"] = "card"
    in_full: bool = False
# restore what was taken back of a call (`restore`), or take it back: by ids, or paths of a capture
class PutAutoRun(Intent, frozen=True):
    change_ids: tuple[str, ...]
    restore: bool
    capture_id: str = ""
    paths: tuple[str, ...] = ()
class OpenChanges(Intent, frozen=True):  # a capture on the Changes page, or what it did to one path
    capture_id: str
    path: str = ""
class CacheNow(Intent, frozen=True):  # replace an output in the window by a marker, by its event
    seq: int
class StopCall(Intent, frozen=True):
    call_id: str
class OpenLink(Intent, frozen=True):
    url: str
class ShowRewriteOf(Intent, frozen=True):  # in the timeline: what became of an output, by its event
    seq: int
# open the dialog to compact with the range that ends at an event, or as near before it as can be
class CompactUpTo(Intent, frozen=True):
    seq: int
# send a message of the user again with other words, by its event: in a branch that begins before it
class EditMessage(Intent, frozen=True):
    seq: int
# have a turn answered again, by an event of it: in a branch that begins after the user's message
class RetryAnswer(Intent, frozen=True):
    seq: int
# the session in which a message or an answer has another version, or that this one continues; of several
# `versions` the other one is shown at that message, where this one stands
class OpenVersion(Intent, frozen=True):
    session_id: str
    is_source: bool = False
    versions: tuple[str, ...] = ()
class ControlTurn(Intent, frozen=True):  # or make an announced retry now
    how: Literal[
        "continue", "retry", "send_without_images", "send_without_output", "stop", "try_now"
    ]

# fmt: on

ReadingAction: TypeAlias = (
    ShowInTimeline | ShowRewriteOf | OpenLink | OpenVersion | OpenChanges | OpenOutput | OpenSession
    | Recall | ReadContent
)  # fmt: skip
"""What leaves the session as it is, and makes sense of its past, too."""
RowAction: TypeAlias = Intent | ListAction

_NAMES: dict[type[Intent], ActionName] = {
    ShowInTimeline: "timeline",
    Undo: "undo",
    Redo: "redo",
    OpenVersion: "open_parent",
    OpenChanges: "open_changes",
}


def button_name(action: Intent) -> ActionName:
    """Return the name of a button of a divider or notice, by which its label is found."""
    match action:
        case RetryFailed(kind=kind):
            return "compact_again" if kind == "handover" else "observe_again"
        case ControlTurn(how=name) | ApplyRemedy(remedy=name):
            return name
        case OpenVersion(is_source=True):
            return "open_source"
    return _NAMES[type(action)]
