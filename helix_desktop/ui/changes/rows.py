"""What the page of changes shows: plain facts, made from the changes of a session; no Qt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from msgspec.structs import replace

from helix_desktop.domain.file_history.capture import ChangeSource, RevertScope
from helix_desktop.domain.file_history.coverage import Coverage
from helix_desktop.domain.file_history.session_changes import (
    ChangedFileStatus,
    FileSummary,
    RecordedChanges,
    RevertSelection,
    SessionChanges,
)
from helix_desktop.domain.file_history.state import ChangeKind, FileChange, FileState

RowKind: TypeAlias = Literal["created", "changed", "deleted", "moved", "mode", "link", "folder", "same"]
"""What is drawn of a change; `same`: several changes that together left a file as it was."""
Grouping: TypeAlias = Literal["turn", "file"]
GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)
Obstacle: TypeAlias = Literal["", "untrusted", "missing"]
"""Why files cannot be captured or reverted: the folder is not trusted, or not there."""
SOURCES: tuple[ChangeSource, ...] = get_args(ChangeSource)
Contents: TypeAlias = tuple[str, str]
NO_COVERAGE = Coverage()
LineCounts: TypeAlias = tuple[int, int]
"""Lines added and removed."""


@dataclass(frozen=True, slots=True)
class ChangesState:
    """All that the page shows: the changes of a session (None: no session), and what is covered."""

    changes: SessionChanges | None = None
    coverage: Coverage = NO_COVERAGE
    obstacle: Obstacle = ""


@dataclass(frozen=True, slots=True)
class FileRow:
    """One file as some captures (`steps`, oldest first) changed it together."""

    key: str
    path: str
    before: FileState | None
    after: FileState | None
    kind: RowKind
    steps: tuple[RecordedChanges, ...]
    status: ChangedFileStatus = "open"
    moved_from: str = ""
    is_covered: bool = True
    is_shared: bool = False
    is_step: bool = False

    @property
    def contents(self) -> Contents:
        """What its diff compares: the digests before and after."""
        return (self.before.digest if self.before else "", self.after.digest if self.after else "")

    @property
    def last(self) -> RecordedChanges:
        """The capture that changed it last."""
        return self.steps[-1]

    @property
    def captures(self) -> tuple[str, ...]:
        """The ids of its captures."""
        return tuple(step.capture for step in self.steps)

    @property
    def selection(self) -> RevertSelection:
        """Return what takes this change back."""
        scope: RevertScope = "redo" if self.last.source == "revert" and len(self.steps) == 1 else "file"
        return RevertSelection(agent_captures(self.steps), self.paths, scope=scope)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that it is about: of a file that was moved both."""
        return (self.path, self.moved_from) if self.moved_from and not self.is_step else (self.path,)


@dataclass(frozen=True, slots=True)
class ChangeGroup:
    """A turn with its files, or (`head`) a file with its steps; captures oldest first."""

    key: str
    rows: tuple[FileRow, ...]
    steps: tuple[RecordedChanges, ...]
    head: FileRow | None = None

    @property
    def first(self) -> RecordedChanges:
        """The first capture: it knows the turn."""
        return self.steps[0]

    @property
    def files(self) -> int:
        """The number of different files."""
        return len({row.path for row in self.rows})

    @property
    def status(self) -> ChangedFileStatus:
        """What became of all of it; reverts in a turn only say so of others."""
        states = {row.status for row in self.rows if row.last.source != "revert" or self.head is not None}
        return states.pop() if len(states) == 1 else "open"

    @property
    def selection(self) -> RevertSelection:
        """Return what takes all of it back."""
        if self.head is not None:
            return self.head.selection
        return RevertSelection(agent_captures(self.steps), scope="turn")


Entry: TypeAlias = ChangeGroup | FileRow


def file_of(entry: Entry | None) -> FileRow | None:
    """Return the file that a diff is shown of: a file, a step of it, or nothing of a turn."""
    return entry.head if isinstance(entry, ChangeGroup) else entry


def agent_captures(steps: Iterable[RecordedChanges]) -> tuple[str, ...]:
    """Return the captures that a revert of steps takes back: the agent's; all where none is the agent's.

    What the user or another program changed meanwhile stays, and what is reverted already is left out anyway.
    """
    steps = tuple(steps)
    own = tuple(step.capture for step in steps if step.source in ("tool", "command"))
    return own or tuple(step.capture for step in steps)


def step_selection(step: RecordedChanges) -> RevertSelection:
    """Return what takes back all that one step changed."""
    return RevertSelection((step.capture,), scope="redo" if step.source == "revert" else "step")


def turn_selection(changes: SessionChanges, turn: int) -> RevertSelection:
    """Return what takes back all that was changed in a turn."""
    steps = (step for step in changes.captures if step.turn == turn)
    return RevertSelection(agent_captures(steps), scope="turn")


def session_selection(changes: SessionChanges) -> RevertSelection:
    """Return what takes back all that the agent changed in a session; what others changed stays."""
    return RevertSelection(agent_captures(changes.captures), scope="session")


@dataclass(frozen=True, slots=True)
class ChangeFilter:
    """Which changes to list: words of the path, and who made them (none named: all)."""

    text: str = ""
    sources: frozenset[ChangeSource] = frozenset()

    def matches(self, row: FileRow) -> bool:
        """Return True if a file is listed."""
        path = row.path.casefold()
        by = {step.source for step in row.steps}
        return all(word in path for word in self.text.casefold().split()) and (
            not self.sources or bool(by & self.sources)
        )


def row_kind(change: ChangeKind, before: FileState | None, after: FileState | None) -> RowKind:
    """Return what a row is drawn as."""
    if before == after:
        return "same"
    state = after or before
    if state is not None and state.kind != "file":
        return state.kind
    return change


def build_groups(changes: SessionChanges, grouping: Grouping, sought: ChangeFilter) -> list[ChangeGroup]:
    """Return the changes that pass a filter: the newest turn first, or files by path."""
    groups = _by_turn(changes) if grouping == "turn" else _by_file(changes)
    return [group for group in (_narrow(group, sought) for group in groups) if group is not None]


def visible_changes(step: RecordedChanges) -> list[FileChange]:
    """Return what a step changed: what was moved once, no folders that came or went with their files."""
    folders = folders_of(change.path for change in step.changes)
    moved = {change.moved_from for change in step.changes}
    sources = {change.path: change.before for change in step.changes}

    def is_implied(change: FileChange) -> bool:
        if change.after is None and change.path in moved:
            return True
        return change.path in folders and (change.before is None or change.after is None)

    return [
        replace(change, before=sources.get(change.moved_from)) if change.moved_from else change
        for change in step.changes
        if not is_implied(change)
    ]


def folders_of(paths: Iterable[str]) -> set[str]:
    """Return all folders that paths are in."""
    folders: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return folders


def _by_turn(changes: SessionChanges) -> list[ChangeGroup]:
    statuses = {file.path: file.status for file in changes.files}
    turns: dict[int, list[RecordedChanges]] = {}
    for step in changes.captures:
        turns.setdefault(step.turn, []).append(step)
    groups = []
    for turn, steps in sorted(turns.items(), reverse=True):
        rows = [
            _step_row(step, change, statuses.get(change.path, "open"))
            for step in steps
            for change in visible_changes(step)
        ]
        groups.append(ChangeGroup(f"turn:{turn}", tuple(rows), tuple(steps)))
    return groups


def _by_file(changes: SessionChanges) -> list[ChangeGroup]:
    steps = {step.capture: step for step in changes.captures}
    groups = []
    implied = folders_of(file.path for file in changes.files)
    for file in sorted(changes.files, key=lambda file: file.path):
        if file.path in implied:
            continue
        own = [steps[capture] for capture in file.captures if capture in steps]
        if own:
            groups.append(_file_group(file, own))
    return groups


def _file_group(file: FileSummary, steps: Sequence[RecordedChanges]) -> ChangeGroup:
    changes = [(step, change) for step in steps for change in step.changes if change.path == file.path]
    moved = next((change.moved_from for _, change in changes if change.moved_from), "")
    net_change = FileChange(file.path, file.before, file.after, moved)
    head = FileRow(
        f"file:{file.path}",
        file.path,
        file.before,
        file.after,
        row_kind(net_change.kind, file.before, file.after),
        tuple(steps),
        file.status,
        moved,
        file.is_covered,
        any(change.shared for _, change in changes),
    )
    rows = [_step_row(step, change, file.status, is_step=True) for step, change in changes]
    return ChangeGroup(head.key, tuple(rows), tuple(steps), head)


def _step_row(
    step: RecordedChanges, change: FileChange, file_status: ChangedFileStatus, *, is_step: bool = False
) -> FileRow:
    return FileRow(
        f"step:{step.capture}:{change.path}",
        change.path,
        change.before,
        change.after,
        "moved" if change.moved_from else row_kind(change.kind, change.before, change.after),
        (step,),
        "reverted" if change.path in step.reverted else "accepted" if file_status == "accepted" else "open",
        change.moved_from,
        change.is_covered,
        change.shared,
        is_step,
    )


def _narrow(group: ChangeGroup, sought: ChangeFilter) -> ChangeGroup | None:
    rows = tuple(row for row in group.rows if sought.matches(row))
    if len(rows) == len(group.rows):
        return group if rows or group.head is not None else None
    if not rows:
        return None
    captures = {capture for row in rows for capture in row.captures}
    steps = tuple(step for step in group.steps if step.capture in captures)
    return ChangeGroup(group.key, rows, steps, group.head)
