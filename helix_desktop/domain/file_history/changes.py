"""States of paths, changes between them, captures of calls, and a session's changes as shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

FileKind = Literal["file", "link", "folder"]
"""What stands at a path. Pipes, sockets and devices are none of these: they are not covered."""

ChangeKind = Literal["created", "deleted", "changed", "moved", "mode"]
"""What happened to a path; `mode`: only its permissions changed."""


class FileState(msgspec.Struct, frozen=True, omit_defaults=True):
    """What stands at a path at one moment; None in its place: nothing.

    `digest` and `size` (bytes) are those of a file's content, `mode` the permission bits of a file or folder
    (as `stat.S_IMODE`), `target` where a link leads. Of a file that is not `stored` the content is known by
    its hash alone (of one over the size limit not even that: its digest is empty), so it cannot be brought
    back. A file without a digest has the time it was last changed (`modified_ns`, nanoseconds since
    1970), so that two versions of it differ.
    """

    kind: FileKind = "file"
    digest: str = ""
    size: int = 0
    mode: int = 0
    target: str = ""
    stored: bool = True
    modified_ns: int = 0


def is_folder(state: FileState | None) -> bool:
    """Return True of the state of a folder; False where nothing is."""
    return state is not None and state.kind == "folder"


class FileChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """A path of the workspace, by its components joined with `/`, before and after a change.

    `moved_from` is the path whose content it has, where the same change removed that. `shared`: another call
    ran at the same time, and may have made it.
    """

    path: str
    before: FileState | None = None
    after: FileState | None = None
    moved_from: str = ""
    shared: bool = False

    @property
    def kind(self) -> ChangeKind:
        """What happened to the path."""
        if self.before is None:
            return "moved" if self.moved_from else "created"
        if self.after is None:
            return "deleted"
        if msgspec.structs.replace(self.before, mode=self.after.mode) == self.after:
            return "mode"
        return "changed"

    @property
    def is_covered(self) -> bool:
        """True if both states can be brought back."""
        return all(state is None or state.stored for state in (self.before, self.after))


class ChangeList(msgspec.Struct, frozen=True):
    """What one call changed, by path, each once; stored in the file history under the digest of its bytes."""

    changes: tuple[FileChange, ...]

    def encode(self) -> bytes:
        """Return its bytes; equal lists have equal bytes."""
        return msgspec.json.encode(self)

    @classmethod
    def decode(cls, data: bytes) -> ChangeList:
        """Return the list in its bytes. Raises msgspec.MsgspecError."""
        return msgspec.json.decode(data, type=cls)


ChangeSource = Literal["tool", "command", "outside", "revert"]
"""What changed the files: a tool that names its files, a command or another tool that may change any file,
something outside the agent's calls (the user, another program), or a revert."""

RevertScope = Literal["", "hunk", "file", "step", "turn", "session", "rewind", "redo"]
"""How much a revert takes back."""


class CallMark(msgspec.Struct, frozen=True):
    """A call that is about to change files: only `paths`, or (None) any."""

    session: str
    call_id: str
    title: str = ""
    paths: tuple[str, ...] | None = None


class Capture(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one call, revert, or something outside the calls changed, before it stands in a session's log.

    `id` is unique: the event in the log has it, so that it is recorded once whatever is cut off. `changes` is
    the digest of the ChangeList. `others` are the titles of calls that ran at the same time. A revert says
    which events of the session it takes back (`reverts`: their capture ids), and how much (`scope`).
    `created_ms` is in milliseconds since 1970.
    """

    id: str
    session: str
    source: ChangeSource
    changes: str
    created_ms: int
    call_id: str = ""
    others: tuple[str, ...] = ()
    reverts: tuple[str, ...] = ()
    scope: RevertScope = ""


class CapturedChanges(msgspec.Struct, frozen=True):
    """A capture with its list."""

    capture: Capture
    list: ChangeList


class AgentChanges(msgspec.Struct, frozen=True):
    """What the agent's calls changed in some folders: a few of the paths.

    With `is_certain` false there may be more: a call still runs, or a list of changes is lost.
    """

    paths: tuple[str, ...] = ()
    is_certain: bool = True


def without_implied(changes: Sequence[FileChange]) -> list[FileChange]:
    """Return changes without what others imply: where moved files were, folders of new or removed files."""
    folders = folders_of(change.path for change in changes)
    moved = {change.moved_from for change in changes}

    def is_implied(change: FileChange) -> bool:
        if change.after is None and change.path in moved:
            return True
        return change.path in folders and (change.before is None or change.after is None)

    return [change for change in changes if not is_implied(change)]


def folders_of(paths: Iterable[str]) -> set[str]:
    """Return all folders that paths are in."""
    folders: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return folders


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
