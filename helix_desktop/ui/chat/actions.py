"""What clicks in the conversation do: one value for each action, with all that it is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from helix_desktop.domain.choices import Remedy
from helix_desktop.domain.events.rewrite import Form
from helix_desktop.domain.question import QuestionReply
from helix_desktop.domain.tools import Excerpt
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.words.action_labels import ActionName

RowSection: TypeAlias = Literal[
    "about", "card", "changed_lines", "changes", "detail", "details", "more", "places", "thoughts"
]
ApprovalAnswer: TypeAlias = Literal["once", "session", "always", "deny", "words", "never", "demo"]


@dataclass(frozen=True, slots=True)
class ToggleSection:
    """Open or close a part of the row."""

    section: RowSection


@dataclass(frozen=True, slots=True)
class OpenMenu:
    """Open the menu of a card."""


@dataclass(frozen=True, slots=True)
class CopyCode:
    """Copy the code of a text of the row, by the number of the text."""

    text_number: int


@dataclass(frozen=True, slots=True)
class ScrollText:
    """Scroll a table or a formula sideways, by the number of its text."""

    text_number: int


@dataclass(frozen=True, slots=True)
class CopyAnswer:
    """Copy the last answer above the row, as Markdown."""


@dataclass(frozen=True, slots=True)
class Decide:
    """Answer whether a call may run; `offer` is the rule that a lasting answer saves."""

    call_id: str
    answer: ApprovalAnswer
    offer: int = 0


@dataclass(frozen=True, slots=True)
class AllowAllOnce:
    """Let each of these calls run once."""

    call_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AnswerQuestion:
    """Answer the question of a call, or skip it."""

    call_id: str
    reply: QuestionReply


@dataclass(frozen=True, slots=True)
class FocusField:
    """Give the keyboard to a widget in the row, by its object name."""

    name: str


@dataclass(frozen=True, slots=True)
class ReadOriginal:
    """Show in a card what the cache holds of its output: its first and last lines, or all of it."""

    key: RowKey
    digest: str
    in_full: bool = False


@dataclass(frozen=True, slots=True)
class ReadExcerpt:
    """Show in a card what the cache holds of an excerpt: its first lines, or all of it."""

    key: RowKey
    excerpt: Excerpt
    in_full: bool = False


@dataclass(frozen=True, slots=True)
class ReadThumbnail:
    """Show in a message what an attached image looks like, by its digest."""

    key: RowKey
    digest: str


@dataclass(frozen=True, slots=True)
class ReadChanges:
    """Show in a card what its call changed, by the id of the capture."""

    key: RowKey
    capture_id: str


@dataclass(frozen=True, slots=True)
class PutAutoRun:
    """Restore what was taken back of a call (`restore`), or take it back: by ids, or paths of a capture."""

    change_ids: tuple[str, ...]
    restore: bool
    capture_id: str = ""
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenChanges:
    """Show a capture on the Changes page, or what it did to one path."""

    capture_id: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class Pin:
    """Keep an output in the window, by its event."""

    seq: int


@dataclass(frozen=True, slots=True)
class CacheNow:
    """Replace an output in the window by a marker, by its event."""

    seq: int


@dataclass(frozen=True, slots=True)
class Unpin:
    """Take the pin off an output, by its event."""

    seq: int


@dataclass(frozen=True, slots=True)
class ChooseForm:
    """Show the agent an output in another form; `instructions` are those of its last extract."""

    seq: int
    form: Form
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class Recall:
    """Let a content go along with the next message."""

    digest: str


@dataclass(frozen=True, slots=True)
class OpenCacheEntry:
    """Show a content in the cache browser."""

    digest: str


@dataclass(frozen=True, slots=True)
class StopCall:
    """End a running call alone."""

    call_id: str


@dataclass(frozen=True, slots=True)
class OpenSubagent:
    """Show the session of a subagent."""

    session_id: str


@dataclass(frozen=True, slots=True)
class ShowInChat:
    """Show the row of an event."""

    seq: int


@dataclass(frozen=True, slots=True)
class ShowInTimeline:
    """Show the card of a rewrite in the timeline."""

    seq: int


@dataclass(frozen=True, slots=True)
class ShowRewriteOf:
    """Show in the timeline what became of an output, by its event."""

    seq: int


@dataclass(frozen=True, slots=True)
class Undo:
    """Undo a rewrite of the window."""

    seq: int


@dataclass(frozen=True, slots=True)
class Redo:
    """Let an undone rewrite hold again."""

    seq: int


@dataclass(frozen=True, slots=True)
class CompareHandover:
    """Show what a recorded handover, by its event, says otherwise than the one before it."""

    seq: int


@dataclass(frozen=True, slots=True)
class EditHandover:
    """Edit the sections of a recorded handover, by its event."""

    seq: int


@dataclass(frozen=True, slots=True)
class CompactUpTo:
    """Open the dialog to compact with the range that ends at an event, or as near before it as can be."""

    seq: int


@dataclass(frozen=True, slots=True)
class RetrySummary:
    """Write a summary again that failed."""

    kind: Literal["handover", "observations"]


@dataclass(frozen=True, slots=True)
class EditMessage:
    """Send a message of the user again with other words, by its event: in a branch that begins before it."""

    seq: int


@dataclass(frozen=True, slots=True)
class RetryAnswer:
    """Have a turn answered again, by an event of it: in a branch that begins after the user's message."""

    seq: int


@dataclass(frozen=True, slots=True)
class BranchSession:
    """Go on from an event in a branch."""

    seq: int


@dataclass(frozen=True, slots=True)
class RewindTo:
    """Go back to before a message of the user, by its event: files, conversation or both."""

    seq: int


@dataclass(frozen=True, slots=True)
class OpenVersion:
    """Show the session in which a message or an answer has another version, or that this one continues."""

    session_id: str
    is_source: bool = False


@dataclass(frozen=True, slots=True)
class ControlTurn:
    """Continue, retry or stop a turn, or make an announced retry now."""

    how: Literal["continue", "retry", "stop", "try_now"]


@dataclass(frozen=True, slots=True)
class ApplyRemedy:
    """Do what helps against an error."""

    remedy: Remedy


@dataclass(frozen=True, slots=True)
class ShowGuide:
    """Explain a concept: open the guide at a topic."""

    topic: str


ButtonAction: TypeAlias = (
    ShowInChat
    | ShowInTimeline
    | Undo
    | Redo
    | CompareHandover
    | EditHandover
    | RetrySummary
    | ControlTurn
    | ApplyRemedy
    | OpenVersion
    | OpenChanges
    | Pin
    | Unpin
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
    | ShowGuide
)
"""What the session does, not the view."""
ReadingAction: TypeAlias = (
    ShowInChat
    | ShowInTimeline
    | ShowRewriteOf
    | ShowGuide
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
    ShowInChat: "show",
    ShowInTimeline: "view",
    Undo: "undo",
    Redo: "redo",
    CompareHandover: "compare_handover",
    EditHandover: "edit_handover",
    OpenVersion: "open_parent",
    OpenChanges: "open_changes",
    Pin: "undo",  # of a divider that says that the pin was taken off
    Unpin: "undo",
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
    return _NAMES[type(action)]
