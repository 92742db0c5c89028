"""A session's log as the timeline's cards: a pure reduction."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from msgspec.structs import replace

from helix_desktop.context.log.steps import Step
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.undo_targets import covers_around
from helix_desktop.context.log.window_layout import ended_observations
from helix_desktop.context.policy_numbers import policy_from_event
from helix_desktop.context.summaries.handover import handover_counts
from helix_desktop.context.summaries.observation import pending_observations
from helix_desktop.context.window.window import first_handover_tokens
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import (
    ATTACHED_SWEEP_REASONS,
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
    SessionRenamed,
    WindowLearned,
)
from helix_desktop.domain.events.summary import (
    Bullet,
    FailedPreparation,
    HandoverDiscarded,
    HandoverFailed,
    HandoverMade,
    HandoverPrepared,
    ObservationsFailed,
    ObservationsMade,
    ObservationsPlaced,
)
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.domain.typed_text import typed_text
from helix_desktop.ui.timeline.cards import (
    ActionKind,
    Attempt,
    BackgroundCard,
    Contents,
    FailureCard,
    FormCard,
    ManualActionCard,
    Retry,
    Rewrite,
    SweepCard,
    TimelineCard,
    UndoCard,
    request_text,
)
from helix_desktop.ui.timeline.summary_cards import (
    ChangeCard,
    ChangePart,
    CompactedCallsCard,
    CompactedMessagesCard,
    HandoverCard,
    ObservationsCard,
)
from helix_desktop.ui.timeline.usage_points import UsagePoint
from helix_desktop.words.call_targets import output_title
from helix_desktop.words.context_changes import (
    chosen_form_text,
    context_change_text,
    count_contents,
    excluded_text,
    given_names,
    is_by_user,
    pin_text,
    undo_of_one_text,
)
from helix_desktop.words.costs import cost_text
from helix_desktop.words.lines import dotted
from helix_desktop.words.policies import session_policy_text
from helix_desktop.words.state_words import hold_text
from helix_desktop.words.summaries import (
    as_of_text,
    checkpoint_state,
    handover_titles,
    missing_rules_text,
    summary_title,
    unsent_state,
    unsent_title,
)
from helix_desktop.words.translation import Translator, translate

text = TextContext("Timeline")
tr = Translator("Timeline")

R = TypeVar("R", bound=Rewrite)
_NAME_CHARS = 60  # of an output's name
_BRANCH = text("Branch begins here")
_BRANCHES: dict[BranchKind, TranslatableText] = {
    "edit": text("Version begins here: message edited"),
    "retry": text("Version begins here: answer retried"),
    "rewind": text("Branch begins here: rewound"),
}


def build_cards(
    log: Sequence[RecordedEvent],
    transcript: Transcript,
    sent: Mapping[int, int] = MappingProxyType({}),
    points: Sequence[UsagePoint] = (),
    *,
    is_managed: bool = True,
) -> tuple[TimelineCard, ...]:
    """Return the cards of a log, newest first.

    `sent` are the tokens of the handover in the next request, by its event, as the panel lists them;
    `points` say what each rewrite made of the window, `is_managed` whether its policy compacts it.
    """
    return _CardReducer(transcript, sent, points, is_managed).read(log)


class _CardReducer:
    """Reads a log once; knows what is undone and what stands inside something later."""

    def __init__(
        self,
        transcript: Transcript,
        sent: Mapping[int, int],
        points: Sequence[UsagePoint],
        is_managed: bool,
    ) -> None:
        self._transcript = transcript
        self._sent = sent
        self._is_managed = is_managed
        self._sizes = {point.seq: (point.before, point.after) for point in points if point.before}
        self._cards: dict[int, TimelineCard] = {}
        self._handover_titles = handover_titles(transcript)
        self._updates = {
            made.revises or made.checkpoint: seq for seq, made in transcript.written_handovers.items()
        }
        self._pending_observations = pending_observations(transcript)
        self._is_demo = False  # the model that answered last is the demo's
        self._newest_attempt: dict[Attempt, int] = {}  # tries, made or not
        self._newest_undo: dict[int, int] = {}  # the newest undo or redo of a change, by its event
        self._chosen_forms: dict[int, int] = {}  # the newest form that the user chose, by the output's event
        self._pins: dict[int, int] = {}  # the newest pin of an output, or its removal, by the output's event
        self._ended = ended_observations(transcript.rewrites.placed_observations.values())

    def read(self, log: Sequence[RecordedEvent]) -> tuple[TimelineCard, ...]:
        for recorded in log:
            match recorded.event:
                case HandoverMade() | HandoverFailed():
                    self._newest_attempt["handover"] = recorded.seq
                case ObservationsMade() | ObservationsFailed():
                    self._newest_attempt["observations"] = recorded.seq
                case Undone(target=target) | Redone(target=target):
                    self._newest_undo[target] = recorded.seq
        for recorded in log:
            if isinstance(recorded.event, AssistantSpoke):
                self._is_demo = recorded.event.demo
            elif (card := self._card(recorded)) is not None:
                retaken = self._transcript.retaken.get(recorded.seq, 0)
                if retaken and isinstance(card, Rewrite):
                    card = replace(card, retaken=retaken)
                self._cards[recorded.seq] = card
        for seq in self._transcript.rewrites.handovers:
            card = self._cards.get(seq)  # the transcript may be newer than the log
            name = self._cards.get(self._transcript.rewrites.replaced_by(seq))
            if isinstance(card, HandoverCard) and name is not None:
                self._cards[seq] = replace(card, replaced_by=name.title)
        swept = self._transcript.rewrites.swept
        for seq, card in self._cards.items():
            if isinstance(card, SweepCard) and not card.is_undone:
                restored = self._count(each for each in card.event.swept if each not in swept)
                self._cards[seq] = replace(card, restored=restored)
        for target, seq in self._pins.items():
            card = self._cards[seq]
            if isinstance(card, ManualActionCard):
                is_pinned = target in self._transcript.rewrites.pinned
                self._cards[seq] = replace(card, reversal="unpin" if is_pinned else "pin")
        for inner, outer in (*covers_around(self._transcript).items(), *self._covers_of_outputs()):
            name = self._cards.get(outer)
            card = self._cards.get(inner)
            if name is not None and isinstance(card, Rewrite):
                self._cards[inner] = replace(card, inside=name.title, inside_seq=outer)
            elif name is not None and isinstance(card, ManualActionCard | FormCard):
                self._cards[inner] = replace(card, inside=name.title)
        for seq in self._transcript.rewrites.sweeps.keys() - self._transcript.rewrites.undone.keys():
            # one that was recorded with another, and was not undone by itself: on that one's card
            carrier_seq = self._transcript.rewrites.recorded_with(seq)
            carried = self._cards.get(seq)
            card = self._cards.get(carrier_seq)
            if carried is not None and isinstance(card, Rewrite):
                self._cards[carrier_seq] = replace(card, carries=carried.title)
        compacted = {
            card.facts.seq for card in self._cards.values() if isinstance(card, CompactedMessagesCard)
        }
        return tuple(card for seq, card in reversed(self._cards.items()) if seq not in compacted)

    def _covers_of_outputs(self) -> Iterator[tuple[int, int]]:
        """Yield the large outputs that a rewrite stands for, with its seq; a pinned one stands beside it."""
        for seq in self._cards.keys() - self._transcript.rewrites.pinned:
            cover = self._transcript.window.cover_of(seq)
            if isinstance(self._cards[seq], FormCard) and cover is not None:
                yield seq, cover.seq

    def _card(self, recorded: RecordedEvent) -> TimelineCard | None:
        seq = recorded.seq
        at = recorded.at
        match recorded.event:
            case HandoverMade() as event:
                card = self._handover(recorded, event)
                if event.origin:  # that the session starts from, as the panel lists it
                    return replace(card, after=self._sent.get(seq) or first_handover_tokens(event))
                before, after = self._sizes.get(seq, (card.before, card.after))
                return replace(card, before=before, after=after)
            case HandoverDiscarded(prepared=HandoverPrepared(handover=handover, read=read)):
                card = self._handover(recorded, handover)
                return replace(
                    card,
                    is_checkpoint=True,
                    unsent=checkpoint_state(self._transcript, seq, is_managed=self._is_managed),
                    used_in=self._handover_titles.get(self._updates.get(recorded.seq, 0), ""),
                    read=read,
                    after=handover.tokens,
                )
            case HandoverDiscarded(failed=FailedPreparation() as failed) as event:
                return self._failed_preparation(recorded, event, failed)
            case SessionRenamed(by="model", read=read) as event if read:
                line = tr("Title written: “{title}”", title=event.title)
                used = cost_text(event.spent, event.cost, self._is_demo, event.estimated, event.unpriced)
                return BackgroundCard(seq, at, line, request_text(read, used))
            case FoldMade() as event:
                return self._sized(CompactedCallsCard(seq, at, event, summary_title(event, self._transcript)))
            case ObservationsMade() as event:
                return self._observations(recorded, event)
            case ObservationsPlaced(made=made) as event:
                facts = self._cards.get(made)
                if not isinstance(facts, ObservationsCard):
                    return None
                return self._sized(CompactedMessagesCard(seq, at, facts, event))
            case SweepMade() as event:
                return self._sweep(recorded, event)
            case (Undone(target=target) | Redone(target=target)) as event:
                if seq != self._newest_undo[target] or target not in self._cards:
                    return None  # the newest says what stands
                for sweep_seq in (target, self._transcript.rewrites.attached_to(target)):
                    if isinstance(sweep := self._cards.get(sweep_seq), SweepCard):
                        self._cards[sweep_seq] = replace(sweep, unchanged=self._unchanged(sweep))
                name = self._cards[target].undo_title
                is_undo = isinstance(event, Undone)
                of_one = undo_of_one_text(target, self._transcript, is_undo=is_undo)
                return UndoCard(seq, at, "undo" if is_undo else "redo", (target,), name, of_one)
            case FormChosen(target=target) as event:
                if not self._is_undone(seq):
                    self._chosen_forms[target] = seq
                words = chosen_form_text(event, seq, self._transcript)
                return ManualActionCard(seq, at, "form", words, target, self._is_undone(seq))
            case Excluded(targets=targets) as event:
                words = excluded_text(event, self._transcript)
                sizes = self._sizes.get(seq)
                size_text = context_change_text(*sizes) if sizes else ""
                left_out = ManualActionCard(seq, at, "exclude", words, targets[0], self._is_undone(seq))
                return replace(left_out, size_text=size_text)
            case (Pinned(target=target) | Unpinned(target=target)) as event:
                kind: ActionKind = "pin" if isinstance(event, Pinned) else "unpin"
                self._pins[target] = seq
                return ManualActionCard(seq, at, kind, pin_text(event, self._transcript), target)
            case PolicyChosen(policy=fields):
                return ManualActionCard(seq, at, "policy", session_policy_text(policy_from_event(fields)))
            case HoldSet(on=on):
                return ManualActionCard(seq, at, "hold" if on else "resume", hold_text(on))
            case SessionBranched(how=how):
                return ManualActionCard(seq, at, "branch", translate(_BRANCHES.get(how, _BRANCH)))
            case HandoverFailed(is_refusal=True):
                return None
            case ((HandoverFailed() | ObservationsFailed() | EffortRefused() | WindowLearned()) as event) | (
                TurnEnded(how="failed") as event
            ):
                return FailureCard(seq, at, event, self._retry_of(recorded), self._is_demo)
            case ToolAnswered(recalled="", outcome="ran") as event:
                if event.form == "full" and event.chosen == "rule" and not event.full_tokens:
                    return None  # it simply is whole
                is_changed = seq in self._transcript.rewrites.chosen_forms
                return FormCard(seq, at, event, is_changed, is_demo=self._is_demo)
        return None

    def _failed_preparation(
        self, recorded: RecordedEvent, event: HandoverDiscarded, failed: FailedPreparation
    ) -> BackgroundCard:
        lines = {
            "title": tr("No title was written"),
            "checkpoint": tr("No handover summary was prepared"),
            "handover": tr("What was compacted without a model was not written again"),
        }
        used = cost_text(event.spent, event.cost, self._is_demo, event.estimated, event.unpriced)
        return BackgroundCard(
            recorded.seq,
            recorded.at,
            lines[failed.work],
            request_text(failed.read, used),
            why=translate(failed.why),
            refused=failed.refused,
        )

    def _handover(self, recorded: RecordedEvent, event: HandoverMade) -> HandoverCard:
        return HandoverCard(
            recorded.seq,
            recorded.at,
            event,
            self._handover_titles[recorded.seq],
            translate(handover_counts(self._transcript, event).text),
            before=event.before,
            after=event.after,
            is_undone=self._transcript.can_redo(recorded.seq),
            missing=missing_rules_text(event.coverage),
            as_of=as_of_text(event, self._transcript),
            read=event.read,
            checkpoint=self._handover_titles.get(event.checkpoint, ""),
        )

    def _is_undone(self, seq: int) -> bool:
        return not self._transcript.rewrites.is_active(seq)

    def _sized(self, card: R) -> R:
        """Return a card with what the rewrite made of the next request, and whether it was undone."""
        before, after = self._sizes.get(card.seq, (0, 0))
        return replace(card, before=before, after=after, is_undone=self._is_undone(card.seq))

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
            item.event for seq in sweep.swept if (item := self._transcript.messages.item(seq)) is not None
        ]
        outputs = [(event.digest, output_title(event)) for event in events if isinstance(event, ToolAnswered)]
        replies = [event for event in events if isinstance(event, AssistantSpoke)]
        arguments = [given for reply in replies for given in given_names(reply)]
        messages = [event for event in events if isinstance(event, UserSpoke)]
        images = [
            (attachment.digest, attachment.label)
            for event in messages
            for attachment in event.attachments
            if attachment.image
        ]
        sweep_card = SweepCard(
            recorded.seq,
            recorded.at,
            len(outputs),
            sweep,
            (*outputs, *arguments, *images),
            sum(len(reply.short) for reply in replies),
            len(messages),
            self._undone_with(recorded.seq),
        )
        return self._sized(sweep_card)

    def _unchanged(self, sweep: SweepCard) -> Contents:
        """Return what of a sweep stays as it is, whether it holds or not: the user restored or pinned it."""
        chosen = self._chosen_forms
        pinned = self._transcript.rewrites.pinned
        seqs = (seq for seq in sweep.event.swept if chosen.get(seq, 0) > sweep.seq or seq in pinned)
        return self._count(seqs)

    def _count(self, seqs: Iterable[int]) -> Contents:
        """Return of how many outputs, calls, and messages with images these messages are."""
        found = (self._transcript.messages.item(seq) for seq in seqs)
        return count_contents(item.event for item in found if item is not None)

    def _undone_with(self, seq: int) -> str:
        """Return the title of what a sweep was recorded with, if the undo of that undid the sweep too."""
        if not self._is_undone(seq) or seq in self._transcript.rewrites.undone:
            return ""
        card = self._cards.get(seq - 1)
        return card.title if card is not None else ""

    def _observations(self, recorded: RecordedEvent, event: ObservationsMade) -> ObservationsCard:
        is_pending = recorded.seq == self._pending_observations
        counts = self._transcript.messages.counts(event.after, event.upto)
        said = [item for seq in event.quoted if (item := self._transcript.messages.item(seq)) is not None]
        by_user = [item for item in said if isinstance(item.event, UserSpoke)]
        quotes = [Bullet(words, (item.seq,)) for item in by_user if (words := typed_text(item.event.text))]
        return ObservationsCard(
            recorded.seq,
            recorded.at,
            event,
            unsent_title(self._transcript, event.after, event.upto),
            summary_title(event, self._transcript),
            translate(counts.text),
            unsent_state(self._transcript, recorded.seq, is_managed=self._is_managed) if is_pending else "",
            tuple(observation for observation in event.observations if observation in self._ended),
            tuple(quotes),
            missing=missing_rules_text(event.coverage),
        )


def merge_changes(cards: Sequence[TimelineCard], steps: Sequence[Step]) -> list[TimelineCard]:
    """Return cards, newest first, with all rewrites before one request as one, and its undo as one.

    Those beside a handover are parts of its card. What was undone together is one card, too.
    """
    groups = _groups(cards, steps)
    merged: list[TimelineCard] = []
    run = list[UndoCard]()
    place = 0
    for card in cards:
        group = groups.get(card.targets[0] if isinstance(card, UndoCard) else card.seq)
        if isinstance(card, UndoCard):
            if not run or (run[-1].kind, run[-1].at_ms) != (card.kind, card.at_ms):
                run = []
                place = len(merged)
                merged.append(card)
            run.append(card)
            targets = tuple(target for each in run for target in each.targets)
            name = _name_of_undo(run, targets, groups)
            of_one = run[0].of_one if len(run) == 1 else ""
            merged[place] = replace(run[0], targets=targets, name=name, of_one=of_one)
        elif group is None:
            merged.append(card)
        elif card.seq == (group.parts[0].seq if isinstance(group, ChangeCard) else group.seq):
            merged.append(group)
    return merged


def _name_of_undo(
    run: Sequence[UndoCard], targets: Sequence[int], groups: Mapping[int, ChangeCard | HandoverCard]
) -> str:
    """Return what was undone together, oldest first: all of a row by its title, else each part by its own."""

    def name(card: UndoCard) -> str:
        group = groups.get(card.targets[0])
        if group is None:
            return card.name
        own = {part.seq for part in group.parts} | ({group.seq} if isinstance(group, HandoverCard) else set())
        attached = {part.seq for part in group.parts if _is_attached(part, own)}
        return group.undo_title if own - attached <= {*targets} else card.name

    return dotted(dict.fromkeys(name(card) for card in sorted(run, key=lambda card: card.targets)))


def _groups(cards: Sequence[TimelineCard], steps: Sequence[Step]) -> dict[int, ChangeCard | HandoverCard]:
    """Return the cards that stand for several, by the events of their parts, and their own.

    One stands for what the user changed in a row before one request, or Helix, with at most one handover and
    no output between.
    """
    arrivals = sorted(seq for step in steps for seq in (step.seq, *step.outputs))
    number = 0
    is_users = False
    runs: list[tuple[list[ChangePart], list[HandoverCard]]] = []
    for card in reversed(cards):
        at = bisect_left(arrivals, card.seq)
        is_by_users = _is_by_user(card)
        if at == 0 or is_by_users is None:
            continue
        is_handover = isinstance(card, HandoverCard) and not card.event.revises
        is_attached = isinstance(card, SweepCard) and card.event.reason in ATTACHED_SWEEP_REASONS
        is_others = is_by_users != is_users and not is_attached
        if not runs or number != at or is_others or (is_handover and runs[-1][1]):
            runs.append(([], []))
            number = at
            is_users = is_by_users
        if isinstance(card, ChangePart):
            runs[-1][0].insert(0, card)
        elif isinstance(card, HandoverCard) and is_handover:
            runs[-1][1].append(card)
    groups: dict[int, ChangeCard | HandoverCard] = {}
    for parts, handovers in runs:
        if not parts:
            continue
        group = _group(handovers[0] if handovers else None, parts)
        if group is not None:
            groups |= dict.fromkeys((group.seq, *(part.seq for part in parts)), group)
    return groups


def _is_by_user(card: TimelineCard) -> bool | None:
    """Return whether the user changed the context so, or Helix; None if it is no such change."""
    match card:
        case SweepCard() | CompactedCallsCard() | CompactedMessagesCard():
            return is_by_user(card.event)
        case HandoverCard(is_checkpoint=False, event=HandoverMade(origin="") as made):
            return is_by_user(made)
    return True if isinstance(card, ManualActionCard) and card.kind == "exclude" else None


def _group(handover: HandoverCard | None, parts: Sequence[ChangePart]) -> ChangeCard | HandoverCard | None:
    own = {part.seq for part in parts} | ({handover.seq} if handover is not None else set())
    rewrites = [part for part in parts if not _is_attached(part, own)]
    active = tuple(
        part.seq for part in rewrites if not part.is_undone and (not part.inside or part.inside_seq in own)
    )
    undone = tuple(part.seq for part in rewrites if part.is_undone)
    all_parts = sorted((*parts, *([handover] if handover is not None else [])), key=lambda part: -part.seq)
    sized = [part for part in all_parts if part.before]
    after = sized[0].after if sized else 0
    before = after + sum(part.before - part.after for part in sized)
    retaken = sum(part.retaken for part in all_parts)
    if handover is not None:
        undo_with = undone if handover.is_undone else active
        facts = replace(handover, before=before, after=after, retaken=retaken)
        return replace(facts, parts=tuple(parts), undo_with=undo_with)
    if len(parts) == 1:
        return None
    oldest = min(rewrites, key=lambda part: part.seq)
    return ChangeCard(
        oldest.seq,
        parts[0].at_ms,
        tuple(parts),
        active,
        undone,
        before=before,
        after=after,
        is_undone=bool(undone) and not active,
        inside=parts[0].inside if all(part.inside for part in parts) else "",
        retaken=retaken,
    )


def _is_attached(part: ChangePart, seqs: Container[int]) -> bool:
    """Return True of a sweep that holds and falls with the rewrite before it."""
    return (
        isinstance(part, SweepCard) and part.event.reason in ATTACHED_SWEEP_REASONS and part.seq - 1 in seqs
    )
