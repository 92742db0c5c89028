"""Text cut to fit or in chunks to count, sizes, counts and days as text, and the words of a search."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from helix_desktop.domain.unicode_safety import without_direction_signs

FIRST_LINE_CAP = 60  # characters
_TITLE_CAP = 500  # characters of a title
_SHOWN_CAP = 80  # characters
_KILO = 1024
_NUMBER = re.compile(r" \(\d+\)$")  # of a session that continues another one, or branches from it
_LINE_MARKS = re.compile(r"^\s*(?:[-*+>]|#{1,6}|\d{1,3}[.)])\s+")
_MARKS = re.compile(r"(`+)(.+?)\1|\\([!-/:-@\[-`{-~])|(?<!\w)__(?![a-z]\w*__)([^\s_][^_]*)__(?!\w)|\*\*|`+")
"""Code, whose signs are its own; a sign that is escaped; strong text, unless it reads as a name of Python's
(`__init__`); a mark without its pair."""
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def first_line(text: str, cap: int = FIRST_LINE_CAP) -> str:
    """Return the first line of `text` with a letter or digit, at most `cap` characters."""
    for line in text[:4096].splitlines():
        line_text = " ".join(without_direction_signs(line).split())
        if any(char.isalnum() for char in line_text):
            return ellipsize(line_text, cap)
    return ""


def one_line(text: str) -> str:
    """Return a text on one line, with single spaces, so that no line of it looks like another entry."""
    return " ".join(text.split())


def ellipsize(text: str, cap: int = _SHOWN_CAP) -> str:
    return text if len(text) <= cap else text[: cap - 1] + "…"


def title_number(title: str) -> str:
    """Return the number at the end of a session's title, with the space before it: " (2)"; empty if none."""
    number = _NUMBER.search(title)
    return number.group() if number else ""


def ellipsize_title(title: str, cap: int = _SHOWN_CAP) -> str:
    """Return a session's title in at most `cap` characters, cut before its number: "Fix the… (2)"."""
    number = title_number(title)
    return ellipsize(title.removesuffix(number), cap - len(number)) + number


def plain_line(text: str) -> str:
    """Return a line of Markdown without the marks of lists, headings, code and emphasis, and of escapes."""
    return _MARKS.sub(lambda mark: mark[2] or mark[3] or mark[4] or "", _LINE_MARKS.sub("", text)).strip()


def title_line(text: str) -> str:
    """Return the first line of `text` as a title, whole up to 500 characters; a longer one ends at a word."""
    title = next((line for line in map(" ".join, map(str.split, text.splitlines())) if line), "")
    if len(title) <= _TITLE_CAP:
        return title
    cut = title[:_TITLE_CAP]
    return cut.rpartition(" ")[0] + "…" if " " in cut else cut[:-1] + "…"


def format_bytes(size: int) -> str:
    """Return a size in bytes as people write it: `812 B`, `18 KB`, `2.4 MB`, `1.7 GB`."""
    if size < _KILO:
        return f"{size} B"
    if size < (_KILO - 0.5) * _KILO:  # from here it would read 1024 KB
        return f"{max(1, round(size / _KILO))} KB"
    is_giga = size >= (_KILO - 0.05) * _KILO**2
    return f"{size / _KILO**3:.1f} GB" if is_giga else f"{size / _KILO**2:.1f} MB"


def pluralize(number: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun: `1 entry`, `1,200 entries`; `plural` is for nouns that take no s."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def count_lines(text: str) -> int:
    """Return the number of lines as recall counts them: they end at newlines; the last may have none."""
    return text.count("\n") + (not text.endswith("\n") and bool(text))


def utc_minute(at_ms: int, with_year: bool = False) -> str:
    """Return a time in UTC, as `21 Nov 14:32` or `21 Nov 2026 14:32`; `at_ms` in milliseconds since 1970."""
    at = datetime.fromtimestamp(at_ms / 1000, UTC)
    year = f" {at.year}" if with_year else ""
    return f"{at.day} {_MONTHS[at.month - 1]}{year} {at:%H:%M}"


def utc_day(at_ms: int) -> str:
    """Return a day in UTC, as `2026-11-20`; `at_ms` in milliseconds since 1970."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).date().isoformat()


MAX_CHUNK_CHARS = 50_000
"""Characters counted at once: a million of whitespace overflow the stack of tiktoken's pattern matcher."""


def split_text(text: str, max_chars: int = MAX_CHUNK_CHARS) -> list[str]:
    """Split a text into chunks of at most `max_chars` characters that join to it again.

    Cuts are after the last line, else before the last space, of a chunk's last tenth, where they change a
    count by a token at most; in a run without either they are at `max_chars`.
    """
    chunks: list[str] = []
    start = 0
    while len(text) - start > max_chars:
        low = start + max_chars * 9 // 10
        high = start + max_chars
        line = text.rfind("\n", low, high) + 1
        space = text.rfind(" ", low, high)
        cut = next((index for index in (line, space) if index > start), high)
        chunks.append(text[start:cut])
        start = cut
    chunks.append(text[start:])
    return chunks


_MIN_LETTERS = 2  # of a search in messages; a Chinese word may have one


def message_query(typed: str) -> str:
    """Return the words of a search that messages are searched for; empty while they are too short."""
    words = typed.strip()
    return words if len(words) >= _MIN_LETTERS or not words.isascii() else ""


def matches_query(needle: str, *texts: str) -> bool:
    """Return True if every word of a search stands somewhere in the texts, upper and lower case alike."""
    haystack = " ".join(texts).casefold()
    return all(word in haystack for word in needle.casefold().split())
