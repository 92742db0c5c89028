"""A session's log as the timeline's cards and points: a pure reduction."""

from __future__ import annotations

from collections.abc import Sequence

from helix_desktop.context.event import (
    AssistantSpoke,
    HandoverFailed,
    HandoverMade,
    Recorded,
    Redone,
    SweepMade,
    ToolAnswered,
    Undone,
)
from helix_desktop.context.transcript import Transcript
from helix_desktop.ui.timeline.rows import (
    Bullet,
    Card,
    FailureCard,
    HandoverCard,
    MarkCard,
    Point,
    Section,
    SweepCard,
    title_of,
)


def cards_of(log: Sequence[Recorded], transcript: Transcript) -> tuple[Card, ...]:
    """The cards of a log, newest first."""
    cards: dict[int, Card] = {}
    handovers = 0
    for recorded in log:
        match recorded.event:
            case HandoverMade() as made:
                handovers += 1
                undone = not transcript.rewrites.holds(recorded.seq)
                cards[recorded.seq] = _handover(recorded, made, handovers, undone)
            case SweepMade() as sweep:
                cards[recorded.seq] = _sweep(recorded, sweep, transcript)
            case HandoverFailed() as failed:
                cards[recorded.seq] = FailureCard(recorded.seq, recorded.at, failed.what, failed.why)
            case Undone(target=target) if target in cards:
                name = title_of(cards[target])
                cards[recorded.seq] = MarkCard(recorded.seq, recorded.at, "undo", target, name)
            case Redone(target=target) if target in cards:
                name = title_of(cards[target])
                cards[recorded.seq] = MarkCard(recorded.seq, recorded.at, "redo", target, name)
            case _:
                pass
    return tuple(reversed(cards.values()))


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
        model="" if made.model.startswith("no model") else made.model,
        demo=made.demo,
        fallback=made.fallback,
        focus=made.focus,
        duration_ms=made.duration_ms,
        undone=undone,
    )


def _sweep(recorded: Recorded, sweep: SweepMade, transcript: Transcript) -> SweepCard:
    events = [item.event for seq in sweep.masked if (item := transcript.item(seq)) is not None]
    digests = tuple(event.digest for event in events if isinstance(event, ToolAnswered))
    return SweepCard(
        recorded.seq,
        recorded.at,
        len(sweep.masked),
        sweep.saved,
        sweep.reason,
        digests,
        not transcript.rewrites.holds(recorded.seq),
    )


def points_of(log: Sequence[Recorded]) -> tuple[Point, ...]:
    """Tokens in the window after each step and each rewrite, oldest first."""
    points: list[Point] = []
    changes: dict[int, int] = {}
    used = 0
    for recorded in log:
        match recorded.event:
            case AssistantSpoke() as spoke if spoke.estimate:
                seen = spoke.usage.input if spoke.usage else spoke.estimate
                used = seen + spoke.tokens
                points.append(Point(recorded.seq, used))
            case ToolAnswered() as answer:
                used += answer.tokens
            case SweepMade() as sweep:
                changes[recorded.seq] = -sweep.saved
                used -= sweep.saved
                points.append(Point(recorded.seq, max(0, used), "sweep"))
            case HandoverMade() as made:
                points.append(Point(recorded.seq, made.before))
                changes[recorded.seq] = made.after - made.before
                used = made.after
                points.append(Point(recorded.seq, used, "handover"))
            case Undone(target=target) if target in changes:
                used -= changes[target]
                points.append(Point(recorded.seq, max(0, used), "undo"))
            case Redone(target=target) if target in changes:
                used += changes[target]
                points.append(Point(recorded.seq, max(0, used), "redo"))
            case HandoverFailed():
                points.append(Point(recorded.seq, max(0, used), "failure"))
            case _:
                pass
    return tuple(points)
