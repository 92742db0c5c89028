"""Content addresses, and the bare marker of one, by which a model recalls what it names."""

from __future__ import annotations

import re

RECALL_TOOL = "recall_cached_content"
SEARCH_TOOL = "search_cached_content"
CACHE_TOOLS = (RECALL_TOOL, SEARCH_TOOL, "list_cached_content")
"""Tools whose answers repeat what is stored, in pages of their own."""

EXCLUDE = "exclude"
"""Stands for a tool in the description of a content that the user left out of the requests."""

MARKER_START = f"[CACHED] {RECALL_TOOL}("
HEX_DIGITS = 64
SHORT_DIGITS = 12
"""Hex digits by which an answer of the cache's tools names a content, and one about a file its version."""

MIN_PREFIX = 8  # shortest prefix that recall accepts, in hex digits
_MARKER = re.compile(rf'\s*{re.escape(MARKER_START)}"[0-9a-f]{{{MIN_PREFIX},{HEX_DIGITS}}}"\)[^\n]*\s*')
_PREFIX = re.compile(r"[0-9a-f]{1,64}")


def digest_of(data: bytes) -> str:
    """Return the SHA-256 of `data` as 64 lower-case hex digits."""
    import hashlib  # loads OpenSSL: not before the first frame

    return hashlib.sha256(data).hexdigest()


def is_digest(text: str) -> bool:
    """Return True if `text` is 64 lower-case hex digits."""
    return len(text) == HEX_DIGITS and _PREFIX.fullmatch(text) is not None


def is_digest_prefix(text: str) -> bool:
    return _PREFIX.fullmatch(text) is not None


def bare_marker(digest: str, digits: int = HEX_DIGITS) -> str:
    """Return the bare marker of a digest, by its first `digits`; the tool's name is never prefixed."""
    return f'{MARKER_START}"{digest[:digits]}")'


def is_marker(text: str) -> bool:
    """Return True if a text is a marker, with or without a description, and nothing else."""
    return _MARKER.fullmatch(text) is not None
