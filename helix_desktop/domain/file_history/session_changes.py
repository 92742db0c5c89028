"""The changes of one session as they are shown: by step, by turn, by file."""

from __future__ import annotations

from typing import Literal

import msgspec

from helix_desktop.domain.file_history.capture import ChangeSource, RevertScope
from helix_desktop.domain.file_history.state import FileChange, FileState

ChangedFileStatus = Literal["open", "accepted", "reverted"]
"""What became of a file's changes: nothing yet, accepted by the user, or taken back."""


class RecordedChanges(msgspec.Struct, frozen=True):
    """One capture in its place in a session: event `seq` of the log of `session` (a subagent's, or its own).

    `turn` counts the user's messages from 1; 0: before the first. `turn_seq` is the event of the message,
    `turn_title` its first line. `call_id`, `tool` and `target` are those of the call that made it, `others`
    the titles of calls that ran at the same time. `reverted` are the paths whose change was taken back, and
    not redone. `changes` is empty if the list was removed from the history (`is_removed`). `place` is the
    event of the session itself behind which it was made: `seq`, or the start of the subagent. Where a crash
    cut the call off, it was captured after the next start (`is_after_crash`): `at_ms` is the time of that. A
    revert brings back what was taken back (`is_redo`), or takes something back. `binary` files have no lines
    to count.
    """

    capture_id: str = msgspec.field(name="capture")
    session: str
    seq: int
    at_ms: int
    turn: int
    turn_seq: int
    turn_title: str
    source: ChangeSource
    call_id: str = ""
    tool: str = ""
    target: str = ""
    others: tuple[str, ...] = ()
    reverts: tuple[str, ...] = ()
    scope: RevertScope = ""
    changes: tuple[FileChange, ...] = ()
    added_lines: int = 0
    removed_lines: int = 0
    reverted: tuple[str, ...] = ()
    is_removed: bool = False
    place: int = 0
    is_after_crash: bool = False
    is_redo: bool = False
    binary: int = 0

    @property
    def is_reverted(self) -> bool:
        """True if every change of it was taken back, and not redone."""
        return bool(self.changes) and len(self.reverted) == len(self.changes)


class FileSummary(msgspec.Struct, frozen=True):
    """All that a session did to one file: from its first state to its last, by which captures.

    `by_user`: something outside the agent's calls changed it meanwhile, too.
    """

    path: str
    before: FileState | None
    after: FileState | None
    capture_ids: tuple[str, ...] = msgspec.field(name="captures")
    status: ChangedFileStatus = "open"
    by_user: bool = False
    is_covered: bool = True


class SessionChanges(msgspec.Struct, frozen=True):
    """The changes of a session and its subagents, oldest first, and their files by path.

    `turns` is how many turns the session has, also those without changes.
    """

    session: str
    captures: tuple[RecordedChanges, ...] = ()
    files: tuple[FileSummary, ...] = ()
    turns: int = 0

    def by_agent(self, turn: int | None = None) -> tuple[str, ...]:
        """Return the ids of the captures of the agent's calls: of one turn, else all."""
        return tuple(
            row.capture_id
            for row in self.captures
            if row.source in ("tool", "command") and turn in (None, row.turn)
        )


class RevertSelection(msgspec.Struct, frozen=True):
    """What of a session is to be taken back: of these captures, these paths (none named: all).

    `hunks` are the numbers (from 0) of the hunks of one capture's change of one path; None: the whole.
    """

    capture_ids: tuple[str, ...]
    paths: tuple[str, ...] = ()
    hunks: tuple[int, ...] | None = None
    scope: RevertScope = ""
