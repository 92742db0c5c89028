"""Long content in pages of a number of tokens, cut between lines, or inside an overlong line."""

from __future__ import annotations

import asyncio
import codecs
import re
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from helix_desktop.domain.tools import CountTokens

_MAX_COUNTED = 2 * 1024 * 1024  # characters; beyond it a safe estimate saves seconds of counting
_CHUNK_CHARS = 256 * 1024  # characters
_CHUNK_BYTES = 256 * 1024
_RELEASE_LINES = 10_000  # lines
_ESTIMATE = 3  # characters to a token, fewer than in any code or log measured
_MIN_CHUNK = 200  # characters of a part of a long line, at least
_NUMBER_TOKENS = 3  # tokens of a line number and its colon
_MARGIN = 0.85  # share of a page's tokens: those of a line are not spread evenly
_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")

LinePosition = tuple[int, int]
"""A place in the text: a line from 1, and a character in it from 0."""


def split_lines(text: str) -> list[str]:
    """Split a text into lines with their line ends, at newlines only, so that they join to the same text."""
    lines: list[str] = []
    start = 0
    while start < len(text):
        # Chunk by chunk: a match blocks all other threads until it is done.
        end = text.find("\n", start + _CHUNK_CHARS) + 1 or len(text)
        lines += _LINE.findall(text, start, end)
        start = end
    return lines


def decode_lines(data: bytes, chunk_size: int = _CHUNK_BYTES) -> list[str]:
    """Split UTF-8 bytes into lines as `split_lines` does, with U+FFFD for what is not UTF-8.

    Decode `chunk_size` bytes at a time: decoding, too, blocks all other threads until it is done.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    lines: list[str] = []
    chunks: list[str] = []  # chunks of a line whose end has not come yet
    for start in range(0, len(data), chunk_size):
        text = decoder.decode(data[start : start + chunk_size], start + chunk_size >= len(data))
        first, *others = text.split("\n")
        chunks.append(first)
        if others:
            lines.append("".join(chunks) + "\n")
            lines += [line + "\n" for line in others[:-1]]
            chunks = others[-1:]
    if last := "".join(chunks):
        lines.append(last)
    return lines


def release_lines(lines: list[str]) -> None:
    """Empty a list part by part: freeing millions of lines at once holds up all other threads."""
    while lines:
        del lines[-_RELEASE_LINES:]


class TextPage(msgspec.Struct, frozen=True):
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
    def is_only(self) -> bool:
        """Return True if it is the only page."""
        return self.count <= 1

    def moved(self, lines: int) -> TextPage:
        """Return it as a page of a text that has so many lines more in front of it."""
        next_line = self.next_line and self.next_line + lines
        return replace(self, first=self.first + lines, last=self.last + lines, next_line=next_line)


def with_line_numbers(count_tokens: CountTokens) -> CountTokens:
    """Return a count of lines that counts their numbers too."""

    async def count(lines: Sequence[str]) -> list[int]:
        return [tokens + _NUMBER_TOKENS for tokens in await count_tokens(lines)]

    return count


def number_lines(page: TextPage) -> str:
    """Return a page with the number before each line; as it is if a line is cut."""
    if page.first_char or page.next_char:
        return page.text
    return "".join(f"{number}:{line}" for number, line in enumerate(split_lines(page.text), page.first))


class Paginator:
    """The pages of some lines."""

    def __init__(
        self,
        lines: Sequence[str],
        max_tokens: int,
        count_tokens: CountTokens,
    ) -> None:
        self._lines, self._max_tokens, self._count = lines, max_tokens, count_tokens

    async def page_at(self, line: int, char: int) -> TextPage:
        """Return the page that begins at a line (from 1) and a character in it (from 0).

        Its number counts all pages of the text if one begins there, else the pages from there on.
        """
        tokens = await self._tokens_by_line()
        return await asyncio.to_thread(self._page_at, tokens, line, char)

    def _page_at(self, tokens: Sequence[int], line: int, char: int) -> TextPage:
        cuts = self._cuts(tokens, (1, 0))
        if (line, char) not in cuts:
            cuts = self._cuts(tokens, (line, min(char, max(len(self._lines[line - 1]) - 1, 0))))
        index = cuts.index((line, char)) if (line, char) in cuts else 0
        return self._page(cuts, index)

    async def _tokens_by_line(self) -> list[int]:
        estimated = await asyncio.to_thread(self._estimate)
        return estimated or await self._count(self._lines)

    def _estimate(self) -> list[int]:
        """Return an estimate for each line if counting would take too long; else an empty list."""
        left = _MAX_COUNTED
        for line in self._lines:
            left -= len(line)
            if left < 0:
                break
        else:
            return []
        return [len(line.encode()) // _ESTIMATE + 1 for line in self._lines]

    def _cuts(self, tokens: Sequence[int], start: LinePosition) -> list[LinePosition]:
        cuts, used, first_char = [start], 0, start[1]
        for number in range(start[0], len(self._lines) + 1):
            size = tokens[number - 1]
            if used and used + size > self._max_tokens:
                cuts.append((number, 0))
                used = 0
            if size > self._max_tokens:
                cuts += self._cuts_within_line(number, size, first_char)
            used += size
            first_char = 0
        return cuts

    def _cuts_within_line(self, number: int, size: int, first_char: int) -> list[LinePosition]:
        length = len(self._lines[number - 1])
        step = max(_MIN_CHUNK, int(length * self._max_tokens / size * _MARGIN))
        return [(number, char) for char in range(first_char + step, length, step)]

    def _page(self, cuts: Sequence[LinePosition], index: int) -> TextPage:
        (first, first_char), end = cuts[index], cuts[index + 1] if index + 1 < len(cuts) else (0, 0)
        last = len(self._lines) if end == (0, 0) else end[0] if end[1] else end[0] - 1
        lines = list(self._lines[first - 1 : last])
        if lines and end[1]:
            lines[-1] = lines[-1][: end[1]]
        if lines:
            lines[0] = lines[0][first_char:]
        return TextPage("".join(lines), first, last, first_char, index + 1, len(cuts), *end)
