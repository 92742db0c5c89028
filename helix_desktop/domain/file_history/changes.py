"""States of paths, changes between them, what is covered, and plans of reverts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from helix_desktop.domain.choices import RevertChoice

UncoveredReason = Literal[
    "pending",
    "ignored",
    "secret",
    "too_large",
    "mount",
    "special",
    "unreadable",
    "hard_links",
    "name",
    "quota",
    "own_data",
    "git",
]
"""Why changes of a path cannot be undone: not copied yet, ignored by git's rules or a build folder, a secret
(hash only), over the size limit, another file system, a pipe or the like, no permission, other names of the
file (hard links), a name that is no text, no room left in the quota, the app's own data, or git's own.
"""


MAX_FILE = 20 * 1024 * 1024  # bytes
QUOTA = 2 * 1024 * 1024 * 1024  # bytes


class FileCoverageSettings(msgspec.Struct, frozen=True):
    """What the user chose of a workspace's coverage: places that are covered though the rules leave them out.

    `max_file` (bytes) is the largest file that is, `quota` (bytes on disk) what all contents may take;
    0: any number. While `is_paused` the first copy waits until the user resumes it.
    """

    included: tuple[str, ...] = ()
    max_file: int = MAX_FILE
    quota: int = QUOTA
    is_paused: bool = False


class UncoveredPlace(msgspec.Struct, frozen=True, omit_defaults=True):
    """A path that is not covered, and why; a folder stands for all that is in it (`files` 0: not counted)."""

    path: str
    reason: UncoveredReason
    is_folder: bool = False
    files: int = 0
    size: int = 0


class FileCoverage(msgspec.Struct, frozen=True):
    """What is covered now: files and bytes that are, what is not (the first of them), and how many that are.

    `pending` files of the first copy are not in yet; `is_complete` is False until all are. If the user paused
    it, it `is_paused`; `error` says why it stopped, if it did.
    """

    files: int = 0
    size: int = 0
    stored_size: int = 0
    places: tuple[UncoveredPlace, ...] = ()
    uncovered: int = 0
    pending: int = 0
    is_complete: bool = False
    is_paused: bool = False
    error: str = ""

    @property
    def is_copying(self) -> bool:
        """Return True while files are copied for the first time."""
        has_ended = self.is_complete or bool(self.error)
        return self.files > 0 and not has_ended and not self.is_paused


class FileHistoryTotals(msgspec.Struct, frozen=True):
    """What a file history holds: `contents` of files, all bytes, those stored, and those of it on disk.

    The bytes are those of the lists of changes, too. `tree_size` is what of the stored bytes the workspace's
    files need as they are now. `saved_copies_size` are the bytes of copies beside it, of files that commands
    changed and other programs run by themselves.
    """

    contents: int = 0
    size: int = 0
    stored_size: int = 0
    tree_size: int = 0
    disk_size: int = 0
    saved_copies_size: int = 0


class FileHistoryCleanup(msgspec.Struct, frozen=True):
    """What a clean-up removes, or would: `contents` of files, and captures of deleted sessions.

    `stored_size` is in bytes, with the lists of changes that go with their captures.
    `over_quota` counts the contents that captures still name: the changes stay listed, and can't be undone.
    `short` is by how many bytes the quota is missed all the same, because the workspace's own files need it.
    """

    captures: int = 0
    contents: int = 0
    stored_size: int = 0
    over_quota: int = 0
    short: int = 0

    def plus(self, other: FileHistoryCleanup) -> FileHistoryCleanup:
        """Return both together; `short` is that of the other, which comes later."""
        return FileHistoryCleanup(
            self.captures + other.captures,
            self.contents + other.contents,
            self.stored_size + other.stored_size,
            self.over_quota + other.over_quota,
            other.short,
        )


class DamagedVersion(msgspec.Struct, frozen=True):
    """A former version of a file, or of several, that is not as it was stored."""

    digest: str
    size: int = 0
    paths: tuple[str, ...] = ()


class FileHistoryCheck(msgspec.Struct, frozen=True):
    """What a full check of a file history found.

    `damaged` are versions that can't be restored any more, `lost_lists` captures whose list of changes can't
    be read. With `problems` the file itself is damaged: at the next opening a new one begins.
    """

    contents: int = 0
    damaged: tuple[DamagedVersion, ...] = ()
    lost_lists: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def is_sound(self) -> bool:
        return not (self.damaged or self.lost_lists or self.problems)


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

    @property
    def is_folder(self) -> bool:
        """True if a folder stood there, or stands there now."""
        return is_folder(self.before) or is_folder(self.after)


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


def counted_changes(changes: Sequence[FileChange]) -> list[FileChange]:
    """Return what counts as changed files: a moved one once, and folders only where there are no files.

    Whatever says how many files changed, or will change, counts these.
    """
    listed = without_implied(changes)
    return [change for change in listed if not change.is_folder] or listed


def with_moves(changes: Mapping[str, FileChange]) -> list[FileChange]:
    """Return changes in the order of their paths, those of moved files with where they were.

    Each path that is gone is the origin of one at most, rather of one with its name. Empty files are all
    alike: of them only the name tells.
    """
    gone: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for path in sorted(changes, reverse=True):
        if (key := _content(changes[path].before)) and changes[path].after is None:
            gone[key].append(path)
    origins: dict[str, str] = {}
    created = [path for path in sorted(changes) if changes[path].before is None]
    for by_name in (True, False):
        for path in created:
            after = changes[path].after
            if path in origins or not (key := _content(after)):
                continue
            paths = [origin for origin in gone[key] if _name(origin) == _name(path) or not by_name]
            if paths and after is not None and (by_name or after.size):
                origins[path] = paths[-1]
                gone[key].remove(paths[-1])
    return [
        msgspec.structs.replace(changes[path], moved_from=origins.get(path, "")) for path in sorted(changes)
    ]


def _content(state: FileState | None) -> tuple[str, str] | None:
    if state is None or state.kind == "folder":
        return None
    content = state.digest if state.kind == "file" else state.target
    return (state.kind, content) if content else None


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def folders_of(paths: Iterable[str]) -> set[str]:
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


RevertStatus = Literal["ready", "same", "merge", "conflict", "blocked"]
"""ready: the path is as the change left it. same: nothing is to do. merge: it was changed later in other
lines, and both can hold. conflict: it was changed later in the same lines, or is no text. blocked: see
`RevertProblem`."""

RevertProblem = Literal[
    "",
    "not_covered",
    "content_removed",
    "folder_gone",
    "not_a_folder",
    "not_empty",
    "no_permission",
    "disk_full",
    "hard_links",
    "outside",
    "busy",
]
"""Why a path cannot be reverted: its former content is known by hash only, was removed from the history, the
folder it was in is gone or is something else now, a folder holds other files, permissions, no room, it has
other names (hard links), a link leads outside, or a command that may write it is running."""


class PlannedFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """One path of a plan: what stands there now, and what would.

    `base` is what the change left, `former` what was there before it: with `present` the three sides of a
    three-way merge. `merged` is the digest of the text with both changes, of a path with status `merge`.
    """

    path: str
    present: FileState | None = None
    base: FileState | None = None
    former: FileState | None = None
    status: RevertStatus = "ready"
    problem: RevertProblem = ""
    merged: FileState | None = None

    @property
    def can_apply(self) -> bool:
        """True if it is reverted without a choice of the user."""
        return self.status in ("ready", "same")


class RevertPlan(msgspec.Struct, frozen=True):
    """What a revert would do, by path. `captures` are the ids of what it takes back.

    `is_redo`: it brings back what was taken back.
    """

    files: tuple[PlannedFile, ...]
    capture_ids: tuple[str, ...] = msgspec.field(default=(), name="captures")
    scope: RevertScope = ""
    is_redo: bool = False

    def target(self, file: PlannedFile, choices: Mapping[str, RevertChoice]) -> FileState | None:
        """Return what shall stand at a path, by the user's choices by path."""
        match choices.get(file.path, "former" if file.status == "ready" else "present"):
            case "present":
                return file.present
            case "merged":
                return file.merged
        return file.former

    def counted_changes(self, choices: Mapping[str, RevertChoice]) -> list[FileChange]:
        """Return the files that the plan changes with the user's choices, counted as those of its capture."""
        targets = ((file, self.target(file, choices)) for file in self.files if file.status != "blocked")
        return _counted((file, target) for file, target in targets if target != file.present)

    def counted_files(self, *statuses: RevertStatus) -> list[FileChange]:
        """Return the files with one of these statuses, counted as if all of them went back."""
        return _counted((file, file.former) for file in self.files if file.status in statuses)


def _counted(files: Iterable[tuple[PlannedFile, FileState | None]]) -> list[FileChange]:
    changes = {file.path: FileChange(file.path, file.present, target) for file, target in files}
    return counted_changes(with_moves(changes))


class RevertDirections:
    """Knows of captures, added in order, which of them redo what was taken back."""

    def __init__(self) -> None:
        self._is_redo: dict[str, bool | None] = {}  # None: of no revert

    def add(self, capture_id: str, source: ChangeSource, scope: RevertScope, reverts: Iterable[str]) -> bool:
        """Add the next capture; return True if it is a redo."""
        is_redo = source == "revert" and self.is_redo(scope, reverts)
        self._is_redo[capture_id] = is_redo if source == "revert" else None
        return is_redo

    def is_redo(self, scope: RevertScope, reverts: Iterable[str]) -> bool:
        """Return True if a revert of these captures is a redo: it takes back what is none itself."""
        directions = [self._is_redo[capture_id] for capture_id in reverts if capture_id in self._is_redo]
        if scope == "rewind":
            return False
        if not directions or None in directions:
            return scope == "redo"
        return not directions[0]
