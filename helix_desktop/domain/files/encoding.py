"""What the bytes of a file are: text in UTF-8 or UTF-16, or something else."""

from __future__ import annotations

import codecs

PDF = "PDF document"
_SNIFFED = 8192  # bytes; text has no NUL among its first ones
_UTF16_MARKS = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_MAGIC = (
    (b"\x89PNG", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"%PDF", PDF),
    (b"PK\x03\x04", "ZIP archive or office document"),
    (b"\x1f\x8b", "gzip archive"),
    (b"\x7fELF", "ELF program"),
    (b"SQLite format 3", "SQLite database"),
)


def utf16_encoding(data: bytes) -> str:
    """Return the UTF-16 codec of a file's byte order mark; empty for all other files."""
    return next((name for mark, name in _UTF16_MARKS if data.startswith(mark)), "")


def kind_by_signature(data: bytes) -> str:
    """Return what a file's first bytes say it is; empty if they say nothing."""
    return next((name for magic, name in _MAGIC if data.startswith(magic)), "")


def is_binary(data: bytes) -> bool:
    """Return True for bytes that are no text in UTF-8 or the like; False also for UTF-16."""
    return b"\0" in data[:_SNIFFED] and not utf16_encoding(data)
