"""The part of a message that a list shows of it: one line, with every word of a search in sight."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from helix_desktop.domain.text_format import plain_line
from helix_desktop.domain.text_search import original_index, visible_text

_MAX_CHARS = 160
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
    return _join(_pieces(text, folded, sorted(spans), width, size.lead))


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
    missing, spans = {place.term for place in places}, list[_Span]()
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
        end, words = first.end, {first.term: first.is_whole}
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
    lines, pieces = text.split("\n"), list[_Piece]()
    for span in spans:
        line_start = folded.rfind("\n", 0, span.start) + 1
        number = folded.count("\n", 0, line_start)
        line, folded_line = lines[number].rstrip(), folded[line_start:].partition("\n")[0]
        start = original_index(lines[number], folded_line, span.start - line_start)
        end = original_index(lines[number], folded_line, span.end - 1 - line_start) + 1
        spare = max(0, width - (end - start))
        begin = _begin(line, start, min(lead, spare if len(spans) == 1 else spare // 2))
        limit = begin + _MAX_CHARS if span is spans[-1] else _end(line, end, begin + width)
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


def _join(pieces: Sequence[_Piece]) -> str:
    first, last = pieces[0], pieces[-1]
    before = _CUT if first.line[: first.begin].strip() else ""
    after = _CUT if last.line[last.end :].strip() else ""
    words = _GAP.join(plain_line(visible_text(piece.line[piece.begin : piece.end])) for piece in pieces)
    return f"{before}{words}{after}"
