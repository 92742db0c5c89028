"""Find the lines of a text that match a regular expression, with their context.

ripgrep gives the line numbers; the text shown comes from the content itself, so that nothing in a line can
pass for a line number.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass

from helix_desktop.domain.errors import InvalidInput, ToolError
from helix_desktop.domain.text_search import MatchingLines
from helix_desktop.domain.translatable_text import TextContext, verbatim
from helix_desktop.tools.cache.line_matches import pattern_options
from helix_desktop.tools.cache.paging import decode_lines, release_lines
from helix_desktop.tools.process.ripgrep import Ripgrep
from helix_desktop.tools.process.runner import ProcessResult

_text = TextContext("Tools")

_MAX_LINE, _BEFORE = 400, 100  # characters shown of a line, and how many of them before the match
_SYNTAX_ERROR = "error: "  # of ripgrep, before what is wrong with a pattern
_MAX_ROWS = 20_000  # more than the largest page, 16,000 tokens, can show
_ENCODED = 10_000  # lines
_ROW = re.compile(rb"(\d+)(?::(\d+):|-)|--\Z")


@dataclass(frozen=True)
class MatchedLine:
    """A line as it is shown, with its number from 1 (0: a gap between lines)."""

    number: int
    text: str


@dataclass(frozen=True)
class LineMatches:
    """The number of matching lines, whether all were counted, the first rows with their context."""

    count: int
    is_complete: bool
    lines: list[MatchedLine]


class RegexLineSearch:
    """Finds the lines that the user recalls, as the agent's recall finds its own."""

    def __init__(self, ripgrep: Ripgrep) -> None:
        self._ripgrep = ripgrep

    async def find(self, data: bytes, pattern: str, context: int) -> MatchingLines:
        """Return the lines of a content that match, numbered, with `context` lines around each.

        Raises InvalidInput if the pattern is invalid, or the search takes too long.
        """
        lines = await asyncio.to_thread(decode_lines, data)
        try:
            matches = await find_lines(self._ripgrep, lines, 1, pattern, context)
        except ToolError as error:
            raise _as_input_error(error) from error
        finally:
            await asyncio.to_thread(release_lines, lines)
        return MatchingLines(matches.count, matches.is_complete, "".join(row.text for row in matches.lines))


def _as_input_error(error: ToolError) -> InvalidInput:
    """Return a failed search for the user."""
    reason = str(error.why) or str(error.what)
    return pattern_error(error) or InvalidInput(_text("The search failed."), verbatim(reason))


def pattern_error(error: ToolError) -> InvalidInput | None:
    """Return the error for the user if a pattern is wrong, as ripgrep's last line says; else None."""
    reason = str(error.why)
    if _SYNTAX_ERROR not in reason:
        return None
    return InvalidInput(
        _text("The regular expression can't be read."),
        verbatim(reason.rpartition(_SYNTAX_ERROR)[2].strip().capitalize() + "."),
        _text("Correct it, or put \\ before a sign that stands for itself."),
    )


async def find_lines(
    ripgrep: Ripgrep, lines: Sequence[str], first: int, pattern: str, context: int
) -> LineMatches:
    """Find a pattern in lines, the first of which has the number `first`, with `context` lines around.

    Raises ToolError when the pattern is invalid.
    """
    stdin_data = await asyncio.to_thread(_encoded, lines)
    options = [f"--context={context}", "--column", "--text", *pattern_options(pattern), "--", "-"]
    result = await ripgrep.run(options, ".", stdin_data)
    return await asyncio.to_thread(_read, result, lines, first)


def _encoded(lines: Sequence[str]) -> bytes:
    """Encode the text part by part: a single call would block all other threads until it is done."""
    parts = ("".join(lines[start : start + _ENCODED]).encode() for start in range(0, len(lines), _ENCODED))
    return b"".join(parts)


def _read(result: ProcessResult, lines: Sequence[str], first: int) -> LineMatches:
    count, rows = 0, list[MatchedLine]()
    for output_line in result.output.split(b"\n"):
        match = _ROW.match(output_line)
        if match is None:
            # After the gap where the middle of the output was dropped, numbers may be cut.
            break
        count += match[2] is not None
        if len(rows) < _MAX_ROWS:
            rows.append(_row(match, lines, first))
    return LineMatches(count, not result.dropped_bytes, rows)


def _row(match: re.Match[bytes], lines: Sequence[str], first: int) -> MatchedLine:
    if match[1] is None:
        return MatchedLine(0, "--\n")
    index, column = int(match[1]) - 1, match[2]
    excerpt = _excerpt(lines[index], int(column) - 1 if column else 0)
    return MatchedLine(first + index, f"{first + index}{':' if column else '-'}{excerpt}\n")


def _excerpt(line: str, byte_offset: int) -> str:
    """Return a line, or the part of a long line around a byte offset, with the character it starts at."""
    line = line.removesuffix("\n").removesuffix("\r")
    if len(line) <= _MAX_LINE:
        return line
    char = len(line.encode()[:byte_offset].decode(errors="replace"))
    start = max(0, char - _BEFORE)
    if start + _MAX_LINE >= len(line):
        return f"[start_char={start}] …{line[start:]}"
    cut = f"{line[start : start + _MAX_LINE]}…"
    return f"[start_char={start}] …{cut}" if start else cut
