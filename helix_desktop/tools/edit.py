"""Writing and editing files, each change asked for with its exact diff."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from helix_desktop.context.errors import ToolError
from helix_desktop.context.permission import edit_offers
from helix_desktop.context.signs import revealed_name
from helix_desktop.context.tool import ApprovalAsk, Progress, ToolResult, unheard
from helix_desktop.tools.arguments import Arguments
from helix_desktop.tools.diff import unified
from helix_desktop.tools.jail import Jail, Stamp

_MOST_BYTES = 16 * 1024 * 1024
_MOST_ASKED = 256
_SHOWN_LINES = 5


class WriteFileArguments(Arguments, frozen=True):
    """What write_file takes."""

    path: str
    content: str


class EditFileArguments(Arguments, frozen=True):
    """What edit_file takes; without replace_all, old_text must occur exactly once."""

    path: str
    old_text: str
    new_text: str
    replace_all: bool = False


class _Change:
    """A file before and after a change, and what shows that it is still the same file."""

    def __init__(self, rel: str, before: bytes | None, stamp: Stamp | None, after: bytes, said: str) -> None:
        self.rel, self.before, self.stamp, self.after, self.said = rel, before, stamp, after, said


class _Writer:
    """Asks with a diff, and writes what was asked about."""

    def __init__(self, jail: Jail, tool: str) -> None:
        self._jail, self._tool = jail, tool

    def ask(self, call_id: str, change: _Change, verb: str) -> ApprovalAsk:
        """The question, with the diff."""
        detail = unified(change.rel, change.before, change.after)
        summary, offers = f"{verb} {revealed_name(change.rel)}", edit_offers(change.rel)
        return ApprovalAsk(
            call_id, self._tool, change.rel, summary, detail, offers[0], kind="edit", offers=offers
        )

    def write(self, change: _Change) -> ToolResult:
        """Write it and say what happened."""
        if change.before != change.after:
            self._jail.write(change.rel, change.after, change.stamp)
        return ToolResult(f"{change.said}\n".encode(), target=change.rel)

    def before(self, path: str) -> tuple[str, bytes | None, Stamp | None]:
        """The file as it is: its path, its bytes, its stamp; None twice when there is none."""
        rel = self._jail.writable(path)
        try:
            with self._jail.reading(rel) as opened:
                if opened.stamp.size > _MOST_BYTES:
                    raise ToolError(f"{rel} is over 16 MB.", fix="Use run_command to change it.")
                return rel, opened.file.read(), opened.stamp
        except ToolError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return rel, None, None
            raise


class WriteFile:
    """Writes a whole file, but not over changes made after the person saw the diff."""

    def __init__(self, jail: Jail) -> None:
        self._writer = _Writer(jail, "write_file")
        self._asked: dict[str, Stamp | None] = {}

    async def ask(self, call_id: str, given: WriteFileArguments) -> ApprovalAsk:
        """May this file be written? Raises ToolError."""
        change = await asyncio.to_thread(self._change, given)
        while len(self._asked) >= _MOST_ASKED:
            del self._asked[next(iter(self._asked))]
        self._asked[call_id] = change.stamp
        return await asyncio.to_thread(self._writer.ask, call_id, change, "Write")

    async def run(self, call_id: str, given: WriteFileArguments, told: Progress = unheard) -> ToolResult:
        """Write it. Raises ToolError."""
        change = await asyncio.to_thread(self._change, given)
        if self._asked.pop(call_id, change.stamp) != change.stamp:
            raise ToolError(
                f"{change.rel} was not written: it was changed after the change was approved.",
                fix="Read it again, then decide what to write.",
            )
        return await asyncio.to_thread(self._writer.write, change)

    def _change(self, given: WriteFileArguments) -> _Change:
        after = given.content.encode()
        if len(after) > _MOST_BYTES:
            raise ToolError("The content is over 16 MB.", fix="Write a program that makes the file.")
        rel, before, stamp = self._writer.before(given.path)
        if before == after:
            said = f"{rel} already had exactly this content ({len(after):,} bytes); nothing was written."
        else:
            was = "new file" if before is None else f"replaced {len(before):,} bytes"
            said = f"Wrote {len(after):,} bytes to {rel} ({was})."
        return _Change(rel, before, stamp, after, said)


class EditFile:
    """Replaces text in a file; several edits of one file may be approved together and run one by one."""

    def __init__(self, jail: Jail) -> None:
        self._writer = _Writer(jail, "edit_file")

    async def ask(self, call_id: str, given: EditFileArguments) -> ApprovalAsk:
        """May this file be edited? Raises ToolError."""
        return await asyncio.to_thread(lambda: self._writer.ask(call_id, self._change(given), "Edit"))

    async def run(self, call_id: str, given: EditFileArguments, told: Progress = unheard) -> ToolResult:
        """Edit it. Raises ToolError."""
        return await asyncio.to_thread(lambda: self._writer.write(self._change(given)))

    def _change(self, given: EditFileArguments) -> _Change:
        rel, before, stamp = self._writer.before(given.path)
        if before is None:
            raise ToolError(f"There is no file {rel}.", fix="Use write_file to make one.")
        after, count, line = replaced(rel, before, given)
        many = f"{count:,} replacements, the first" if count > 1 else "1 replacement"
        said = f"Edited {rel}: {many} at line {line} ({len(before):,} -> {len(after):,} bytes)."
        return _Change(rel, before, stamp, after, said)


def replaced(rel: str, data: bytes, given: EditFileArguments) -> tuple[bytes, int, int]:
    """The edited bytes, how many places changed, and the first one's line; all other bytes stay as they were.

    Line ends follow the file's. Raises ToolError when old_text is empty, equals new_text, is not there, or is
    there more than once without replace_all.
    """
    if not given.old_text:
        raise ToolError("old_text is empty.", fix="Give the text to replace, or use write_file.")
    if given.old_text == given.new_text:
        raise ToolError("old_text and new_text are the same.", "Nothing would change.")
    old, new = _as_in_file(data, given.old_text), _as_in_file(data, given.new_text)
    count = data.count(old)
    if count == 0:
        raise ToolError(
            f"old_text was not found in {rel}.", _nearly(data, given.old_text), "Read the file again."
        )
    if count > 1 and not given.replace_all:
        lines = ", ".join(str(line) for line in _places(data, old))
        more = " …" if count > _SHOWN_LINES else ""
        raise ToolError(
            f"old_text occurs {count} times in {rel}, at lines {lines}{more}.",
            fix="Give more of the text around it, or set replace_all.",
        )
    return data.replace(old, new), count, next(iter(_places(data, old)))


def _as_in_file(data: bytes, text: str) -> bytes:
    crlf = b"\r\n" in data and data.count(b"\r\n") == data.count(b"\n")
    return (text.replace("\r\n", "\n").replace("\n", "\r\n") if crlf else text).encode()


def _places(data: bytes, old: bytes) -> list[int]:
    found: list[int] = []
    at = data.find(old)
    while at >= 0 and len(found) < _SHOWN_LINES:
        found.append(data.count(b"\n", 0, at) + 1)
        at = data.find(old, at + len(old))
    return found


def _nearly(data: bytes, old: str) -> str:
    squeeze: Callable[[str], str] = lambda line: "".join(line.split())  # noqa: E731 - one use, two places
    wanted = next((squeeze(line) for line in old.splitlines() if line.strip()), "")
    for number, line in enumerate(data.decode(errors="replace").split("\n"), 1):
        if wanted and squeeze(line) == wanted:
            return f"Line {number} is like its first line, but spaces or what follows differ."
    return ""
