"""Long content in pages of a number of tokens, cut between lines, or inside an overlong line."""

from __future__ import annotations

import asyncio
import codecs
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

_COUNTED = 2 * 1024 * 1024  # characters; beyond it a safe estimate saves seconds of counting
_PIECE = 256 * 1024  # characters
_BYTES = 256 * 1024
_FREED = 10_000  # lines
_ESTIMATE = 3  # characters to a token, fewer than in any code or log measured
_LEAST_PIECE = 200
_MARGIN = 0.85
_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")

Cut = tuple[int, int]
"""A place in the text: a line from 1, and a character in it from 0."""


def lines_of(text: str) -> list[str]:
    """The lines of a text with their line ends, cut at newlines only, so that they join to the text again."""
    lines: list[str] = []
    start = 0
    while start < len(text):
        # One piece after the other: a match holds up all other threads until it is through.
        end = text.find("\n", start + _PIECE) + 1 or len(text)
        lines += _LINE.findall(text, start, end)
        start = end
    return lines


def lines_in(data: bytes, piece: int = _BYTES) -> list[str]:
    """The lines of bytes in UTF-8, as `lines_of` gives them, with U+FFFD for what is no UTF-8.

    Read `piece` bytes at a time: decoding, too, holds up all other threads until it is through.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    lines: list[str] = []
    begun: list[str] = []  # pieces of a line whose end has not come yet
    for start in range(0, len(data), piece):
        text = decoder.decode(data[start : start + piece], start + piece >= len(data))
        first, *others = text.split("\n")
        begun.append(first)
        if others:
            lines.append("".join(begun) + "\n")
            lines += [line + "\n" for line in others[:-1]]
            begun = others[-1:]
    if last := "".join(begun):
        lines.append(last)
    return lines


def let_go(lines: list[str]) -> None:
    """Empty a list part by part: freeing millions of lines at once holds up all other threads."""
    while lines:
        del lines[-_FREED:]


@dataclass(frozen=True)
class Page:
    """A page: its text, its lines, its number of how many, and where the next begins (line 0: no next)."""

    text: str
    first: int
    last: int
    first_char: int
    number: int
    count: int
    next_line: int
    next_char: int

    @property
    def is_all(self) -> bool:
        """Whether it is the only page."""
        return self.count <= 1


class Pages:
    """The pages of some lines."""

    def __init__(
        self, lines: Sequence[str], max_tokens: int, count: Callable[[Sequence[str]], Awaitable[list[int]]]
    ) -> None:
        self._lines, self._most, self._count = lines, max_tokens, count

    async def starting(self, line: int, char: int) -> Page:
        """The page that begins at a line (from 1) and a character in it (from 0).

        It is numbered among the pages of the whole when one begins there, else among those from there on.
        """
        tokens = await self._tokens()
        return await asyncio.to_thread(self._starting, tokens, line, char)

    def _starting(self, tokens: Sequence[int], line: int, char: int) -> Page:
        cuts = self._cuts(tokens, (1, 0))
        if (line, char) not in cuts:
            cuts = self._cuts(tokens, (line, min(char, max(len(self._lines[line - 1]) - 1, 0))))
        at = cuts.index((line, char)) if (line, char) in cuts else 0
        return self._page(cuts, at)

    async def _tokens(self) -> list[int]:
        estimated = await asyncio.to_thread(self._estimated)
        return estimated or await self._count(self._lines)

    def _estimated(self) -> list[int]:
        """An estimate for each line where counting would take too long; else nothing."""
        left = _COUNTED
        for line in self._lines:
            left -= len(line)
            if left < 0:
                break
        else:
            return []
        return [len(line.encode()) // _ESTIMATE + 1 for line in self._lines]

    def _cuts(self, tokens: Sequence[int], start: Cut) -> list[Cut]:
        cuts, used, first_char = [start], 0, start[1]
        for number in range(start[0], len(self._lines) + 1):
            size = tokens[number - 1]
            if used and used + size > self._most:
                cuts.append((number, 0))
                used = 0
            if size > self._most:
                cuts += self._pieces(number, size, first_char)
            used += size
            first_char = 0
        return cuts

    def _pieces(self, number: int, size: int, first_char: int) -> list[Cut]:
        length = len(self._lines[number - 1])
        step = max(_LEAST_PIECE, int(length * self._most / size * _MARGIN))
        return [(number, char) for char in range(first_char + step, length, step)]

    def _page(self, cuts: Sequence[Cut], at: int) -> Page:
        (first, first_char), end = cuts[at], cuts[at + 1] if at + 1 < len(cuts) else (0, 0)
        last = len(self._lines) if end == (0, 0) else end[0] if end[1] else end[0] - 1
        lines = list(self._lines[first - 1 : last])
        if lines and end[1]:
            lines[-1] = lines[-1][: end[1]]
        if lines:
            lines[0] = lines[0][first_char:]
        return Page("".join(lines), first, last, first_char, at + 1, len(cuts), *end)
