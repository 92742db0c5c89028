"""File changes: approved by their exact diff, and written only over the approved version."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.files.content import FileVersion
from helix_desktop.domain.permissions.rules import suggest_edit_rules
from helix_desktop.domain.tools import ApprovalRequest, ToolResult
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.tools.files.diff import unified_diff
from helix_desktop.tools.files.file_versions import version_of
from helix_desktop.tools.files.jail import FileStamp, Jail

_text = TextContext("Tools")

MAX_BYTES = 16 * 1024 * 1024  # of a file that is changed as a whole


@dataclass(frozen=True)
class FileWrite:
    """A file before and after a change, with the stamp that shows that it is unchanged since."""

    path: str
    before: bytes | None
    stamp: FileStamp | None
    after: bytes
    note: str

    @property
    def summary(self) -> str:
        """The note on the change, with the number of lines before and after."""
        if self.before == self.after:
            return self.note
        was = f"{_lines(self.before)} -> " if self.before is not None else ""
        return f"{self.note} Lines: {was}{_lines(self.after)}."


class FileWriter:
    """Builds the approval request with a diff, and writes the approved changes."""

    def __init__(self, jail: Jail, tool: str) -> None:
        self._jail, self._tool = jail, tool

    def approval_request(self, call_id: str, changes: Sequence[FileWrite]) -> ApprovalRequest:
        """Return the approval request, with one diff of all changes."""
        detail = "".join(unified_diff(change.path, change.before, change.after) for change in changes)
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
            detail,
            rules[0],
            kind="edit",
            suggested_rules=rules,
            other_paths=tuple(paths[1:]),
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
        return ToolResult(f"{text}\n".encode(), target=", ".join(paths), files=tuple(self._versions(paths)))

    def _versions(self, paths: Sequence[str]) -> Iterator[FileVersion]:
        for path in paths:
            with (
                suppress(ToolError),
                self._jail.open_file(path) as opened,
            ):  # somebody may have removed it again
                yield version_of(opened)

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
