"""Tools that write and edit files by exact replacement; each change is approved with its exact diff."""

from __future__ import annotations

import asyncio
import codecs
import os
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from heapq import nlargest
from itertools import chain, dropwhile, repeat
from typing import Annotated, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from helix_desktop.domain.digest import is_marker
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.file_history.diff import FileDiff, diff_contents
from helix_desktop.domain.files.content import text_encoding, utf16_encoding
from helix_desktop.domain.files.names import is_secret_path
from helix_desktop.domain.text_format import pluralize
from helix_desktop.domain.tool_arguments import Arguments
from helix_desktop.domain.tools import ApprovalRequest, EditedFile, OutputCallback, ToolResult, ignore_output
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.permissions.rules import suggest_edit_rules
from helix_desktop.tools.files.file_versions import versions_of
from helix_desktop.tools.files.jail import FileStamp, Jail
from helix_desktop.tools.files.letters import find_in_either_form, letters_note, written_like
from helix_desktop.tools.tool import Tool

_text = TextContext("Tools")


def diff_to_approve(before: bytes | None, after: bytes) -> FileDiff:
    """Return what a write changes; without lines to compare with, all that would be written is new.

    Those are missing in files that are binary, or too large together with what is written. A text that is too
    large alone is the diff's `after_data`.
    """
    diff = diff_contents(before, after)
    if diff.kind in ("text", "mode"):
        return diff
    written = diff_contents(None, after)
    if written.kind == "too_large":
        written = replace(written, after_data=after)
    return replace(written, before=diff.before) if written.kind in ("text", "too_large") else diff


MAX_BYTES = 16 * 1024 * 1024  # of a file that is changed as a whole

IsRun: TypeAlias = Callable[[str], bool]
"""Return True if the settings of another program name a file of the workspace to run it; blocks."""


class FileWrite(msgspec.Struct, frozen=True):
    """A file before and after a change, with the stamp that shows that it is unchanged since."""

    path: str
    before: bytes | None
    stamp: FileStamp | None
    after: bytes
    note: str

    @property
    def summary(self) -> str:
        if self.before == self.after:
            return self.note
        was = f"{_lines(self.before)} -> " if self.before is not None else ""
        return f"{self.note} Lines: {was}{_lines(self.after)}."


class FileWriter:
    def __init__(self, jail: Jail, tool: str, is_run: IsRun) -> None:
        self._jail = jail
        self._tool = tool
        self._is_run = is_run

    def approval_request(self, call_id: str, changes: Sequence[FileWrite]) -> ApprovalRequest:
        paths = [change.path for change in changes]
        if len(paths) > 1:
            summary = _text("Edit {count} files", count=len(paths))
        elif self._tool == "write_file":
            summary = _text("Write {file}", file=escape_hidden_name(paths[0]))
        else:
            summary = _text("Edit {file}", file=escape_hidden_name(paths[0]))
        rules = suggest_edit_rules(*paths)
        return ApprovalRequest(
            call_id,
            self._tool,
            paths[0],
            summary,
            "",
            rules[0],
            kind="edit",
            suggested_rules=rules,
            other_paths=tuple(paths[1:]),
            edits=tuple(
                EditedFile(change.path, diff_to_approve(change.before, change.after)) for change in changes
            ),
            auto_executed=tuple(path for path in paths if self._is_run(path)),
        )

    def write(self, changes: Sequence[FileWrite]) -> ToolResult:
        """Write all changes or none, and return a summary. Raises ToolError."""
        done: list[FileWrite] = []
        for change in changes:
            try:
                if change.before != change.after:
                    self._jail.write(change.path, change.after, change.stamp)
                    done.append(change)
            except ToolError as error:
                raise self._rolled_back_error(done, error) from error
        text = "\n".join(change.summary for change in changes)
        paths = [change.path for change in changes]
        return ToolResult(f"{text}\n".encode(), target=", ".join(paths), files=versions_of(self._jail, paths))

    def read_current(self, path: str) -> tuple[str, bytes | None, FileStamp | None]:
        """Return a file's path, bytes and stamp; the last two are None when there is no file."""
        rel = self._jail.resolve_writable(path)
        try:
            with self._jail.open_file(rel) as opened:
                if opened.stamp.size > MAX_BYTES:
                    raise ToolError(f"{rel} is over 16 MB.", fix="Use run_command to change it.")
                return rel, opened.file.read(), opened.stamp
        except ToolError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return rel, None, None
            raise

    def _rolled_back_error(self, done: Sequence[FileWrite], error: ToolError) -> ToolError:
        """Undo the changes written so far, and return the error to raise."""
        not_undone = [change.path for change in done if not self._undo(change)]
        if not_undone:
            why = (
                f"{error.why} These were written before, and could not be put back: {', '.join(not_undone)}."
            )
            return ToolError(error.what, why.strip(), error.fix)
        why = f"{error.why} Nothing was changed." if done else error.why
        return ToolError(error.what, why.strip(), error.fix)

    def _undo(self, change: FileWrite) -> bool:
        try:
            _, now, stamp = self.read_current(change.path)
            if now != change.after or change.before is None:
                return False
            self._jail.write(change.path, change.before, stamp)
        except ToolError:
            return False
        return True


def _lines(data: bytes | None) -> str:
    if not data:
        return "0"
    count = data.count(b"\n") + (not data.endswith(b"\n"))
    return f"{count:,}"


_SHOWN_LINES = 5
# So much of the file is shown for a text that is only alike.
_SIMILAR_LINES = 20
_SIMILAR_CHARS = 1_500
_LEAST_RATIO = 0.7  # of equal characters in a line that is like another one
_LEAST_COMPARED_CHARS = 8
_MAX_COMPARED_CHARS = 400
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
    """Where a text was replaced: offsets in the text before it, as UTF-8, and the length of both texts.

    `note` says in a few words how the text in the file differs from `old_text`; empty: it does not.
    """

    starts: list[int]
    old_length: int
    new_length: int
    note: str = ""

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
    old = _as_in_file(text, edit.old_text)
    new = _as_in_file(text, edit.new_text)
    starts = _offsets(text, old)
    if not starts and (mixed := _with_other_line_ends(rel, text, edit)):
        old, new = mixed
        starts = _offsets(text, old)
    note = ""
    if not starts and encoding and (spelled := _with_other_letters(rel, text.decode(), old.decode())):
        old = spelled.encode()
        new = written_like(spelled, new.decode()).encode()
        starts = _offsets(text, old)
        note = letters_note(spelled)
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
    return after, Replacements(starts, len(old), len(new), note)


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
    lines = dict[int, int]()
    line = 1
    counted = 0
    for offset in sorted(offsets):
        line += text.count(b"\n", counted, offset)
        lines[offset] = line
        counted = offset
    return lines


def reencode(rel: str, previous: bytes | None, content: str) -> tuple[bytes, str]:
    """Encode new content with the encoding and line ends of the old one; return bytes and what was kept.

    Raises ToolError where the encoding of the old one is not known, or has not all characters of the new one.
    """
    if not previous:
        return content.encode(), ""
    marked = utf16_encoding(previous)
    preserved = list[str]()
    encoding = marked or ("utf-8" if b"\0" in previous else text_encoding(previous))
    if not encoding and not content.isascii():
        raise _unknown_encoding(rel, previous)
    if _is_crlf(previous, marked) and "\r" not in content:
        content = content.replace("\n", "\r\n")
        preserved.append("CRLF line ends")
    if marked:
        content = _BOM + content.removeprefix(_BOM)
    if encoding not in ("", "utf-8"):
        preserved.append(_encoding_name(encoding))
    elif encoding and previous.startswith(codecs.BOM_UTF8) and not content.startswith(_BOM):
        content = _BOM + content
        preserved.append("byte order mark")
    return _encoded(rel, content, encoding or "ascii"), " and ".join(preserved)


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


def _with_other_letters(rel: str, text: str, old: str) -> str:
    """Return `old` as a file spells it whose letters are composed or decomposed otherwise; empty: nowhere."""
    if old.isascii():
        return ""
    spellings = find_in_either_form(text, old)
    if len(spellings) > 1:
        raise ToolError(
            f"old_text occurs in {rel} with composed and with decomposed letters, and not as it was given.",
            fix="Edit one place after the other: give more of the text around it.",
        )
    return spellings[0] if spellings else ""


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


def _encoding_name(codec: str) -> str:
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
    return [found.start() for found in re.finditer(re.escape(old), text)]


def _line_of(text: bytes, offset: int) -> int:
    return text.count(b"\n", 0, offset) + 1


def _similar_text_hint(data: str, old: str) -> str:
    """Return what to do, with the lines of the file from the first that is like the first of `old`."""
    if _LINE_NUMBERS.sub("", old) in data:
        return "It is there without the line numbers: leave them out."
    own_lines = old.splitlines()
    lines = data.replace("\r\n", "\n").split("\n")  # as read_file numbers them
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


_MAX_PENDING = 256
_MAX_EDITS = 100
_NAMED_PLACES = 8  # replacements of one edit whose lines are named


class _Place(msgspec.Struct, frozen=True):
    """Where an edit replaced text: the offsets of the first replacements now, and how many there are."""

    offsets: list[int]
    count: int

    def after(self, later: Replacements) -> _Place:
        """Return the place after a later edit of the same file."""
        return _Place([later.place_after(offset) for offset in self.offsets], self.count)


class WriteFileArguments(Arguments, frozen=True):
    path: str
    content: str


class MultiEditArguments(Arguments, frozen=True):
    """The arguments of multi_edit; edits of one file are applied in order."""

    edits: Annotated[tuple[Edit, ...], msgspec.Meta(min_length=1, max_length=_MAX_EDITS)]


def _refuse_backslash(path: str, separator: str = os.sep) -> None:
    """Raise ToolError for a new file with a backslash in its name, where that separates no folders."""
    if "\\" in path and separator != "\\":
        raise ToolError(
            f"{path} was not written: \\ separates no folders on this system.",
            fix=f"Write {path.replace(chr(92), '/')}, or make a file of that very name with run_command.",
        )


class WriteFile(Tool[WriteFileArguments]):
    """Writes a whole file, but not over changes made after the user saw the diff."""

    name = "write_file"
    arguments_type = WriteFileArguments

    def __init__(self, jail: Jail, is_run: IsRun) -> None:
        self._writer = FileWriter(jail, self.name, is_run)
        self._approved_stamps: dict[str, FileStamp | None] = {}

    async def approval_request(self, call_id: str, args: WriteFileArguments) -> ApprovalRequest:
        change = await asyncio.to_thread(self._change, args)
        while len(self._approved_stamps) >= _MAX_PENDING:
            del self._approved_stamps[next(iter(self._approved_stamps))]
        self._approved_stamps[call_id] = change.stamp
        return await asyncio.to_thread(self._writer.approval_request, call_id, [change])

    async def run(
        self, call_id: str, args: WriteFileArguments, on_output: OutputCallback = ignore_output
    ) -> ToolResult:
        change = await asyncio.to_thread(self._change, args)
        if self._approved_stamps.pop(call_id, change.stamp) != change.stamp:
            raise ToolError(
                f"{change.path} was not written: it was changed after the change was approved.",
                fix="Read it again, then decide what to write.",
            )
        return await asyncio.to_thread(self._writer.write, [change])

    def _change(self, args: WriteFileArguments) -> FileWrite:
        refuse_marker("content", args.content)
        rel, before, stamp = self._writer.read_current(args.path)
        if before is None:
            _refuse_backslash(args.path)
        after, preserved = reencode(rel, before, args.content)
        if len(after) > MAX_BYTES:
            raise ToolError("The content is over 16 MB.", fix="Write a program that makes the file.")
        if before == after:
            had = f"{escape_hidden_name(rel)} already had exactly this content"
            note = f"{had} ({len(after):,} bytes); nothing was written."
        else:
            before_text = "new file" if before is None else f"replaced {len(before):,} bytes"
            before_text += f", {preserved} kept" if preserved else ""
            note = f"Wrote {len(after):,} bytes to {escape_hidden_name(rel)} ({before_text})."
        return FileWrite(rel, before, stamp, after, note)


EditArgs = TypeVar("EditArgs", Edit, MultiEditArguments)


class _EditTool(Tool[EditArgs]):
    def __init__(self, jail: Jail, is_run: IsRun) -> None:
        self._writer = FileWriter(jail, self.name, is_run)

    async def approval_request(self, call_id: str, args: EditArgs) -> ApprovalRequest:
        changes = await asyncio.to_thread(apply_edits, self._writer, _edits_of(args))
        return await asyncio.to_thread(self._writer.approval_request, call_id, changes)

    async def run(
        self, call_id: str, args: EditArgs, on_output: OutputCallback = ignore_output
    ) -> ToolResult:
        changes = await asyncio.to_thread(apply_edits, self._writer, _edits_of(args))
        return await asyncio.to_thread(self._writer.write, changes)


def _edits_of(args: Edit | MultiEditArguments) -> tuple[Edit, ...]:
    return (args,) if isinstance(args, Edit) else args.edits


class EditFile(_EditTool[Edit]):
    """Replaces text in a file; several edits of one file may be approved together and run one by one."""

    name = "edit_file"
    arguments_type = Edit


class MultiEdit(_EditTool[MultiEditArguments]):
    """Makes several edits in one or more files: all of them, or none."""

    name = "multi_edit"
    arguments_type = MultiEditArguments


def apply_edits(writer: FileWriter, edits: tuple[Edit, ...]) -> list[FileWrite]:
    """Apply edits in order and return the change of each file; blocks. Raises ToolError."""
    changes: dict[str, FileWrite] = {}
    places: dict[str, list[_Place]] = {}
    notes: dict[str, str] = {}
    for number, edit in enumerate(edits, 1):
        try:
            rel, before, stamp = writer.read_current(edit.path)
            if before is None:
                raise ToolError(f"There is no file {rel}.", fix="Use write_file to make one.")
            first = changes.get(rel)
            try:
                after, replaced = replace_text(rel, first.after if first else before, edit)
            except ToolError as error:
                old_text = edit.old_text.encode()
                if first is None or old_text in first.after or old_text not in before:
                    raise
                raise ToolError(  # to read the file again would not help
                    str(error.what),
                    "An earlier edit of this call has changed that text: edits are made in order.",
                    "Give the text that the earlier edits leave, or make one edit of both.",
                ) from error
        except ToolError as error:
            if len(edits) == 1:
                raise
            what = f"No edit was made, for edit {number} of {len(edits)} fails: {error.what}"
            raise ToolError(what, error.why, error.fix) from error
        if replaced.note:
            notes[rel] = f"; {replaced.note}"
        moved = [place.after(replaced) for place in places.get(rel, ())]
        places[rel] = [*moved, _Place(replaced.starts[:_NAMED_PLACES], len(replaced.starts)).after(replaced)]
        changes[rel] = FileWrite(
            rel, first.before if first else before, first.stamp if first else stamp, after, ""
        )
    described = {
        rel: f"{_describe(change, places[rel])}{notes.get(rel, '')}" for rel, change in changes.items()
    }
    return [
        replace(change, note=f"Edited {escape_hidden_name(rel)}: {described[rel]}.")
        for rel, change in changes.items()
    ]


def _describe(change: FileWrite, places: list[_Place]) -> str:
    """Return what was replaced and where it is now, in the order of the edits."""
    line_of = lines_of(change.path, change.after, [offset for place in places for offset in place.offsets])
    if len(places) > 1 and all(place.count == 1 for place in places):
        lines = (str(line_of[place.offsets[0]]) for place in places)
        return f"{len(places)} replacements at lines {', '.join(lines)}"
    return "; ".join(_describe_place(place, line_of) for place in places)


def _describe_place(place: _Place, line_of: Mapping[int, int]) -> str:
    lines = list(dict.fromkeys(line_of[offset] for offset in place.offsets))
    where = f"at {'line' if len(lines) == 1 else 'lines'} {', '.join(map(str, lines))}"
    count = pluralize(place.count, "replacement")
    if place.count > len(place.offsets):
        return f"{count}, the first {len(place.offsets)} {where}"
    return f"{count} {where}"
