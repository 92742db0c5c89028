"""The hits of a search: ranked, equal lines as one, as text; and what was said and called in sessions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from helix_desktop.context.intake.descriptions import heads_numbered_lines
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.summaries.index_entry import IndexLine
from helix_desktop.domain.digest import CACHE_TOOLS, SHORT_DIGITS
from helix_desktop.domain.errors import StoreError
from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.store import CacheEntry, ContentHit, ContentReader
from helix_desktop.domain.text_format import ellipsize, format_bytes, pluralize
from helix_desktop.domain.text_search import MatchingLine, find_matches, normalize
from helix_desktop.domain.tools import CountTokens
from helix_desktop.domain.typed_text import program_texts, typed_text
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.tools.cache.lines import (
    TINY_BYTES,
    WIDER,
    ContextLines,
    clean_line,
    is_small,
    is_tiny,
    part_of_file,
    split_content,
)
from helix_desktop.tools.cache.origins import Origin, Origins

_MAX_NAME = 100  # characters of a hit's tool and target
_MAX_EQUAL = 5  # contents with the same lines that are named
_MAX_LINES = 3  # lines of one hit
_MAX_SPLIT = 10  # contents with the same lines whose context lines are compared
_MAX_BODY_BYTES = 256 * 1024  # of one content that is read for context lines
_MAX_READ_BYTES = 2 * 1024 * 1024  # of all contents together
_WIDE_TOKENS = 1_000  # up to which an answer takes lines around the matches
_NARROW = ContextLines(0, 0)
_PARTIAL_SHARE = 0.6  # of the best one's weight that a hit with some of the words has at least


class Hit(msgspec.Struct, frozen=True):
    """A content or a message with words of a query.

    `entry` is None for a message, which `seq` and `speaker` name and `text` holds: of the calling session, or
    of another one whose `index` has it. `terms` are the words in each of its best `lines`, `count` how many
    of its lines have one, `equal` the hits with the same lines.
    """

    at_ms: int
    lines: tuple[MatchingLine, ...]
    terms: tuple[frozenset[str], ...]
    count: int
    entry: CacheEntry | None = None
    seq: int = 0
    speaker: str = ""
    equal: tuple[Hit, ...] = ()
    index: CacheEntry | None = None
    text: str = ""
    header: str = ""  # the first line of a content

    @property
    def key(self) -> object:
        """Return what is the same for the same content or message."""
        session_id = self.index.session if self.index is not None else ""
        return self.entry.digest if self.entry is not None else (session_id, self.seq, self.speaker)

    def numbered(self, number: int, text: str, header: str) -> tuple[int, str]:
        """Return the number and text of a line; those of a part of a file are numbered as the file is.

        `header` is the content's first line, below which those of a command are numbered.
        """
        entry = self.entry
        if entry is None:
            return number, text
        if part := part_of_file(entry.tool, entry.target, header):
            number += part[1].first - 2
            return number, text.removeprefix(f"{number}:")
        return number - heads_numbered_lines(entry.tool, header), text


def hit_of_content(hit: ContentHit, terms: Sequence[str]) -> Hit:
    best = hit.matches.best
    where = hit.entry.created, best, terms_in(best, terms), hit.matches.lines, hit.entry
    return Hit(*where, header=hit.matches.header)


def terms_in(lines: Iterable[MatchingLine], terms: Sequence[str]) -> tuple[frozenset[str], ...]:
    texts = [normalize(line.excerpt) for line in lines]
    return tuple(frozenset(term for term in terms if term in text) for text in texts)


def weigh_best_lines(terms: Sequence[Iterable[frozenset[str]]]) -> list[float]:
    """Return the weight of each hit's best line, by the terms on its lines: a rare one weighs more."""
    counts = Counter(term for lines in terms for term in frozenset[str]().union(*lines))
    return [
        max((sum(1 / (1 + counts[term]) for term in sorted(found)) for found in lines), default=0.0)
        for lines in terms
    ]


def rank(hits: Sequence[Hit]) -> list[Hit]:
    """Return hits by the rarity of the words on their best line, then newest first."""
    weighed = zip(weigh_best_lines([hit.terms for hit in hits]), hits, strict=True)
    return [hit for _, hit in sorted(weighed, key=lambda pair: (-pair[0], -pair[1].at_ms, -pair[1].seq))]


def rank_partial(hits_by_term: Mapping[str, Sequence[Hit]]) -> list[Hit]:
    """Return the best hits of single words, each content once, with the rarest and most words first."""
    total = len({hit.key for hits in hits_by_term.values() for hit in hits})
    weights = {term: math.log(1 + total / len(hits)) for term, hits in hits_by_term.items() if hits}
    found: dict[object, list[tuple[float, Hit]]] = {}
    for term, hits in hits_by_term.items():
        for hit in hits:
            found.setdefault(hit.key, []).append((weights[term], hit))
    joined = [(sum(weight for weight, _ in parts), _join(parts)) for parts in found.values()]
    least = _PARTIAL_SHARE * max((weight for weight, _ in joined), default=0.0)
    best = [pair for pair in joined if pair[0] >= least]
    return [hit for _, hit in sorted(best, key=lambda pair: (-pair[0], -pair[1].at_ms, -pair[1].seq))]


def _join(parts: Sequence[tuple[float, Hit]]) -> Hit:
    """Return one hit of several words of a content: the lines of the rarest word first."""
    by_rarity = [hit for _, hit in sorted(parts, key=lambda part: -part[0])]
    lines: dict[int, tuple[MatchingLine, frozenset[str]]] = {}
    for hit in by_rarity:
        for line, terms in zip(hit.lines, hit.terms, strict=True):
            if line.line not in lines and len(lines) < _MAX_LINES:
                lines[line.line] = (line, terms)
    ordered = [lines[number] for number in sorted(lines)]
    return msgspec.structs.replace(
        by_rarity[0],
        lines=tuple(line for line, _ in ordered),
        terms=tuple(terms for _, terms in ordered),
        count=max(hit.count for hit in by_rarity),
    )


def merge_equal(hits: Iterable[Hit]) -> list[Hit]:
    """Return the hits in their order; one whose lines another before it has too is part of that one."""
    merged: dict[object, Hit] = {}
    for hit in hits:
        key: object = tuple(" ".join(line.excerpt.split()) for line in hit.lines) or hit.key
        first = merged.get(key)
        merged[key] = hit if first is None else msgspec.structs.replace(first, equal=(*first.equal, hit))
    return list(merged.values())


class HitWriter:
    def __init__(self, contents: ContentReader, origins: Origins, count_tokens: CountTokens) -> None:
        self._contents = contents
        self._origins = origins
        self._count_tokens = count_tokens
        self._bodies: dict[str, tuple[bytes, ...]] = {}
        self._bytes_left = _MAX_READ_BYTES

    async def write(self, hits: Sequence[Hit], max_tokens: int) -> list[str]:
        """Return the hits that fit as texts; the first is shortened to fit.

        What is left of the tokens of a common answer goes to the lines around the matches: in rounds, the
        first hits first. A hit that stands for others is split where these lines differ.
        """
        blocks: list[list[str]] = []
        sizes: list[int] = []
        for hit in hits:
            lines = await self._hit_lines(hit, _NARROW) or []
            counts = await self._count_tokens([f"{line}\n" for line in lines])
            if blocks and sum(sizes) + sum(counts) > max_tokens:
                break
            while len(counts) > 1 and sum(counts) > max_tokens:
                counts = counts[:-1]
            blocks.append(lines[: len(counts)])
            sizes.append(sum(counts))
        for around in WIDER if sum(sizes) < _WIDE_TOKENS else ():
            for place, hit in enumerate(hits[: len(blocks)]):
                wider = await self._wider_lines(hit, around)
                size = sum(await self._count_tokens([f"{line}\n" for line in wider]))
                if wider and sum(sizes) - sizes[place] + size <= min(max_tokens, _WIDE_TOKENS):
                    blocks[place] = wider
                    sizes[place] = size
        return ["\n".join(block) for block in blocks]

    async def _wider_lines(self, hit: Hit, around: ContextLines) -> list[str]:
        """Return the lines of a hit and of those it stands for, each with its context lines.

        Empty if one of them is too large to be read for it, or if there are too many.
        """
        if len(hit.equal) > _MAX_SPLIT:
            return []
        same: dict[tuple[str, ...], list[Hit]] = {}
        for member in (hit, *hit.equal):
            rows = await self._rows(member, around)
            if rows is None:
                return []
            same.setdefault(tuple(text for _, _, text in rows), []).append(member)
        lines: list[str] = []
        for first, *equal in same.values():
            merged = msgspec.structs.replace(first, equal=tuple(equal))
            lines += await self._hit_lines(merged, around)
        return lines

    async def _hit_lines(self, hit: Hit, around: ContextLines) -> list[str]:
        """Return the lines of a hit: hash, name and where it arose, then the best lines with numbers."""
        match_text = pluralize(hit.count, "matching line") if hit.count else "found in its name only"
        if hit.entry is None:
            origins = self._origins
            index = hit.index
            origin = origins.of_event(hit.seq) if index is None else await origins.of_content(index)
            head = [f"{_handle(hit)} {hit.speaker}", *_place(origin)]
        else:
            name = escape_hidden_name(" ".join(part for part in (hit.entry.tool, hit.entry.target) if part))
            short_name = ellipsize(name, _MAX_NAME)
            origin = await self._origins.of_content(hit.entry)
            label = " ".join(part for part in (hit.entry.digest[:SHORT_DIGITS], short_name) if part)
            head = [label, format_bytes(hit.entry.size), *filter(None, [origin.event]), *_place(origin)]
        others = f"{', '.join(map(_handle, hit.equal[:_MAX_EQUAL]))}{_more(hit)}"
        equal = f" (these lines also in {others})" if hit.equal else ""
        rows = await self._rows(hit, around) or ()
        texts = [f"  {position}{sign} {text}" for position, sign, text in rows]
        return [f"{', '.join(head)}: {match_text}{equal}", *texts]

    async def _rows(self, hit: Hit, around: ContextLines) -> list[tuple[str, str, str]] | None:
        """Return position, `:` or `-`, and text of each line; None if the content is too large to be read."""
        matches = {match.line: match for match in hit.lines}
        is_narrow = around == _NARROW
        header = hit.header
        if is_narrow and (matches or hit.entry is None or hit.entry.size > TINY_BYTES):
            return [_match_row(hit, match, header) for match in hit.lines]
        lines = await self._body(hit)
        if lines is None:
            return None
        if is_tiny(lines) or (around.has_all and is_small(lines)):
            numbers: Iterable[int] = range(1, len(lines) + 1)
        else:
            reach = (range(line - around.before, line + around.after + 1) for line in matches)
            numbers = sorted({number for near in reach for number in near if 0 < number <= len(lines)})
        terms = frozenset[str]().union(*hit.terms)
        rows = []
        for number in numbers:
            text = clean_line(lines[number - 1])
            sign = ":" if any(term in normalize(text) for term in terms) else "-"
            match = matches.get(number)
            is_cut = match is not None and len(lines[number - 1]) > len(text)
            if match is not None and is_cut:
                rows.append(_match_row(hit, match, header))
            else:
                in_file, text = hit.numbered(number, text, header)
                rows.append((str(in_file), sign, text))
        return rows

    async def _body(self, hit: Hit) -> tuple[bytes, ...] | None:
        """Return the lines of a content or message; None if it is large, damaged, or not text."""
        if hit.entry is None:
            return split_content(hit.text.encode("utf-8", "replace"))
        digest = hit.entry.digest
        if digest not in self._bodies:
            if hit.entry.size > min(self._bytes_left, _MAX_BODY_BYTES):
                return None
            try:
                data = await self._contents.get(digest)
            except StoreError:
                return None
            self._bytes_left -= len(data)
            self._bodies[digest] = () if b"\0" in data else split_content(data)
        return self._bodies[digest] or None


def _match_row(hit: Hit, match: MatchingLine, header: str) -> tuple[str, str, str]:
    number, text = hit.numbered(match.line, match.excerpt, header)
    position = f"{number}, start_char={match.char}" if match.char else f"{number}"
    return position, ":", text


def _place(origin: Origin) -> list[str]:
    """Return turn, time and session, and whether the content changed, as far as known."""
    turn = f"turn {origin.turn}" if origin.turn else ""
    return [part for part in (turn, origin.time, origin.session_name, origin.change) if part]


def _handle(hit: Hit) -> str:
    """Return what recalls a hit: a hash, an entry number, or both."""
    if hit.entry is not None:
        return hit.entry.digest[:SHORT_DIGITS]
    return f"{hit.index.digest[:SHORT_DIGITS]} e{hit.seq}" if hit.index is not None else f"e{hit.seq}"


def _more(hit: Hit) -> str:
    return f" and {len(hit.equal) - _MAX_EQUAL} more" if len(hit.equal) > _MAX_EQUAL else ""


_MAX_HITS = 50


def newest_searchable_seq(transcript: Transcript) -> int:
    """Return the last event before the step that searches, if any: its own words hold what it looks for."""
    for item in reversed(transcript.messages.items if transcript.open_calls else ()):
        if isinstance(item.event, AssistantSpoke):
            return item.seq - 1
    return transcript.last_seq


def find_words(transcript: Transcript, upto: int, terms: Sequence[str], min_terms: int) -> list[Hit]:
    """Return the newest messages up to event `upto` with at least `min_terms` of the normalized words."""
    hits: list[Hit] = []
    for item in reversed(transcript.messages.between(0, upto)):
        if len(hits) >= _MAX_HITS:
            break
        for speaker, text in _texts(item):
            hit = _hit_of_text(text, terms, min_terms)
            if hit is not None:
                hits.append(replace(hit, at_ms=item.at_ms, seq=item.seq, speaker=speaker))
    return hits


def find_indexed_words(index: CacheEntry, lines: Sequence[IndexLine], terms: Sequence[str]) -> list[Hit]:
    """Return the newest messages with all of the normalized words in an index of another session."""
    hits: list[Hit] = []
    for line in reversed(lines):
        if line.digest or len(hits) >= _MAX_HITS or line.text.startswith(CACHE_TOOLS):
            continue
        hit = _hit_of_text(line.text, terms, len(terms))
        if hit is not None:
            hits.append(replace(hit, at_ms=index.created, seq=line.seq, speaker=line.label, index=index))
    return hits


def _hit_of_text(text: str, terms: Sequence[str], min_terms: int) -> Hit | None:
    """Return a hit if a text has at least `min_terms` of the words; who said it and when is not in it yet."""
    folded = normalize(text)
    present = [term for term in terms if term in folded]
    if len(present) < max(1, min_terms):
        return None
    matches = find_matches(present, text.encode("utf-8", "replace"), "", lambda: True)
    if matches is None:
        return None
    return Hit(0, matches.best, terms_in(matches.best, present), matches.lines, text=text)


def _texts(item: LogItem) -> Iterator[tuple[str, str]]:
    """Yield who says what in a message, and its calls with their small arguments, but those of this cache."""
    match item.event:
        case UserSpoke(text=text):
            yield "user", typed_text(text)
            for program in program_texts(text):
                yield program.kind, program.text
        case AssistantSpoke(text=text, calls=calls, short=short):
            yield "agent", text
            arguments = {call.call_id: call.arguments for call in short}
            for call in calls:
                if call.name not in CACHE_TOOLS:
                    yield f"call {call.name}", arguments.get(call.id, call.arguments)
