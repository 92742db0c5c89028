"""Writing and editing files, each change asked for with its exact diff."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec

from helix_desktop.context.errors import ToolError
from helix_desktop.context.tool import ApprovalAsk, Progress, ToolResult, unheard
from helix_desktop.tools.arguments import Arguments
from helix_desktop.tools.change import MOST_BYTES, Change, Changes
from helix_desktop.tools.jail import Jail, Stamp
from helix_desktop.tools.replace import Edit, kept, replaced

_MOST_ASKED = 256
_MOST_EDITS = 100


class WriteFileArguments(Arguments, frozen=True):
    """What write_file takes."""

    path: str
    content: str


class MultiEditArguments(Arguments, frozen=True):
    """What multi_edit takes; edits of one file follow one another."""

    edits: Annotated[tuple[Edit, ...], msgspec.Meta(min_length=1, max_length=_MOST_EDITS)]


class WriteFile:
    """Writes a whole file, but not over changes made after the person saw the diff."""

    def __init__(self, jail: Jail) -> None:
        self._changes = Changes(jail, "write_file")
        self._asked: dict[str, Stamp | None] = {}

    async def ask(self, call_id: str, given: WriteFileArguments) -> ApprovalAsk:
        """May this file be written? Raises ToolError."""
        change = await asyncio.to_thread(self._change, given)
        while len(self._asked) >= _MOST_ASKED:
            del self._asked[next(iter(self._asked))]
        self._asked[call_id] = change.stamp
        return await asyncio.to_thread(self._changes.ask, call_id, [change], "Write")

    async def run(self, call_id: str, given: WriteFileArguments, told: Progress = unheard) -> ToolResult:
        """Write it. Raises ToolError."""
        change = await asyncio.to_thread(self._change, given)
        if self._asked.pop(call_id, change.stamp) != change.stamp:
            raise ToolError(
                f"{change.rel} was not written: it was changed after the change was approved.",
                fix="Read it again, then decide what to write.",
            )
        return await asyncio.to_thread(self._changes.write, [change])

    def _change(self, given: WriteFileArguments) -> Change:
        rel, before, stamp = self._changes.before(given.path)
        after, stays = kept(before, given.content)
        if len(after) > MOST_BYTES:
            raise ToolError("The content is over 16 MB.", fix="Write a program that makes the file.")
        if before == after:
            said = f"{rel} already had exactly this content ({len(after):,} bytes); nothing was written."
        else:
            was = "new file" if before is None else f"replaced {len(before):,} bytes"
            was += f", {stays} kept" if stays else ""
            said = f"Wrote {len(after):,} bytes to {rel} ({was})."
        return Change(rel, before, stamp, after, said)


class EditFile:
    """Replaces text in a file; several edits of one file may be approved together and run one by one."""

    def __init__(self, jail: Jail) -> None:
        self._changes = Changes(jail, "edit_file")

    async def ask(self, call_id: str, given: Edit) -> ApprovalAsk:
        """May this file be edited? Raises ToolError."""
        changes = await asyncio.to_thread(edited, self._changes, (given,))
        return await asyncio.to_thread(self._changes.ask, call_id, changes, "Edit")

    async def run(self, call_id: str, given: Edit, told: Progress = unheard) -> ToolResult:
        """Edit it. Raises ToolError."""
        changes = await asyncio.to_thread(edited, self._changes, (given,))
        return await asyncio.to_thread(self._changes.write, changes)


class MultiEdit:
    """Makes several edits in one or more files: all of them, or none."""

    def __init__(self, jail: Jail) -> None:
        self._changes = Changes(jail, "multi_edit")

    async def ask(self, call_id: str, given: MultiEditArguments) -> ApprovalAsk:
        """May these files be edited so? Raises ToolError."""
        changes = await asyncio.to_thread(edited, self._changes, given.edits)
        return await asyncio.to_thread(self._changes.ask, call_id, changes, "Edit")

    async def run(self, call_id: str, given: MultiEditArguments, told: Progress = unheard) -> ToolResult:
        """Edit all of them, or none. Raises ToolError."""
        changes = await asyncio.to_thread(edited, self._changes, given.edits)
        return await asyncio.to_thread(self._changes.write, changes)


def edited(changes: Changes, edits: tuple[Edit, ...]) -> list[Change]:
    """What each file becomes by some edits, one after the other; blocks. Raises ToolError."""
    made: dict[str, Change] = {}
    for number, edit in enumerate(edits, 1):
        try:
            rel, before, stamp = changes.before(edit.path)
            if before is None:
                raise ToolError(f"There is no file {rel}.", fix="Use write_file to make one.")
            first = made.get(rel)
            after, count, line = replaced(rel, first.after if first else before, edit)
        except ToolError as error:
            if len(edits) == 1:
                raise
            raise ToolError(f"Edit {number} of {len(edits)}: {error.what}", error.why, error.fix) from error
        many = f"{count:,} replacements, the first" if count > 1 else "1 replacement"
        places = f"{first.said}; {many} at line {line}" if first else f"{many} at line {line}"
        made[rel] = Change(
            rel, first.before if first else before, first.stamp if first else stamp, after, places
        )
    return [_told(change) for change in made.values()]


def _told(change: Change) -> Change:
    sizes = f"{len(change.before or b''):,} -> {len(change.after):,} bytes"
    said = f"Edited {change.rel}: {change.said} ({sizes})."
    return Change(change.rel, change.before, change.stamp, change.after, said)
