"""All events of a session's log as one union, an event in its place, and the contents that it names."""

from __future__ import annotations

import msgspec

from helix_desktop.domain.events.conversation import (
    ApprovalGiven,
    AssistantSpoke,
    MessageQueued,
    OutputHeld,
    QueueChanged,
    SideQuestionAnswered,
    SubagentStarted,
    ToolAnswered,
    TurnEnded,
    TurnRetried,
    UserSpoke,
)
from helix_desktop.domain.events.foreign import ForeignCompaction, ForeignRecords, SessionImported
from helix_desktop.domain.events.rewrite import (
    Excluded,
    FoldMade,
    FormChosen,
    Pinned,
    Redone,
    SweepMade,
    Undone,
    Unpinned,
)
from helix_desktop.domain.events.session import (
    BudgetNeared,
    BudgetSet,
    ChangesAccepted,
    ChangesRecorded,
    EffortChosen,
    EffortRefused,
    FilesChanged,
    HoldSet,
    InstructionsAdded,
    McpServerFailed,
    ModeChanged,
    ModelChosen,
    OpeningGiven,
    PolicyChosen,
    SessionArchived,
    SessionBranched,
    SessionPinned,
    SessionRenamed,
    SessionStarted,
    WindowLearned,
)
from helix_desktop.domain.events.summary import (
    SUMMARY_TEXT_VERSION,
    HandoverDiscarded,
    HandoverFailed,
    HandoverMade,
    ObservationsFailed,
    ObservationsMade,
    ObservationsPlaced,
)

Event = (
    SessionStarted
    | SessionBranched
    | SessionRenamed
    | SessionPinned
    | SessionArchived
    | OpeningGiven
    | InstructionsAdded
    | MessageQueued
    | QueueChanged
    | UserSpoke
    | AssistantSpoke
    | ApprovalGiven
    | ModeChanged
    | ModelChosen
    | EffortChosen
    | EffortRefused
    | WindowLearned
    | McpServerFailed
    | PolicyChosen
    | HoldSet
    | SubagentStarted
    | OutputHeld
    | ToolAnswered
    | FilesChanged
    | ChangesRecorded
    | ChangesAccepted
    | FormChosen
    | Excluded
    | Pinned
    | Unpinned
    | TurnEnded
    | TurnRetried
    | SweepMade
    | FoldMade
    | ObservationsMade
    | ObservationsPlaced
    | ObservationsFailed
    | HandoverMade
    | HandoverFailed
    | HandoverDiscarded
    | SideQuestionAnswered
    | BudgetSet
    | BudgetNeared
    | Undone
    | Redone
    | SessionImported
    | ForeignRecords
    | ForeignCompaction
)


class RecordedEvent(msgspec.Struct, frozen=True, gc=False):
    """An event in its place: `seq` counts from 1 without gaps, `at` is milliseconds since 1970."""

    seq: int
    at: int
    event: Event


def format_problem(event: Event) -> str:
    """Return why an event that decodes is of another format, in English; empty if it is of this one."""
    match event:
        case HandoverMade(origin="", text_version=version) | ObservationsMade(text_version=version):
            return _version_problem(version)
        case HandoverMade(text_version=version) if version:
            return _version_problem(version)
        case HandoverDiscarded(prepared=prepared) if prepared is not None:
            return format_problem(prepared.handover)
        case HandoverDiscarded(draft=draft) if draft is not None:
            return format_problem(draft.handover)
    return ""


def _version_problem(version: int) -> str:
    if version == SUMMARY_TEXT_VERSION:
        return ""
    return f"its summary has text version {version}, not {SUMMARY_TEXT_VERSION}"


def digests_in(event: Event) -> tuple[str, ...]:
    """Return the content digests an event refers to, each once: never collected while the event exists."""
    digests: tuple[str, ...] = ()
    match event:
        case ToolAnswered() as output:
            digests = _answer_digests(output)
        case OutputHeld(answer=answer):
            digests = _answer_digests(answer)
        case AssistantSpoke(short=short):
            digests = tuple(digest for call in short for digest in call.digests)
        case HandoverDiscarded(prepared=prepared, draft=draft):
            digests = tuple(unused.handover.index for unused in (prepared, draft) if unused is not None)
        case HandoverMade(index=index) | FoldMade(index=index) | ObservationsMade(index=index):
            digests = (index,)
        case Excluded(digest=digest) | ForeignRecords(digest=digest):
            digests = (digest,)
        case (UserSpoke(attachments=attachments) | MessageQueued(attachments=attachments)) as message:
            pictured = (attachment.image.digest for attachment in attachments if attachment.image is not None)
            digests = (*(attachment.digest for attachment in attachments), *pictured)
            if isinstance(message, UserSpoke) and message.short is not None:
                digests += message.short.digests
    return tuple(dict.fromkeys(digest for digest in digests if digest))


def _answer_digests(output: ToolAnswered) -> tuple[str, ...]:
    excerpt = output.excerpt
    images = (*output.images, *([excerpt.image] if excerpt is not None and excerpt.image is not None else []))
    return (
        output.digest,
        output.recalled,
        *(image.digest for image in images),
        *([excerpt.digest] if excerpt is not None else []),
    )
