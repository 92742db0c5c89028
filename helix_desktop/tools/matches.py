"""The lines of a text that a regular expression finds, with those around them.

ripgrep says which lines; what is shown of them is taken from the text itself, so that nothing in a line can
pass for a line number.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass

from helix_desktop.tools.process import Ran
from helix_desktop.tools.ripgrep import Ripgrep

_CONTEXT_LINES = 2
_LONGEST, _BEFORE = 400, 100  # characters shown of a line, and how many of them before the match
_MOST_ROWS = 20_000  # more than the largest page, 16,000 tokens, can show
_ENCODED = 10_000  # lines
_ROW = re.compile(rb"(\d+)(?::(\d+):|-)|--\Z")


@dataclass(frozen=True)
class Row:
    """A line as it is shown, with its number from 1 (0: a gap between lines)."""

    number: int
    shown: str


@dataclass(frozen=True)
class Matches:
    """How many lines match, whether all were counted, and the first rows with two lines round each match."""

    count: int
    complete: bool
    rows: list[Row]


async def find_lines(ripgrep: Ripgrep, lines: Sequence[str], first: int, pattern: str) -> Matches:
    """What a pattern finds in lines, the first of which has the number `first`.

    Raises ToolError when the pattern is wrong.
    """
    feed = await asyncio.to_thread(_encoded, lines)
    options = [f"--context={_CONTEXT_LINES}", "--column", "--text", f"--regexp={pattern}", "--", "-"]
    ran = await ripgrep.run(options, ".", feed)
    return await asyncio.to_thread(_read, ran, lines, first)


def _encoded(lines: Sequence[str]) -> bytes:
    """The text, encoded part by part: one call would hold up all other threads until it is through."""
    parts = ("".join(lines[at : at + _ENCODED]).encode() for at in range(0, len(lines), _ENCODED))
    return b"".join(parts)


def _read(ran: Ran, lines: Sequence[str], first: int) -> Matches:
    count, rows = 0, list[Row]()
    for said in ran.output.split(b"\n"):
        found = _ROW.match(said)
        if found is None:
            # Behind the place where the middle of the output was dropped, numbers may be cut.
            break
        count += found[2] is not None
        if len(rows) < _MOST_ROWS:
            rows.append(_row(found, lines, first))
    return Matches(count, not ran.dropped, rows)


def _row(found: re.Match[bytes], lines: Sequence[str], first: int) -> Row:
    if found[1] is None:
        return Row(0, "--\n")
    at, column = int(found[1]) - 1, found[2]
    shown = _shown(lines[at], int(column) - 1 if column else 0)
    return Row(first + at, f"{first + at}{':' if column else '-'}{shown}\n")


def _shown(line: str, byte: int) -> str:
    """A line, or the part of a long one round the character at a byte, with the place where it begins."""
    line = line.removesuffix("\n").removesuffix("\r")
    if len(line) <= _LONGEST:
        return line
    char = len(line.encode()[:byte].decode(errors="replace"))
    start = max(0, char - _BEFORE)
    if start + _LONGEST >= len(line):
        return f"[start_char={start}] …{line[start:]}"
    cut = f"{line[start : start + _LONGEST]}…"
    return f"[start_char={start}] …{cut}" if start else cut
