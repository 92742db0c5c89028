"""Events: immutable facts of a session, in the past tense. Their field names are a stored format.

Token counts are made once, when the event is recorded, and kept (CONTEXT.md 3.8).
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from helix_desktop.context.image import Image
from helix_desktop.context.message import Ended, InLine, Stop, ToolCall, Usage
from helix_desktop.context.tool import Decision, Delegated, Mode

SECTIONS = (
    "Project Background",
    "Technical Details",
    "Completed Work",
    "Current Issues",
    "TODO Items",
    "User Preferences",
)

NEW_TITLE = "New session"

SweepReason = Literal["batch", "cold", "fold", "observations", "handover", "no room", "by hand"]
FoldKind = Literal["fold", "condense", "truncate"]
Placing = Literal["at once", "level", "cold", "rewrite", "no room", "by hand"]
Trigger = Literal["85 %", "by hand", "no room"]
Form = Literal["full", "preview", "compact"]
ModelRole = Literal["main", "fast", "long"]
"""Which of the workspace's models: the usual one, a quick and cheap one, the one with the largest window."""


class Fact(msgspec.Struct, frozen=True, tag_field="kind", omit_defaults=True):
    """The root of all events."""


class SessionStarted(Fact, frozen=True, tag="session-started"):
    """A conversation began; a subagent's names its parent session, and the call there that asked for it.

    A subagent goes on under what it began with: `model` says which of the workspace's models answers it,
    `policy` holds the fields of its own one, if it has one.
    """

    title: str
    parent: str = ""
    parent_call: str = ""
    model: ModelRole = "main"
    policy: dict[str, Any] = {}


class SessionRenamed(Fact, frozen=True, tag="session-renamed"):
    """The person gave the session a title."""

    title: str


class Attachment(msgspec.Struct, frozen=True):
    """Content that the person put into a message: its digest, its name, and its text or the image it is.

    `marker_tokens` counts the text that can stand for an image.
    """

    digest: str
    label: str
    text: str
    tokens: int
    size: int
    image: Image | None = None
    marker_tokens: int = 0


class MessageQueued(Fact, frozen=True, tag="message-queued"):
    """The person sent a message while the agent was busy; it is not in the window yet.

    One that is to `steer` goes into the running turn after the step under way, the others begin turns.
    """

    text: str
    attachments: tuple[Attachment, ...] = ()
    steer: bool = False


class QueueChanged(Fact, frozen=True, tag="queue-changed"):
    """The person changed what waits: its order, its words, what steers. What is not named was taken away."""

    waiting: tuple[InLine, ...]


class UserSpoke(Fact, frozen=True, tag="user-spoke"):
    """The person's message entered the window; `queued` is the seq it had waited under.

    It began a turn, or `steered` the one that ran. `mode` is the session's then; `note` tells the model of
    it, before the person's words, where it is news, and counts in `tokens`.
    """

    text: str
    tokens: int
    attachments: tuple[Attachment, ...] = ()
    queued: int = 0
    mode: Mode = "ask"
    note: str = ""
    steered: bool = False


class ShortCall(msgspec.Struct, frozen=True):
    """A call whose large argument values can be markers: its arguments then, and what they stand for."""

    call_id: str
    arguments: str
    digests: tuple[str, ...]
    sizes: tuple[int, ...]


class AssistantSpoke(Fact, frozen=True, tag="assistant-spoke"):
    """A model answered: one step. `estimate` is what we thought the request's input was, in tokens.

    `short` holds the calls that can be shortened, `short_tokens` counts the message when they are. `cost` is
    in US dollars, by the model's prices of that moment; 0 where they are not known.
    """

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
    short: tuple[ShortCall, ...] = ()
    short_tokens: int = 0
    cost: float = 0.0


class ApprovalGiven(Fact, frozen=True, tag="approval-given"):
    """A call that needs a yes got its answer, by the `rule` or the `mode` that is named, or by the person.

    `words` is what they said with their no, `saved` the rule that their answer saved.
    """

    call_id: str
    tool: str
    subject: str
    decision: Decision
    rule: str = ""
    mode: Literal["", "plan", "auto"] = ""
    words: str = ""
    saved: str = ""


class ModeChanged(Fact, frozen=True, tag="mode-changed"):
    """The person chose how freely the session's agent acts from now on."""

    mode: Mode


class SubagentStarted(Fact, frozen=True, tag="subagent-started"):
    """A call began a subagent: the session that does the task, by its title, and which model answers it."""

    call_id: str
    session: str
    title: str
    model: ModelRole = "main"


class ToolAnswered(Fact, frozen=True, tag="tool-answered"):
    """A tool call's output, stored under `digest` before this fact existed; `text` is its shown form.

    `tokens` counts the shown form, `marker_tokens` the marker that would replace it. `form` names the shown
    form, `asked` the agent's instructions for a compact one, `chosen` who chose it, `intake_note` why it is
    not the form that was asked for. `intake_tokens` went in and out of models for it (`intake_cached` of them
    cached by the provider) in `intake_ms`; the one question of a batch counts at its first output.
    `subagent` is the session of the subagent whose result this is, `delegated` what it took. `images` stand
    beside the shown form and count in `tokens`; the text of the shown form says what they are. `intake_cost`
    is what models took for the form, in US dollars.
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
    outcome: Literal["ran", "denied", "interrupted", "stopped"] = "ran"
    form: Form = "full"
    asked: str = ""
    chosen: Literal["rule", "agent", "timeout", "user"] = "rule"
    intake_tokens: int = 0
    intake_cached: int = 0
    intake_ms: int = 0
    intake_model: str = ""
    intake_note: str = ""
    subagent: str = ""
    images: tuple[Image, ...] = ()
    delegated: Delegated | None = None
    intake_cost: float = 0.0


class OutputHeld(Fact, frozen=True, tag="output-held"):
    """A large output arrived and was stored; its shown form is not chosen yet.

    `answer` is what the call is answered with if nobody chooses: a preview.
    """

    answer: ToolAnswered


class FormChosen(Fact, frozen=True, tag="form-chosen"):
    """The person chose another shown form for the output recorded as `target`.

    For a compact one `asked` are their instructions, and `intake_tokens` (`intake_cached` of them cached)
    went in and out of `intake_model` in `intake_ms`, for `intake_cost` US dollars; `intake_note` says why it
    was not done the usual way.
    """

    target: int
    form: Form
    text: str
    tokens: int
    asked: str = ""
    intake_tokens: int = 0
    intake_cached: int = 0
    intake_ms: int = 0
    intake_model: str = ""
    intake_note: str = ""
    intake_cost: float = 0.0


class Pinned(Fact, frozen=True, tag="pinned"):
    """The person pinned the output recorded as `target`: it stays in the window whole, on every path."""

    target: int


class Unpinned(Fact, frozen=True, tag="unpinned"):
    """A pin was taken off."""

    target: int


class TurnEnded(Fact, frozen=True, tag="turn-ended"):
    """The agent's turn is over, and how; the three texts are for the person when it failed.

    `cause` names what a person can change with a click: the budget was spent.
    """

    how: Ended
    what: str = ""
    why: str = ""
    fix: str = ""
    cause: Literal["", "budget"] = ""


class SweepMade(Fact, frozen=True, tag="sweep-made"):
    """Old content became markers.

    `masked` holds the seqs of ToolAnswered events (outputs), AssistantSpoke events (arguments) and UserSpoke
    events (images).
    """

    masked: tuple[int, ...]
    saved: int
    reason: SweepReason


class FoldMade(Fact, frozen=True, tag="fold-made"):
    """Older steps became one note: every event behind `after`, up to and with `upto`.

    `index` is the digest of the index entry that names all it covers; `tokens` counts the note, `saved` what
    it saved. "condense" replaces notes by a shorter one, "truncate" leaves only the index.
    """

    after: int
    upto: int
    text: str
    tokens: int
    index: str
    index_entries: int
    steps: int
    saved: int
    how: FoldKind = "fold"


class Observation(msgspec.Struct, frozen=True):
    """A dated fact: milliseconds since 1970, 1 (vital) to 3 (minor), the text, the seqs it comes from."""

    at: int
    priority: int
    text: str
    sources: tuple[int, ...] = ()


class ObservationsMade(Fact, frozen=True, tag="observations-made"):
    """History behind `after`, up to and with `upto`, was distilled into observations; inert until placed.

    `quoted` are the seqs of the user's messages that stay verbatim, `replaces` the seqs of the observations
    that a reflection refines, `tokens` counts what will stand in the window.
    """

    after: int
    upto: int
    observations: tuple[Observation, ...]
    quoted: tuple[int, ...]
    ledger: str
    index: str
    index_entries: int
    tokens: int
    before: int
    messages: int
    model: str
    reflection: bool = False
    replaces: tuple[int, ...] = ()
    fallback: str = ""
    duration_ms: int = 0
    demo: bool = False
    calls: int = 1
    spent: int = 0
    prompt: str = ""
    cost: float = 0.0


class ObservationsPlaced(Fact, frozen=True, tag="observations-placed"):
    """Prepared observations took the place of the history they cover."""

    made: int
    reason: Placing
    saved: int


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
    `index` is the digest of the index entry that names every covered output; `tokens` counts the summary;
    `calls` counts the model calls it took, `spent` their tokens in and out; `prompt` is the version of what
    the model was told, `fallback` says what had to be done other than ask the first model once; `edited`: the
    person changed its text; `cost` is in US dollars.
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
    edited: bool = False
    calls: int = 1
    spent: int = 0
    prompt: str = ""
    cost: float = 0.0


class HandoverFailed(Fact, frozen=True, tag="handover-failed"):
    """A handover was tried and not made; nothing changed but what it `spent`, in tokens, and its `cost`."""

    what: str
    why: str = ""
    spent: int = 0
    cost: float = 0.0


class ObservationsFailed(Fact, frozen=True, tag="observations-failed"):
    """Observations or a reflection were tried and not made; `spent` and `cost` are as of handovers."""

    what: str
    why: str = ""
    spent: int = 0
    cost: float = 0.0


class BudgetSet(Fact, frozen=True, tag="budget-set"):
    """The person said what the session may spend: tokens in and out, and US dollars (0: as much as it takes).

    Without one the workspace's policy says it.
    """

    tokens: int = 0
    cost: float = 0.0


class BudgetNeared(Fact, frozen=True, tag="budget-neared"):
    """Most of a budget is spent: `tokens` and `cost` of so many; told once for each budget."""

    tokens: int
    cost: float
    most_tokens: int = 0
    most_cost: float = 0.0


class Undone(Fact, frozen=True, tag="undone"):
    """A rewrite no longer holds: a sweep, fold, handover, placing of observations, or choice of a form."""

    target: int


class Redone(Fact, frozen=True, tag="redone"):
    """An undone rewrite holds again."""

    target: int


Event = (
    SessionStarted
    | SessionRenamed
    | MessageQueued
    | QueueChanged
    | UserSpoke
    | AssistantSpoke
    | ApprovalGiven
    | ModeChanged
    | SubagentStarted
    | OutputHeld
    | ToolAnswered
    | FormChosen
    | Pinned
    | Unpinned
    | TurnEnded
    | SweepMade
    | FoldMade
    | ObservationsMade
    | ObservationsPlaced
    | ObservationsFailed
    | HandoverMade
    | HandoverFailed
    | BudgetSet
    | BudgetNeared
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
        case ToolAnswered(digest=digest, recalled=recalled, images=images):
            found = (digest, recalled, *(one.digest for one in images))
        case OutputHeld(answer=answer):
            found = (answer.digest, answer.recalled, *(one.digest for one in answer.images))
        case AssistantSpoke(short=short):
            found = tuple(digest for call in short for digest in call.digests)
        case HandoverMade(index=index) | FoldMade(index=index) | ObservationsMade(index=index):
            found = (index,)
        case UserSpoke(attachments=attachments) | MessageQueued(attachments=attachments):
            pictured = (one.image.digest for one in attachments if one.image is not None)
            found = (*(one.digest for one in attachments), *pictured)
    return tuple(dict.fromkeys(one for one in found if one))
