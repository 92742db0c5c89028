"""Content addresses and the marker that replaces a cached output."""

from __future__ import annotations

import hashlib
import re

RECALL_TOOL = "recall_cached_content"
HEX_DIGITS = 64
MIN_PREFIX = 8  # shortest prefix that recall accepts, in hex digits
FIRST_LINE_CAP = 60
_TITLE_CAP = 500
_SHOWN_CAP = 80
_TARGET_CAP = 60
_KILO = 1024
_PREFIX = re.compile(r"[0-9a-f]{1,64}")


def digest_of(data: bytes) -> str:
    """Return the SHA-256 of `data` as 64 lower-case hex digits."""
    return hashlib.sha256(data).hexdigest()


def is_digest(text: str) -> bool:
    """Return True if `text` is 64 lower-case hex digits."""
    return len(text) == HEX_DIGITS and _PREFIX.fullmatch(text) is not None


def is_digest_prefix(text: str) -> bool:
    """Return True if `text` could begin a digest."""
    return _PREFIX.fullmatch(text) is not None


def first_line(text: str, cap: int = FIRST_LINE_CAP) -> str:
    """Return the first line of `text` with a letter or digit, at most `cap` characters."""
    for line in text[:4096].splitlines():
        line_text = " ".join(line.split())
        if any(char.isalnum() for char in line_text):
            return ellipsize(line_text, cap)
    return ""


def ellipsize(text: str, cap: int = _SHOWN_CAP) -> str:
    """Return `text` in at most `cap` characters, with an ellipsis where it is cut."""
    return text if len(text) <= cap else text[: cap - 1] + "…"


def title_line(text: str) -> str:
    """Return the first line of `text` as a title, whole up to 500 characters; a longer one ends at a word."""
    title = next((line for line in map(" ".join, map(str.split, text.splitlines())) if line), "")
    if len(title) <= _TITLE_CAP:
        return title
    cut = title[:_TITLE_CAP]
    return cut.rpartition(" ")[0] + "…" if " " in cut else cut[:-1] + "…"


def format_bytes(size: int) -> str:
    """Return a size in bytes as people write it: `812 B`, `18 KB`, `2.4 MB`."""
    if size < _KILO:
        return f"{size} B"
    if size < _KILO * _KILO:
        return f"{max(1, round(size / _KILO))} KB"
    return f"{size / (_KILO * _KILO):.1f} MB"


def pluralize(number: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun: `1 entry`, `1,200 entries`; `plural` is for nouns that take no s."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def bare_marker(digest: str) -> str:
    """Return the bare marker of a digest; the tool's name is never prefixed."""
    return f'[CACHED] {RECALL_TOOL}("{digest}")'


def marker(digest: str, tool: str, target: str, size: int, line: str) -> str:
    """Return the marker with its one-line description, which replaces a cached output in the window."""
    where = target if len(target) <= _TARGET_CAP else target[:24] + "…" + target[-(_TARGET_CAP - 25) :]
    call = " ".join(part for part in (tool, where) if part)
    quoted_line = f', "{line}"' if line else ""
    return " ".join(f"{bare_marker(digest)} {call}, {format_bytes(size)}{quoted_line}".split())
