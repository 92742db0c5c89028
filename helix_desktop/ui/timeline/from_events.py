"""A session's log as the timeline's cards: a pure reduction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from msgspec.structs import replace

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import ended_observations
from helix_desktop.context.policy import policy_from_event
from helix_desktop.context.summaries.handover import handover_counts
from helix_desktop.context.window.usage_gauge import output_tokens
from helix_desktop.context.window.window import first_handover_tokens
from helix_desktop.context.window.window_breakdown import covers_around, summary_name
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
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
    BranchKind,
    EffortRefused,
    HoldSet,
    PolicyChosen,
    SessionBranched,
    WindowLearned,
)
from helix_desktop.domain.events.summary import (
    Bullet,
    HandoverDiscarded,
    HandoverFailed,
    HandoverMade,
    HandoverPrepared,
    ObservationsFailed,
    ObservationsMade,
    ObservationsPlaced,
)
from helix_desktop.domain.files.file_use import call_target
from helix_desktop.domain.text_format import ellipsize, one_line
from helix_desktop.ui.timeline.card_data import (
    Attempt,
    FailureCard,
    FoldCard,
    FormCard,
    HandoverCard,
    ManualActionCard,
    ObservationsCard,
    PlacedCard,
    Retry,
    SweepCard,
    TimelineCard,
    UndoCard,
    UsagePoint,
    card_title,
)
from helix_desktop.words.answer_ends import window_learned_text
from helix_desktop.words.call_targets import call_title, given_text
from helix_desktop.words.costs import cost_text
from helix_desktop.words.efforts import effort_refused_text
from helix_desktop.words.handover_titles import handover_titles
from helix_desktop.words.message_states import hold_text
from helix_desktop.words.models import slow_model_text
from helix_desktop.words.policies import session_policy_text
from helix_desktop.words.rewrites import chosen_form_text, context_change_text, excluded_text, pin_text
from helix_desktop.words.summary_coverage import missing_rules_text
from helix_desktop.words.translation import Translator, translate

tr = Translator("Timeline")

_NAME_CHARS = 60  # of an output's name


def _output_name(output: ToolAnswered) -> str:
    return one_line(call_title(output.name, output.target))


def form_card(recorded: RecordedEvent, transcript: Transcript, is_demo: bool) -> FormCard | None:
    """Return the card of an output whose form was chosen; None for one that simply is whole.

    `is_demo`: the demo model was asked for it, which has no price.
    """
    event = recorded.event
    if not isinstance(event, ToolAnswered) or event.recalled or event.outcome != "ran":
        return None
    if event.form == "full" and event.chosen == "rule" and not event.full_tokens:
        return None
    full = event.full_tokens or (event.tokens if event.form == "full" else 0)
    is_part = event.form == "full" and not event.whole
    return FormCard(
        recorded.seq,
        recorded.at,
        ellipsize(_output_name(event), _NAME_CHARS),
        "preview" if is_part else event.form,
        event.chosen,
        output_tokens(full) if full else 0,
        output_tokens(event.tokens),
        event.digest,
        event.asked,
        translate(event.intake_note) or slow_model_text(event.intake_slow_model),
        cost_text(
            event.intake_tokens, event.intake_cost, is_demo, event.intake_estimated, event.intake_unpriced
        ),
        recorded.seq in transcript.rewrites.chosen_forms,
        is_unasked=bool(event.intake_slow_model),
    )


def build_cards(
    log: Sequence[RecordedEvent],
    transcript: Transcript,
    sent: Mapping[int, int] = MappingProxyType({}),
    points: Sequence[UsagePoint] = (),
) -> tuple[TimelineCard, ...]:
    """Return the cards of a log, newest first.

    `sent` are the tokens of the handover in the next request, by its event, as the inspector lists them;
    `points` say what each rewrite made of the window.
    """
    return _CardReducer(transcript, sent, points).read(log)


def _session_choice(recorded: RecordedEvent) -> ManualActionCard | None:
    seq, at = recorded.seq, recorded.at
    match recorded.event:
        case PolicyChosen(policy=fields):
            return ManualActionCard(seq, at, "policy", session_policy_text(policy_from_event(fields)), 0)
        case HoldSet(on=on):
            return ManualActionCard(seq, at, "hold" if on else "resume", hold_text(on), 0)
        case SessionBranched(how=how):
            return ManualActionCard(seq, at, "branch", _branch_text(how), 0)
    return None


def _branch_text(how: BranchKind) -> str:
    match how:
        case "edit":
            return tr("Version begins here: message edited")
        case "retry":
            return tr("Version begins here: answer retried")
        case "rewind":
            return tr("Branch begins here: rewound")
    return tr("Branch begins here")


class _CardReducer:
    """Reads a log once; knows what is undone and what stands inside something later."""

    def __init__(self, transcript: Transcript, sent: Mapping[int, int], points: Sequence[UsagePoint]) -> None:
        self._transcript, self._sent = transcript, sent
        self._sizes = {point.seq: (point.before, point.after) for point in points if point.before}
        self._cards: dict[int, TimelineCard] = {}
        self._handover_titles = handover_titles(transcript)
        self._is_demo = False  # the model that answered last is the demo's
        self._newest_attempt: dict[Attempt, int] = {}  # tries, made or not
        self._pins: dict[int, int] = {}  # the newest pin of an output, or its removal, by the output's event
        self._ended = ended_observations(transcript.rewrites.placed_observations.values())

    def read(self, log: Sequence[RecordedEvent]) -> tuple[TimelineCard, ...]:
        """Return all cards, newest first."""
        self._find_newest_attempts(log)
        for recorded in log:
            if isinstance(recorded.event, AssistantSpoke):
                self._is_demo = recorded.event.demo
            elif (card := self._card(recorded)) is not None:
                retaken = self._transcript.retaken.get(recorded.seq, 0)
                if retaken and isinstance(card, HandoverCard | SweepCard | FoldCard | PlacedCard):
                    card = replace(card, retaken=retaken)
                self._cards[recorded.seq] = card
        for seq in self._transcript.rewrites.handovers:
            card = self._cards.get(seq)  # the transcript may be newer than the log
            name = self._cards.get(self._transcript.rewrites.replaced_by(seq))
            if isinstance(card, HandoverCard) and name is not None:
                self._cards[seq] = replace(card, replaced_by=card_title(name))
        for target, seq in self._pins.items():
            card = self._cards[seq]
            if isinstance(card, ManualActionCard):
                is_pinned = target in self._transcript.rewrites.pinned
                self._cards[seq] = replace(card, reversal="unpin" if is_pinned else "pin")
        for inner, outer in (*covers_around(self._transcript).items(), *self._covers_of_outputs()):
            name = self._cards.get(outer)
            if name is not None:
                self._show_inside(inner, card_title(name))
        for seq in self._transcript.rewrites.sweeps:
            self._show_carried(seq)
        placed = {card.facts.seq for card in self._cards.values() if isinstance(card, PlacedCard)}
        return tuple(card for seq, card in reversed(self._cards.items()) if seq not in placed)

    def _covers_of_outputs(self) -> Iterator[tuple[int, int]]:
        """Yield the large outputs that a rewrite stands for, with its seq; a pinned one stands beside it."""
        for seq in self._cards.keys() - self._transcript.rewrites.pinned:
            cover = self._transcript.window.cover_of(seq)
            if isinstance(self._cards[seq], FormCard) and cover is not None:
                yield seq, cover.seq

    def _find_newest_attempts(self, log: Sequence[RecordedEvent]) -> None:
        for recorded in log:
            if isinstance(recorded.event, HandoverMade | HandoverFailed):
                self._newest_attempt["handover"] = recorded.seq
            elif isinstance(recorded.event, ObservationsMade | ObservationsFailed):
                self._newest_attempt["observations"] = recorded.seq

    def _card(self, recorded: RecordedEvent) -> TimelineCard | None:
        return (
            self._covering_card(recorded)
            or self._small_card(recorded)
            or self._manual_action(recorded)
            or _session_choice(recorded)
            or self._failure(recorded)
            or form_card(recorded, self._transcript, self._is_demo)
        )

    def _show_inside(self, seq: int, title: str) -> None:
        card = self._cards.get(seq)
        match card:
            case HandoverCard() | FoldCard() | ObservationsCard() | PlacedCard():
                self._cards[seq] = replace(card, inside=title)
            case SweepCard() | ManualActionCard() | FormCard():
                self._cards[seq] = replace(card, inside=title)

    def _show_carried(self, seq: int) -> None:
        """Say of a sweep that was recorded with another rewrite on the card of that one."""
        carried = self._cards.get(seq)
        if carried is None or self._transcript.rewrites.attached_to(seq - 1) != seq:
            return
        card = self._cards.get(seq - 1)
        if isinstance(card, HandoverCard | FoldCard | PlacedCard):
            self._cards[seq - 1] = replace(card, carries=card_title(carried))

    def _covering_card(self, recorded: RecordedEvent) -> TimelineCard | None:
        """Return the card of what stands for other messages."""
        event = recorded.event
        match event:
            case HandoverMade():
                card = _handover(recorded, event, self._handover_titles, self._transcript)
                if event.origin:
                    return replace(card, after=self._first_tokens(recorded.seq, event))
                before, after = self._size(recorded.seq) or (card.before, card.after)
                return replace(card, before=before, after=after)
            case HandoverDiscarded(prepared=HandoverPrepared() as prepared):
                return self._checkpoint(recorded, prepared)
            case FoldMade():
                return FoldCard(
                    recorded.seq,
                    recorded.at,
                    event,
                    translate(summary_name(self._transcript.messages.counts(event.after, event.upto))),
                    *(self._size(recorded.seq) or (0, 0)),
                    self._undone(recorded.seq),
                )
            case ObservationsMade():
                return self._observations(recorded, event)
        return None

    def _checkpoint(self, recorded: RecordedEvent, prepared: HandoverPrepared) -> HandoverCard:
        handover = prepared.handover
        card = _handover(recorded, handover, self._handover_titles, self._transcript)
        return replace(card, is_checkpoint=True, read=prepared.read, after=handover.tokens)

    def _small_card(self, recorded: RecordedEvent) -> TimelineCard | None:
        seq, at = recorded.seq, recorded.at
        match recorded.event:
            case ObservationsPlaced(made=made) as placed:
                facts, (before, after) = self._cards.get(made), self._size(seq) or (0, 0)
                if not isinstance(facts, ObservationsCard):
                    return None
                return PlacedCard(
                    *(seq, at, facts, before, after, placed.reason, self._undone(seq), placed.threshold),
                    averted_handover_at=placed.averted_handover_at,
                )
            case SweepMade() as sweep:
                return self._sweep(recorded, sweep)
            case Undone(target=target) if target in self._cards:
                return UndoCard(seq, at, "undo", target, card_title(self._cards[target]))
            case Redone(target=target) if target in self._cards:
                return UndoCard(seq, at, "redo", target, card_title(self._cards[target]))
        return None

    def _failure(self, recorded: RecordedEvent) -> FailureCard | None:
        seq, at, retry = recorded.seq, recorded.at, self._retry_of(recorded)
        match recorded.event:
            case HandoverFailed(is_refusal=True):
                return None
            case HandoverFailed() | ObservationsFailed() as tried:
                safe = tr("The context is as it was, with every message.")
                return FailureCard(
                    *(seq, at, tried.what, tried.why, tried.spent, tried.cost, tried.refused, retry, safe),
                    demo=self._is_demo,
                    is_estimated=tried.estimated,
                    unpriced=tried.unpriced,
                )
            case TurnEnded(how="failed") as ended:
                is_limit = ended.cause == "budget"
                fix = tr("Raise the budget to continue.") if is_limit else ended.fix
                safe = tr("Every message and output until then is saved.")
                texts = (ended.what, ended.why)
                return FailureCard(
                    seq, at, *texts, retry=retry, safe=safe, fix=fix, is_turn=True, is_limit=is_limit
                )
            case EffortRefused() as effort:
                fix = tr("Choose another effort in the model menu, or leave it to the provider.")
                return FailureCard(seq, at, effort_refused_text(effort), effort.reason, fix=fix)
            case WindowLearned(reason=reason) as learned:
                fix = tr("To use another size, reset or enter it in Settings → Providers.")
                return FailureCard(seq, at, window_learned_text(learned), reason, fix=fix)
        return None

    def _manual_action(self, recorded: RecordedEvent) -> ManualActionCard | None:
        seq, at = recorded.seq, recorded.at
        match recorded.event:
            case FormChosen(target=target) as choice:
                text = chosen_form_text(choice, self._transcript)
                return ManualActionCard(seq, at, "form", text, target, self._undone(seq))
            case Excluded(targets=targets) as excluded:
                text, sizes = excluded_text(excluded, self._transcript), self._size(seq)
                if sizes:
                    text = f"{text} · {context_change_text(*sizes)}"
                return ManualActionCard(seq, at, "exclude", text, targets[0], self._undone(seq))
            case Pinned(target=target) | Unpinned(target=target) as pin:
                kind: Literal["pin", "unpin"] = "pin" if isinstance(pin, Pinned) else "unpin"
                self._pins[target] = seq
                return ManualActionCard(seq, at, kind, pin_text(pin, self._transcript), target)
        return None

    def _undone(self, seq: int) -> bool:
        return not self._transcript.rewrites.is_active(seq)

    def _size(self, seq: int) -> tuple[int, int] | None:
        """Return what a rewrite made of the next request, in tokens; None: not known."""
        return self._sizes.get(seq)

    def _first_tokens(self, seq: int, handover: HandoverMade) -> int:
        """Return the tokens of the handover that a session starts from, as the inspector lists it."""
        return self._sent.get(seq) or first_handover_tokens(handover)

    def _retry_of(self, recorded: RecordedEvent) -> Retry | None:
        """Return what can be tried again: the newest try, if its summary was not used; the newest turn."""
        match recorded.event:
            case TurnEnded():
                event = self._transcript.retry_event()
                return "turn" if event is not None and event.of == recorded.seq else None
            case HandoverFailed(problem=problem):
                newest = recorded.seq == self._newest_attempt.get("handover")
                return "handover" if problem is not None and newest else None
            case ObservationsFailed(problem=problem):
                newest = recorded.seq == self._newest_attempt.get("observations")
                return "observations" if problem is not None and newest else None
        return None

    def _sweep(self, recorded: RecordedEvent, sweep: SweepMade) -> SweepCard:
        events = [
            item.event for seq in sweep.masked if (item := self._transcript.messages.item(seq)) is not None
        ]
        outputs = [(event.digest, _output_name(event)) for event in events if isinstance(event, ToolAnswered)]
        replies = [event for event in events if isinstance(event, AssistantSpoke)]
        arguments = [
            (digest, ellipsize(one_line(given_text(call.name, call_target(call.arguments))), _NAME_CHARS))
            for event in replies
            for call in event.calls
            for short in event.short
            if short.call_id == call.id
            for digest in short.digests
        ]
        messages = [event for event in events if isinstance(event, UserSpoke)]
        images = [
            (attachment.digest, attachment.label)
            for event in messages
            for attachment in event.attachments
            if attachment.image
        ]
        return SweepCard(
            recorded.seq,
            recorded.at,
            len(outputs),
            *(self._size(recorded.seq) or (0, 0)),
            sweep.reason,
            (*outputs, *arguments, *images),
            self._undone(recorded.seq),
            sum(len(reply.short) for reply in replies),
            len(messages),
            undone_with=self._undone_with(recorded.seq),
            averted_handover_at=sweep.averted_handover_at,
        )

    def _undone_with(self, seq: int) -> str:
        """Return the title of what a sweep was recorded with, if the undo of that undid the sweep too."""
        if not self._undone(seq) or seq in self._transcript.rewrites.undone:
            return ""
        card = self._cards.get(seq - 1)
        return card_title(card) if card is not None else ""

    def _observations(self, recorded: RecordedEvent, event: ObservationsMade) -> ObservationsCard:
        counts = self._transcript.messages.counts(event.after, event.upto)
        quoted = [item for seq in event.quoted if (item := self._transcript.messages.item(seq)) is not None]
        return ObservationsCard(
            recorded.seq,
            recorded.at,
            event,
            translate(summary_name(counts)),
            translate(counts.text),
            tuple(observation for observation in event.observations if observation in self._ended),
            tuple(
                Bullet(quote.event.text, (quote.seq,))
                for quote in quoted
                if isinstance(quote.event, UserSpoke)
            ),
            missing=missing_rules_text(event.coverage),
        )


def _handover(
    recorded: RecordedEvent, event: HandoverMade, titles: Mapping[int, str], transcript: Transcript
) -> HandoverCard:
    return HandoverCard(
        recorded.seq,
        recorded.at,
        event,
        titles[recorded.seq],
        event.before,
        event.after,
        translate(handover_counts(transcript, event).text),
        is_undone=transcript.can_redo(recorded.seq),
        missing=missing_rules_text(event.coverage),
        read=event.read,
        checkpoint=titles.get(event.checkpoint, ""),
    )
