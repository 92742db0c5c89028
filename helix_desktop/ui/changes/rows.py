"""What the page of changes shows, made from the changes of a session, and its words; no Qt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, Self, TypeAlias, get_args

import msgspec
from msgspec.structs import replace

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.file_history.changes import (
    ChangedFileStatus,
    ChangeKind,
    ChangeSource,
    FileChange,
    FileCoverage,
    FileState,
    FileSummary,
    RecordedChanges,
    RevertScope,
    RevertSelection,
    SessionChanges,
    UncoveredReason,
    folders_of,
    is_folder,
    without_implied,
)
from helix_desktop.domain.file_history.diff import BINARY_KINDS, FileDiff, HunkState
from helix_desktop.domain.messages import display_name
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.tools import AutoRunChange
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.ui.design.diff.rows import HunkMark
from helix_desktop.ui.design.pill import Tone
from helix_desktop.words.direction import dotted
from helix_desktop.words.file_changes import changed_lines_text, line_counts_texts
from helix_desktop.words.file_coverage import uncovered_reason_text
from helix_desktop.words.numbers import format_size, format_whole_percent
from helix_desktop.words.revert_plans import plan_status_text
from helix_desktop.words.times import format_relative_time
from helix_desktop.words.translation import Translator, translate

RowKind: TypeAlias = Literal["created", "changed", "deleted", "moved", "mode", "link", "folder", "same"]
"""What is drawn of a change; `same`: several changes that together left a file as it was."""
Grouping: TypeAlias = Literal["turn", "file"]
ListSource: TypeAlias = Literal["session", "commit"]
"""What the page lists: what the session did, or what differs from git's last commit."""
Obstacle: TypeAlias = Literal["", "untrusted", "missing"]
"""Why files cannot be captured or reverted: the folder is not trusted, or not there."""
SOURCES: tuple[ChangeSource, ...] = get_args(ChangeSource)
Contents: TypeAlias = tuple[str, str]
NO_COVERAGE = FileCoverage()


class LineCounts(NamedTuple):
    """Lines added and removed; a binary file has none."""

    added: int
    removed: int
    is_binary: bool = False

    @classmethod
    def of(cls, diff: FileDiff) -> Self:
        return cls(diff.added, diff.removed, diff.kind in BINARY_KINDS)


class FileRow(msgspec.Struct, frozen=True):
    """One file as some captures (oldest first) changed it together."""

    key: str
    path: str
    before: FileState | None
    after: FileState | None
    kind: RowKind
    captures: tuple[RecordedChanges, ...]
    status: ChangedFileStatus = "open"
    moved_from: str = ""
    is_covered: bool = True
    is_shared: bool = False
    is_one_capture: bool = False
    present: FileState | None = None
    """What stands there now, as far as the session knows."""

    @property
    def contents(self) -> Contents:
        """What its diff compares: the digests before and after."""
        return (self.before.digest if self.before else "", self.after.digest if self.after else "")

    @property
    def is_folder(self) -> bool:
        """True of a folder that came or went without files."""
        return is_folder(self.before) or is_folder(self.after)

    @property
    def is_there(self) -> bool:
        """True of a file that stands there after the change, and can be opened."""
        return self.after is not None and self.after.kind == "file"

    @property
    def last(self) -> RecordedChanges:
        return self.captures[-1]

    @property
    def capture_ids(self) -> tuple[str, ...]:
        return tuple(capture.capture_id for capture in self.captures)

    @property
    def is_revert(self) -> bool:
        """True if the user took something back, or did it again: nothing of the agent's."""
        return self.last.source == "revert" and len(self.captures) == 1

    @property
    def selection(self) -> RevertSelection:
        """Return what takes this change back."""
        scope: RevertScope = "redo" if self.is_revert and not self.last.is_redo else "file"
        return RevertSelection(agent_capture_ids(self.captures), self.paths, scope=scope)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that it is about: of a file that was moved both."""
        return (self.path, self.moved_from) if self.moved_from and not self.is_one_capture else (self.path,)


class ChangeGroup(msgspec.Struct, frozen=True):
    """A turn or a revert with its files, or (`head`) a file with its captures, oldest first."""

    key: str
    rows: tuple[FileRow, ...]
    captures: tuple[RecordedChanges, ...]
    head: FileRow | None = None

    @property
    def first(self) -> RecordedChanges:
        """The first capture: it knows the turn."""
        return self.captures[0]

    @property
    def files(self) -> int:
        """The number of different files; of folders where there are no files."""
        return _count_files(self.rows)

    @property
    def is_revert(self) -> bool:
        return self.head is None and self.first.source == "revert"

    @property
    def status(self) -> ChangedFileStatus:
        states = {row.status for row in self.rows}
        return states.pop() if len(states) == 1 else "open"

    @property
    def selection(self) -> RevertSelection:
        if self.head is not None:
            return self.head.selection
        if self.is_revert:
            return capture_selection(self.first)
        return RevertSelection(agent_capture_ids(self.captures), scope="turn")

    @property
    def paths(self) -> tuple[str, ...]:
        if self.head is not None:
            return self.head.paths
        return tuple(dict.fromkeys(path for row in self.rows for path in row.paths))


Entry: TypeAlias = ChangeGroup | FileRow


def file_of(entry: Entry | None) -> FileRow | None:
    """Return the file that a diff is shown of: a file, a capture of it, or nothing of a turn."""
    return entry.head if isinstance(entry, ChangeGroup) else entry


def agent_capture_ids(captures: Iterable[RecordedChanges]) -> tuple[str, ...]:
    """Return the ids of the captures that a revert takes back: the agent's; all where none is the agent's.

    What the user or another program changed meanwhile stays, and what is reverted already is left out anyway.
    """
    captures = tuple(captures)
    own = tuple(capture.capture_id for capture in captures if capture.source in ("tool", "command"))
    return own or tuple(capture.capture_id for capture in captures)


def added_up(counts: Iterable[LineCounts]) -> LineCounts:
    counts = tuple(counts)
    return LineCounts(sum(each.added for each in counts), sum(each.removed for each in counts))


def _count_files(rows: Iterable[FileRow]) -> int:
    """Return how many files rows are of; of folders alone how many these are."""
    rows = tuple(rows)
    return len({row.path for row in rows if not row.is_folder}) or len({row.path for row in rows})


def net_rows(rows: Iterable[FileRow]) -> tuple[FileRow, ...]:
    """Return the files of rows, each once, from before its first change to after its last."""
    files: dict[str, FileRow] = {}
    for row in rows:
        first = files.get(row.path, row)
        kind = row.kind if first is row else _row_kind("changed", first.before, row.after)
        files[row.path] = msgspec.structs.replace(row, before=first.before, kind=kind)
    return tuple(row for row in files.values() if row.kind != "same")


def can_change(entry: Entry) -> bool:
    """Return True if captures whose lists are there are of an entry, so that it can be taken back."""
    return any(capture.capture_id and not capture.is_removed for capture in entry.captures)


def can_revert_hunks(row: FileRow) -> bool:
    """Return True if the hunks of a change can be taken back one by one: it is one, and stands."""
    return can_change(row) and len(row.captures) == 1 and row.is_covered and row.status != "reverted"


def is_redoable(entry: Entry) -> bool:
    """Return True if it was taken back, or is itself what took something back: to undo that is a redo."""
    is_revert = entry.is_revert and not entry.captures[0].is_redo
    return is_revert != (entry.status == "reverted")


def can_accept(entry: Entry) -> bool:
    """Return True if an entry can be marked as reviewed: what the user took back or did again can't."""
    return can_change(entry) and not entry.is_revert


def capture_selection(capture: RecordedChanges) -> RevertSelection:
    scope: RevertScope = "redo" if capture.source == "revert" and not capture.is_redo else "step"
    return RevertSelection((capture.capture_id,), scope=scope)


def turn_selection(changes: SessionChanges, turn: int) -> RevertSelection:
    captures = (capture for capture in changes.captures if capture.turn == turn)
    return RevertSelection(agent_capture_ids(captures), scope="turn")


def session_selection(changes: SessionChanges) -> RevertSelection:
    """Return what takes back all that the agent changed in a session; what others changed stays."""
    return RevertSelection(agent_capture_ids(changes.captures), scope="session")


class GroupedChanges(msgspec.Struct, frozen=True):
    """Changes as they are listed, by turn and by file; `differing` are the files not as at first."""

    changes: SessionChanges
    by_turn: tuple[ChangeGroup, ...] = ()
    by_file: tuple[ChangeGroup, ...] = ()
    differing: tuple[FileRow, ...] = ()


class ChangesState(msgspec.Struct, frozen=True):
    """All that the page shows: changes (None: no session), what is covered, and where they are from.

    `has_git`: the workspace is in a git checkout, so that what differs from its last commit can be listed.
    `undone` is what was undone after commands of any session, the oldest first; `undone_error` says why that
    can't be read.
    """

    grouped: GroupedChanges | None = None
    coverage: FileCoverage = NO_COVERAGE
    obstacle: Obstacle = ""
    has_git: bool = False
    source: ListSource = "session"
    undone: tuple[AutoRunChange, ...] = ()
    undone_error: HelixError | None = None

    @property
    def changes(self) -> SessionChanges | None:
        """The changes as they are, oldest first."""
        return self.grouped.changes if self.grouped is not None else None

    @property
    def removed_captures(self) -> int:
        """The number of captures that changed files, where the file history has the list of none of them."""
        captures = self.changes.captures if self.changes is not None else ()
        return len(captures) if all(capture.is_removed for capture in captures) else 0


class ChangeFilter(msgspec.Struct, frozen=True):
    """Which changes to list: words of the path, and who made them (none named: all)."""

    text: str = ""
    sources: frozenset[ChangeSource] = frozenset()

    def matches(self, row: FileRow) -> bool:
        path = row.path.casefold()
        by = {capture.source for capture in row.captures}
        return all(word in path for word in self.text.casefold().split()) and (
            not self.sources or bool(by & self.sources)
        )


NO_FILTER = ChangeFilter()


def _row_kind(change: ChangeKind, before: FileState | None, after: FileState | None) -> RowKind:
    if before == after:
        return "same"
    state = after or before
    if state is not None and state.kind != "file":
        return state.kind
    return change


def group_changes(changes: SessionChanges) -> GroupedChanges:
    """Return changes as they are listed; for a thread, where there are many."""
    by_file = tuple(_by_file(changes))
    heads = (group.head for group in by_file if group.head is not None)
    differing = tuple(head for head in heads if head.kind != "same")
    return GroupedChanges(changes, tuple(_by_turn(changes)), by_file, differing)


def commit_changes(changes: Sequence[FileChange]) -> SessionChanges:
    """Return what differs from the last commit as changes of one capture, which has no id."""
    capture = RecordedChanges("", "", 0, 0, 0, 0, "", "outside", changes=tuple(changes))
    files = tuple(FileSummary(change.path, change.before, change.after, ("",)) for change in changes)
    return SessionChanges("", (capture,) if changes else (), files)


def narrow_groups(
    grouped: GroupedChanges | None, grouping: Grouping, change_filter: ChangeFilter
) -> Sequence[ChangeGroup]:
    """Return the groups with what passes a filter: the newest turn first, or files by path."""
    if grouped is None:
        return ()
    groups = grouped.by_turn if grouping == "turn" else grouped.by_file
    if change_filter == NO_FILTER:
        return groups
    return [group for group in (_narrow(group, change_filter) for group in groups) if group is not None]


def visible_changes(capture: RecordedChanges) -> list[FileChange]:
    """Return what a capture changed: what was moved once, no folders that came or went with their files."""
    sources = {change.path: change.before for change in capture.changes}
    return [
        replace(change, before=sources.get(change.moved_from)) if change.moved_from else change
        for change in without_implied(capture.changes)
    ]


def _by_turn(changes: SessionChanges) -> list[ChangeGroup]:
    files = {file.path: file for file in changes.files}
    turns: dict[tuple[int, int, str], list[RecordedChanges]] = {}
    for number, capture in enumerate(changes.captures, 1):
        own = (
            (number, f"revert:{capture.capture_id}")
            if capture.source == "revert"
            else (0, f"turn:{capture.turn}")
        )
        turns.setdefault((capture.turn, *own), []).append(capture)
    groups = []
    for (_, _, key), captures in sorted(turns.items(), reverse=True):
        rows = [
            _capture_row(capture, change, files.get(change.path))
            for capture in captures
            for change in visible_changes(capture)
        ]
        groups.append(ChangeGroup(key, tuple(rows), tuple(captures)))
    return groups


def _by_file(changes: SessionChanges) -> list[ChangeGroup]:
    by_path: dict[str, list[tuple[RecordedChanges, FileChange]]] = {}
    for capture in changes.captures:
        sources = {change.path: change.before for change in capture.changes}
        for change in capture.changes:
            before = sources.get(change.moved_from) if change.moved_from else change.before
            by_path.setdefault(change.path, []).append((capture, replace(change, before=before)))
    implied = folders_of(by_path)
    files = {file.path: file for file in changes.files if file.path in by_path}
    earlier = {path: _earlier_paths(file, by_path, files) for path, file in files.items() if file.after}
    claims = Counter(path for paths in earlier.values() for path in paths)
    earlier = {path: paths for path, paths in earlier.items() if all(claims[place] == 1 for place in paths)}
    implied.update(path for paths in earlier.values() for path in paths)
    order = {capture.capture_id: at for at, capture in enumerate(changes.captures)}
    groups = []
    for path in sorted(files.keys() - implied):
        places = (path, *earlier.get(path, ()))
        captures = [
            (capture, change)
            for place in places
            for capture, change in by_path[place]
            if place == path or change.after is not None
        ]
        captures.sort(key=lambda pair: order[pair[0].capture_id])
        groups.append(_file_group(files[path], captures, files[places[-1]]))
    return groups


def _earlier_paths(
    file: FileSummary,
    by_path: Mapping[str, Sequence[tuple[RecordedChanges, FileChange]]],
    files: Mapping[str, FileSummary],
) -> list[str]:
    """Return where a file was that is there only since it was moved, the first place last; all are gone."""
    paths: list[str] = []
    while file.before is None:
        moved = [change.moved_from for _, change in by_path[file.path] if change.moved_from]
        source = files.get(moved[-1]) if moved else None
        if source is None or source.after is not None or source.path in paths:
            return []
        file = source
        paths.append(file.path)
    return paths


def _file_group(
    file: FileSummary, changes: Sequence[tuple[RecordedChanges, FileChange]], origin: FileSummary
) -> ChangeGroup:
    """Return what was done to a file; `origin` is what it was before, by another name if it was moved."""
    captures = tuple({capture.capture_id: capture for capture, _ in changes}.values())
    net_change = FileChange(file.path, origin.before, file.after)
    is_moved = origin.path != file.path
    head = FileRow(
        f"file:{file.path}",
        file.path,
        origin.before,
        file.after,
        "moved" if is_moved else _row_kind(net_change.kind, origin.before, file.after),
        captures,
        file.status,
        origin.path if is_moved else "",
        file.is_covered and origin.is_covered,
        any(change.shared for _, change in changes),
        present=file.after,
    )
    rows = [_capture_row(capture, change, file, is_one_capture=True) for capture, change in changes]
    return ChangeGroup(head.key, tuple(rows), captures, head)


def _capture_row(
    capture: RecordedChanges,
    change: FileChange,
    file: FileSummary | None,
    *,
    is_one_capture: bool = False,
) -> FileRow:
    return FileRow(
        f"step:{capture.capture_id}:{change.path}",
        change.path,
        change.before,
        change.after,
        "moved" if change.moved_from else _row_kind(change.kind, change.before, change.after),
        (capture,),
        "reverted"
        if change.path in capture.reverted
        else "accepted"
        if file is not None and file.status == "accepted"
        else "open",
        change.moved_from,
        change.is_covered,
        change.shared,
        is_one_capture,
        file.after if file is not None else None,
    )


def _narrow(group: ChangeGroup, change_filter: ChangeFilter) -> ChangeGroup | None:
    rows = tuple(row for row in group.rows if change_filter.matches(row))
    if len(rows) == len(group.rows):
        return group if rows or group.head is not None else None
    if not rows:
        return None
    ids = {capture_id for row in rows for capture_id in row.capture_ids}
    captures = tuple(capture for capture in group.captures if capture.capture_id in ids)
    return ChangeGroup(group.key, rows, captures, group.head)


text = TextContext("Changes")
tr = Translator("Changes")

_COMMAND_CHARS = 60  # of a command that are shown in a list
_PLACES_NAMED = 3

KIND_ICONS: dict[RowKind, tuple[str, str]] = {
    "created": ("file-plus", "ok"),
    "changed": ("file-pen", "muted"),
    "deleted": ("file-minus", "error"),
    "moved": ("arrow-right", "accent_text"),
    "mode": ("key-round", "muted"),
    "link": ("link", "muted"),
    "folder": ("folder", "muted"),
    "same": ("circle-check", "muted"),
}
"""The icon of what happened to a file, and the token of its color."""
_KINDS: dict[RowKind, TranslatableText] = {
    "created": text("created"),
    "changed": text("changed"),
    "deleted": text("deleted"),
    "moved": text("moved"),
    "mode": text("permissions changed"),
    "link": text("link"),
    "folder": text("folder"),
    "same": text("as before"),
}
_SOURCES: dict[ChangeSource, TranslatableText] = {
    "tool": text("Edits"),
    "command": text("Commands"),
    "outside": text("You or another program"),
    "revert": text("Reverts, redos, rewinds"),
}
_REVERTS: dict[RevertScope, TranslatableText] = {
    "hunk": text("Revert of a part"),
    "rewind": text("Rewind"),
}
STATUSES: dict[ChangedFileStatus, tuple[TranslatableText, Tone]] = {
    "open": (text("Open"), "neutral"),
    "accepted": (text("Reviewed"), "ok"),
    "reverted": (text("Reverted"), "warn"),
}
"""What became of a change, and the tone of its pill."""


def kind_text(kind: RowKind) -> str:
    """Return what happened to a file, in lower case."""
    return translate(_KINDS[kind])


def change_source_text(source: ChangeSource) -> str:
    return translate(_SOURCES[source])


def change_status_text(entry: Entry) -> str:
    """Return what became of a change; of a revert that it was undone."""
    if entry.is_revert and entry.status == "reverted":
        return tr("Undone")
    return translate(STATUSES[entry.status][0])


def hunk_marks(row: FileRow, states: Sequence[HunkState]) -> tuple[HunkMark, ...]:
    return tuple(_hunk_mark(row, state) for state in states)


def _hunk_mark(row: FileRow, state: HunkState) -> HunkMark:
    match state:
        case "taken_back":
            return HunkMark(
                tr("Undone") if row.is_revert else translate(STATUSES["reverted"][0]), is_over=True
            )
        case "changed":
            return HunkMark(plan_status_text("conflict"))
    return HunkMark()


def path_text(path: str) -> str:
    """Return a path as it is shown: what can't be seen stands as codes."""
    return escape_hidden_name(path)


def split_path(path: str) -> tuple[str, str]:
    """Return the folder of a path (empty: none) and its name, as they are shown."""
    folder, _, name = path_text(path).rpartition("/")
    return folder, name


def who_text(capture: RecordedChanges) -> str:
    """Return who made a change; empty for what differs from the last commit: nobody knows."""
    if not capture.capture_id:
        return ""
    match capture.source:
        case "outside":
            return tr("You or another program")
        case "revert":
            return revert_name(capture.scope, is_redo=capture.is_redo)
        case "command":
            return _during_text((capture.target or display_name(capture.tool), *capture.others))
    tool = display_name(capture.tool)
    return _during_text((tool, *capture.others)) if capture.others else tool


def revert_name(scope: RevertScope, *, is_redo: bool) -> str:
    if is_redo:
        return tr("Redo of a part") if scope == "hunk" else tr("Redo")
    return translate(_REVERTS[scope]) if scope in _REVERTS else tr("Revert")


def when_text(capture: RecordedChanges, now_ms: int, *, with_time: bool = False) -> str:
    """Return when a change was made, or only found; empty where that is not known."""
    if not capture.at_ms:
        return ""
    time = format_relative_time(capture.at_ms, now_ms, with_time=with_time)
    return tr("found {time}", time=time) if capture.is_after_crash else time


def makers_text(captures: Sequence[RecordedChanges]) -> str:
    names = list(dict.fromkeys(who_text(capture) for capture in captures))
    if len(names) == 1:
        return names[0]
    return tr.plural(len(names) - 1, "{first} and %n other", "{first} and %n others", first=names[0])


def _during_text(calls: Sequence[str]) -> str:
    names = [f"“{ellipsize(' '.join(escape_hidden_name(call).split()), _COMMAND_CHARS)}”" for call in calls]
    if len(names) == 1:
        return tr("During {command}", command=names[0])
    return tr.plural(
        len(names) - 1, "During {command} and %n other", "During {command} and %n others", command=names[0]
    )


def counts_texts(counts: LineCounts | None) -> tuple[str, str]:
    """Return lines added and removed with their signs; empty where there are none, or nobody counted."""
    if counts is None:
        return "", ""
    plus, minus = line_counts_texts(counts.added, counts.removed)
    return plus if counts.added else "", minus if counts.removed else ""


def binary_text() -> str:
    return changed_lines_text(0, 0, binary=1, files=1)


def changes_total_text(grouped: GroupedChanges, counts: LineCounts | None) -> str:
    """Return how many files are not as before, and their lines, if these are counted."""
    heads = [group.head for group in grouped.by_file if group.head is not None]
    is_counted = [head for head in heads if not head.is_folder] or heads
    files, differing = len(is_counted), sum(head.kind != "same" for head in is_counted)
    if not differing and files:
        return tr.plural(files, "%n file as before", "%n files as before")
    words = files_text(files)
    if differing < files:
        words = tr.plural(
            files, "{differing} of %n file changed", "{differing} of %n files changed", differing=differing
        )
    return dotted((words, " ".join(filter(None, counts_texts(counts)))))


def _accessible_counts(counts: LineCounts | None) -> str:
    if counts is None or not any(counts):
        return ""
    if counts.is_binary:
        return binary_text()
    added, removed, _ = counts
    parts = (
        tr.plural(added, "%n line added", "%n lines added") if added else "",
        tr.plural(removed, "%n line removed", "%n lines removed") if removed else "",
    )
    return ", ".join(filter(None, parts))


def turn_text(group: ChangeGroup) -> str:
    """Return the heading of a turn, or of what the user took back or did again."""
    capture = group.first
    if group.is_revert:
        return tr("You: {what}", what=who_text(capture))
    if not capture.turn:
        return tr("Before the first message")
    title = " ".join(capture.turn_title.split())
    return title or tr("Turn {number}", number=capture.turn)


def group_files_text(group: ChangeGroup) -> str:
    """Return how many files a group is of; of folders alone how many these are."""
    if not group.rows:
        return tr("not in the file history")
    if all(row.is_folder for row in group.rows):
        return tr.plural(group.files, "%n folder", "%n folders")
    return files_text(group.files)


def files_text(count: int) -> str:
    return tr.plural(count, "%n file", "%n files")


def accessible_row_text(row: FileRow, counts: LineCounts | None) -> str:
    parts = (
        who_text(row.last) if row.is_one_capture else path_text(row.path),
        kind_text(row.kind),
        _accessible_counts(counts),
        "" if row.is_one_capture else makers_text(row.captures),
        change_status_text(row) if row.status != "open" else "",
        "" if row.is_covered else tr("can't be undone"),
    )
    return ", ".join(filter(None, parts))


def empty_text(state: ChangesState) -> str:
    match state.obstacle:
        case "untrusted":
            return tr("This folder isn't trusted, so the agent can't change files here.")
        case "missing":
            return tr("The folder of this workspace is missing. Its changes can't be read or undone.")
    if state.source == "commit":
        return tr("Nothing differs from the last commit.")
    if count := state.removed_captures:
        return tr.plural(
            count,
            "%n step of this session changed files. The file history of this computer doesn't have them: the "
            "session was imported, or they were removed.",
            "%n steps of this session changed files. The file history of this computer doesn't have them: "
            "the session was imported, or they were removed.",
        )
    return _unchanged_text(state.coverage)


def _unchanged_text(coverage: FileCoverage) -> str:
    if not coverage.is_complete and not coverage.error:
        if coverage.is_paused:
            return tr("Copying files is paused. Changes to files that aren't copied yet can't be undone.")
        return tr(
            "Your files are being copied, so that every change can be undone. Changes appear here as the "
            "agent works."
        )
    return tr("No files changed yet. Files that the agent or its commands change appear here.")


def empty_button_text(obstacle: Obstacle) -> str:
    match obstacle:
        case "untrusted":
            return tr("Trust folder…")
        case "missing":
            return tr("Go to chat")
    return tr("Write a message")


def file_coverage_text(coverage: FileCoverage, obstacle: Obstacle = "") -> str:
    if obstacle:
        return ""
    if coverage.error:
        return tr("Copying files stopped: {reason}", reason=coverage.error)
    if not coverage.is_complete:
        share = copied_share(coverage)
        if coverage.is_paused:
            return tr("Copying files paused: {share}", share=format_whole_percent(share))
        return (
            tr("Copying files: {share}", share=format_whole_percent(share)) if share else tr("Copying files…")
        )
    return tr("Changes in this folder can be undone")


def copied_share(coverage: FileCoverage) -> float:
    """Return how much of the first copy is done, from 0 to 1."""
    return coverage.files / (coverage.files + coverage.pending) if coverage.files else 0.0


def uncovered_texts(coverage: FileCoverage) -> tuple[str, str]:
    """Return how many places are not covered, and the first of them by name."""
    places = [place for place in coverage.places if place.reason != "pending"]
    count = coverage.uncovered - coverage.pending
    if count <= 0:
        return "", ""
    names = [split_path(place.path)[1] for place in places[:_PLACES_NAMED]]
    listed = ", ".join([*names, "…"] if count > len(names) else names)
    return tr.plural(count, "except in %n place", "except in %n places"), listed


def place_note(reason: UncoveredReason, files: int, size: int) -> str:
    parts = (
        uncovered_reason_text(reason),
        files_text(files) if files else "",
        format_size(size) if size else "",
    )
    return " · ".join(filter(None, parts))
