"""What the bytes of a file are: text in which encoding, a PDF, something else; and versions of a file."""

from __future__ import annotations

import codecs
import re
from typing import Literal

import msgspec

PDF = "PDF document"
_SNIFFED = 8192  # bytes; text has no NUL among its first ones
_CONTROLS = bytes((*range(9), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20), 0x7F))
_MAX_CONTROLS = 0.1  # of the bytes of a text
_UTF16_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins with the mark of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED_WITHIN = 1024  # bytes, as browsers look for it
_DECLARATION = re.compile(
    rb"""\A<\?xml[^>]*?encoding=["']([\w.-]+)"""
    rb"""|\A(?:[^\n]*\n)?[ \t\f]*(?:\#|//|;|--|%|").*?\bcoding[:=][ \t]*([\w.-]+)"""  # Python, Ruby, Emacs
    rb"""|<meta[^>]+charset=["']?([\w.-]+)"""
    rb"""|\A@charset "([\w.-]+)";"""
    rb"""|\bvim?:.*\b(?:fileencoding|fenc)=([\w.-]+)"""
    rb"""|"Content-Type: text/\w+; charset=([\w.-]+)\\n"""
    rb"""|\\usepackage\[([\w.-]+)\]\{inputenc\}""",
    re.IGNORECASE,
)
"""Where a text says which encoding it is in: XML, source files, HTML, CSS, editors, gettext, LaTeX."""
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
    """Return the codec of a file's byte order mark of UTF-16 or UTF-32; empty for all other files."""
    return next((name for mark, name in _UTF16_MARKS if data.startswith(mark)), "")


def kind_by_signature(data: bytes) -> str:
    """Return what a file's first bytes say it is; empty if they say nothing."""
    return next((name for magic, name in _MAGIC if data.startswith(magic)), "")


def is_binary(data: bytes) -> bool:
    """Return True for bytes that are no text in UTF-8 or the like; False also for UTF-16."""
    return b"\0" in data[:_SNIFFED] and not utf16_encoding(data)


def is_text(data: bytes) -> bool:
    """Return True for text in UTF-8 or the like that is shown by lines, also with a few control characters.

    With NUL bytes it has to be UTF-8, as most files with them are binary.
    """
    if b"\0" not in data:
        return True
    if len(data) - len(data.translate(None, _CONTROLS)) > _MAX_CONTROLS * len(data):
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def declared_encoding(start: bytes) -> str:
    """Return the codec that a text names at its beginning; empty if it names none, or UTF-8."""
    found = _DECLARATION.search(start[:_DECLARED_WITHIN])
    if found is None:
        return ""
    name = next(group for group in found.groups() if group).decode("ascii", "replace")
    try:
        codec = codecs.lookup(name)
        "a".encode(codec.name)  # some codecs are not for text
    except (LookupError, UnicodeError, ValueError):
        return ""
    return "" if codec.name in ("utf-8", "ascii", "utf-8-sig") else codec.name


def text_encoding(data: bytes) -> str:
    """Return the codec in which a text can be read and written back byte for byte; empty if none is known.

    By its mark, else UTF-8 where it is valid, else what the text itself names.
    """
    if marked := utf16_encoding(data):
        return marked if _is_lossless(data, marked) else ""
    if _is_lossless(data, "utf-8"):
        return "utf-8"
    declared = declared_encoding(data)
    return declared if declared and _is_lossless(data, declared) else ""


def _is_lossless(data: bytes, codec: str) -> bool:
    try:
        return data.decode(codec).encode(codec) == data
    except (UnicodeError, ValueError):
        return False


PdfFailure = Literal["password", "damaged", "slow", "pictures"]
"""Why a PDF gives no text: it needs a password, is damaged, takes too long, or has only pictures."""


class PdfText(msgspec.Struct, frozen=True):
    text: str
    pages: int
    page_count: int


class PdfRefused(Exception):
    def __init__(self, reason: PdfFailure, page_count: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.page_count = page_count


FINGERPRINT_DIGITS = 32  # hex digits of a SHA-256: enough, and never taken for the digest of stored content


class FileVersion(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file of the workspace as it was at one moment.

    `size` is in bytes, `modified_ns` in nanoseconds since 1970; 0 if the file had just been written, so that
    its time says little. `fingerprint` is how the SHA-256 of its bytes begins; it is empty for a file too
    large to be hashed.
    """

    path: str
    size: int
    modified_ns: int
    inode: int = 0
    fingerprint: str = ""


class ChangedFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file that is not as it was; fingerprints before and after, empty where they are not known.

    `is_gone`: there is no file of that path in the workspace any more.
    """

    path: str
    before: str = ""
    after: str = ""
    is_gone: bool = False


class ChangeReport(msgspec.Struct, frozen=True):
    """Which of some files changed, and how many could not be looked at."""

    files: tuple[ChangedFile, ...] = ()
    unchecked: int = 0
