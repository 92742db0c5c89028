"""A content as rows of text or hexadecimal, made page by page: no Qt, and fit to be made in a thread."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from codecs import getincrementaldecoder
from collections.abc import Iterator

import msgspec

WRAP_CHARACTERS = 2_000  # an unbroken line of 200,000 takes Qt 4.7 s
PAGE_LINES = 400
HEX_WIDTH = 16  # bytes in a row of hexadecimal
MATCH_LIMIT = 10_000
_SNIFF_BYTES = 8_192  # bytes that are looked at for a NUL
DECODED_BYTES = 256 * 1024  # at a time, within a millisecond: the other threads wait meanwhile
_SEARCH_STEP_BYTES = 1 << 20  # bytes searched between two pauses
# Control characters are shown as their pictures, one for one, so that columns stay what they are.
_CONTROL_PICTURES = {code: 0x2400 + code for code in range(32) if code != ord("\t")} | {0x7F: 0x2421}


class PageRow(msgspec.Struct, frozen=True):
    """One row on screen: the number of its line (None where it goes on from the row above) and its text.

    A header above the numbered lines has the number 0.
    """

    line_number: int | None
    text: str


class Match(msgspec.Struct, frozen=True):
    """Where a search hit: row counted from 0 over all pages, column and length in characters."""

    row: int
    column: int
    length: int


class PagedContent:
    """Bytes with an index of their rows. Text where they are text, else hexadecimal."""

    def __init__(self, data: bytes, *, as_hex: bool = False, first_number: int = 1) -> None:
        """`as_hex` makes hexadecimal of text, too.

        `first_number`: of the first line; other than 1, it is a header, and the line below has the next one.
        """
        self.data = data
        self.is_text = not _is_binary(data)
        self.is_binary = as_hex or not self.is_text
        self._starts = array("Q")
        self._line_numbers = array("I")
        self.first_line = 1
        """The number of the first line, below a header if there is one."""
        if not self.is_binary:
            self.first_line = max(1, first_number + (first_number > 1))
            self._index(first_number)

    @property
    def row_count(self) -> int:
        return -(-len(self.data) // HEX_WIDTH) if self.is_binary else len(self._starts)

    @property
    def last_line(self) -> int:
        """Return the number of the last line of the text; of hexadecimal, how many rows it has."""
        if self.is_binary:
            return self.row_count
        return self._line_numbers[-1] if self._line_numbers else 0

    @property
    def page_count(self) -> int:
        return max(1, -(-self.row_count // PAGE_LINES))

    def page(self, index: int) -> list[PageRow]:
        first = index * PAGE_LINES
        return [self.row(at) for at in range(first, min(first + PAGE_LINES, self.row_count))]

    def row(self, index: int) -> PageRow:
        if self.is_binary:
            return PageRow(index + 1, _hex_row(self.data, index * HEX_WIDTH))
        goes_on = index > 0 and self._line_numbers[index] == self._line_numbers[index - 1]
        return PageRow(None if goes_on else self._line_numbers[index], self._text(index))

    def line_at(self, row: int) -> int:
        return row + 1 if self.is_binary else self._line_numbers[row]

    def byte_share(self, first_line: int, last_line: int) -> float:
        """Return the share of all bytes in lines `first_line` to `last_line` (from 1, inclusive), 0 to 1."""
        if not self.data or self.is_binary:
            return 1.0
        begin = self._starts[self.row_of_line(first_line)] if first_line <= self.last_line else len(self.data)
        end = self._starts[self.row_of_line(last_line + 1)] if last_line < self.last_line else len(self.data)
        return max(0, end - begin) / len(self.data)

    def search(self, query: str) -> Iterator[Match | None]:
        """Return where `query` stand, letter case aside for ASCII; None now and then, as a place to pause.

        Ends after MATCH_LIMIT hits. Words that a folded line breaks apart are found where they begin.
        """
        needle = query.encode()
        if not needle:
            return
        pattern = re.compile(re.escape(needle), re.IGNORECASE)
        overlap = len(needle) - 1
        count = 0
        for begin in range(0, len(self.data), _SEARCH_STEP_BYTES):
            for hit in pattern.finditer(self.data, begin, begin + _SEARCH_STEP_BYTES + overlap):
                yield self._match(hit.start(), hit.end())
                count += 1
                if count >= MATCH_LIMIT:
                    return
            yield None

    def _match(self, start: int, end: int) -> Match:
        if self.is_binary:
            column = 10 + 3 * (start % HEX_WIDTH)
            return Match(start // HEX_WIDTH, column, 3 * min(end - start, HEX_WIDTH - start % HEX_WIDTH) - 1)
        row = bisect_right(self._starts, start) - 1
        column = len(self.data[self._starts[row] : start].decode(errors="replace"))
        return Match(row, column, len(self.data[start:end].decode(errors="replace")))

    def row_of_line(self, line: int) -> int:
        """Return the row, from 0, with which a line of the text begins, from 1."""
        low = 0
        high = len(self._line_numbers)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._line_numbers[middle] < line else (low, middle)
        return low

    def _text(self, index: int) -> str:
        end = self._starts[index + 1] if index + 1 < len(self._starts) else len(self.data)
        raw = self.data[self._starts[index] : end]
        return (
            raw.removesuffix(b"\n").removesuffix(b"\r").decode(errors="replace").translate(_CONTROL_PICTURES)
        )

    def _index(self, number: int) -> None:
        begin = 0
        size = len(self.data)
        while begin < size:
            end = self.data.find(b"\n", begin) + 1 or size
            shown = number if begin or number == 1 else 0  # a header has none
            self._starts.append(begin)
            self._line_numbers.append(shown)
            if end - begin > WRAP_CHARACTERS:
                for cut in _wrap_points(self.data, begin, end):
                    self._starts.append(cut)
                    self._line_numbers.append(shown)
            begin = end
            number = number + 1


def _wrap_points(data: bytes, begin: int, end: int) -> Iterator[int]:
    # Bytes are counted, not characters: cuts are found at once, and no row is longer than allowed.
    cut = begin + WRAP_CHARACTERS
    while cut < end - 1:
        while cut > begin and data[cut] & 0xC0 == 0x80:  # noqa: PLR2004 - inside a UTF-8 sequence
            cut -= 1
        yield cut
        cut += WRAP_CHARACTERS


def _is_binary(data: bytes) -> bool:
    if b"\0" in data[:_SNIFF_BYTES]:
        return True
    decoder = getincrementaldecoder("utf-8")()
    for at in range(0, len(data), DECODED_BYTES):
        piece = data[at : at + DECODED_BYTES]
        try:
            decoder.decode(piece)
        except UnicodeDecodeError as error:
            # A text that was cut inside its last character is still a text.
            return at + len(piece) - len(error.object) + error.start < len(data) - 3
    return False


def _hex_row(data: bytes, offset: int) -> str:
    chunk = data[offset : offset + HEX_WIDTH]
    printable = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in chunk)  # noqa: PLR2004 - printable ASCII
    return f"{offset:08x}  {chunk.hex(' '):<{3 * HEX_WIDTH - 1}}  {printable}"
