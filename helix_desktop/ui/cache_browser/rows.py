"""What the cache browser shows, and the source it asks for it: plain facts, no Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, get_args

CacheState: TypeAlias = Literal[
    "in window",
    "pinned",
    "in part",
    "marker",
    "folded",
    "observed",
    "handed over",
    "left out",
    "stored",
    "index",
    "damaged",
]
CACHE_STATES: tuple[CacheState, ...] = get_args(CacheState)
"""Where a content stands in the session's window; `in part` is a preview or an extract of it."""
CacheOrder: TypeAlias = Literal["newest", "oldest"]

DIGEST_BYTES = 32  # of a SHA-256


@dataclass(frozen=True, slots=True)
class CacheRow:
    """One stored content; sizes in bytes, times in milliseconds since 1970, `saved` in tokens."""

    digest: str  # 64 hex digits
    state: CacheState
    tool: str
    target: str
    first_line: str
    size: int
    tokens: int
    saved: int
    recalls: int
    refs: int
    created: int
    last_used: int


@dataclass(frozen=True, slots=True)
class CacheFilter:
    """Which entries to list: `text` is a hash prefix or words of tool, target or first line."""

    text: str = ""
    state: CacheState | None = None
    session_only: bool = False
    order: CacheOrder = "newest"

    @property
    def narrows(self) -> bool:
        """Whether it leaves anything out."""
        return bool(self.text) or self.state is not None or self.session_only


@dataclass(frozen=True, slots=True)
class CacheTotals:
    """What the workspace's cache holds; bytes before and after compression."""

    entries: int = 0
    size: int = 0
    stored_size: int = 0


@dataclass(frozen=True, slots=True)
class CacheProgress:
    """A long work on the cache: its verb, and how many of `total` entries are done."""

    verb: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class PreviewState:
    """What the preview shows: the row and its bytes, or why there are none."""

    row: CacheRow
    data: bytes | None
    problem: str = ""


class CacheSource(Protocol):
    """Where the browser gets its entries. Each method may raise HelixError."""

    async def ids(self, wanted: CacheFilter) -> bytes:
        """The digests of all entries that pass, in the filter's order by creation: 32 bytes each, joined."""
        ...

    async def rows(self, digests: Sequence[str]) -> Sequence[CacheRow]:
        """The rows of some digests, in any order; digests that are gone are left out."""
        ...

    async def totals(self) -> CacheTotals:
        """Counts and sizes of everything, unfiltered."""
        ...


def passes(row: CacheRow, wanted: CacheFilter) -> bool:
    """Whether a row passes text and state of a filter (which session it is of is not written on it)."""
    if wanted.state is not None and row.state != wanted.state:
        return False
    words = wanted.text.lower().split()
    if not words:
        return True
    if len(words) == 1 and row.digest.startswith(words[0]):
        return True
    text = f"{row.tool} {row.target} {row.first_line}".lower()
    return all(word in text for word in words)


def short_digest(digest: str) -> str:
    """A digest as the table writes it: `9f3ac21e 04d1… b07e`."""
    return f"{digest[:8]} {digest[8:12]}… {digest[-4:]}"
