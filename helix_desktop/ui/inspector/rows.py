"""What the context inspector shows: plain facts, made by a presenter; no Qt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from helix_desktop.words.numbers import format_token_difference, format_tokens

RowKind: TypeAlias = Literal[
    "system",
    "tools",
    "mcp",
    "handover",
    "observations",
    "fold",
    "user",
    "assistant",
    "arguments",
    "output",
    "recalled",
    "pinned",
    "difference",
]
"""`arguments` is an answer of the agent whose arguments stand as markers, `difference` what leads from our
count to the provider's: it may be negative."""

SegmentKind: TypeAlias = RowKind | Literal["reserve", "free"]


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

    @property
    def tokens_text(self) -> str:
        """Return its tokens as the list shows them, a difference with its sign."""
        return (
            format_token_difference(self.tokens) if self.kind == "difference" else format_tokens(self.tokens)
        )

    @property
    def exact_tokens_text(self) -> str:
        """Return its tokens to the last one."""
        return f"{self.tokens:+,} tokens" if self.kind == "difference" else f"{self.tokens:,} tokens"


@dataclass(frozen=True, slots=True)
class Level:
    """Where something falls due, as a part of 1 of the window; `text` says what."""

    kind: Literal["observe", "place", "handover", "panic"]
    share: float
    text: str


@dataclass(frozen=True, slots=True)
class Saving:
    """Tokens that one rewrite saved, and its name as it stands in a sentence."""

    kind: RowKind
    name: str
    tokens: int


@dataclass(frozen=True, slots=True)
class CacheStats:
    """The cache in numbers; sizes in bytes.

    `saved` are the tokens that the next request would hold without any rewrite, less those it holds;
    `savings` what each rewrite that holds saved when it was made.
    """

    entries: int = 0
    size: int = 0
    stored_size: int = 0
    markers: int = 0
    saved: int = 0
    savings: tuple[Saving, ...] = ()


@dataclass(frozen=True, slots=True)
class InspectorState:
    """The next request in numbers and in order; tokens everywhere, `threshold` a part of 1.

    `ratio` says how the provider's count relates to ours, `pending_text` what is prepared, not yet in place.
    """

    used: int
    window: int
    is_estimated: bool
    source: str  # who counted: "reported by the provider", "estimated"
    threshold: float
    reserve: int
    segments: tuple[Segment, ...] = ()
    rows: tuple[WindowRow, ...] = ()
    cache: CacheStats = CacheStats()
    levels: tuple[Level, ...] = ()
    ratio: str = ""
    pending_text: str = ""
    is_managed: bool = True

    @property
    def until_handover(self) -> int:
        """Tokens that may still come before the threshold; 0 when it is reached."""
        return max(0, int(self.window * self.threshold) - self.used)
