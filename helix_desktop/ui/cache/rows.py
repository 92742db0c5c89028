"""What the cache browser shows, and the source it asks for it: plain facts, and their words; no Qt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

import msgspec

from helix_desktop.context.window.window_breakdown import MessageState
from helix_desktop.domain.choices import SortColumn
from helix_desktop.domain.digest import SHORT_DIGITS
from helix_desktop.domain.store import DEFAULT_FILTER, EntryFilter
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.words.rewrite_explanations import STATE_WORDS

CacheState: TypeAlias = MessageState | Literal["in_part", "elsewhere", "index", "damaged", "in_trash"]
"""Where a content is in the session's window; `in_part` is a part of it, `elsewhere` is in none of it."""
SAME_STATES: dict[CacheState, tuple[CacheState, ...]] = {
    "in_window": ("in_window", "pinned", "in_part"),
    "cached": ("cached",),
    "handed_over": ("folded", "observed", "handed_over", "left_out", "index"),
    "excluded": ("excluded",),
    "elsewhere": ("elsewhere",),
    "damaged": ("damaged",),
    "in_trash": ("in_trash",),
}
"""The states that users choose from, each with all that have its name."""
CacheColumn: TypeAlias = SortColumn | Literal["state", "saved"]
"""What the table shows and is sorted by; the last two are known of one session's window, not of the store."""

MAX_LISTED = 1_000  # hits of a search: who needs more has to say more
DIGEST_BYTES = 32  # of a SHA-256


class CacheRow(msgspec.Struct, frozen=True):
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
    references: int
    created_at_ms: int
    last_used_at_ms: int
    changed_since: int = 0  # the event of the session that changed its file (0: none)
    is_pinned: bool = False  # pinned in the store: no clean-up takes it
    is_estimated: bool = False  # its tokens are
    hit: str = ""  # the best line that holds the words searched for, behind its number
    is_hit_inside: bool = False  # they stand in the content, not in its name alone


class CacheSort(msgspec.Struct, frozen=True):
    """The order of the table; equal rows stand newest first when descending."""

    column: CacheColumn = "created"
    is_descending: bool = True


class CacheFilter(msgspec.Struct, frozen=True):
    """Which entries to list: `text` is a hash prefix, or words of the content or of what is said of it.

    `state` is one of SAME_STATES, and stands for all that are listed there.
    """

    text: str = ""
    state: CacheState | None = None
    session_only: bool = False
    sort: CacheSort = CacheSort()
    entry_filter: EntryFilter = DEFAULT_FILTER

    @property
    def is_narrowing(self) -> bool:
        """Return True if it leaves anything out but the trash."""
        return (
            bool(self.text)
            or self.state is not None
            or self.session_only
            or self.entry_filter != DEFAULT_FILTER
        )


class HandoverLink(msgspec.Struct, frozen=True):
    """A handover or checkpoint that holds the words of a search: where it is, and the line that does."""

    session_id: str
    seq: int
    title: str
    excerpt: str
    is_checkpoint: bool = False


class CacheSearchResults(msgspec.Struct, frozen=True):
    """All digests that a search has found so far, in order; the cursor to go on from, empty when done.

    `unindexed` counts the entries whose text is not indexed yet: the search has to read each of them.
    """

    digests: bytes
    cursor: str = ""
    handovers: tuple[HandoverLink, ...] = ()
    unindexed: int = 0


class CacheTotals(msgspec.Struct, frozen=True):
    """What the workspace's cache holds; bytes before and after compression."""

    entries: int = 0
    size: int = 0
    stored_size: int = 0


class CacheProgress(msgspec.Struct, frozen=True):
    done: int
    total: int


class PreviewState(msgspec.Struct, frozen=True):
    """What the preview shows: the row and its bytes, or why there are none.

    `previous` is the entry of the same tool and target stored before it (None: none, or not looked for yet).
    """

    row: CacheRow
    data: bytes | None
    error: str = ""
    previous: CacheRow | None = None


class CacheSource(Protocol):
    """Where the browser gets its entries. Each method may raise HelixError."""

    async def ids(self, cache_filter: CacheFilter) -> bytes:
        """Return the digests of all entries that pass, text aside, in its order: 32 bytes each, joined."""
        ...

    async def first_ids(self, cache_filter: CacheFilter) -> bytes:
        """Return the first digests of that list where they are at hand before all are; else none."""
        ...

    async def search(self, cache_filter: CacheFilter, cursor: str = "") -> CacheSearchResults:
        """Return what holds the filter's words, from a cursor on; answers within half a second."""
        ...

    async def tools(self) -> Sequence[str]:
        """Return the tools that anything is stored of."""
        ...

    async def sessions(self) -> Sequence[tuple[str, str]]:
        """Return the sessions by id and title, last updated first."""
        ...

    async def rows(self, digests: Sequence[str]) -> Sequence[CacheRow]:
        """Return the rows of some digests, in any order; digests that are gone are left out."""
        ...

    async def totals(self) -> CacheTotals:
        """Return counts and sizes of everything, unfiltered."""
        ...


def short_digest(digest: str) -> str:
    """Return a digest as the table writes it, by its first 12 digits."""
    return digest[:SHORT_DIGITS]


text = TextContext("Cache")

STATE_LABELS: dict[CacheState, TranslatableText] = {
    **{state: words.label for state, words in STATE_WORDS.items()},
    "elsewhere": text("Not in session"),
    "index": STATE_WORDS["handed_over"].label,
    "damaged": text("Damaged"),
    "in_trash": text("In trash"),
}
INDEX_LABELS: dict[str, TranslatableText] = {
    "handover": text("Handover"),
    "observations": text("Facts"),
    "fold": text("Note"),
}
"""For what wrote an index, in place of a tool's name."""
STATE_TIPS: dict[CacheState, TranslatableText] = {
    **{state: words.tooltip for state, words in STATE_WORDS.items()},
    "elsewhere": text("This session doesn't use it."),
    "index": text("The list of what was compacted. The agent looks in it for what to recall."),
    "damaged": text("Its bytes no longer match their SHA-256."),
    "in_trash": text("You can restore it."),
}
