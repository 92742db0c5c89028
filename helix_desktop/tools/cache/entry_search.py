"""Search what an index covers: outputs, large arguments, words and calls, newest first."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from helix_desktop.context.summaries.index_entry import HEAD
from helix_desktop.domain.errors import StoreError
from helix_desktop.domain.store.content_reader import ContentReader
from helix_desktop.domain.unicode_safety import is_hidden
from helix_desktop.tools.cache.covered import CoveredEntry
from helix_desktop.tools.cache.line_matches import LineMatch, PlainPattern, match_lines, plain_pattern
from helix_desktop.tools.process.ripgrep import Ripgrep

_BATCH_BYTES, _BATCH_TEXTS = 2 * 1024 * 1024, 1_000  # matched at once: a run of ripgrep takes 10 ms
_MAX_RANKED = 100  # matching lines of one content, from the first, of which the best are taken
_MAX_SPOTS = 5  # lines of one content that an answer can hold
_MAX_LINE, _BEFORE = 200, 60  # characters of a line, and how many of them before the match
_BINARY_CHECK = 8_192  # bytes that are checked for a NUL
_INDEX_HEAD = HEAD.encode()
_DEFINITION = re.compile(
    rb"\s*(?:(?:export|default|public|private|protected|static|abstract|final|async|pub|inline|unsafe)\s+)*"
    rb"(?:def|class|func|fn|function|struct|interface|enum|type|trait|impl|const|let|var|module|#\s*define)\b"
)


@dataclass(frozen=True)
class Spot:
    """A matching line as text, with its number and its context; `key` is what makes it equal to another."""

    number: int
    rows: tuple[str, ...]
    key: bytes


@dataclass(frozen=True)
class EntryHit:
    """A covered entry that matches: its best spots, and how many of its lines match.

    Without spots only its description matches. `has_words` is True if one of the spots has the pattern as
    whole words, not as a part of longer ones.
    """

    entry: CoveredEntry
    spots: tuple[Spot, ...]
    count: int
    has_words: bool = False


@dataclass
class EntrySearch:
    """The result of a search: hits newest first, and how much was looked through.

    `skipped` counts contents that were not searched in time, `unreadable` those that could not be read.
    """

    hits: list[EntryHit] = field(default_factory=list)
    searched: int = 0
    skipped: int = 0
    unreadable: int = 0


class EntrySearcher:
    """Searches entries for a regular expression."""

    def __init__(self, contents: ContentReader, ripgrep: Ripgrep, may_go_on: Callable[[], bool]) -> None:
        """`may_go_on` returns False when the time is over."""
        self._contents, self._ripgrep, self._may_go_on = contents, ripgrep, may_go_on

    async def search(self, entries: Sequence[CoveredEntry], pattern: str, context: int) -> EntrySearch:
        """Return the hits in the order of the entries; a content that occurs twice is searched once.

        Raises ToolError if the pattern is invalid.
        """
        result, batch, size, digests = EntrySearch(), list[tuple[CoveredEntry, bytes]](), 0, set[str]()
        for entry in entries:
            if entry.digest in digests:
                continue
            if result.searched and not self._may_go_on():
                result.skipped += 1
                continue
            digests |= {entry.digest} - {""}
            try:
                data = await self._body(entry)
            except StoreError:
                result.unreadable += 1
                continue
            if data.startswith(_INDEX_HEAD):
                continue  # a recalled index repeats words and names a pattern that was looked for
            batch.append((entry, data))
            result.searched, size = result.searched + 1, size + len(data)
            if size >= _BATCH_BYTES or len(batch) >= _BATCH_TEXTS:
                result.hits += await self._search_batch(batch, pattern, context)
                batch, size = [], 0
        if batch or not result.searched:
            result.hits += await self._search_batch(batch, pattern, context)
        return result

    async def _body(self, entry: CoveredEntry) -> bytes:
        if not entry.digest:
            return entry.line.text.encode("utf-8", "replace")
        data = await self._contents.get(entry.digest)
        return b"" if b"\0" in data[:_BINARY_CHECK] else data

    async def _search_batch(
        self, batch: Sequence[tuple[CoveredEntry, bytes]], pattern: str, context: int
    ) -> list[EntryHit]:
        names = [entry.line.label.encode("utf-8", "replace") if entry.digest else b"" for entry, _ in batch]
        bodies = [data for _, data in batch]
        plain = plain_pattern(pattern)
        matches = await match_lines([*bodies, *names], pattern, plain, self._ripgrep)
        return await asyncio.to_thread(_hits, batch, matches, plain, context)


def _hits(
    batch: Sequence[tuple[CoveredEntry, bytes]],
    matches: Sequence[Sequence[LineMatch]],
    plain: PlainPattern | None,
    context: int,
) -> list[EntryHit]:
    """Return the hits of a batch; `matches` are those of each text, then those of each description."""
    hits = []
    for (entry, data), lines, in_name in zip(
        batch, matches[: len(batch)], matches[len(batch) :], strict=True
    ):
        if lines:
            hits.append(_hit(entry, data, lines, plain, context))
        elif in_name:
            hits.append(EntryHit(entry, (), 0))
    return hits


def _hit(
    entry: CoveredEntry,
    data: bytes,
    matches: Sequence[LineMatch],
    plain: PlainPattern | None,
    context: int,
) -> EntryHit:
    """Return a hit with its best lines: those with whole words, definitions of code, then the first ones."""

    def has_words(match: LineMatch) -> bool:
        return plain is None or plain.whole_words.search(data, match.start, match.end) is not None

    def rank(match: LineMatch) -> tuple[bool, bool]:
        return not has_words(match), not _DEFINITION.match(data, match.start, match.end)

    best = sorted(matches[:_MAX_RANKED], key=rank)[:_MAX_SPOTS]
    return EntryHit(entry, _spots(data, best, context), len(matches), has_words(best[0]))


def _spots(data: bytes, matches: Sequence[LineMatch], context: int) -> tuple[Spot, ...]:
    """Return lines in their order, without those that stand in the context of another."""
    spots: list[Spot] = []
    covered_to = 0
    for match in sorted(matches, key=lambda match: match.number):
        if spots and match.number <= covered_to:
            continue  # it stands in the context of the line before
        rows = [*_rows_before(data, match, context, covered_to), _row(data, match)]
        after = _rows_after(data, match, context)
        covered_to = match.number + len(after)
        spots.append(Spot(match.number, (*rows, *after), data[match.start : match.end].strip()))
    return tuple(spots)


def _row(data: bytes, match: LineMatch) -> str:
    return f"{match.number}:{excerpt(data, match)}"


def _rows_before(data: bytes, match: LineMatch, context: int, covered_to: int) -> list[str]:
    rows: list[str] = []
    end = match.start - 1
    for number in range(match.number - 1, max(covered_to, match.number - 1 - context), -1):
        start = data.rfind(b"\n", 0, end) + 1
        rows.append(f"{number}-{_clean(data[start:end])}")
        end = start - 1
    return rows[::-1]


def _rows_after(data: bytes, match: LineMatch, context: int) -> list[str]:
    rows: list[str] = []
    start = match.end + 1
    for number in range(match.number + 1, match.number + 1 + context):
        if start >= len(data):
            break
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        rows.append(f"{number}-{_clean(data[start:end])}")
        start = end + 1
    return rows


def excerpt(data: bytes, match: LineMatch) -> str:
    """Return a matching line, or the part of a long one around its match."""
    if match.end - match.start <= _MAX_LINE:
        return _clean(data[match.start : match.end])
    first = max(match.start, match.match_at - _BEFORE)
    before = "…" if first > match.start else ""
    return before + _clean(data[first : match.end])


def _clean(line: bytes) -> str:
    """Return a line for an answer, at most 200 characters, with a mark for each hidden one."""
    text = line[: 4 * _MAX_LINE].decode("utf-8", "ignore").rstrip().replace("\t", " ")
    cut = text if len(text) <= _MAX_LINE else f"{text[:_MAX_LINE]}…"
    return cut if cut.isprintable() else "".join("\ufffd" if is_hidden(sign) else sign for sign in cut)
