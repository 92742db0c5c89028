"""Where words stand in stored bytes: how many lines hold them, and the best of these.

A content is read as `recall_cached_content` reads it, UTF-8 with lines that end at newlines, so that the line
numbers found here are those it takes. It is read in pieces, because one call into the interpreter's text
functions holds up all other threads until it is through.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from helix_desktop.context.signs import is_hidden
from helix_desktop.context.words import LONGEST_QUERY, fold

_PIECE = 64 * 1024  # bytes; a line is cut only when it is longer
_OVERLAP = 40 * LONGEST_QUERY  # bytes; folding makes at most 3 characters of one, each from at most 12 bytes
_SHOWN_LINES = 3
_EXCERPT, _BEFORE = 160, 60  # characters of a line that are shown, and how many of them before the word
_FAR = 2_000  # characters into a line, from where on the place is told
_CONTINUES, _CONTINUATION = 0xC0, 0x80  # UTF-8: the mask and the value of a byte that begins no character


@dataclass(frozen=True)
class Spot:
    """A line, from 1, and an excerpt round its first word; `char` is where that begins if far, else 0."""

    line: int
    char: int
    excerpt: str


@dataclass(frozen=True)
class Sighting:
    """How many lines of a content hold a word, and the best of them in their order."""

    lines: int
    best: tuple[Spot, ...]


@dataclass(frozen=True)
class Piece:
    """Some of a content's text: the line it begins in, from 1, and the characters of that line before it."""

    line: int
    char: int
    text: str


@dataclass(frozen=True)
class _Match:
    """A line, or a piece of it from `char` on, its folded form, and how many words that holds."""

    number: int
    char: int
    text: str
    folded: str
    words: int

    def spot(self, wanted: Sequence[str]) -> Spot:
        """The line as it is told."""
        first = min(at for at in map(self.folded.find, wanted) if at >= 0)
        start, excerpt = _excerpt(self.text, _unfolded(self.text, self.folded, first))
        char = self.char + start
        return Spot(self.number, char if char >= _FAR else 0, excerpt)


class _Best:
    """The lines with the most words, the first of them on a tie, and the count of all that match."""

    def __init__(self, wanted: Sequence[str]) -> None:
        self._wanted = wanted
        self._kept: dict[int, _Match] = {}
        self._least = 0  # words that a line needs more than, to be kept
        self._count = self._newest = 0

    def add(self, piece: Piece) -> None:
        """Look at the lines of the next piece."""
        folded = fold(piece.text)
        wanted = [word for word in self._wanted if word in folded]
        if not wanted:
            return
        lines = piece.text.split("\n")
        for place, line in enumerate(folded.split("\n")):
            words = sum([word in line for word in wanted])
            if words:
                number = piece.line + place
                self._count += number != self._newest  # a line in several pieces is one
                self._newest = number
                if words > self._least:
                    self._keep(_Match(number, 0 if place else piece.char, lines[place], line, words))

    def sighting(self) -> Sighting:
        """What was found in all pieces."""
        best = (self._kept[number].spot(self._wanted) for number in sorted(self._kept))
        return Sighting(self._count, tuple(best))

    def _keep(self, match: _Match) -> None:
        kept = self._kept
        if match.number in kept and kept[match.number].words >= match.words:
            return
        kept[match.number] = match
        if len(kept) > _SHOWN_LINES:
            del kept[min(kept, key=lambda number: (kept[number].words, -number))]
        if len(kept) == _SHOWN_LINES:
            self._least = min(one.words for one in kept.values())


def look(words: Sequence[str], data: bytes, about: str, going: Callable[[], bool]) -> Sighting | None:
    """Where folded words stand in a content; what is said of it (`about`) counts as part of it.

    None when one occurs in neither, or as soon as `going` says no.
    """
    known = fold(about)
    missing = [word for word in words if word not in known]
    for piece in pieces(data) if missing else ():
        if not going():
            return None
        folded = fold(piece.text)
        missing = [word for word in missing if word not in folded]
        if not missing:
            break
    return None if missing else _lines(words, data, going)


def _lines(words: Sequence[str], data: bytes, going: Callable[[], bool]) -> Sighting | None:
    best = _Best(words)
    for piece in pieces(data):
        if not going():
            return None
        best.add(piece)
    return best.sighting()


def pieces(data: bytes) -> Iterator[Piece]:
    """The text in pieces of whole lines; the pieces of a longer line overlap, so that a cut loses no word."""
    at, line, char = 0, 1, 0
    while at < len(data):
        end, following = _cut(data, at)
        text = data[at:end].decode(errors="replace")
        yield Piece(line, char, text)
        line += text.count("\n")
        last = len(text) - (text.rfind("\n") + 1)
        char = last if "\n" in text else char + last
        char -= len(data[following:end].decode(errors="replace"))
        at = following


def _cut(data: bytes, start: int) -> tuple[int, int]:
    """Where the piece that begins at `start` ends, and where the next one begins."""
    far = start + 2 * _PIECE
    after = data.find(b"\n", start + _PIECE, far) + 1
    if after:
        return after, after
    if far >= len(data):
        return len(data), len(data)
    end = _character(data, far)
    return end, _character(data, end - _OVERLAP)


def _character(data: bytes, at: int) -> int:
    """The last place up to `at` where a character begins."""
    places = (place for place in range(at, at - 4, -1) if data[place] & _CONTINUES != _CONTINUATION)
    return next(places, at)


def _unfolded(line: str, folded: str, at: int) -> int:
    """The place in a line that corresponds to one in its folded form."""
    if len(line) == len(folded):
        return at
    return max(0, bisect_left(range(len(line)), at + 1, key=lambda end: len(fold(line[:end]))) - 1)


def _excerpt(line: str, at: int) -> tuple[int, str]:
    """Where an excerpt round a place begins, and what it says, with a mark for each hidden sign."""
    line = line.removesuffix("\r")
    start = max(0, min(at - _BEFORE, len(line) - _EXCERPT)) if len(line) > _EXCERPT else 0
    cut = line[start : start + _EXCERPT].replace("\t", " ")
    shown = "".join("\ufffd" if is_hidden(sign) else sign for sign in cut)
    before, after = "…" if start else "", "…" if start + _EXCERPT < len(line) else ""
    return start, f"{before}{shown.strip()}{after}"
