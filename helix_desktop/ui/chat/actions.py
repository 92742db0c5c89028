"""What clicks in the conversation do: one value for each action, with all that it is about."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from helix_desktop.domain.choices import Remedy
from helix_desktop.domain.events.rewrite import Form
from helix_desktop.domain.question import QuestionReply
from helix_desktop.domain.tools import Excerpt
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.words.action_labels import ActionName

RowSection: TypeAlias = Literal[
    "about", "card", "changed_lines", "changes", "detail", "details", "more", "places", "thoughts"
]
ApprovalAnswer: TypeAlias = Literal["once", "session", "always", "deny", "never", "demo"]


class ToggleSection(msgspec.Struct, frozen=True):
    """Open or close a part of the row."""

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


class Decide(msgspec.Struct, frozen=True):
    """Answer whether a call may run; `offer` is the rule that a lasting answer saves."""

    call_id: str
    answer: ApprovalAnswer
    offer: int = 0


class AllowAllOnce(msgspec.Struct, frozen=True):
    """Let each of these calls run once."""

    call_ids: tuple[str, ...]


class AnswerQuestion(msgspec.Struct, frozen=True):
    """Answer the question of a call, or skip it."""

    call_id: str
    reply: QuestionReply


class FocusField(msgspec.Struct, frozen=True):
    """Give the keyboard to a widget in the row, by its object name."""

    name: str


class ReadOriginal(msgspec.Struct, frozen=True):
    """Show in a card what the cache holds of its output: its first and last lines, or all of it."""

    key: RowKey
    digest: str
    in_full: bool = False


class ReadExcerpt(msgspec.Struct, frozen=True):
    """Show in a card what the cache holds of an excerpt: its first lines, or all of it."""

    key: RowKey
    excerpt: Excerpt
    in_full: bool = False


class ReadThumbnail(msgspec.Struct, frozen=True):
    """Show in a message what an attached image looks like, by its digest."""

    key: RowKey
    digest: str


class ReadChanges(msgspec.Struct, frozen=True):
    """Show in a card what its call changed, by the id of the capture."""

    key: RowKey
    capture_id: str


class PutAutoRun(msgspec.Struct, frozen=True):
    """Restore what was taken back of a call (`restore`), or take it back: by ids, or paths of a capture."""

    change_ids: tuple[str, ...]
    restore: bool
    capture_id: str = ""
    paths: tuple[str, ...] = ()


class OpenChanges(msgspec.Struct, frozen=True):
    """Show a capture on the Changes page, or what it did to one path."""

    capture_id: str
    path: str = ""


class Pin(msgspec.Struct, frozen=True):
    """Keep an output in the window, by its event."""

    seq: int


class CacheNow(msgspec.Struct, frozen=True):
    """Replace an output in the window by a marker, by its event."""

    seq: int


class Unpin(msgspec.Struct, frozen=True):
    """Take the pin off an output, by its event."""

    seq: int


class ChooseForm(msgspec.Struct, frozen=True):
    """Show the agent an output in another form; `instructions` are those of its last extract."""

    seq: int
    form: Form
    instructions: str = ""


class Recall(msgspec.Struct, frozen=True):
    """Let a content go along with the next message."""

    digest: str


class OpenCacheEntry(msgspec.Struct, frozen=True):
    """Show a content in the cache browser."""

    digest: str


class StopCall(msgspec.Struct, frozen=True):
    """End a running call alone."""

    call_id: str


class OpenSubagent(msgspec.Struct, frozen=True):
    """Show the session of a subagent."""

    session_id: str


class ShowInTimeline(msgspec.Struct, frozen=True):
    """Show the card of a rewrite in the timeline."""

    seq: int
    is_handover: bool = False


class ShowRewriteOf(msgspec.Struct, frozen=True):
    """Show in the timeline what became of an output, by its event."""

    seq: int


class Undo(msgspec.Struct, frozen=True):
    """Undo rewrites of the window."""

    seqs: tuple[int, ...]


class Redo(msgspec.Struct, frozen=True):
    """Let undone rewrites hold again."""

    seqs: tuple[int, ...]


class CompactUpTo(msgspec.Struct, frozen=True):
    """Open the dialog to compact with the range that ends at an event, or as near before it as can be."""

    seq: int


class RetrySummary(msgspec.Struct, frozen=True):
    """Write a summary again that failed."""

    kind: Literal["handover", "observations"]


class EditMessage(msgspec.Struct, frozen=True):
    """Send a message of the user again with other words, by its event: in a branch that begins before it."""

    seq: int


class RetryAnswer(msgspec.Struct, frozen=True):
    """Have a turn answered again, by an event of it: in a branch that begins after the user's message."""

    seq: int


class BranchSession(msgspec.Struct, frozen=True):
    """Go on from an event in a branch."""

    seq: int


class RewindTo(msgspec.Struct, frozen=True):
    """Go back to before a message of the user, by its event: files, conversation or both."""

    seq: int


class OpenVersion(msgspec.Struct, frozen=True):
    """Show the session in which a message or an answer has another version, or that this one continues.

    Of several `versions` the other one is shown at that message, where this one stands.
    """

    session_id: str
    is_source: bool = False
    versions: tuple[str, ...] = ()


class ControlTurn(msgspec.Struct, frozen=True):
    """Continue, retry or stop a turn, or make an announced retry now."""

    how: Literal["continue", "retry", "stop", "try_now"]


class ApplyRemedy(msgspec.Struct, frozen=True):
    """Do what helps against an error."""

    remedy: Remedy


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
