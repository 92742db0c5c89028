"""Events: immutable facts of a session, in the past tense. Their field names are a stored format.

Token counts are made once, when the event is recorded, and kept (CONTEXT.md 3.8).
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from helix_desktop.context.message import Stop, ToolCall, Usage
from helix_desktop.context.tool import Decision

SECTIONS = (
    "Project Background",
    "Technical Details",
    "Completed Work",
    "Current Issues",
    "TODO Items",
    "User Preferences",
)

NEW_TITLE = "New session"

Ended = Literal["done", "stopped", "failed", "interrupted"]
SweepReason = Literal["batch", "handover", "no room", "by hand"]
Trigger = Literal["85 %", "by hand", "no room"]


class Fact(msgspec.Struct, frozen=True, tag_field="kind", omit_defaults=True):
    """The root of all events."""


class SessionStarted(Fact, frozen=True, tag="session-started"):
    """A conversation began."""

    title: str


class SessionRenamed(Fact, frozen=True, tag="session-renamed"):
    """The person gave the session a title."""

    title: str


class Attachment(msgspec.Struct, frozen=True):
    """Content that the person recalled into a message: its digest, its name, its text."""

    digest: str
    label: str
    text: str
    tokens: int
    size: int


class MessageQueued(Fact, frozen=True, tag="message-queued"):
    """The person sent a message while the agent was busy; it is not in the window yet."""

    text: str
    attachments: tuple[Attachment, ...] = ()


class UserSpoke(Fact, frozen=True, tag="user-spoke"):
    """The person's message entered the window and began a turn; `queued` is the seq it had waited under."""

    text: str
    tokens: int
    attachments: tuple[Attachment, ...] = ()
    queued: int = 0


class AssistantSpoke(Fact, frozen=True, tag="assistant-spoke"):
    """A model answered: one step. `estimate` is what we thought the request's input was, in tokens."""

    text: str
    model: str
    tokens: int
    calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    usage: Usage | None = None
    estimate: int = 0
    stop: Stop = "end"
    duration_ms: int = 0
    demo: bool = False
    verbatim: dict[str, Any] | None = None


class ApprovalGiven(Fact, frozen=True, tag="approval-given"):
    """A call that needs a yes got its answer; `rule` names the saved rule that answered, if one did."""

    call_id: str
    tool: str
    subject: str
    decision: Decision
    rule: str = ""


class ToolAnswered(Fact, frozen=True, tag="tool-answered"):
    """A tool call's output, stored under `digest` before this fact existed; `text` is its shown form.

    `tokens` counts the shown form, `marker_tokens` the marker that would replace it.
    """

    call_id: str
    name: str
    text: str
    digest: str
    size: int
    tokens: int
    marker_tokens: int
    target: str = ""
    first_line: str = ""
    ok: bool = True
    exit_code: int | None = None
    duration_ms: int = 0
    whole: bool = True
    recalled: str = ""
    outcome: Literal["ran", "denied", "interrupted"] = "ran"


class TurnEnded(Fact, frozen=True, tag="turn-ended"):
    """The agent's turn is over, and how; the three texts are for the person when it failed."""

    how: Ended
    what: str = ""
    why: str = ""
    fix: str = ""


class SweepMade(Fact, frozen=True, tag="sweep-made"):
    """Old outputs became markers; `masked` holds the seqs of their ToolAnswered events."""

    masked: tuple[int, ...]
    saved: int
    reason: SweepReason


class Bullet(msgspec.Struct, frozen=True):
    """One sentence of a handover with the seqs of the events it comes from; none means unsupported."""

    text: str
    sources: tuple[int, ...] = ()


class Section(msgspec.Struct, frozen=True):
    """One of the six sections."""

    title: str
    bullets: tuple[Bullet, ...] = ()


class HandoverMade(Fact, frozen=True, tag="handover-made"):
    """Older messages were replaced by a summary.

    Covers every event up to and with `upto` but the one user message `kept` (0: none), which stays.
    `index` is the digest of the index entry that names every covered output; `tokens` counts the summary.
    """

    upto: int
    kept: int
    sections: tuple[Section, ...]
    ledger: str
    index: str
    index_entries: int
    tokens: int
    before: int
    after: int
    messages: int
    model: str
    trigger: Trigger
    former: int = 0
    fallback: str = ""
    focus: str = ""
    duration_ms: int = 0
    demo: bool = False


class HandoverFailed(Fact, frozen=True, tag="handover-failed"):
    """A handover was tried and not made; nothing changed."""

    what: str
    why: str = ""


class Undone(Fact, frozen=True, tag="undone"):
    """A sweep or handover no longer holds."""

    target: int


class Redone(Fact, frozen=True, tag="redone"):
    """An undone sweep or handover holds again."""

    target: int


Event = (
    SessionStarted
    | SessionRenamed
    | MessageQueued
    | UserSpoke
    | AssistantSpoke
    | ApprovalGiven
    | ToolAnswered
    | TurnEnded
    | SweepMade
    | HandoverMade
    | HandoverFailed
    | Undone
    | Redone
)


class Recorded(msgspec.Struct, frozen=True):
    """An event in its place: `seq` counts from 1 without gaps, `at` is milliseconds since 1970."""

    seq: int
    at: int
    event: Event


def digests_in(event: Event) -> tuple[str, ...]:
    """The content digests that an event refers to, each once: what must never be collected while it lives."""
    found: tuple[str, ...] = ()
    match event:
        case ToolAnswered(digest=digest, recalled=recalled):
            found = (digest, recalled)
        case HandoverMade(index=index):
            found = (index,)
        case UserSpoke(attachments=attachments) | MessageQueued(attachments=attachments):
            found = tuple(one.digest for one in attachments)
    return tuple(dict.fromkeys(one for one in found if one))
