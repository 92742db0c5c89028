"""What the Outputs page shows, the source it asks for it, and the table's columns; no Qt."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from helix_desktop.context.window.message_states import MessageState
from helix_desktop.domain.choices import SortColumn
from helix_desktop.domain.digest import EXCLUDE, SHORT_DIGITS
from helix_desktop.domain.store import DEFAULT_FILTER, CacheEntry, EntryFilter
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.words.call_targets import call_verb, given_text, shown_target
from helix_desktop.words.numbers import format_integer, format_size, format_tokens
from helix_desktop.words.state_words import STATE_WORDS
from helix_desktop.words.times import format_relative_time
from helix_desktop.words.translation import Translator, translate

text = TextContext("Outputs")
tr = Translator("Outputs")

CacheState: TypeAlias = MessageState | Literal["in_part", "elsewhere", "index", "damaged", "in_trash"]
"""Where a content is in the session's window: a part of it, in none of it (`elsewhere`), or what it lists."""
COMPACTED_STATES: tuple[CacheState, ...] = ("handed_over", "folded", "observed", "truncated", "index")
SAME_STATES: dict[CacheState, tuple[CacheState, ...]] = {
    "in_window": ("in_window", "pinned", "in_part"),
    "cached": ("cached",),
    "handed_over": COMPACTED_STATES,
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


class CacheRow(CacheEntry, frozen=True, kw_only=True):
    """One stored content, seen from a session; `saved` is in tokens."""

    state: CacheState
    saved: int = 0
    changed_since: int = 0  # the event of the session that changed its file (0: none)
    hit: str = ""  # the best line that holds the words searched for, behind its number
    is_hit_inside: bool = False  # they stand in the content, not in its name alone

    @property
    def is_argument(self) -> bool:
        return self.kind == "argument"


class CacheSort(msgspec.Struct, frozen=True):
    """The order of the table; equal rows stand newest first when descending."""

    column: CacheColumn = "used"
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
        return replace(self, sort=CacheSort()) != CacheFilter()


class CacheSearchResults(msgspec.Struct, frozen=True):
    """All digests that a search has found so far, in order; the cursor to go on from, empty when done.

    `unindexed` counts the entries whose text is not indexed yet: the search has to read each of them.
    """

    digests: bytes
    cursor: str = ""
    unindexed: int = 0


class PreviewState(msgspec.Struct, frozen=True):
    """What the preview shows: the row and its bytes, or why there are none."""

    row: CacheRow
    data: bytes | None
    error: str = ""


def short_digest(digest: str) -> str:
    return digest[:SHORT_DIGITS]


STATE_LABELS: dict[CacheState, TranslatableText] = {
    **{state: words.label for state, words in STATE_WORDS.items()},
    "index": STATE_WORDS["handed_over"].label,
    "elsewhere": text("Not in session"),
    "damaged": text("Damaged"),
    "in_trash": text("In trash"),
}
STATE_COLORS: dict[CacheState, str] = {
    **{state: words.color for state, words in STATE_WORDS.items() if words.color},
    "index": STATE_WORDS["handed_over"].color,
}
INDEX_LABELS: dict[str, TranslatableText] = dict.fromkeys(
    ("handover", "observations", "fold"), text("List of compacted outputs")
)
"""What an index is, by what wrote it."""
STATE_TIPS: dict[CacheState, TranslatableText] = {
    **{state: words.tooltip for state, words in STATE_WORDS.items()},
    "elsewhere": text("This session doesn't use it."),
    "index": text("The list of what was compacted. The agent looks in it for what to recall."),
    "damaged": text("Its bytes no longer match their SHA-256."),
    "in_trash": text("You can restore it."),
}

CellStyle: TypeAlias = Literal["pill", "text", "muted", "number", "path", "digest", "mono-muted"]


class Column(msgspec.Struct, frozen=True):
    """One column; widths in pixels at 100 %. The highest `rank` gives way first, rank 0 never."""

    key: CacheColumn  # also of the order that a click on its head asks for
    title: TranslatableText
    width: int
    rank: int
    style: CellStyle
    text: Callable[[CacheRow, int], str]  # of a row, at a time in milliseconds since 1970
    tip: TranslatableText
    stretch: int = 0

    @property
    def is_largest_first(self) -> bool:
        """Return True if the first click on its head puts the greatest first."""
        return self.style in ("number", "muted", "pill")


def tool_name(row: CacheRow) -> str:
    """Return what a row's tool did, as the chat says it; what was compacted is of none."""
    if row.state == "index":
        return tr("Compact")
    if row.tool == EXCLUDE:
        return translate(STATE_WORDS["excluded"].label)
    return call_verb(row.tool, "done")


def target_name(row: CacheRow) -> str:
    """Return a row's target as the table writes it; of what a call was given, that it is this."""
    if row.state == "index":
        return translate(INDEX_LABELS.get(row.tool, row.tool))
    if row.tool == EXCLUDE:
        return row.first_line
    return given_text(row.tool, row.target) if row.is_argument else shown_target(row.tool, row.target)


def tokens_text(row: CacheRow) -> str:
    return ("≈ " if row.is_estimated else "") + format_tokens(row.tokens, in_column=True)


COLUMNS: tuple[Column, ...] = (
    Column("state", text("State"), 104, 0, "pill", lambda row, _: translate(STATE_LABELS[row.state]),
            tip=text("Where the content is now")),
    Column("tool", text("Tool"), 106, 3, "text", lambda row, _: tool_name(row),
            tip=text("The tool that it came from")),
    Column("target", text("Target"), 146, 0, "path", lambda row, _: target_name(row) or "–", stretch=3,
            tip=text("The file, command or address that the call was about")),
    Column("digest", text("SHA-256"), 112, 6, "digest", lambda row, _: short_digest(row.digest),
            tip=text("Digest of its bytes, by which it is recalled and verified")),
    Column("line", text("Content"), 110, 7, "mono-muted",
            lambda row, _: row.hit or row.first_line, stretch=4,
            tip=text("The first line, or in a search the line that was found")),
    Column("size", text("Size"), 72, 1, "number", lambda row, _: format_size(row.size),
            tip=text("Size of the whole content; on disk it takes less")),
    Column("tokens", text("Tokens"), 66, 4, "number", lambda row, _: tokens_text(row),
            tip=text("Tokens in a request, by Helix's count")),
    Column(
        "saved", text("Saved", "tokens: column"), 64, 8, "number",
        lambda row, _: format_tokens(row.saved, in_column=True) if row.saved else "–",
        tip=text("Tokens saved in the context window of the open session"),
    ),
    Column("recalls", text("Recalls"), 68, 9, "number",
            lambda row, _: format_integer(row.recalls) if row.recalls else "–",
            tip=text("How often an agent recalled it")),
    Column("references", text("Refs"), 52, 10, "number",
            lambda row, _: format_integer(row.references),
            tip=text("Places in sessions that use it: its output, a question about its form, a summary")),
    Column("created", text("Created"), 88, 11, "muted",
            lambda row, now: format_relative_time(row.created, now),
            tip=text("When it was first saved")),
    Column("used", text("Last used"), 88, 5, "muted",
            lambda row, now: format_relative_time(row.last_used, now),
            tip=text("When it was read, run or recalled last")),
)  # fmt: skip

COLUMN_BY_KEY: dict[CacheColumn, Column] = {column.key: column for column in COLUMNS}
_HIT_LINE_PX = 300  # that the line of a hit wants at 100 %
COLUMN_INDEX: dict[CacheColumn, int] = {column.key: at for at, column in enumerate(COLUMNS)}


def fitting_columns(
    width: int,
    scale: float = 1.0,
    is_searching: bool = False,
    title_widths: Mapping[CacheColumn, int] = MappingProxyType({}),
    chosen: Collection[CacheColumn] | None = None,
    dragged: Mapping[CacheColumn, float] = MappingProxyType({}),
) -> dict[CacheColumn, int]:
    """Return the columns that fit `width` pixels, each with its own width: some stretch over what is left.

    The least important leave until the rest has room, unless the user has `chosen`. While somebody is
    searching, the line that was found stays, and has more room. `title_widths` are what the names of columns
    need in pixels; `dragged` the widths at 100 % that the user gave to some, which do not stretch.
    """
    shown = [column for column in COLUMNS if chosen is None or column.key in chosen]
    least = {column.key: max(column.width * scale, title_widths.get(column.key, 0)) for column in shown}
    least |= {column.key: dragged[column.key] * scale for column in shown if column.key in dragged}
    ranks = {column.key: column.rank for column in COLUMNS}
    more = 0.0
    if is_searching:
        ranks["line"] = 0
        more = (_HIT_LINE_PX - COLUMN_BY_KEY["line"].width) * scale
    while chosen is None and more + sum(least[column.key] for column in shown) > width:
        last = max(shown, key=lambda column: ranks[column.key])
        if ranks[last.key] == 0:
            break
        shown.remove(last)
    spare = max(0, width - sum(int(least[column.key]) for column in shown))
    stretches = {column.key: 0 if column.key in dragged else column.stretch for column in shown}
    parts = sum(stretches.values()) or 1
    return {key: int(least[key]) + spare * stretch // parts for key, stretch in stretches.items()}
