"""What the timeline shows, made by from_events, and what it is called; no Qt."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Sequence
from typing import Literal, TypeAlias, get_args

import msgspec

from helix_desktop.context.log.steps import Step
from helix_desktop.context.summaries.summary_task import NO_SUMMARIES, FallbackRate
from helix_desktop.domain.events.rewrite import (
    ATTACHED_SWEEP_REASONS,
    FoldMade,
    Form,
    PlacementReason,
    SweepReason,
)
from helix_desktop.domain.events.summary import Bullet, HandoverMade, Observation, ObservationsMade
from helix_desktop.words.direction import dotted
from helix_desktop.words.message_states import STATE_WORDS
from helix_desktop.words.rewrites import masked_contents_text
from helix_desktop.words.summary_coverage import NOTHING_MISSING, MissingText
from helix_desktop.words.translation import Translator, translate

Phase: TypeAlias = Literal["read", "summarize", "check", "write"]
PHASES: tuple[Phase, ...] = get_args(Phase)
PointKind: TypeAlias = Literal[
    "turn", "sweep", "fold", "observations", "handover", "form", "exclude", "undo", "redo", "failure"
]
Group: TypeAlias = Literal["summaries", "cached", "yours"]
"""What the filter shows alone: `summaries` with those that were not sent, `cached` with large outputs of
which the agent got a part, `yours` what the user chose, undid or redid."""
GROUPS: tuple[Group, ...] = get_args(Group)
Attempt: TypeAlias = Literal["handover", "observations"]
Retry: TypeAlias = Literal["handover", "observations", "turn"]
FormChooser: TypeAlias = Literal["rule", "agent", "timeout", "user"]


class HandoverCard(msgspec.Struct, frozen=True):
    """A handover; `before` and `after` are tokens of the window, as the next request shows them.

    One that `is_checkpoint` changed no request: `after` is what it would take.
    `messages` says how many messages and tool calls it covers.
    """

    seq: int
    at_ms: int
    event: HandoverMade
    title: str
    before: int
    after: int
    messages: str
    is_undone: bool = False
    inside: str = ""  # the later rewrite that covers it
    missing: MissingText = NOTHING_MISSING  # what was added below it because it does not name it
    replaced_by: str = ""  # the handover that was written in its place
    is_checkpoint: bool = False
    read: int = 0  # tokens, by its calls
    checkpoint: str = ""  # the one that it was made from
    carries: str = ""  # what its undo restores too
    parts: tuple[ChangePart, ...] = ()  # what else became of the context before the same request
    undo_with: tuple[int, ...] = ()  # of these, what is undone or redone with it
    retaken: int = 0  # outputs that the user had brought back


class SweepCard(msgspec.Struct, frozen=True):
    """A sweep: how many outputs became markers, and tokens of the window around it.

    `contents` are their digests, with what each is called.

    `calls` counts tool calls whose arguments became markers too, `image_messages` messages whose images did;
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
    calls: int = 0
    image_messages: int = 0
    inside: str = ""
    undone_with: str = ""
    retaken: int = 0  # outputs that the user had brought back
    averted_handover_at: float = 0.0  # as of its event


class FoldCard(msgspec.Struct, frozen=True):
    """Steps that became a note; `before` and `after` are tokens of the window, `inside` covers it now."""

    seq: int
    at_ms: int
    event: FoldMade
    title: str
    before: int
    after: int
    is_undone: bool = False
    inside: str = ""
    carries: str = ""  # what its undo restores too
    retaken: int = 0  # outputs that the user had brought back


class ObservationsCard(msgspec.Struct, frozen=True):
    """Observations, or a reflection that refines them; `quotes` are the user's words kept with them.

    Of the `over` ones a later one took them out of the context. `title` is theirs once they are in place.
    """

    seq: int
    at_ms: int
    event: ObservationsMade
    title: str
    messages: str  # and tool calls, in words
    over: tuple[Observation, ...] = ()
    quotes: tuple[Bullet, ...] = ()
    inside: str = ""
    missing: MissingText = NOTHING_MISSING


class PlacedCard(msgspec.Struct, frozen=True):
    """Prepared observations, the `facts`, that took the place of messages.

    `before` and `after` are tokens of the window.
    `threshold` is the share of the context window that had been reached, 0 where that is not known;
    `averted_handover_at` is as of their event, `inside` what covers them now.
    """

    seq: int
    at_ms: int
    facts: ObservationsCard
    before: int
    after: int
    reason: PlacementReason
    is_undone: bool = False
    threshold: float = 0.0
    inside: str = ""
    averted_handover_at: float = 0.0
    carries: str = ""  # what its undo restores too
    retaken: int = 0  # outputs that the user had brought back


ChangePart: TypeAlias = SweepCard | FoldCard | PlacedCard


class ChangeCard(msgspec.Struct, frozen=True):
    """All rewrites before one request: one row with one Undo; opened, it has its `parts` below, newest first.

    `seq` is the oldest of them; `undo` and `redo` are those that can be undone, and redone.
    """

    seq: int
    at_ms: int
    parts: tuple[ChangePart, ...]
    before: int
    after: int
    undo: tuple[int, ...] = ()
    redo: tuple[int, ...] = ()

    @property
    def is_undone(self) -> bool:
        return bool(self.redo) and not self.undo

    @property
    def inside(self) -> str:
        return self.parts[0].inside if all(part.inside for part in self.parts) else ""


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
    | ChangeCard
)


class RunningCard(msgspec.Struct, frozen=True):
    """A compaction under way: its phase, what the model has written so far, and what it takes, as text."""

    phase: Phase
    text: str = ""
    what: Attempt = "handover"
    usage_text: str = ""


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


class TimelineState(msgspec.Struct, frozen=True):
    """All of it: cards newest first, points oldest first, tokens of the window.

    `is_estimated`: the provider has not reported `used`.
    `is_managed` is False while the policy is off: nothing is compacted by itself.
    `fallbacks` are those of all sessions of the workspace, `steps` what the scrubber can look at.
    """

    cards: tuple[TimelineCard, ...] = ()
    points: tuple[UsagePoint, ...] = ()
    used: int = 0
    window: int = 0
    threshold: float = 0.85  # of the window, from which on it is compacted
    running: RunningCard | None = None
    is_managed: bool = True
    continuations: tuple[Continuation, ...] = ()
    fallbacks: FallbackRate = NO_SUMMARIES
    steps: tuple[Step, ...] = ()
    is_estimated: bool = False


def card_groups(card: TimelineCard) -> tuple[Group, ...]:
    """Return where the filter shows a card; of what failed, with all others alone."""
    match card:
        case HandoverCard() | ObservationsCard() | PlacedCard() | FoldCard():
            return ("summaries",)
        case ChangeCard(parts=parts):
            return tuple(dict.fromkeys(group for part in parts for group in card_groups(part)))
        case SweepCard() | FormCard():
            return ("cached",)
        case ManualActionCard() | UndoCard():
            return ("yours",)
        case FailureCard():
            return ()


tr = Translator("Timeline")


def card_title(card: TimelineCard) -> str:
    match card:
        case HandoverCard():
            title = card.title
        case FoldCard():
            title = card.title
        case ObservationsCard():
            title = tr("Next summary")
        case PlacedCard():
            title = card.facts.title
        case SweepCard():
            title = masked_contents_text(card.outputs, card.calls, card.image_messages)
        case ChangeCard():
            title = _change_title(card.parts)
        case UndoCard():
            title = _undo_title(card)
        case ManualActionCard():
            title = card.text
        case FormCard():
            title = _form_title(card)
        case _:
            title = translate(card.what)
    return title


def _change_title(parts: Sequence[ChangePart]) -> str:
    """Return what became of older messages, and of outputs, in a few words each."""
    summaries = [card_title(part) for part in parts if isinstance(part, FoldCard | PlacedCard)]
    sweeps = [part for part in parts if isinstance(part, SweepCard)]
    counts = zip(*((sweep.outputs, sweep.calls, sweep.image_messages) for sweep in sweeps), strict=True)
    return dotted(
        (
            *reversed(summaries),
            masked_contents_text(*map(sum, counts)) if sweeps else "",
        )
    )


def undo_seqs(card: TimelineCard) -> tuple[int, ...]:
    """Return all rewrites that a row's one Undo, or Redo, is about."""
    match card:
        case ChangeCard():
            return card.undo or card.redo
        case HandoverCard():
            return card.seq, *card.undo_with
    return (card.seq,)


def merge_changes(cards: Sequence[TimelineCard], steps: Sequence[Step]) -> list[TimelineCard]:
    """Return cards, newest first, with all rewrites before one request as one, and its undo as one.

    Those beside a handover are parts of its card.
    """
    groups = _groups(cards, [step.seq for step in steps])
    merged: list[TimelineCard] = []
    newest_undo = None
    for card in cards:
        group = groups.get(card.target if isinstance(card, UndoCard) else card.seq)
        if isinstance(card, UndoCard):
            if group is None or (card.kind, group) != newest_undo:
                name = card.name if group is None else card_title(group)
                merged.append(msgspec.structs.replace(card, name=name))
            newest_undo = (card.kind, group)
        elif group is None:
            merged.append(card)
        elif card.seq == (group.parts[0].seq if isinstance(group, ChangeCard) else group.seq):
            merged.append(group)
    return merged


def _groups(cards: Sequence[TimelineCard], answers: Sequence[int]) -> dict[int, ChangeCard | HandoverCard]:
    """Return the cards that stand for several, by the events of their parts, and their own."""
    requests: dict[int, list[ChangePart]] = {}
    handovers: dict[int, HandoverCard] = {}  # the oldest of a request
    for card in cards:
        request = bisect_left(answers, card.seq)
        match card:
            case SweepCard() | FoldCard() | PlacedCard() if request:
                requests.setdefault(request, []).append(card)
            case HandoverCard(is_checkpoint=False, event=HandoverMade(origin="", revises=0)) if request:
                handovers[request] = card
    groups: dict[int, ChangeCard | HandoverCard] = {}
    for request, parts in requests.items():
        group = _group(handovers.get(request), parts)
        if group is not None:
            groups |= dict.fromkeys((group.seq, *(part.seq for part in parts)), group)
    return groups


def _group(handover: HandoverCard | None, parts: Sequence[ChangePart]) -> ChangeCard | HandoverCard | None:
    own = {part.seq for part in parts} | ({handover.seq} if handover is not None else set())
    rewrites = [part for part in parts if not _is_attached(part, own)]
    active = tuple(part.seq for part in rewrites if not (part.is_undone or part.inside))
    undone = tuple(part.seq for part in rewrites if part.is_undone)
    if handover is not None:
        undo_with = undone if handover.is_undone else active
        return msgspec.structs.replace(handover, parts=tuple(parts), undo_with=undo_with)
    if len(parts) == 1:
        return None
    sized = [part for part in parts if part.before]
    before, after = (sized[-1].before, sized[0].after) if sized else (0, 0)
    oldest = min(rewrites, key=lambda part: part.seq)
    return ChangeCard(oldest.seq, parts[0].at_ms, tuple(parts), before, after, active, undone)


def _is_attached(part: ChangePart, seqs: Container[int]) -> bool:
    """Return True of a sweep that holds and falls with the rewrite before it."""
    return isinstance(part, SweepCard) and part.reason in ATTACHED_SWEEP_REASONS and part.seq - 1 in seqs


def _undo_title(card: UndoCard) -> str:
    if card.kind == "undo":
        return tr("Undone: {title}", title=card.name)
    return tr("Redone: {title}", title=card.name)


def _form_title(card: FormCard) -> str:
    match card.form:
        case "full":
            return tr("Large output sent whole: {output}", output=card.output)
        case "preview" | "compact":
            return tr("Large output shortened: {output}", output=card.output)


def send_form_text(form: Form) -> str:
    match form:
        case "full":
            return tr("Send full output")
        case "preview":
            return tr("Send preview")
        case "compact":
            return tr("Send extract…")


def chooser_text(card: FormCard) -> str:
    """Return who chose the form of a large output, and why it is not another one."""
    if card.has_failed and card.instructions:
        return tr("Preview instead of the requested extract")
    if card.has_failed and card.chooser == "rule":
        return tr("No choice was made")
    match card.chooser:
        case "rule":
            return tr("By the policy: over the size limit")
        case "agent":
            return tr("Chosen by the agent")
        case "timeout":
            return tr("The agent didn't choose a part in time")
        case "user":
            return tr("Chosen by you")


def running_text(what: Attempt) -> str:
    if what == "handover":
        return tr("Writing a summary")
    return tr("Writing the next summary")


def phase_text(phase: Phase) -> str:
    match phase:
        case "read":
            return tr("Read", "phase of a compaction: the history is read")
        case "summarize":
            return tr("Write")
        case "check":
            return tr("Check")
        case "write":
            return tr("Save", "phase of a compaction: the handover is recorded")


def card_group_text(group: Group | None) -> str:
    """Return what the filter calls a kind of cards; None: all."""
    texts: dict[Group | None, str] = {
        None: tr("All"),
        "summaries": tr("Summaries"),
        "cached": translate(STATE_WORDS["cached"].label),
        "yours": tr("By you"),
    }
    return texts[group]


def explain_group(group: Group | None) -> str:
    """Return what the cards of a kind are about; empty where the name says it."""
    texts: dict[Group | None, str] = {
        "summaries": tr("What replaced older messages, or is to replace them."),
        "cached": tr("What tools returned or were called with, and large outputs that were shortened."),
        "yours": tr("What you pinned, left out, undid, or sent to the agent in another form."),
    }
    return texts.get(group, "")


def point_kind_text(kind: PointKind) -> str:
    """Return what a point of the chart follows; empty for a step of the conversation."""
    texts: dict[PointKind, str] = {
        "sweep": tr("after outputs were cached"),
        **dict.fromkeys(("fold", "observations", "handover"), tr("after older messages were compacted")),
        "form": tr("after you sent an output in another form"),
        "exclude": tr("after you left something out"),
        "undo": tr("after an undo"),
        "redo": tr("after a redo"),
        "failure": tr("after a failed attempt"),
    }
    return texts.get(kind, "")
