"""Mentions of files in a message: `@src/app.py`, `@src/app.py:10-40`, `@"with spaces.txt":3`."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

MAX_MENTIONS = 30
"""Mentions of one message that count; more is a list of names, not of files to read."""
_QUOTED = r'"(?P<quoted>(?:[^"\\\n]|\\.)+)"'
_FULL_WIDTH = r"\u3000-\u303f\uff00-\uff20\uff3b-\uff40\uff5b-\uff65"  # East Asian punctuation
_BARE = rf"(?P<bare>[^\s\"'`<>()\[\]{{}}|*@#{_FULL_WIDTH}]+)"
_LINES = r"(?P<lines>:(?P<first>[1-9]\d{0,8})(?:-(?P<last>[1-9]\d{0,8}))?)"
_MENTION = re.compile(rf"@(?<![\w.+\-/@\\]@)(?:{_QUOTED}{_LINES}?|{_BARE})")
_BARE_LINES = re.compile(rf"{_LINES}$", re.ASCII)
_UNFINISHED_LINES = re.compile(r":$|(?<=\d)-$")
_TYPED_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"?(.*)')
_PUNCTUATION = ".,;:!?…"
_PLAIN = re.compile(r"[\w./+~%=,&$-]*[\w/+~%=&$-]", re.ASCII)
_CODE = re.compile(
    r"^(?P<fence>```+|~~~+).*?(?:^(?P=fence)|\Z)|(?<!`)(?P<ticks>`++)[^\n]{0,999}?(?P=ticks)(?!`)",
    re.S | re.M,
)


class Mention(NamedTuple):
    """A path in a message, from `start` to `end`; lines count from 1, with 0 for the whole file."""

    path: str
    first_line: int = 0
    last_line: int = 0
    start: int = 0
    end: int = 0

    @property
    def is_reversed(self) -> bool:
        """Return True if its lines end before they begin, so that it names none."""
        return self.last_line < self.first_line

    @property
    def looks_like_path(self) -> bool:
        """Return True if hardly anything else is meant: an `@` also begins names and decorators."""
        return bool(self.first_line) or "/" in self.path or "." in self.path or " " in self.path


def find_mentions(text: str) -> tuple[Mention, ...]:
    """Return what a message mentions first, in order; nothing inside Markdown code, and no mail address."""
    if "@" not in text:
        return ()
    code = [match.span() for match in _CODE.finditer(text)]
    outside = (match for match in _MENTION.finditer(text) if not _is_inside(match.start(), code))
    return tuple(islice(filter(None, map(_read, outside)), MAX_MENTIONS))


def parse_line_range(text: str) -> tuple[str, int, int]:
    """Return a path that may end with `:10` or `:10-40`, and its first and last line; 0, 0 for none.

    The last line may be before the first: whoever wrote that is told so.
    """
    match = _BARE_LINES.search(text)
    if match is None or not match.start():
        return text, 0, 0
    first = int(match["first"])
    return text[: match.start()], first, int(match["last"] or first)


def format_mention(path: str, first_line: int = 0, last_line: int = 0) -> str:
    """Return the mention of a path and its lines; in quotes unless it consists of plain characters."""
    name = path
    if not _PLAIN.fullmatch(path) or _BARE_LINES.search(path):
        name = '"' + re.sub(r'["\\]', r"\\\g<0>", path) + '"'
    return f"@{name}{format_lines(first_line, last_line)}"


def format_lines(first_line: int, last_line: int = 0) -> str:
    """Return lines as they stand behind a path: `:10-40`, or nothing for the whole file."""
    if not first_line:
        return ""
    return f":{first_line}" if last_line <= first_line else f":{first_line}-{last_line}"


def parse_typed(query: str) -> tuple[str, int, int]:
    """Return path and lines of what stands behind the `@` so far; what ends it may be missing yet."""
    if not query.startswith('"'):
        return parse_line_range(_UNFINISHED_LINES.sub("", query))
    quoted = _TYPED_QUOTED.match(query)
    if quoted is None:
        return query, 0, 0
    _, first, last = parse_line_range("x" + _UNFINISHED_LINES.sub("", quoted[2]))
    return _unescape(quoted[1]), first, last


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _is_inside(at: int, spans: Sequence[tuple[int, int]]) -> bool:
    before = bisect_right(spans, at, key=lambda span: span[0])
    return before > 0 and at < spans[before - 1][1]


def _read(match: re.Match[str]) -> Mention | None:
    if match["quoted"]:
        path = _unescape(match["quoted"])
        first = int(match["first"] or 0)
        return Mention(path, first, int(match["last"] or first), match.start(), match.end())
    bare = match["bare"].rstrip(_PUNCTUATION)
    path, first, last = parse_line_range(bare)
    end = match.start() + 1 + len(bare)
    return Mention(path, first, last, match.start(), end) if path else None
