"""Search what an index covers: outputs, large arguments, words and calls, newest first."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.index_entry import HEAD, IndexLine, index_text, parse_index
from helix_desktop.domain.digest import CACHE_TOOLS, RECALL_TOOL
from helix_desktop.domain.errors import StoreError
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.files.file_use import call_target, tool_kind
from helix_desktop.domain.store import ContentReader
from helix_desktop.tools.cache.lines import (
    MAX_LINE,
    WIDEST,
    ContextLines,
    LineMatch,
    PlainPattern,
    clean_line,
    file_lines,
    lines_if_small,
    match_alternatives,
    match_lines,
    plain_pattern,
)
from helix_desktop.tools.cache.origins import CallingSession, Origins
from helix_desktop.tools.cache.search_hits import newest_searchable_seq, weigh_best_lines
from helix_desktop.tools.process import Ripgrep

_RECALLED_ENTRIES = re.compile(rf"{RECALL_TOOL} e(\d+)\b")


class CoveredEntry(msgspec.Struct, frozen=True):
    """One content, message or call that is covered, and the session it is of; empty: not known.

    `is_conclusion` is True for a message of the agent without calls: what it came to in a turn.
    """

    line: IndexLine
    session_id: str
    is_conclusion: bool = False

    @property
    def seq(self) -> int:
        return self.line.seq

    @property
    def digest(self) -> str:
        """Return the digest of a content; empty for words and calls."""
        return self.line.digest


class CoveredEntries(msgspec.Struct, frozen=True):
    """What an index covers, newest first; `unreadable` counts the earlier indexes that were not read."""

    entries: tuple[CoveredEntry, ...]
    unreadable: int = 0


_Entries = dict[tuple[str, int, str, str], CoveredEntry]


async def read_index(contents: ContentReader, origins: Origins, digest: str) -> tuple[list[IndexLine], str]:
    """Return the lines of one index, and the session whose events it numbers. Raises StoreError."""
    data = await contents.get(digest)
    entry = await contents.entry(digest)
    text = data.decode("utf-8", "surrogatepass")
    return await asyncio.to_thread(parse_index, text), origins.session_of_index(entry)


async def read_covered_entries(
    contents: ContentReader,
    origins: Origins,
    digest: str,
    should_continue: Callable[[], bool] = lambda: True,
) -> CoveredEntries:
    """Return everything that an index leads to, through earlier ones too. Raises StoreError for the first."""
    found: _Entries = {}
    waiting = [digest]
    visited = {digest}
    unreadable = 0
    for name in waiting:
        if name != digest and not should_continue():
            unreadable += 1
            continue
        try:
            lines, session_id = await read_index(contents, origins, name)
        except StoreError:
            if name == digest:
                raise
            unreadable += 1
            continue
        earlier = await asyncio.to_thread(_add_lines, found, lines, session_id)
        waiting += [name for name in earlier if name not in visited]
        visited.update(earlier)
    entries = await asyncio.to_thread(lambda: _newest_first(without_questions(found.values())))
    return CoveredEntries(entries, unreadable)


def _add_lines(found: _Entries, lines: Sequence[IndexLine], session_id: str) -> list[str]:
    """Add the entries of an index, each once; return the digests of the earlier indexes that it names."""
    for entry in _covered_entries(lines, session_id):
        if entry.seq:
            found.setdefault((session_id, entry.seq, entry.digest, entry.line.text), entry)
    return list(dict.fromkeys(line.digest for line in lines if not line.seq))


def _covered_entries(lines: Sequence[IndexLine], session_id: str) -> list[CoveredEntry]:
    """Return the entries of lines, which hold all calls of the messages that they hold."""
    calling = {line.seq for line in lines if line.label == "call"}
    return [
        CoveredEntry(line, session_id, line.label == "agent" and not line.digest and line.seq not in calling)
        for line in lines
    ]


def entries_between(transcript: Transcript, session_id: str, first: int, last: int) -> list[CoveredEntry]:
    """Return the words, calls and contents of the events `first` to `last` of a session, in their order."""
    items = transcript.messages.between(first - 1, last)
    text, _ = index_text(items)
    lines = parse_index(text)
    lines += [
        IndexLine(item.seq, item.event.name, text=item.event.text)
        for item in items
        if isinstance(item.event, ToolAnswered) and not item.event.digest
    ]
    return _covered_entries(sorted(lines, key=lambda line: line.seq), session_id)


def session_entries(session: CallingSession) -> CoveredEntries:
    """Return everything in the log of a session before the step that asks, newest first."""
    transcript = session.transcript
    entries = entries_between(transcript, session.id, 1, newest_searchable_seq(transcript))
    return CoveredEntries(_newest_first(without_questions(entries)))


def without_questions(entries: Collection[CoveredEntry]) -> list[CoveredEntry]:
    """Return the entries without those of the cache's tools: questions, and answers that repeat others.

    A recall stays where no other entry is the origin of what it recalled.
    """
    sources = [entry for entry in entries if not _is_of_cache_tool(entry)]
    origins = {entry.digest for entry in sources}
    first_seqs: dict[str, int] = {}
    for entry in sources:
        first_seqs[entry.session_id] = min(entry.seq, first_seqs.get(entry.session_id, entry.seq))
    return [
        entry
        for entry in entries
        if not _is_of_cache_tool(entry)
        or (
            entry.digest
            and entry.digest not in origins
            and entry.line.label.startswith(RECALL_TOOL)
            and not _repeats_entries(entry, first_seqs.get(entry.session_id, entry.seq))
        )
    ]


def _repeats_entries(entry: CoveredEntry, first_seq: int) -> bool:
    """Return True for a recall of entries of its own session from `first_seq` on."""
    entries = _RECALLED_ENTRIES.match(entry.line.label)
    return entries is not None and first_seq <= int(entries[1])


def _is_of_cache_tool(entry: CoveredEntry) -> bool:
    line = entry.line
    call = line.text if line.label == "call" else line.label
    return call.startswith(CACHE_TOOLS)


def _newest_first(entries: Collection[CoveredEntry]) -> tuple[CoveredEntry, ...]:
    """Return entries by session in the order of their indexes, in each the newest first."""
    ranks: dict[str, int] = {}
    for entry in entries:
        ranks.setdefault(entry.session_id, len(ranks))
    return tuple(sorted(entries, key=lambda entry: (ranks[entry.session_id], -entry.seq)))


# So much is matched at once: a run of ripgrep takes 10 ms.
_BATCH_BYTES = 2 * 1024 * 1024
_BATCH_TEXTS = 1_000
_MAX_RANKED = 100  # matching lines of one content, from the first, of which the best are taken
_MAX_SPOTS = 5  # lines of one content that an answer can hold, if there are too many for all
_BEFORE = 60  # bytes of a long line before the match
_RAW_LINE = 1_000  # bytes of a line beside a match
_BINARY_CHECK = 8_192  # bytes that are checked for a NUL
_INDEX_HEAD = HEAD.encode()
_DEFINITION = re.compile(
    rb"\s*(?:(?:export|default|public|private|protected|static|abstract|final|async|pub|inline|unsafe)\s+)*"
    rb"(?:def|class|func|fn|function|struct|interface|enum|type|trait|impl|const|let|var|module|#\s*define)\b"
)

_Body = tuple[CoveredEntry, bytes, int]
"""An entry, its text, and the number of the first line."""

ALL_LINES = 60
"""Matching lines of a search that can all stand in an answer, wherever they are."""
LINES_OF_ONE = 400
"""Matching lines of a single event that can all stand in an answer."""


class HitLine(msgspec.Struct, frozen=True):
    """A matching line: its number, its text for an answer, its bytes, and the lines before and after it.

    `rank` is its place among the best of its content, from 0. `changed` is, of a call that changes a file,
    the line of its text that matches.
    """

    number: int
    text: str
    line: bytes
    before: tuple[bytes, ...] = ()
    after: tuple[bytes, ...] = ()
    rank: int = 0
    changed: bytes = b""

    def key(self, around: ContextLines) -> object:
        """Return what makes it equal to another one with these context lines."""
        before = self.before[len(self.before) - around.before :] if around.before else ()
        return self.line, before, self.after[: around.after]

    def row(self, offset: int) -> bytes | None:
        """Return the line `offset` lines from it; None if there is none, or it is too far."""
        if offset < 0:
            return self.before[offset] if -offset <= len(self.before) else None
        if offset == 0:
            return self.line
        return self.after[offset - 1] if offset <= len(self.after) else None


_DEFINES = re.compile(
    rb"[\s+>|]*(?:(?:export|pub(?:lic)?(?:\(\w+\))?|private|protected|static|async|default|abstract|final)\s+)*"
    rb"(?:def|class|func(?:tion)?|fn|type|interface|struct|enum|trait|const|let|var|macro_rules!)\s+\S"
)
"""A line that defines a name in one of the common languages, also as a line of a diff that adds it."""
_OF_TESTS = re.compile(r"(?:^|[/_.\s-])(?:tests?|specs?)(?:[/_.\s-]|$)|_test\.|\.(?:test|spec)\.")
_OF_COMMITS = re.compile(r"\bgit\b[^|;&]* (?:show|log|diff|commit|format-patch|blame)\b")
_LINE_EDGE = re.compile(rb'(?<!\\)(?:\\n|")')
"""What a line of a text in the arguments of a call stands between."""


class EntryHit(msgspec.Struct, frozen=True):
    """A covered entry that matches: its best spots, and the numbers of all lines that match, up to a limit.

    Without spots only its description matches. `has_words` is True if one of the spots has the pattern as
    whole words, not as a part of longer ones. `all_lines` has all lines of a small content. `first` is
    the number of the first line: a part of a file is numbered as the file is. `alternatives` are those of
    the pattern that a line has, for each line that differs in them; `rarity` is greater the fewer hits have
    the rarest of them.
    """

    entry: CoveredEntry
    spots: tuple[HitLine, ...]
    numbers: frozenset[int] = frozenset()
    has_words: bool = False
    all_lines: tuple[bytes, ...] = ()
    first: int = 1
    alternatives: tuple[frozenset[str], ...] = ()
    rarity: int = 0

    @property
    def count(self) -> int:
        return len(self.numbers)

    @property
    def defines(self) -> bool:
        """Return True if one of the spots defines something, outside of tests and commits: others mention it.

        Of a call it is the new text of an edit.
        """
        is_call = self.entry.line.label == "call"
        source = call_target(self.entry.line.text.partition(" ")[2]) if is_call else self.entry.line.label
        if _OF_TESTS.search(source) or _OF_COMMITS.search(source):
            return False
        return any(_DEFINES.match(spot.changed if is_call else spot.line) for spot in self.spots)

    def best(self) -> EntryHit:
        """Return it with a few of its spots, the best ones."""
        if len(self.spots) <= _MAX_SPOTS:
            return self
        return replace(self, spots=tuple(spot for spot in self.spots if spot.rank < _MAX_SPOTS))


@dataclass
class EntrySearchResult:
    """The result of a search: hits newest first, and how much was looked through.

    `skipped` counts contents that were not searched in time, `unreadable` those that could not be read.
    """

    hits: list[EntryHit] = field(default_factory=list)
    searched: int = 0
    skipped: int = 0
    unreadable: int = 0


class EntrySearcher:
    def __init__(
        self,
        contents: ContentReader,
        ripgrep: Ripgrep,
        should_continue: Callable[[], bool],
        all_lines: int,
    ) -> None:
        """`should_continue` returns False when the time is over.

        Up to `all_lines` matching lines are all spots; of more only the best of each content.
        """
        self._contents = contents
        self._ripgrep = ripgrep
        self._should_continue = should_continue
        self._all_lines = all_lines

    async def search(self, entries: Sequence[CoveredEntry], pattern: str, context: int) -> EntrySearchResult:
        """Return the hits in the order of the entries; a content that occurs twice is searched once.

        Raises ToolError if the pattern is invalid.
        """
        result = EntrySearchResult()
        batch = list[_Body]()
        size = 0
        digests = set[str]()
        for entry in entries:
            if entry.digest in digests:
                continue
            if result.searched and not self._should_continue():
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
            name, _, _ = entry.line.label.partition(" ")
            batch.append((entry, *await asyncio.to_thread(file_lines, name, data)))
            result.searched = result.searched + 1
            size = size + len(data)
            if size >= _BATCH_BYTES or len(batch) >= _BATCH_TEXTS:
                result.hits += await self._search_batch(batch, pattern, context)
                batch = []
                size = 0
        if batch or not result.searched:
            result.hits += await self._search_batch(batch, pattern, context)
        weights = weigh_best_lines([hit.alternatives for hit in result.hits])
        result.hits = [
            replace(hit, rarity=_rarity(weight)) for hit, weight in zip(result.hits, weights, strict=True)
        ]
        return result

    async def _body(self, entry: CoveredEntry) -> bytes:
        if not entry.digest:
            return entry.line.text.encode("utf-8", "replace")
        data = await self._contents.get(entry.digest)
        return b"" if b"\0" in data[:_BINARY_CHECK] else data

    async def _search_batch(self, batch: Sequence[_Body], pattern: str, context: int) -> list[EntryHit]:
        names = [entry.line.label.encode("utf-8", "replace") if entry.digest else b"" for entry, *_ in batch]
        bodies = [data for _, data, _ in batch]
        plain = plain_pattern(pattern)
        texts = [*bodies, *names]
        matches, _ = await match_lines(texts, pattern, plain, self._ripgrep)
        if plain is None:
            matches = await match_alternatives(texts, pattern, matches, self._ripgrep)
        has_few = sum(map(len, matches[: len(batch)])) <= self._all_lines
        max_spots = self._all_lines if has_few else _MAX_SPOTS
        return await asyncio.to_thread(_hits, batch, matches, plain, context, max_spots)


def _rarity(weight: float) -> int:
    """Return the weight of a line in steps of twice as rare; 0 of a pattern without alternatives."""
    return math.frexp(weight)[1] if weight else 0


def _hits(
    batch: Sequence[_Body],
    matches: Sequence[Sequence[LineMatch]],
    plain: PlainPattern | None,
    context: int,
    max_spots: int,
) -> list[EntryHit]:
    """Return the hits of a batch; `matches` are those of each text, then those of each description."""
    hits = []
    for (entry, data, first), lines, in_name in zip(
        batch, matches[: len(batch)], matches[len(batch) :], strict=True
    ):
        if lines:
            numbered = (
                [replace(match, number=match.number + first - 1) for match in lines] if first != 1 else lines
            )
            hits.append(replace(_hit(entry, data, numbered, plain, context, max_spots), first=first))
        elif in_name:
            alternatives = _alternatives(in_name)
            hits.append(
                EntryHit(entry, (), all_lines=lines_if_small(data), first=first, alternatives=alternatives)
            )
    return hits


def _hit(
    entry: CoveredEntry,
    data: bytes,
    matches: Sequence[LineMatch],
    plain: PlainPattern | None,
    context: int,
    max_spots: int,
) -> EntryHit:
    """Return a hit with its best lines: whole words, a rare alternative, a definition; then the first."""

    def has_words(match: LineMatch) -> bool:
        return plain is None or plain.whole_words.search(data, match.start, match.end) is not None

    weights = weigh_best_lines([(match.alternatives,) for match in matches])
    rarities = {match.number: _rarity(weight) for match, weight in zip(matches, weights, strict=True)}

    def rank(match: LineMatch) -> tuple[bool, int, bool]:
        is_definition = _DEFINITION.match(data, match.start, match.end) is not None
        return not has_words(match), -rarities[match.number], not is_definition

    rarest = sorted(matches, key=lambda match: -rarities[match.number])[: max(_MAX_RANKED, max_spots)]
    best = sorted(rarest, key=rank)[:max_spots]
    lines = max(context, WIDEST)
    tool = entry.line.text.partition(" ")[0] if entry.line.label == "call" else ""
    changes = tool_kind(tool) in ("write", "edit")
    spots = (_spot(data, match, lines, place, changes) for place, match in enumerate(best))
    numbers = frozenset(match.number for match in matches)
    in_order = tuple(sorted(spots, key=lambda spot: spot.number))
    return EntryHit(
        entry,
        in_order,
        numbers,
        has_words(best[0]),
        lines_if_small(data),
        alternatives=_alternatives(matches),
    )


def _alternatives(matches: Sequence[LineMatch]) -> tuple[frozenset[str], ...]:
    return tuple(dict.fromkeys(match.alternatives for match in matches))


def _spot(data: bytes, match: LineMatch, lines: int, rank: int, changes: bool) -> HitLine:
    """Return a matching line with up to so many lines before and after it; `changes`: of an edit's call."""
    before = list[bytes]()
    after = list[bytes]()
    end = match.start - 1
    while end >= 0 and len(before) < lines:
        start = data.rfind(b"\n", 0, end) + 1
        before.append(data[start : min(end, start + _RAW_LINE)])
        end = start - 1
    start = match.end + 1
    while start < len(data) and len(after) < lines:
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        after.append(data[start : min(end, start + _RAW_LINE)])
        start = end + 1
    line = data[match.start : match.end].strip()
    changed = _changed_line(data, match) if changes else b""
    return HitLine(
        match.number, excerpt(data, match), line, tuple(reversed(before)), tuple(after), rank, changed
    )


def _changed_line(data: bytes, match: LineMatch) -> bytes:
    """Return the line of a text in a call's arguments in which a match is."""
    start = match.start
    for edge in _LINE_EDGE.finditer(data, match.start, match.match_at):
        start = edge.end()
    end = _LINE_EDGE.search(data, match.match_at, match.end)
    return data[start : end.start() if end else match.end]


def excerpt(data: bytes, match: LineMatch) -> str:
    """Return a matching line, or the part of a long one around its match with where it begins."""
    if match.end - match.start <= MAX_LINE:
        return clean_line(data[match.start : match.end])
    first = max(match.start, match.match_at - _BEFORE)
    if first == match.start:
        return clean_line(data[first : match.end])
    char = len(data[match.start : first].decode("utf-8", "ignore"))
    return f"[start_char={char}] …{clean_line(data[first : match.end])}"
