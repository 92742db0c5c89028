"""The words of a search, and where they stand in stored bytes: how many lines hold them, the best of these.

A content is read as `recall_cached_content` reads it, UTF-8 with lines that end at newlines, so that the line
numbers found here are those it takes. It is read in pieces, because one call into the interpreter's text
functions holds up all other threads until it is through.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import msgspec

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.text_format import plain_line
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.unicode_safety import is_hidden

_text = TextContext("Store")

MAX_QUERY_LENGTH = 200  # characters
_ACCENTS = re.compile("[\u0300-\u036f]+")
"""Marks over and under Latin, Greek and Cyrillic letters; those of other scripts make other letters."""
_PART = re.compile(r'"([^"]+)"|(\S+)')


def parse_query(query: str) -> tuple[str, ...]:
    """Return the normalized words of a query; "quoted words" are a phrase on one line. Raise InvalidInput."""
    if len(query) > MAX_QUERY_LENGTH:
        raise InvalidInput(
            _text(
                "The query has {count} characters; the limit is {limit}.",
                count=len(query),
                limit=MAX_QUERY_LENGTH,
            ),
            fix=_text("Enter a few words from the content."),
        )
    parts = [match[1] or match[2] for match in _PART.finditer(query)]
    lines = [normalize(line) for part in parts for line in part.splitlines()]
    words = dict.fromkeys(line for line in lines if line.strip())
    if not words:
        raise InvalidInput(
            _text("The query is empty."), fix=_text('Enter words from the content, or a "quoted phrase".')
        )
    return tuple(words)


def spelled_words(query: str) -> tuple[str, ...]:
    """Return the words of a query as they are spelled: a line with this spelling is better than others."""
    return tuple(dict.fromkeys(match[1] or match[2] for match in _PART.finditer(query)))


def normalize(text: str) -> str:
    """Return the text without differences of case and accents, as of Latin letters; lines stay lines."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text.casefold())))


_CHUNK_BYTES = 64 * 1024  # bytes; a line is cut only when it is longer
_OVERLAP = (
    40 * MAX_QUERY_LENGTH
)  # bytes; folding makes at most 3 characters of one, each from at most 12 bytes
_SHOWN_LINES = 3
_MAX_HEADER = 2_000  # bytes
_EXCERPT = 160  # characters of a line that are shown
_BEFORE = 60  # how many of these stand before the word
_LONG_LINE_CHARS = 2_000  # characters into a line, from where on the place is told
_CONTINUES = 0xC0  # mask of the bits that tell whether a byte of UTF-8 begins a character
_CONTINUATION = 0x80  # what they are in a byte that begins none

_Rank = tuple[int, int, int]


class MatchingLine(msgspec.Struct, frozen=True):
    """A line, from 1, and an excerpt round its first word; `char` is where that begins if far, else 0."""

    line: int
    char: int
    excerpt: str


class MatchSummary(msgspec.Struct, frozen=True):
    """How many lines of a content hold a word, and the best of them in their order.

    Best are those with all words; where there are none, those with the rarest. `header` is the beginning of
    the content's first line, which says whether lines are numbered below it.
    """

    lines: int
    best: tuple[MatchingLine, ...]
    header: str = ""


class TextChunk(msgspec.Struct, frozen=True):
    """Some of a content's text: the line it begins in, from 1, and the characters of that line before it."""

    line: int
    char: int
    text: str


class _Match(msgspec.Struct, frozen=True):
    """A line, or a piece of it from `char` on, and its folded form.

    `rank` counts the terms in it, those of them that are whole words, and those spelled as in the query.
    """

    number: int
    char: int
    text: str
    normalized: str
    rank: _Rank

    def to_matching_line(self, terms: Sequence[str]) -> MatchingLine:
        first = min(at for at in map(self.normalized.find, terms) if at >= 0)
        start, excerpt = _excerpt(self.text, original_index(self.text, self.normalized, first))
        char = self.char + start
        return MatchingLine(self.number, char if char >= _LONG_LINE_CHARS else 0, excerpt)


class _TopLines:
    """The lines with the same terms that have the highest ranks, the first on a tie; the count of all."""

    def __init__(self, max_rank: _Rank) -> None:
        self.by_number: dict[int, _Match] = {}
        self.count = 0
        self.min_rank = (0, 0, 0)  # what a line needs more than, to be kept
        self._max_rank = max_rank

    @property
    def can_rise(self) -> bool:
        """Return True if a line can be better than one of these."""
        return self.min_rank < self._max_rank

    def keep(self, match: _Match) -> None:
        best = self.by_number
        if match.number in best and best[match.number].rank >= match.rank:
            return
        best[match.number] = match
        if len(best) > _SHOWN_LINES:
            del best[min(best, key=lambda number: (best[number].rank, -number))]
        if len(best) == _SHOWN_LINES:
            self.min_rank = min(match.rank for match in best.values())


class _BestLines:
    """The lines with all terms, or else with the rarest; and the count of all that match."""

    def __init__(self, terms: Sequence[str], spellings: Sequence[str]) -> None:
        self._terms = terms
        self._all = tuple(terms)
        self._by_terms: dict[tuple[str, ...], _TopLines] = {}
        self._words = _whole_words(terms)
        self._spellings = _whole_words(spellings)
        self._count = self._last_line = 0

    def add(self, chunk: TextChunk) -> None:
        folded = normalize(chunk.text)
        present = [word for word in self._terms if word in folded]
        if not present:
            return
        lines = chunk.text.split("\n")
        for offset, line in enumerate(folded.split("\n")):
            found = tuple([word for word in present if word in line])
            if found:
                number = chunk.line + offset
                self._count += number != self._last_line  # a line in several chunks counts once
                self._last_line = number
                if found not in self._by_terms:
                    max_rank = (len(found), len(found), min(len(found), len(self._spellings)))
                    self._by_terms[found] = _TopLines(max_rank)
                top = self._by_terms[found]
                top.count += 1
                if top.can_rise and (found == self._all or self._all not in self._by_terms):
                    rank = (len(found), _count(self._words, line), _count(self._spellings, lines[offset]))
                    if rank > top.min_rank:
                        top.keep(_Match(number, 0 if offset else chunk.char, lines[offset], line, rank))

    def summary(self, header: str) -> MatchSummary:
        best = sorted(self._best(), key=lambda match: match.number)
        lines = tuple(match.to_matching_line(self._terms) for match in best)
        return MatchSummary(self._count, lines, header)

    def _best(self) -> list[_Match]:
        if self._all in self._by_terms:
            return list(self._by_terms[self._all].by_number.values())
        counts = Counter[str]()
        for found, top in self._by_terms.items():
            counts.update(dict.fromkeys(found, top.count))
        rarity = {found: sum(1 / counts[term] for term in found) for found in self._by_terms}
        by_number: dict[int, _Match] = {}
        for found in sorted(self._by_terms, key=lambda found: -rarity[found]):
            matches = self._by_terms[found].by_number.values()
            for match in sorted(matches, key=lambda match: (*(-count for count in match.rank), match.number)):
                if len(by_number) < _SHOWN_LINES:
                    by_number.setdefault(match.number, match)
        return list(by_number.values())


def _whole_words(words: Iterable[str]) -> list[re.Pattern[str]]:
    return [re.compile(rf"(?<!\w){re.escape(word)}(?!\w)") for word in words]


def _count(patterns: Iterable[re.Pattern[str]], line: str) -> int:
    return sum(pattern.search(line) is not None for pattern in patterns)


_WORD = re.compile(r"\w+")


def _spaced(folded: str) -> str:
    """Return the words of a text, each between two spaces."""
    return f" {' '.join(_WORD.findall(folded))} "


class RankedText:
    """A text made ready for ranks, which are asked for at each letter that is typed."""

    __slots__ = ("folded", "spaced")

    def __init__(self, text: str) -> None:
        self.folded = normalize(text)
        self.spaced = _spaced(self.folded)


class WordRank:
    """Ranks texts by how well they fit normalized words; a lower rank is better."""

    EXACT, WHOLE, PART, MISSING = range(4)
    """The text is these words; it has them as words, within words; it lacks one."""

    def __init__(self, words: Sequence[str]) -> None:
        self.name = " ".join(words)
        self._words = tuple(words)
        self._whole = tuple(map(_spaced, words))

    def of(self, text: RankedText) -> int:
        if text.folded == self.name:
            return self.EXACT
        for word in self._words:
            if word not in text.folded:
                return self.MISSING
        for word in self._whole:
            if word not in text.spaced:
                return self.PART
        return self.WHOLE


def find_matches(
    terms: Sequence[str],
    data: bytes,
    description: str,
    should_continue: Callable[[], bool],
    spellings: Sequence[str] = (),
) -> MatchSummary | None:
    """Return where normalized terms occur in a content; its `description` counts as part of it.

    Of lines with equally many terms those are better that have them as whole words, then as in `spellings`.
    None if a term occurs in neither, or as soon as `should_continue` returns False.
    """
    description_text = normalize(description)
    missing = [word for word in terms if word not in description_text]
    for chunk in split_chunks(data) if missing else ():
        if not should_continue():
            return None
        folded = normalize(chunk.text)
        missing = [word for word in missing if word not in folded]
        if not missing:
            break
    return None if missing else _match_lines(terms, spellings, data, should_continue)


def _match_lines(
    terms: Sequence[str], spellings: Sequence[str], data: bytes, should_continue: Callable[[], bool]
) -> MatchSummary | None:
    best = _BestLines(terms, spellings)
    for chunk in split_chunks(data):
        if not should_continue():
            return None
        best.add(chunk)
    return best.summary(data[:_MAX_HEADER].partition(b"\n")[0].decode(errors="replace"))


def split_chunks(data: bytes) -> Iterator[TextChunk]:
    """Yield the text in chunks of whole lines; chunks of a longer line overlap, so no term is lost."""
    offset = 0
    line = 1
    char = 0
    while offset < len(data):
        end, following = _chunk_end(data, offset)
        text = data[offset:end].decode(errors="replace")
        yield TextChunk(line, char, text)
        line += text.count("\n")
        last = len(text) - (text.rfind("\n") + 1)
        char = last if "\n" in text else char + last
        char -= len(data[following:end].decode(errors="replace"))
        offset = following


def _chunk_end(data: bytes, start: int) -> tuple[int, int]:
    """Return where the chunk that begins at `start` ends, and where the next one begins."""
    limit = start + 2 * _CHUNK_BYTES
    after = data.find(b"\n", start + _CHUNK_BYTES, limit) + 1
    if after:
        return after, after
    if limit >= len(data):
        return len(data), len(data)
    end = _character_start(data, limit)
    return end, _character_start(data, end - _OVERLAP)


def _character_start(data: bytes, offset: int) -> int:
    """Return the last position up to `offset` where a character begins."""
    offsets = (
        candidate
        for candidate in range(offset, offset - 4, -1)
        if data[candidate] & _CONTINUES != _CONTINUATION
    )
    return next(offsets, offset)


def original_index(line: str, normalized: str, index: int) -> int:
    if len(line) == len(normalized):
        return index
    return max(0, bisect_left(range(len(line)), index + 1, key=lambda end: len(normalize(line[:end]))) - 1)


def word_spans(text: str, terms: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Return where normalized words stand in a text: start and end of each."""
    folded = normalize(text)
    found = (match.span() for term in terms for match in re.finditer(re.escape(term), folded))
    places = (
        (original_index(text, folded, start), original_index(text, folded, end - 1) + 1)
        for start, end in found
    )
    return tuple(sorted(places))


def visible_text(line: str) -> str:
    """Return a text for one line of a list, with a mark for each hidden character."""
    return "".join("\ufffd" if is_hidden(char) else char for char in line.replace("\t", " "))


def _excerpt(line: str, index: int) -> tuple[int, str]:
    """Return where an excerpt around an index begins, and its text, with a mark for each hidden character."""
    line = line.removesuffix("\r")
    start = max(0, min(index - _BEFORE, len(line) - _EXCERPT)) if len(line) > _EXCERPT else 0
    visible = visible_text(line[start : start + _EXCERPT])
    before = "…" if start else ""
    after = "…" if start + _EXCERPT < len(line) else ""
    return start, f"{before}{visible.strip()}{after}"


class MatchingLines(msgspec.Struct, frozen=True):
    """How many lines match, whether all were counted, and their numbered text with the lines around them."""

    count: int
    is_complete: bool
    text: str


_MAX_EXCERPT = 160
_MAX_PLACES = 100  # of one word in a message that are looked at
_LEAST_PIECE = 12  # characters; less of a line says nothing
_GAP = " … "
_CUT = "…"


class ExcerptSize(NamedTuple):
    """How many characters a list has the width for, and how many of them before the first word."""

    room: int
    lead: int


class _Place(NamedTuple):
    """Where a word stands in the folded text of a message, and whether as a whole word."""

    start: int
    end: int
    term: int
    is_whole: bool
    line_end: int


class _Span(NamedTuple):
    """From one word to another on the same line of the folded text."""

    start: int
    end: int


@dataclass
class _Piece:
    """A part of the line with this number; `line` is the line as it is written."""

    number: int
    line: str
    begin: int
    end: int


def excerpt_of(text: str, folded: str, terms: Sequence[str], size: ExcerptSize) -> str:
    """Return one line of a message with as many of the normalized words as fit; `folded` has all of them.

    Where the words are near each other, it begins shortly before the first of them. Else it is made of pieces
    round them, which may come from several lines, each without the marks of Markdown.
    """
    places = _places(folded, terms)
    spans: list[_Span] = []
    most = max(1, min(len(terms), size.room // _LEAST_PIECE))
    width = size.room
    for count in range(1, most + 1):
        width = size.room if count == 1 else size.room // count - len(_GAP)
        spans, missing = _choose_spans(places, max(width, *map(len, terms)), count)
        if not missing:
            break
    pieces = _pieces(text, folded, sorted(spans), width, size.lead)
    first = pieces[0]
    last = pieces[-1]
    before = _CUT if first.line[: first.begin].strip() else ""
    after = _CUT if last.line[last.end :].strip() else ""
    words = _GAP.join(plain_line(visible_text(piece.line[piece.begin : piece.end])) for piece in pieces)
    return f"{before}{words}{after}"


def _places(folded: str, terms: Sequence[str]) -> list[_Place]:
    places: list[_Place] = []
    for term, word in enumerate(terms):
        line_end = -1
        for match in islice(re.finditer(re.escape(word), folded), _MAX_PLACES):
            start, end = match.span()
            if start > line_end:
                line_end = folded.find("\n", start)
                line_end = len(folded) if line_end < 0 else line_end
            around = folded[max(0, start - 1) : start] + folded[end : end + 1]
            is_whole = not any(char.isalnum() or char == "_" for char in around)
            places.append(_Place(start, end, term, is_whole, line_end))
    return sorted(places)


def _choose_spans(places: Sequence[_Place], width: int, count: int) -> tuple[list[_Span], set[int]]:
    """Return spans of at most this width that hold the most words together, and the words in none of them."""
    missing = {place.term for place in places}
    spans = list[_Span]()
    while missing and len(spans) < count:
        span, terms = _best_span(places, width, missing)
        spans.append(span)
        missing -= terms
    return spans, missing


def _best_span(places: Sequence[_Place], width: int, sought: set[int]) -> tuple[_Span, set[int]]:
    """Return the span with most of the sought words; then as whole words, then the shortest, the first."""

    def rank(candidate: tuple[_Span, dict[int, bool]]) -> tuple[int, int, int]:
        span, words = candidate
        return len(words), sum(words.values()), span.start - span.end

    span, words = max(_spans(places, width, sought), key=rank)
    return span, set(words)


def _spans(places: Sequence[_Place], width: int, sought: set[int]) -> Iterator[tuple[_Span, dict[int, bool]]]:
    """Yield each span from one place on, with the words in it, and if they stand there as whole words."""
    for at, first in enumerate(places):
        if first.term not in sought:
            continue
        end = first.end
        words = {first.term: first.is_whole}
        yield _Span(first.start, end), dict(words)
        for place in islice(places, at + 1, None):
            if place.start >= min(first.start + width, first.line_end):
                break
            is_better = place.is_whole > words.get(place.term, False) or place.term not in words
            if place.term in sought and is_better and place.end <= first.start + width:
                end = max(end, place.end)
                words[place.term] = place.is_whole
                yield _Span(first.start, end), dict(words)


def _pieces(text: str, folded: str, spans: Sequence[_Span], width: int, lead: int) -> list[_Piece]:
    """Return what is shown round each span; the last goes on as far as there is something."""
    lines = text.split("\n")
    pieces = list[_Piece]()
    for span in spans:
        line_start = folded.rfind("\n", 0, span.start) + 1
        number = folded.count("\n", 0, line_start)
        line = lines[number].rstrip()
        folded_line = folded[line_start:].partition("\n")[0]
        start = original_index(lines[number], folded_line, span.start - line_start)
        end = original_index(lines[number], folded_line, span.end - 1 - line_start) + 1
        spare = max(0, width - (end - start))
        begin = _begin(line, start, min(lead, spare if len(spans) == 1 else spare // 2))
        limit = begin + _MAX_EXCERPT if span is spans[-1] else _end(line, end, begin + width)
        piece = _Piece(number, line, begin, min(len(line), limit))
        if pieces and pieces[-1].number == number and begin <= pieces[-1].end + 1:
            pieces[-1].end = max(pieces[-1].end, piece.end)
        else:
            pieces.append(piece)
    return pieces


def _begin(line: str, start: int, lead: int) -> int:
    """Return where a piece begins: with the line, or with a word at most `lead` characters before `start`."""
    first = len(line) - len(line.lstrip())
    if start - first <= lead:
        return first
    space = line.find(" ", start - lead, start)
    return space + 1 if space >= 0 else start - lead


def _end(line: str, end: int, limit: int) -> int:
    """Return where a piece ends, behind a word, from `end` on up to `limit`."""
    if limit >= len(line):
        return len(line)
    space = line.rfind(" ", end, limit + 1)
    return space if space >= 0 else max(end, limit)
