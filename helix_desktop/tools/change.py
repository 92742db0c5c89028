"""Changes of files: asked about with their exact diff, written only over what was asked about."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from helix_desktop.context.errors import ToolError
from helix_desktop.context.permission import edit_offers
from helix_desktop.context.signs import revealed_name
from helix_desktop.context.tool import ApprovalAsk, ToolResult
from helix_desktop.tools.diff import unified
from helix_desktop.tools.jail import Jail, Stamp

MOST_BYTES = 16 * 1024 * 1024  # of a file that is changed as a whole
_HASH_DIGITS = 12


@dataclass(frozen=True)
class Change:
    """A file before and after a change, and what shows that it is still the same file."""

    rel: str
    before: bytes | None
    stamp: Stamp | None
    after: bytes
    said: str

    @property
    def told(self) -> str:
        """What happened to the file, with its lines and hashes before and after."""
        if self.before == self.after:
            return self.said
        was = f"{_lines(self.before)} -> " if self.before is not None else ""
        digest = f"{_digest(self.before)} -> " if self.before is not None else ""
        return f"{self.said}\nLines: {was}{_lines(self.after)}. SHA-256: {digest}{_digest(self.after)}."


class Changes:
    """Asks with a diff, and writes what was asked about."""

    def __init__(self, jail: Jail, tool: str) -> None:
        self._jail, self._tool = jail, tool

    def ask(self, call_id: str, changes: Sequence[Change], verb: str) -> ApprovalAsk:
        """The question, with one diff of all."""
        detail = "".join(unified(change.rel, change.before, change.after) for change in changes)
        paths = [change.rel for change in changes]
        named = revealed_name(paths[0]) if len(paths) == 1 else f"{len(paths)} files"
        offers = edit_offers(*paths)
        return ApprovalAsk(
            *(call_id, self._tool, paths[0], f"{verb} {named}", detail, offers[0]),
            kind="edit",
            offers=offers,
            also=tuple(paths[1:]),
        )

    def write(self, changes: Sequence[Change]) -> ToolResult:
        """Write all of them, or none, and say what happened. Raises ToolError."""
        done: list[Change] = []
        for change in changes:
            try:
                if change.before != change.after:
                    self._jail.write(change.rel, change.after, change.stamp)
                    done.append(change)
            except ToolError as error:
                raise self._undone(done, error) from error
        text = "\n".join(change.told for change in changes)
        return ToolResult(f"{text}\n".encode(), target=", ".join(change.rel for change in changes))

    def before(self, path: str) -> tuple[str, bytes | None, Stamp | None]:
        """The file as it is: its path, its bytes, its stamp; None twice when there is none."""
        rel = self._jail.writable(path)
        try:
            with self._jail.reading(rel) as opened:
                if opened.stamp.size > MOST_BYTES:
                    raise ToolError(f"{rel} is over 16 MB.", fix="Use run_command to change it.")
                return rel, opened.file.read(), opened.stamp
        except ToolError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return rel, None, None
            raise

    def _undone(self, done: Sequence[Change], error: ToolError) -> ToolError:
        """The error, once what was written before it stands as it was."""
        kept = [change.rel for change in done if not self._undo(change)]
        if kept:
            why = f"{error.why} These were written before, and could not be put back: {', '.join(kept)}."
            return ToolError(error.what, why.strip(), error.fix)
        why = f"{error.why} Nothing was changed." if done else error.why
        return ToolError(error.what, why.strip(), error.fix)

    def _undo(self, change: Change) -> bool:
        try:
            _, now, stamp = self.before(change.rel)
            if now != change.after or change.before is None:
                return False
            self._jail.write(change.rel, change.before, stamp)
        except ToolError:
            return False
        return True


def _lines(data: bytes | None) -> str:
    if not data:
        return "0"
    count = data.count(b"\n") + (not data.endswith(b"\n"))
    return f"{count:,}"


def _digest(data: bytes | None) -> str:
    return hashlib.sha256(data or b"").hexdigest()[:_HASH_DIGITS]
