"""What the timeline shows: plain facts, made by a presenter from events; no Qt."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import msgspec

from helix_desktop.context.log.steps import Step
from helix_desktop.context.summaries.summary_task import NO_SUMMARIES, FallbackRate
from helix_desktop.context.window.usage_gauge import CompactionTrigger
from helix_desktop.domain.events.rewrite import FoldKind, Form, HandoverTrigger, PlacementReason, SweepReason
from helix_desktop.domain.events.summary import Bullet, Section
from helix_desktop.words.summary_coverage import NOTHING_MISSING, MissingText

Phase: TypeAlias = Literal["read", "summarize", "check", "write"]
PHASES: tuple[Phase, ...] = get_args(Phase)
PointKind: TypeAlias = Literal[
    "turn", "sweep", "fold", "observations", "handover", "form", "exclude", "undo", "redo", "failure"
]
Group: TypeAlias = Literal["handovers", "compacted", "cached", "yours"]
"""What the filter shows alone: `handovers` with checkpoints, `compacted` all that replaced messages, `cached`
with large outputs of which the agent got a part, `yours` what the user chose, undid or redid."""
PREVIEW = -1
"""Stands for the handover as it would be now where others stand as their events."""
GROUPS: tuple[Group, ...] = get_args(Group)
Attempt: TypeAlias = Literal["handover", "observations"]
Unfolded: TypeAlias = dict[int, bool]
"""Whether a card is open, by its event: the cards write it, and are built again as they were."""
Retry: TypeAlias = Literal["handover", "observations", "turn"]
FormChooser: TypeAlias = Literal["rule", "agent", "timeout", "user"]


class HandoverCard(msgspec.Struct, frozen=True):
    """A handover; `before` and `after` are tokens of the window, `index` is the digest of its index entry.

    One that `is_checkpoint` changed no request: `after` is what it would take.
    `messages` says how many messages and tool calls it covers.
    `threshold` is the share of the context window at which it started, 0 where that is not known.
    """

    seq: int
    at_ms: int
    title: str
    before: int
    after: int
    messages: str
    trigger: HandoverTrigger
    sections: tuple[Section, ...]
    ledger: str = ""
    index: str = ""
    index_entries: int = 0
    model: str = ""  # empty: made without a model, from ledger and extracts
    demo: bool = False
    fallback: str = ""
    focus: str = ""
    duration_ms: int = 0
    is_undone: bool = False
    inside: str = ""  # the later rewrite that covers it
    calls: int = 1  # of models, that it took
    prompt: str = ""  # the version of their instructions
    is_edited: bool = False  # the user changed its text
    threshold: float = 0.0
    spent: int = 0  # tokens in and out of all its calls
    cost: float = 0.0  # US dollars
    is_estimated: bool = False  # what it took, as a provider reported nothing
    unpriced: int | None = None  # tokens of it whose price is not known
    refused: str = ""  # what a model before wrote that was not used
    origin: str = ""  # the session that it is of, and its title; empty: this one
    origin_title: str = ""
    quotes: tuple[str, ...] = ()  # words of that session, verbatim
    coverage: str = ""  # how much of what it covers it names, as text
    missing: MissingText = NOTHING_MISSING  # what was added below it because it does not name it
    is_revision: bool = False  # the user changed one that had been made
    replaced_by: str = ""  # the handover that was written in its place
    is_checkpoint: bool = False
    read: int = 0  # tokens, by its calls
    checkpoint: str = ""  # the one that it was made from
    carries: str = ""  # what its undo restores too


class SweepCard(msgspec.Struct, frozen=True):
    """A sweep: how many outputs became markers, and tokens of the window around it.

    `contents` are their digests, with what each is called.

    `steps` counts steps whose arguments became markers too, `image_messages` messages whose images did;
    `inside` is what covers all of them now, `undone_with` the rewrite whose undo undid it too.
    """

    seq: int
    at_ms: int
    outputs: int
    before: int
    after: int
    reason: SweepReason = SweepReason.BATCH
    contents: tuple[tuple[str, str], ...] = ()
    is_undone: bool = False
    steps: int = 0
    image_messages: int = 0
    inside: str = ""
    undone_with: str = ""


class FoldCard(msgspec.Struct, frozen=True):
    """Steps that became a note; it covers `first_seq` to `last_seq`, `inside` is what covers it now.

    `before` and `after` are tokens of the window, `tokens` those of the note, as the inspector lists it.
    `messages` says how many messages and tool calls it covers.
    """

    seq: int
    at_ms: int
    kind: FoldKind
    steps: int
    before: int
    after: int
    tokens: int
    first_seq: int
    last_seq: int
    text: str
    index: str = ""
    index_entries: int = 0
    is_undone: bool = False
    inside: str = ""
    messages: str = ""
    carries: str = ""  # what its undo restores too


class ObservedFact(msgspec.Struct, frozen=True):
    """A dated observation: milliseconds since 1970, 1 (vital) to 3 (minor), and the events it comes from.

    `is_over`: a later one took it out of the context.
    """

    at_ms: int
    priority: int
    text: str
    sources: tuple[int, ...] = ()
    is_over: bool = False


class ObservationsCard(msgspec.Struct, frozen=True):
    """Observations, or a reflection that refines them; `quotes` are the user's words kept with them.

    `placed_seq` is the event that put them in place, 0 while they wait.
    """

    seq: int
    at_ms: int
    is_reflection: bool
    facts: tuple[ObservedFact, ...]
    before: int
    after: int
    messages: str  # and tool calls, in words
    ledger: str = ""
    quotes: tuple[Bullet, ...] = ()
    index: str = ""
    index_entries: int = 0
    model: str = ""
    demo: bool = False
    fallback: str = ""
    duration_ms: int = 0
    calls: int = 1
    prompt: str = ""
    spent: int = 0
    cost: float = 0.0
    is_estimated: bool = False
    unpriced: int | None = None  # tokens of `spent` whose price is not known
    refused: str = ""
    placed_seq: int = 0
    is_undone: bool = False
    inside: str = ""
    coverage: str = ""
    missing: MissingText = NOTHING_MISSING
    carries: str = ""  # what its undo restores too


class PlacedCard(msgspec.Struct, frozen=True):
    """Prepared observations that took the place of `messages`, in words; empty where they are not known.

    `before` and `after` are tokens of the window.
    `threshold` is the share of the context window that had been reached, 0 where that is not known;
    `averted_handover_at` is as of their event, `inside` what covers them now.
    """

    seq: int
    at_ms: int
    messages: str
    before: int
    after: int
    reason: PlacementReason
    is_undone: bool = False
    threshold: float = 0.0
    inside: str = ""
    averted_handover_at: float = 0.0
    carries: str = ""  # what its undo restores too


class ManualActionCard(msgspec.Struct, frozen=True):
    """What the user decided: about one output (`target`), or (0) about the session: its policy, a branch.

    `inside` is what covers that output now. `reversal` is what takes the newest pin of it
    back, or its removal.
    """

    seq: int
    at_ms: int
    kind: Literal["pin", "unpin", "form", "exclude", "policy", "hold", "resume", "branch"]
    text: str
    target: int
    is_undone: bool = False
    inside: str = ""
    reversal: Literal["", "pin", "unpin"] = ""


class FormCard(msgspec.Struct, frozen=True):
    """A large output and the form in which the agent got it: tokens in full (0: unknown) and as it is.

    `note` says why it is not the form that was asked for; `is_changed`: the user chose another one later;
    `inside` is what covers it now; `is_unasked`: no model was asked, as it had been too slow before.
    """

    seq: int
    at_ms: int
    output: str
    form: Form
    chooser: FormChooser
    before: int
    after: int
    digest: str = ""
    instructions: str = ""
    note: str = ""
    cost: str = ""
    is_changed: bool = False
    inside: str = ""
    is_unasked: bool = False

    @property
    def has_failed(self) -> bool:
        """Return True if nobody chose in time or at all, or the extract that was asked for is none."""
        has_reason = self.form == "preview" and bool(self.instructions or self.note)
        return not self.is_unasked and (self.chooser == "timeout" or has_reason)


class FailureCard(msgspec.Struct, frozen=True):
    """What was tried and failed: a handover, observations, a turn, or a request; nothing stored was lost.

    `refused` is what a model wrote that was not used, `retry` what can be tried again. `safe` says what is as
    it was, `fix` what the user can do; of a turn, `is_turn`, the place in the chat can be shown. `is_limit`:
    it ended at a limit of the user, no error. `demo`: the demo model was asked, which has no price.
    """

    seq: int
    at_ms: int
    what: str
    why: str = ""
    spent: int = 0
    cost: float = 0.0
    refused: str = ""
    retry: Retry | None = None
    safe: str = ""
    fix: str = ""
    is_turn: bool = False
    is_limit: bool = False
    is_estimated: bool = False
    unpriced: int | None = None  # tokens of `spent` whose price is not known
    demo: bool = False


class UndoCard(msgspec.Struct, frozen=True):
    """An undo or a redo; `target` is the seq of what it is about, `name` its title."""

    seq: int
    at_ms: int
    kind: Literal["undo", "redo"]
    target: int
    name: str


TimelineCard: TypeAlias = (
    HandoverCard
    | SweepCard
    | FoldCard
    | ObservationsCard
    | PlacedCard
    | ManualActionCard
    | FormCard
    | FailureCard
    | UndoCard
)


class RunningCard(msgspec.Struct, frozen=True):
    """A compaction under way: its phase, what the model has written so far, and what it takes, as text."""

    phase: Phase
    text: str = ""
    what: Attempt = "handover"
    usage_text: str = ""


class PreviewCard(msgspec.Struct, frozen=True):
    """The handover of the whole conversation as it would be now, made without a model and not stored.

    `coverage` and `missing` say what of the `messages` it names and what not, all as text; `markdown` is all
    of it.
    """

    messages: str
    sections: tuple[Section, ...]
    ledger: str = ""
    coverage: str = ""
    missing: MissingText = NOTHING_MISSING
    markdown: str = ""


class Continuation(msgspec.Struct, frozen=True):
    """A session that continues this one, and its title."""

    session_id: str
    title: str


class UsagePoint(msgspec.Struct, frozen=True):
    """Tokens in the context window just after an event, recorded at `at_ms`.

    `window` is the size of the context window then. 0 for either: not known. `is_estimated`: the provider had
    not reported it. A rewrite made of the next request's tokens `before` those `after`.
    """

    seq: int
    used: int
    kind: PointKind = "turn"
    window: int = 0
    at_ms: int = 0
    is_estimated: bool = False
    before: int = 0
    after: int = 0


_UNKNOWN = CompactionTrigger(HandoverTrigger.THRESHOLD, 1, 0.85)


class TimelineState(msgspec.Struct, frozen=True):
    """All of it: cards newest first, points oldest first, tokens of the window.

    `is_estimated`: the provider has not reported `used`.
    `is_managed` is False while the policy is off: nothing is compacted by itself. `saved` are the tokens that
    the context would have in addition without any rewrite, counted as `used`; `preview` is None without
    messages.
    `fallbacks` are those of all sessions of the workspace, `steps` what the scrubber can look at.
    """

    cards: tuple[TimelineCard, ...] = ()
    points: tuple[UsagePoint, ...] = ()
    used: int = 0
    window: int = 0
    trigger: CompactionTrigger = _UNKNOWN
    running: RunningCard | None = None
    is_managed: bool = True
    saved: int = 0
    preview: PreviewCard | None = None
    continuations: tuple[Continuation, ...] = ()
    fallbacks: FallbackRate = NO_SUMMARIES
    steps: tuple[Step, ...] = ()
    is_estimated: bool = False


def card_groups(card: TimelineCard) -> tuple[Group, ...]:
    """Return where the filter shows a card; of what failed, with all others alone."""
    match card:
        case HandoverCard(is_checkpoint=True):
            return ("handovers",)
        case HandoverCard():
            return ("handovers", "compacted")
        case ObservationsCard() | PlacedCard() | FoldCard():
            return ("compacted",)
        case SweepCard() | FormCard():
            return ("cached",)
        case ManualActionCard() | UndoCard():
            return ("yours",)
        case FailureCard():
            return ()
