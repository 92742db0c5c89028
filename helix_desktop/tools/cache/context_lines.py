"""How much of a content stands around its matching lines in an answer: what is left of the tokens decides.

The facts that are looked for stand beside the words that find them: below `case "medium":`, in the list that
a constructor opens. A line more costs a few tokens, another call a whole window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from helix_desktop.domain.unicode_safety import is_hidden

MAX_LINE = 200  # characters of a line in an answer
# A content is small if it has few lines, which may be long ones, or few bytes, about 300 tokens.
_SMALL_LINES, _MAX_SMALL_BYTES = 15, 4_000
SMALL_BYTES, _MAX_SMALL_LINES = 1_200, 40
_TINY_LINES, TINY_BYTES = 10, 400  # the bytes are about 100 tokens


@dataclass(frozen=True)
class ContextLines:
    """The lines `before` and `after` each matching one; with `has_all` all lines of a small content."""

    before: int
    after: int
    has_all: bool = False


WIDER = (
    ContextLines(0, 1),
    ContextLines(1, 2),
    ContextLines(1, 2, has_all=True),
    ContextLines(2, 4, has_all=True),
)
"""What an answer with tokens left is widened to, one after the other."""
NEAR = (ContextLines(0, 0), *WIDER[:2])
"""What stands around the matches in an entry that was named of an index: the rest wasn't looked for."""
WIDEST = 4  # lines before or after


def widths(context: int | None) -> list[ContextLines]:
    """Return the context lines to try, the first ones in any case; a `context` of 0 stays."""
    if context == 0:
        return [ContextLines(0, 0)]
    least = context or 0
    wider = [ContextLines(max(least, each.before), max(least, each.after), each.has_all) for each in WIDER]
    return list(dict.fromkeys((ContextLines(least, least), *wider)))


def split_content(data: bytes) -> tuple[bytes, ...]:
    """Return the lines of a content, without the empty one behind the last line end."""
    lines = data.split(b"\n")
    return tuple(lines[:-1] if lines[-1] == b"" else lines)


def lines_if_small(data: bytes) -> tuple[bytes, ...]:
    """Return the lines of a content that is small enough to stand in an answer whole; else none."""
    lines = split_content(data) if len(data) <= _MAX_SMALL_BYTES else ()
    return lines if is_small(lines) else ()


def is_small(lines: Sequence[bytes]) -> bool:
    """Return True if a content of these lines may stand in an answer whole, where there is room."""
    size = sum(map(len, lines))
    has_few_bytes = size <= SMALL_BYTES and len(lines) <= _MAX_SMALL_LINES
    return has_few_bytes or (len(lines) <= _SMALL_LINES and size <= _MAX_SMALL_BYTES)


def is_tiny(lines: Sequence[bytes]) -> bool:
    """Return True if a content says less than the line that names it: it is always whole in an answer."""
    return 0 < len(lines) <= _TINY_LINES and sum(map(len, lines)) <= TINY_BYTES


def clean_line(line: bytes, max_chars: int = MAX_LINE) -> str:
    """Return a line for an answer, at most `max_chars` characters, with a mark for each hidden one."""
    text = line[: 4 * max_chars].decode("utf-8", "ignore").rstrip().replace("\t", " ")
    cut = text if len(text) <= max_chars else f"{text[:max_chars]}…"
    return cut if cut.isprintable() else "".join("\ufffd" if is_hidden(sign) else sign for sign in cut)
