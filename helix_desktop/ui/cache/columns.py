"""The table's columns: what each says, how wide it is, and which give way when room is short."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, TypeAlias

import msgspec

from helix_desktop.domain.messages import display_name
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.ui.cache.rows import INDEX_LABELS, STATE_LABELS, CacheColumn, CacheRow, short_digest
from helix_desktop.words.numbers import format_integer, format_size, format_tokens
from helix_desktop.words.times import format_relative_time
from helix_desktop.words.translation import Translator, translate

text = TextContext("Cache")
tr = Translator("Cache")

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
    """Return a row's tool as the table writes it; what wrote an index is not one."""
    if row.state == "index":
        return translate(INDEX_LABELS.get(row.tool, row.tool))
    return tr("Arguments") if row.tool == "argument" else display_name(row.tool)


def target_name(row: CacheRow) -> str:
    """Return a row's target as the table writes it; an index lists what was compacted."""
    return tr("Messages") if row.state == "index" else row.target


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
            tip=text("Tokens in a request, as the model of the open session counts them")),
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
            tip=text("Places in sessions that use it: its output, a question about its form, a note")),
    Column("created", text("Created"), 88, 5, "muted",
            lambda row, now: format_relative_time(row.created_at_ms, now),
            tip=text("When it was first saved")),
    Column("used", text("Last used"), 96, 11, "muted",
            lambda row, now: format_relative_time(row.last_used_at_ms, now),
            tip=text("When it was recalled last; before the first recall, when it was saved")),
)  # fmt: skip

COLUMN_BY_KEY: dict[CacheColumn, Column] = {column.key: column for column in COLUMNS}
_HIT_LINE_PX = 300  # that the line of a hit wants at 100 %
COLUMN_INDEX: dict[CacheColumn, int] = {column.key: at for at, column in enumerate(COLUMNS)}


def fitting_columns(
    width: int,
    scale: float = 1.0,
    is_searching: bool = False,
    title_widths: Mapping[CacheColumn, int] = MappingProxyType({}),
) -> frozenset[CacheColumn]:
    """Return the columns that fit `width` pixels: the least important leave until the rest has room.

    While somebody is searching, the line that was found stays, and has more room. `title_widths` are what the
    names of columns need in pixels.
    """
    visible = list(COLUMNS)
    more = _HIT_LINE_PX - COLUMN_BY_KEY["line"].width if is_searching else 0

    def rank(column: Column) -> int:
        return 0 if is_searching and column.key == "line" else column.rank

    def needed() -> float:
        return more * scale + sum(_least_width(column, scale, title_widths) for column in visible)

    while needed() > width:
        last = max(visible, key=rank)
        if rank(last) == 0:
            break
        visible.remove(last)
    return frozenset(column.key for column in visible)


def _least_width(column: Column, scale: float, title_widths: Mapping[CacheColumn, int]) -> float:
    return max(column.width * scale, title_widths.get(column.key, 0))


def column_widths(
    width: int,
    visible: Collection[CacheColumn],
    scale: float = 1.0,
    title_widths: Mapping[CacheColumn, int] = MappingProxyType({}),
) -> Sequence[tuple[CacheColumn, int]]:
    """Return the width of each shown column in pixels: room to spare goes to the stretching ones."""
    columns = [column for column in COLUMNS if column.key in visible]
    least = {column.key: int(_least_width(column, scale, title_widths)) for column in columns}
    spare = max(0, width - sum(least.values()))
    parts = sum(column.stretch for column in columns)
    result: list[tuple[CacheColumn, int]] = []
    for column in columns:
        extra = spare * column.stretch // parts if parts else 0
        result.append((column.key, least[column.key] + extra))
    return result
