"""What clicks in the conversation do: one value for each action, with all that it is about."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from helix_desktop.domain.question import QuestionReply
from helix_desktop.domain.tools import Excerpt
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.kit.intents import (
    ApplyRemedy,
    BranchSession,
    ChooseForm,
    Intent,
    OpenCacheEntry,
    Pin,
    Recall,
    Redo,
    RetrySummary,
    RewindTo,
    ShowInTimeline,
    Undo,
    Unpin,
)
from helix_desktop.words.action_labels import ActionName

RowSection: TypeAlias = Literal[
    "about", "card", "changed_lines", "changes", "detail", "details", "more", "places", "thoughts"
]
ApprovalAnswer: TypeAlias = Literal["once", "session", "always", "deny", "never", "demo"]


class ToggleSection(msgspec.Struct, frozen=True):
    section: RowSection


class OpenMenu(msgspec.Struct, frozen=True):
    """Open the menu of a card."""


class CopyCode(msgspec.Struct, frozen=True):
    """Copy the code of a text of the row, by the number of the text."""

    text_number: int


class ScrollText(msgspec.Struct, frozen=True):
    """Scroll a table or a formula sideways, by the number of its text."""

    text_number: int


class CopyAnswer(msgspec.Struct, frozen=True):
    """Copy the last answer above the row, as Markdown."""


class Decide(Intent, frozen=True):
    """Answer whether a call may run; `offer` is the rule that a lasting answer saves."""

    call_id: str
    answer: ApprovalAnswer
    offer: int = 0


class AllowAllOnce(Intent, frozen=True):
    """Let each of these calls run once."""

    call_ids: tuple[str, ...]


class AnswerQuestion(Intent, frozen=True):
    """Answer the question of a call, or skip it."""

    call_id: str
    reply: QuestionReply


class FocusField(msgspec.Struct, frozen=True):
    """Give the keyboard to a widget in the row, by its object name."""

    name: str


class ReadOriginal(Intent, frozen=True):
    """Show in a card what the cache holds of its output: its first and last lines, or all of it."""

    key: RowKey
    digest: str
    in_full: bool = False


class ReadExcerpt(Intent, frozen=True):
    """Show in a card what the cache holds of an excerpt: its first lines, or all of it."""

    key: RowKey
    excerpt: Excerpt
    in_full: bool = False


class ReadThumbnail(Intent, frozen=True):
    """Show in a message what an attached image looks like, by its digest."""

    key: RowKey
    digest: str


class ReadChanges(Intent, frozen=True):
    """Show in a card what its call changed, by the id of the capture."""

    key: RowKey
    capture_id: str


class PutAutoRun(Intent, frozen=True):
    """Restore what was taken back of a call (`restore`), or take it back: by ids, or paths of a capture."""

    change_ids: tuple[str, ...]
    restore: bool
    capture_id: str = ""
    paths: tuple[str, ...] = ()


class OpenChanges(Intent, frozen=True):
    """Show a capture on the Changes page, or what it did to one path."""

    capture_id: str
    path: str = ""


class CacheNow(Intent, frozen=True):
    """Replace an output in the window by a marker, by its event."""

    seq: int


class StopCall(Intent, frozen=True):
    call_id: str


class OpenSubagent(Intent, frozen=True):
    session_id: str


class ShowRewriteOf(Intent, frozen=True):
    """Show in the timeline what became of an output, by its event."""

    seq: int


class CompactUpTo(Intent, frozen=True):
    """Open the dialog to compact with the range that ends at an event, or as near before it as can be."""

    seq: int


class EditMessage(Intent, frozen=True):
    """Send a message of the user again with other words, by its event: in a branch that begins before it."""

    seq: int


class RetryAnswer(Intent, frozen=True):
    """Have a turn answered again, by an event of it: in a branch that begins after the user's message."""

    seq: int


class OpenVersion(Intent, frozen=True):
    """Show the session in which a message or an answer has another version, or that this one continues.

    Of several `versions` the other one is shown at that message, where this one stands.
    """

    session_id: str
    is_source: bool = False
    versions: tuple[str, ...] = ()


class ControlTurn(Intent, frozen=True):
    """Continue, retry or stop a turn, or make an announced retry now."""

    how: Literal["continue", "retry", "send_without_images", "stop", "try_now"]


ButtonAction: TypeAlias = (
    ShowInTimeline | Undo | Redo | RetrySummary | ControlTurn | ApplyRemedy | OpenVersion | OpenChanges
)
"""What the buttons of dividers and notices do."""
MenuAction: TypeAlias = (
    CacheNow | Pin | Unpin | ChooseForm | Recall | OpenCacheEntry | OpenSubagent | ShowRewriteOf
)
"""What the menu of a call does."""
BranchAction: TypeAlias = EditMessage | RewindTo | RetryAnswer | BranchSession | OpenVersion
"""What makes branches of the session, or leads to them."""
SessionAction: TypeAlias = (
    ButtonAction
    | MenuAction
    | BranchAction
    | Decide
    | AllowAllOnce
    | AnswerQuestion
    | ReadOriginal
    | ReadExcerpt
    | ReadThumbnail
    | ReadChanges
    | PutAutoRun
    | StopCall
    | CompactUpTo
)
"""What the session does, not the view."""
ReadingAction: TypeAlias = (
    ShowInTimeline
    | ShowRewriteOf
    | OpenVersion
    | OpenChanges
    | OpenCacheEntry
    | OpenSubagent
    | Recall
    | ReadOriginal
    | ReadExcerpt
    | ReadThumbnail
    | ReadChanges
)
"""What leaves the session as it is, and makes sense of its past, too."""
RowAction: TypeAlias = (
    SessionAction | ToggleSection | OpenMenu | CopyCode | ScrollText | CopyAnswer | FocusField
)


_NAMES: dict[type[ButtonAction], ActionName] = {
    ShowInTimeline: "details",
    Undo: "undo",
    Redo: "redo",
    OpenVersion: "open_parent",
    OpenChanges: "open_changes",
}


def button_name(action: ButtonAction) -> ActionName:
    """Return the name of a button, by which its label is found."""
    match action:
        case RetrySummary(kind=kind):
            return "compact_again" if kind == "handover" else "observe_again"
        case ControlTurn(how=name) | ApplyRemedy(remedy=name):
            return name
        case OpenVersion(is_source=True):
            return "open_source"
        case ShowInTimeline(is_handover=True):
            return "open_handover"
    return _NAMES[type(action)]
