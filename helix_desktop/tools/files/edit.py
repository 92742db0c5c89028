"""Tools that write and edit files; each change is approved with its exact diff."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

import msgspec

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.text_format import pluralize
from helix_desktop.domain.tools import ApprovalRequest, OutputCallback, ToolResult, ignore_output
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.tools.arguments import Arguments
from helix_desktop.tools.files.file_write import MAX_BYTES, FileWrite, FileWriter
from helix_desktop.tools.files.jail import FileStamp, Jail
from helix_desktop.tools.files.replace import (
    Edit,
    Replacements,
    lines_of,
    reencode,
    refuse_marker,
    replace_text,
)
from helix_desktop.tools.tool import Tool

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
    """The arguments of write_file."""

    path: str
    content: str


class MultiEditArguments(Arguments, frozen=True):
    """The arguments of multi_edit; edits of one file are applied in order."""

    edits: Annotated[tuple[Edit, ...], msgspec.Meta(min_length=1, max_length=_MAX_EDITS)]


class WriteFile(Tool[WriteFileArguments]):
    """Writes a whole file, but not over changes made after the user saw the diff."""

    name = "write_file"
    arguments_type = WriteFileArguments

    def __init__(self, jail: Jail) -> None:
        self._writer = FileWriter(jail, self.name)
        self._approved_stamps: dict[str, FileStamp | None] = {}

    async def approval_request(self, call_id: str, args: WriteFileArguments) -> ApprovalRequest:
        """Return the approval request with the diff. Raises ToolError."""
        change = await asyncio.to_thread(self._change, args)
        while len(self._approved_stamps) >= _MAX_PENDING:
            del self._approved_stamps[next(iter(self._approved_stamps))]
        self._approved_stamps[call_id] = change.stamp
        return await asyncio.to_thread(self._writer.approval_request, call_id, [change])

    async def run(
        self, call_id: str, args: WriteFileArguments, on_output: OutputCallback = ignore_output
    ) -> ToolResult:
        """Write it. Raises ToolError."""
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


class EditFile(Tool[Edit]):
    """Replaces text in a file; several edits of one file may be approved together and run one by one."""

    name = "edit_file"
    arguments_type = Edit

    def __init__(self, jail: Jail) -> None:
        self._writer = FileWriter(jail, self.name)

    async def approval_request(self, call_id: str, args: Edit) -> ApprovalRequest:
        """Return the approval request with the diff. Raises ToolError."""
        changes = await asyncio.to_thread(apply_edits, self._writer, (args,))
        return await asyncio.to_thread(self._writer.approval_request, call_id, changes)

    async def run(self, call_id: str, args: Edit, on_output: OutputCallback = ignore_output) -> ToolResult:
        """Edit it. Raises ToolError."""
        changes = await asyncio.to_thread(apply_edits, self._writer, (args,))
        return await asyncio.to_thread(self._writer.write, changes)


class MultiEdit(Tool[MultiEditArguments]):
    """Makes several edits in one or more files: all of them, or none."""

    name = "multi_edit"
    arguments_type = MultiEditArguments

    def __init__(self, jail: Jail) -> None:
        self._writer = FileWriter(jail, self.name)

    async def approval_request(self, call_id: str, args: MultiEditArguments) -> ApprovalRequest:
        """Return the approval request with one diff of all files. Raises ToolError."""
        changes = await asyncio.to_thread(apply_edits, self._writer, args.edits)
        return await asyncio.to_thread(self._writer.approval_request, call_id, changes)

    async def run(
        self, call_id: str, args: MultiEditArguments, on_output: OutputCallback = ignore_output
    ) -> ToolResult:
        """Edit all of them, or none. Raises ToolError."""
        changes = await asyncio.to_thread(apply_edits, self._writer, args.edits)
        return await asyncio.to_thread(self._writer.write, changes)


def apply_edits(writer: FileWriter, edits: tuple[Edit, ...]) -> list[FileWrite]:
    """Apply edits in order and return the change of each file; blocks. Raises ToolError."""
    changes: dict[str, FileWrite] = {}
    places: dict[str, list[_Place]] = {}
    for number, edit in enumerate(edits, 1):
        try:
            rel, before, stamp = writer.read_current(edit.path)
            if before is None:
                raise ToolError(f"There is no file {rel}.", fix="Use write_file to make one.")
            first = changes.get(rel)
            after, replaced = replace_text(rel, first.after if first else before, edit)
        except ToolError as error:
            if len(edits) == 1:
                raise
            what = f"No edit was made, for edit {number} of {len(edits)} fails: {error.what}"
            raise ToolError(what, error.why, error.fix) from error
        moved = [place.after(replaced) for place in places.get(rel, ())]
        places[rel] = [*moved, _Place(replaced.starts[:_NAMED_PLACES], len(replaced.starts)).after(replaced)]
        changes[rel] = FileWrite(
            rel, first.before if first else before, first.stamp if first else stamp, after, ""
        )
    return [
        replace(change, note=f"Edited {escape_hidden_name(rel)}: {_describe(change, places[rel])}.")
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
    more = place.count - len(place.offsets)
    where = f"{'line' if len(lines) == 1 else 'lines'} {', '.join(map(str, lines))}"
    return f"{pluralize(place.count, 'replacement')} at {where}{f' and {more:,} more' if more else ''}"
