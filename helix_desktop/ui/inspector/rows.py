"""What the context inspector shows: plain facts, made by a presenter; no Qt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

SegmentKind: TypeAlias = Literal[
    "system",
    "tools",
    "handover",
    "observations",
    "fold",
    "user",
    "assistant",
    "output",
    "recalled",
    "pinned",
    "reserve",
    "free",
]
RowKind: TypeAlias = Literal[
    "system",
    "tools",
    "handover",
    "observations",
    "fold",
    "user",
    "assistant",
    "output",
    "recalled",
    "pinned",
]


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of the window, in tokens."""

    kind: SegmentKind
    label: str
    tokens: int


@dataclass(frozen=True, slots=True)
class WindowRow:
    """One thing that the next request contains; `seq` is its event (0: none), `why` says why it is there."""

    seq: int
    kind: RowKind
    name: str
    tokens: int
    state: str = ""  # "marker", "recalled", "protected", ...; empty: nothing to say
    why: str = ""


@dataclass(frozen=True, slots=True)
class CacheStats:
    """The cache in numbers; sizes in bytes, `saved` in tokens, `sweeps` the tokens each sweep saved."""

    entries: int = 0
    size: int = 0
    stored_size: int = 0
    markers: int = 0
    saved: int = 0
    sweeps: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class InspectorState:
    """The next request in numbers and in order; tokens everywhere, `threshold` a part of 1."""

    used: int
    window: int
    estimated: bool
    source: str  # who counted: "reported by the provider", "estimated"
    threshold: float
    reserve: int
    segments: tuple[Segment, ...] = ()
    rows: tuple[WindowRow, ...] = ()
    cache: CacheStats = CacheStats()

    @property
    def until_handover(self) -> int:
        """Tokens that may still come before the threshold; 0 when it is reached."""
        return max(0, round(self.window * self.threshold) - self.used)
