"""A session's log as the timeline's cards: a pure reduction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from helix_desktop.context.event import AssistantSpoke, Recorded, ToolAnswered, UserSpoke
from helix_desktop.context.event_rewrite import (
    FoldMade,
    FormChosen,
    Pinned,
    Redone,
    SweepMade,
    Undone,
    Unpinned,
)
from helix_desktop.context.event_summary import (
    HandoverFailed,
    HandoverMade,
    ObservationsFailed,
    ObservationsMade,
    ObservationsPlaced,
)
from helix_desktop.context.transcript import Transcript
from helix_desktop.ui.chat.dividers import form_text, pin_text
from helix_desktop.ui.timeline.rows import (
    Attempt,
    Bullet,
    Card,
    Fact,
    FailureCard,
    FoldCard,
    HandoverCard,
    MarkCard,
    ObservationsCard,
    PersonCard,
    PlacedCard,
    Section,
    SweepCard,
    title_of,
)


def cards_of(log: Sequence[Recorded], transcript: Transcript) -> tuple[Card, ...]:
    """The cards of a log, newest first."""
    return _Cards(transcript).read(log)


class _Cards:
    """Reads a log once; knows what is undone and what stands inside something later."""

    def __init__(self, transcript: Transcript) -> None:
        self._known = transcript
        self._cards: dict[int, Card] = {}
        self._numbers: Counter[type] = Counter()
        self._newest: dict[Attempt, int] = {}  # tries, made or not
        placed = transcript.rewrites.of(ObservationsPlaced)
        self._placed = {one.made: seq for seq, one in placed.items()}
        self._card_of = {seq: one.made for seq, one in placed.items()}  # of what was put in place

    def read(self, log: Sequence[Recorded]) -> tuple[Card, ...]:
        """All cards, newest first."""
        for recorded in log:
            if isinstance(recorded.event, HandoverMade | HandoverFailed):
                self._newest["handover"] = recorded.seq
            elif isinstance(recorded.event, ObservationsMade | ObservationsFailed):
                self._newest["observations"] = recorded.seq
        for recorded in log:
            card = self._wide(recorded) or self._narrow(recorded) or self._person(recorded)
            if card is not None:
                self._cards[recorded.seq] = card
        for seq, around in self._covered():
            card, name = self._cards.get(seq), self._cards.get(around)
            if isinstance(card, HandoverCard | FoldCard | ObservationsCard) and name is not None:
                self._cards[seq] = replace(card, inside=title_of(name))
        return tuple(reversed(self._cards.values()))

    def _covered(self) -> Iterator[tuple[int, int]]:
        """The cards of rewrites that hold but stand inside a wider one, and the card of that one."""
        rewrites, covers = self._known.rewrites, self._known.covers
        shown = {cover.seq for cover in covers}
        held = (rewrites.held_handovers, rewrites.held_folds, rewrites.in_place)
        for seq, one in ((seq, one) for some in held for seq, one in some.items()):
            after = getattr(one, "after", 0)
            around = next((c.seq for c in covers if c.after < one.upto and after < c.upto), 0)
            if seq not in shown and around:
                yield self._card_of.get(seq, seq), self._card_of.get(around, around)

    def _wide(self, recorded: Recorded) -> Card | None:
        """The card of what stands for other messages."""
        event = recorded.event
        if isinstance(event, HandoverMade | FoldMade | ObservationsMade):
            self._numbers[type(event)] += 1
        number = self._numbers[type(event)]
        match event:
            case HandoverMade():
                return _handover(recorded, event, number, self._undone(recorded.seq))
            case FoldMade():
                return _fold(recorded, event, number, self._undone(recorded.seq))
            case ObservationsMade():
                return self._observations(recorded, event, number)
        return None

    def _narrow(self, recorded: Recorded) -> Card | None:
        seq, at = recorded.seq, recorded.at
        match recorded.event:
            case ObservationsPlaced(made=made) as placed:
                name = title_of(self._cards[made]) if made in self._cards else "Observations"
                undone = self._undone(seq)
                return PlacedCard(seq, at, name, placed.saved, placed.reason, undone, placed.threshold)
            case SweepMade() as sweep:
                return self._sweep(recorded, sweep)
            case Undone(target=target) if target in self._cards:
                return MarkCard(seq, at, "undo", target, self._name_of(target))
            case Redone(target=target) if target in self._cards:
                return MarkCard(seq, at, "redo", target, self._name_of(target))
            case HandoverFailed() | ObservationsFailed() as tried:
                retry, refused = self._retry_of(recorded), tried.refused
                return FailureCard(seq, at, tried.what, tried.why, tried.spent, tried.cost, refused, retry)
        return None

    def _person(self, recorded: Recorded) -> PersonCard | None:
        seq, at = recorded.seq, recorded.at
        match recorded.event:
            case FormChosen(target=target) as chosen:
                text = form_text(chosen, self._known)
                return PersonCard(seq, at, "form", text, target, self._undone(seq))
            case Pinned(target=target) as pin:
                return PersonCard(seq, at, "pin", pin_text(pin, self._known), target)
            case Unpinned(target=target) as pin:
                return PersonCard(seq, at, "unpin", pin_text(pin, self._known), target)
        return None

    def _undone(self, seq: int) -> bool:
        return not self._known.rewrites.holds(seq)

    def _retry_of(self, recorded: Recorded) -> Attempt | None:
        """What can be tried again: the newest try, if its summary was not used."""
        match recorded.event:
            case HandoverFailed(problem=problem):
                newest = recorded.seq == self._newest.get("handover")
                return "handover" if problem is not None and newest else None
            case ObservationsFailed(problem=problem):
                newest = recorded.seq == self._newest.get("observations")
                return "observations" if problem is not None and newest else None
        return None

    def _name_of(self, target: int) -> str:
        """What an undo or redo is about: the name of its card."""
        card = self._cards[target]
        return card.name if isinstance(card, PlacedCard) else title_of(card)

    def _sweep(self, recorded: Recorded, sweep: SweepMade) -> SweepCard:
        events = [item.event for seq in sweep.masked if (item := self._known.item(seq)) is not None]
        outputs = [event.digest for event in events if isinstance(event, ToolAnswered)]
        spoken = [event for event in events if isinstance(event, AssistantSpoke)]
        arguments = [digest for event in spoken for call in event.short for digest in call.digests]
        said = [event for event in events if isinstance(event, UserSpoke)]
        images = [one.digest for event in said for one in event.attachments if one.image]
        return SweepCard(
            recorded.seq,
            recorded.at,
            len(outputs),
            sweep.saved,
            sweep.reason,
            (*outputs, *arguments, *images),
            self._undone(recorded.seq),
            len(spoken),
            len(said),
        )

    def _observations(self, recorded: Recorded, made: ObservationsMade, number: int) -> ObservationsCard:
        placed = self._placed.get(recorded.seq, 0)
        quoted = [item for seq in made.quoted if (item := self._known.item(seq)) is not None]
        return ObservationsCard(
            seq=recorded.seq,
            at_ms=recorded.at,
            number=number,
            reflection=made.reflection,
            facts=tuple(Fact(one.at, one.priority, one.text, one.sources) for one in made.observations),
            before=made.before,
            after=made.tokens,
            messages=made.messages,
            ledger=made.ledger,
            quotes=tuple(
                Bullet(one.event.text, (one.seq,)) for one in quoted if isinstance(one.event, UserSpoke)
            ),
            index=made.index,
            index_entries=made.index_entries,
            model=_model(made.model),
            demo=made.demo,
            fallback=made.fallback,
            duration_ms=made.duration_ms,
            calls=made.calls,
            prompt=made.prompt,
            spent=made.spent,
            cost=made.cost,
            refused=made.refused,
            placed=placed,
            undone=bool(placed) and self._undone(placed),
        )


def _model(label: str) -> str:
    return "" if label.startswith("no model") else label


def _handover(recorded: Recorded, made: HandoverMade, number: int, undone: bool) -> HandoverCard:
    return HandoverCard(
        seq=recorded.seq,
        at_ms=recorded.at,
        number=number,
        before=made.before,
        after=made.after,
        messages=made.messages,
        trigger=made.trigger,
        sections=tuple(
            Section(one.title, tuple(Bullet(bullet.text, bullet.sources) for bullet in one.bullets))
            for one in made.sections
        ),
        ledger=made.ledger,
        index=made.index,
        index_entries=made.index_entries,
        model=_model(made.model),
        demo=made.demo,
        fallback=made.fallback,
        focus=made.focus,
        duration_ms=made.duration_ms,
        undone=undone,
        calls=made.calls,
        prompt=made.prompt,
        edited=made.edited,
        threshold=made.threshold,
        spent=made.spent,
        cost=made.cost,
        refused=made.refused,
    )


def _fold(recorded: Recorded, made: FoldMade, number: int, undone: bool) -> FoldCard:
    return FoldCard(
        seq=recorded.seq,
        at_ms=recorded.at,
        number=number,
        how=made.how,
        steps=made.steps,
        before=made.tokens + made.saved,
        after=made.tokens,
        first=made.after + 1,
        last=made.upto,
        text=made.text,
        index=made.index,
        index_entries=made.index_entries,
        undone=undone,
    )
