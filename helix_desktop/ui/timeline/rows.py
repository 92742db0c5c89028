"""What the timeline shows: plain facts, made by a presenter from events; no Qt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Phase: TypeAlias = Literal["Read", "Summarise", "Check", "Write"]
PHASES: tuple[Phase, ...] = ("Read", "Summarise", "Check", "Write")
PointKind: TypeAlias = Literal["turn", "sweep", "handover", "undo", "redo", "failure"]


@dataclass(frozen=True, slots=True)
class Bullet:
    """One sentence of a handover and the seqs of the events it comes from; none: it is unsupported."""

    text: str
    sources: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """One of the six sections."""

    title: str
    bullets: tuple[Bullet, ...] = ()


@dataclass(frozen=True, slots=True)
class HandoverCard:
    """A handover; `before` and `after` are tokens of the window, `index` is the digest of its index entry."""

    seq: int
    at_ms: int
    number: int
    before: int
    after: int
    messages: int
    trigger: str
    sections: tuple[Section, ...]
    ledger: str = ""
    index: str = ""
    index_entries: int = 0
    model: str = ""  # empty: made without a model, from ledger and extracts
    demo: bool = False
    fallback: str = ""
    focus: str = ""
    duration_ms: int = 0
    undone: bool = False


@dataclass(frozen=True, slots=True)
class SweepCard:
    """A sweep: how many outputs became markers and the tokens that saves; `digests` are theirs."""

    seq: int
    at_ms: int
    outputs: int
    saved: int
    reason: str = ""
    digests: tuple[str, ...] = ()
    undone: bool = False


@dataclass(frozen=True, slots=True)
class FailureCard:
    """A handover that was tried and not made; nothing changed."""

    seq: int
    at_ms: int
    what: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class MarkCard:
    """An undo or a redo; `target` is the seq of what it is about, `name` its title."""

    seq: int
    at_ms: int
    kind: Literal["undo", "redo"]
    target: int
    name: str


Card: TypeAlias = HandoverCard | SweepCard | FailureCard | MarkCard


@dataclass(frozen=True, slots=True)
class RunningCard:
    """A compaction under way: its phase, and what the model has written so far."""

    phase: Phase
    text: str = ""
    what: str = "Handover"


@dataclass(frozen=True, slots=True)
class Point:
    """Tokens in the window just after an event."""

    seq: int
    used: int
    kind: PointKind = "turn"


@dataclass(frozen=True, slots=True)
class TimelineState:
    """All of it: cards newest first, points oldest first, tokens of the window, threshold as a part of 1."""

    cards: tuple[Card, ...] = ()
    points: tuple[Point, ...] = ()
    used: int = 0
    window: int = 0
    threshold: float = 0.85
    running: RunningCard | None = None


def title_of(card: Card) -> str:
    """What a card is called."""
    match card:
        case HandoverCard():
            return f"Handover {card.number}"
        case SweepCard():
            return "Sweep"
        case FailureCard():
            return card.what
        case MarkCard():
            return f"{card.name} {'undone' if card.kind == 'undo' else 'redone'}"
