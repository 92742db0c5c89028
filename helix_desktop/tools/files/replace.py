"""Exact text replacement in a file's bytes, with the places of the replacements; other bytes stay."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from difflib import get_close_matches
from heapq import nlargest
from itertools import chain, dropwhile, repeat

import msgspec

from helix_desktop.domain.digest import is_marker
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.files.content import text_encoding, utf16_encoding
from helix_desktop.domain.files.names import is_secret_path
from helix_desktop.tools.arguments import Arguments

_SHOWN_LINES = 5
_SIMILAR_LINES, _SIMILAR_CHARS = 20, 1_500  # of the file, shown for a text that is only alike
_LEAST_RATIO = 0.7  # of equal characters in a line that is like another one
_LEAST_COMPARED_CHARS, _MAX_COMPARED_CHARS = 8, 400
_COMPARED_LINES = 50  # those with the most words in common: all of a large file would take seconds
_WORD = re.compile(r"\w+")
_LINE_NUMBERS = re.compile(r"^\d+:", re.MULTILINE)  # as a range of lines is read
_BOM = "\ufeff"
_READ_AGAIN = "Read the file again."


class Edit(Arguments, frozen=True):
    """One edit of one file; without replace_all, old_text must occur exactly once."""

    path: str
    old_text: str
    new_text: str
    replace_all: bool = False


class Replacements(msgspec.Struct, frozen=True):
    """Where a text was replaced: offsets in the text before it, as UTF-8, and the length of both texts."""

    starts: list[int]
    old_length: int
    new_length: int

    def place_after(self, offset: int) -> int:
        """Return where a place of the text is now: in a text that was replaced, at its beginning."""
        count = bisect_right(self.starts, offset)
        added = self.new_length - self.old_length
        if count and offset < self.starts[count - 1] + self.old_length:
            return self.starts[count - 1] + (count - 1) * added
        return offset + count * added


def replace_text(rel: str, data: bytes, edit: Edit) -> tuple[bytes, Replacements]:
    """Return the edited bytes and what was replaced; other bytes stay.

    Encoding, byte order mark and line ends follow the file's. Raises ToolError when old_text is empty, equals
    new_text, is not there, or is there more than once without replace_all; and for a marker as new_text.
    """
    if not edit.old_text:
        raise ToolError("old_text is empty.", fix="Give the text to replace, or use write_file.")
    refuse_marker("new_text", edit.new_text)
    if edit.old_text == edit.new_text:
        raise ToolError("old_text and new_text are the same.", "Nothing would change.")
    encoding, text = _as_utf8(rel, data)
    if not encoding and not edit.new_text.isascii():
        raise _unknown_encoding(rel, data)
    old, new = _as_in_file(text, edit.old_text), _as_in_file(text, edit.new_text)
    starts = _offsets(text, old)
    if not starts and (mixed := _with_other_line_ends(rel, text, edit)):
        old, new = mixed
        starts = _offsets(text, old)
    if not starts:
        raise _not_found(rel, text, edit.old_text, is_text=bool(encoding))
    if len(starts) > 1 and not edit.replace_all:
        more = " …" if len(starts) > _SHOWN_LINES else ""
        lines = ", ".join(str(_line_of(text, start)) for start in starts[:_SHOWN_LINES])
        raise ToolError(
            f"old_text occurs {len(starts)} times in {rel}, at lines {lines}{more}.",
            fix="Give more of the text around it, or set replace_all.",
        )
    after = text.replace(old, new)
    if encoding not in ("", "utf-8"):
        after = _encoded(rel, after.decode(), encoding)
    return after, Replacements(starts, len(old), len(new))


def refuse_marker(argument: str, text: str) -> None:
    """Raise ToolError if a text is only a marker, as it stands in older calls in place of their text."""
    if is_marker(text):
        raise ToolError(
            f"{argument} is a [CACHED] marker; nothing was written.",
            "It only stands for text in calls that were made.",
            "Write the text itself; recall_cached_content gives it by the marker's hash.",
        )


def lines_of(rel: str, data: bytes, offsets: list[int]) -> dict[int, int]:
    """Return the line of each place in a file's text, as UTF-8. Raises ToolError for invalid UTF-16."""
    _, text = _as_utf8(rel, data)
    lines, line, counted = dict[int, int](), 1, 0
    for offset in sorted(offsets):
        line += text.count(b"\n", counted, offset)
        lines[offset], counted = line, offset
    return lines


def reencode(rel: str, previous: bytes | None, content: str) -> tuple[bytes, str]:
    """Encode new content with the encoding and line ends of the old one; return bytes and what was kept.

    Raises ToolError where the encoding of the old one is not known, or has not all characters of the new one.
    """
    if not previous:
        return content.encode(), ""
    encoding, preserved = utf16_encoding(previous), list[str]()
    if not encoding and b"\0" not in previous and (other := text_encoding(previous)) != "utf-8":
        return _reencode_other(rel, previous, content, other)
    if _is_crlf(previous, encoding) and "\r" not in content:
        content = content.replace("\n", "\r\n")
        preserved.append("CRLF line ends")
    if encoding:
        marked = _BOM + content.removeprefix(_BOM)
        return _encoded(rel, marked, encoding), " and ".join([*preserved, _encoding_name(encoding)])
    if previous.startswith(codecs.BOM_UTF8) and not content.startswith(_BOM):
        content = _BOM + content
        preserved.append("byte order mark")
    return content.encode(), " and ".join(preserved)


def _as_utf8(rel: str, data: bytes) -> tuple[str, bytes]:
    """Return a file's encoding and its text in UTF-8; with an unknown encoding the bytes as they are.

    Raises ToolError for a file that begins like UTF-16 and is not.
    """
    encoding = "" if b"\0" in data and not utf16_encoding(data) else text_encoding(data)
    if encoding:
        return encoding, data if encoding == "utf-8" else data.decode(encoding).encode()
    if utf16_encoding(data):
        raise ToolError(
            f"{rel} cannot be edited.", "It begins like UTF-16 and is not.", "Use run_command to change it."
        )
    return "", data


def _encoded(rel: str, text: str, encoding: str) -> bytes:
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        sign = text[error.start]
        raise ToolError(
            f"{rel} was not changed: {sign!r} can't be written in {_encoding_name(encoding)}.",
            "The file is in that encoding, and a file has only one.",
            "Use other characters, or convert the file to UTF-8 first with run_command.",
        ) from None


def _with_other_line_ends(rel: str, text: bytes, edit: Edit) -> tuple[bytes, bytes] | None:
    """Return the old and new bytes for a file that mixes line ends, if only those differ from old_text."""
    lines = edit.old_text.replace("\r\n", "\n").encode().split(b"\n")
    if len(lines) == 1 or b"\r\n" not in text:
        return None
    places = re.findall(b"\r?\n".join(map(re.escape, lines)), text)
    if len(set(places)) > 1:
        raise ToolError(
            f"old_text occurs {len(places)} times in {rel}, with different line ends.",
            fix="Edit one place after the other: give more of the text around it.",
        )
    if not places:
        return None
    ends = re.findall(rb"\r?\n", places[0])
    first, *others = edit.new_text.replace("\r\n", "\n").encode().split(b"\n")
    added = (end + line for end, line in zip(chain(ends, repeat(ends[-1])), others, strict=False))
    return places[0], first + b"".join(added)


def _not_found(rel: str, text: bytes, old_text: str, *, is_text: bool) -> ToolError:
    what = f"old_text was not found in {rel}."
    if not is_text and b"\0" in text:
        return ToolError(
            what,
            "The file has NUL bytes: it is binary, or UTF-16 without a mark.",
            "Use run_command to change it.",
        )
    if not is_text and "\ufffd" in old_text:
        return ToolError(
            what,
            "The file isn't UTF-8, and \ufffd only stands for bytes of it.",
            "Give text without \ufffd, or convert the file to UTF-8 first with run_command.",
        )
    if is_secret_path(rel):
        return ToolError(what, fix=_READ_AGAIN)
    return ToolError(what, fix=_similar_text_hint(text.decode(errors="replace"), old_text))


def _unknown_encoding(rel: str, data: bytes) -> ToolError:
    return ToolError(
        f"{rel} was not changed: it has NUL bytes, so its encoding isn't known."
        if b"\0" in data
        else f"{rel} was not changed: it isn't UTF-8, and nothing says which encoding it is in.",
        "Characters that are not ASCII would be in another encoding than the rest.",
        "Use ASCII only, or convert the file to UTF-8 first with run_command (iconv -f ENCODING -t UTF-8).",
    )


def _reencode_other(rel: str, previous: bytes, content: str, encoding: str) -> tuple[bytes, str]:
    """Encode new content for a file that is neither UTF-8 nor UTF-16."""
    if not encoding and not content.isascii():
        raise _unknown_encoding(rel, previous)
    preserved = [_encoding_name(encoding)] if encoding else []
    if _is_crlf(previous, "") and "\r" not in content:
        content = content.replace("\n", "\r\n")
        preserved.insert(0, "CRLF line ends")
    return _encoded(rel, content, encoding or "ascii"), " and ".join(preserved)


def _encoding_name(codec: str) -> str:
    """Return a codec's name as people write it."""
    return codec.removesuffix("-le").removesuffix("-be").upper()


def _is_crlf(data: bytes, encoding: str) -> bool:
    if encoding:
        data = data.decode(encoding, "replace").encode()
    return b"\r\n" in data and data.count(b"\r\n") == data.count(b"\n")


def _as_in_file(data: bytes, text: str) -> bytes:
    """Return a text with the line ends of a file that has one kind of them."""
    if _is_crlf(data, ""):
        return text.replace("\r\n", "\n").replace("\n", "\r\n").encode()
    if b"\r" in data and b"\n" not in data:
        return text.replace("\r\n", "\n").replace("\n", "\r").encode()
    return text.encode()


def _offsets(text: bytes, old: bytes) -> list[int]:
    offsets: list[int] = []
    offset = text.find(old)
    while offset >= 0:
        offsets.append(offset)
        offset = text.find(old, offset + len(old))
    return offsets


def _line_of(text: bytes, offset: int) -> int:
    return text.count(b"\n", 0, offset) + 1


def _similar_text_hint(data: str, old: str) -> str:
    """Return what to do, with the lines of the file from the first that is like the first of `old`."""
    if _LINE_NUMBERS.sub("", old) in data:
        return "It is there without the line numbers: leave them out."
    own_lines, lines = old.splitlines(), data.replace("\r\n", "\n").split("\n")  # as read_file numbers them
    number = _similar_place(lines, own_lines)
    if number is None:
        return _READ_AGAIN
    excerpt = "\n".join(lines[number : number + min(len(own_lines), _SIMILAR_LINES)])
    return (
        f"Line {number + 1} is like its first line. From there the file has:\n"
        f"{excerpt[:_SIMILAR_CHARS].rstrip(chr(10))}"
    )


def _squeeze(line: str) -> str:
    return "".join(line.split())


def _similar_place(lines: list[str], own_lines: list[str]) -> int | None:
    """Return the index of the line that is like the first of `own_lines`, where most of the others follow."""
    own_lines = list(dropwhile(lambda line: not line.strip(), own_lines))
    if not own_lines:
        return None
    squeezed = [_squeeze(line) for line in lines]
    own = [_squeeze(line) for line in own_lines[:_SIMILAR_LINES]]
    near = [own[0]] if own[0] in squeezed else _near_lines(lines, own_lines[0])
    places = [index for index, line in enumerate(squeezed) if line in near]

    def count_equal(place: int) -> int:
        return sum(map(str.__eq__, own, squeezed[place : place + len(own)]))

    return max(places, key=count_equal, default=None)


def _near_lines(lines: list[str], expected: str) -> list[str]:
    """Return the line that differs least from `expected`, spaces apart, at most one; none for a short one."""
    if not _LEAST_COMPARED_CHARS <= len(_squeeze(expected)) <= len(expected) <= _MAX_COMPARED_CHARS:
        return []
    words = set(_WORD.findall(expected))
    compared = dict.fromkeys(line for line in lines if 0 < len(line) <= _MAX_COMPARED_CHARS)
    likely = nlargest(
        _COMPARED_LINES, compared, key=lambda line: len(words.intersection(_WORD.findall(line)))
    )
    return get_close_matches(_squeeze(expected), filter(None, map(_squeeze, likely)), 1, _LEAST_RATIO)
