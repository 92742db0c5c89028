"""What the page of changes shows, made from the changes of a session, and its words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, Self, TypeAlias

import msgspec
from msgspec.structs import replace

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.file_history.changes import (
    ChangedFileStatus,
    ChangeKind,
    FileChange,
    FileCoverage,
    FileState,
    FileSummary,
    RecordedChanges,
    RevertScope,
    RevertSelection,
    SessionChanges,
    folders_of,
    is_folder,
    without_implied,
)
from helix_desktop.domain.file_history.diff import BINARY_KINDS, DiffLine, FileDiff
from helix_desktop.domain.messages import display_name
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.tools import AutoRunChange
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.ui.design.cards import Tone
from helix_desktop.words.call_targets import call_title, call_verb
from helix_desktop.words.file_changes import changed_lines_text, line_counts_texts, revert_name
from helix_desktop.words.lines import dotted
from helix_desktop.words.times import format_relative_time
from helix_desktop.words.translation import Translator, translate

text = TextContext("Changes")
tr = Translator("Changes")

RowKind: TypeAlias = Literal["created", "changed", "deleted", "moved", "mode", "link", "folder", "same"]
"""What is drawn of a change; `same`: several changes that together left a file as it was."""
KINDS: dict[RowKind, tuple[TranslatableText, str, str]] = {
    "created": (text("created"), "file-plus", "ok"),
    "changed": (text("changed"), "file-pen", "muted"),
    "deleted": (text("deleted"), "file-minus", "error"),
    "moved": (text("moved"), "arrow-right", "accent_text"),
    "mode": (text("permissions changed"), "key-round", "muted"),
    "link": (text("link"), "link", "muted"),
    "folder": (text("folder"), "folder", "muted"),
    "same": (text("as before"), "circle-check", "muted"),
}
"""What happened to a file, in lower case, its icon, and the token of that one's color."""
Grouping: TypeAlias = Literal["turn", "file"]
ListSource: TypeAlias = Literal["session", "commit"]
"""What the page lists: what the session did, or what differs from git's last commit."""
Obstacle: TypeAlias = Literal["", "untrusted", "missing"]
"""Why files cannot be captured or reverted: the folder is not trusted, or not there."""
STATUSES: dict[ChangedFileStatus, tuple[TranslatableText, Tone]] = {
    "open": (text("Open"), "neutral"),
    "accepted": (text("Reviewed"), "ok"),
    "reverted": (text("Reverted"), "warn"),
}
"""What became of a change, and the tone of its pill."""
Contents: TypeAlias = tuple[str, str]
_QUOTED_CHARS = 60  # of a command, or of a line, that are shown in a list


class LineCounts(NamedTuple):
    added: int
    removed: int
    is_binary: bool = False
    first: DiffLine | None = None
    """The first line that changed, where a diff was read."""

    @classmethod
    def of(cls, diff: FileDiff) -> Self:
        first = diff.hunks[0].named_by[0] if diff.hunks else None
        return cls(diff.added, diff.removed, diff.kind in BINARY_KINDS, first)

    @property
    def accessible_text(self) -> str:
        if self.is_binary:
            return binary_text()
        parts = (
            tr.plural(self.added, "%n line added", "%n lines added") if self.added else "",
            tr.plural(self.removed, "%n line removed", "%n lines removed") if self.removed else "",
        )
        return ", ".join(filter(None, parts))


def counts_texts(counts: LineCounts | None) -> tuple[str, str]:
    """Return lines added and removed with their signs; empty where there are none, or nobody counted."""
    if counts is None:
        return "", ""
    plus, minus = line_counts_texts(counts.added, counts.removed)
    return plus if counts.added else "", minus if counts.removed else ""


def binary_text() -> str:
    return changed_lines_text(0, 0, binary=1, files=1)


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
    if capture.others:
        return _during_text((call_title(capture.tool, capture.target), *capture.others))
    return call_verb(capture.tool, "done")


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
    return tr.plural(
        len(names) - 1, "{first} and %n other change", "{first} and %n other changes", first=names[0]
    )


def place_text(first: DiffLine | None, others: Iterable[DiffLine | None]) -> str:
    """Return in which line a change begins; if others begin there too, how that line reads."""
    if first is None:
        return ""
    number = first.new or first.old
    if sum(other is not None and (other.new or other.old) == number for other in others) > 1:
        return _quoted(first.text)
    return tr("line {number}", number=number)


def _quoted(words: str) -> str:
    return f"“{ellipsize(escape_hidden_name(' '.join(words.split())), _QUOTED_CHARS)}”"


def _during_text(calls: Sequence[str]) -> str:
    names = [_quoted(call) for call in calls]
    if len(names) == 1:
        return tr("During {command}", command=names[0])
    return tr.plural(
        len(names) - 1,
        "During {command} and %n other call",
        "During {command} and %n other calls",
        command=names[0],
    )


def files_text(count: int) -> str:
    return tr.plural(count, "%n file", "%n files")


class _Entry(msgspec.Struct, frozen=True):
    """A row of the list; what is said and done of it is of its captures, oldest first."""

    key: str
    captures: tuple[RecordedChanges, ...]

    @property
    def status(self) -> ChangedFileStatus:
        raise NotImplementedError

    @property
    def is_revert(self) -> bool:
        """True if the user took something back, or did it again: nothing of the agent's."""
        raise NotImplementedError

    @property
    def can_change(self) -> bool:
        """True if it is of captures whose lists are there, so that it can be taken back."""
        return any(capture.capture_id and not capture.is_removed for capture in self.captures)

    @property
    def is_redoable(self) -> bool:
        """True if it was taken back, or is itself what took something back: to undo that is a redo."""
        is_revert = self.is_revert and not self.captures[0].is_redo
        return is_revert != (self.status == "reverted")

    @property
    def can_accept(self) -> bool:
        """True if it can be marked as reviewed: what the user took back or did again can't."""
        return self.can_change and not self.is_revert

    @property
    def status_text(self) -> str:
        """What became of it; of a revert that it was undone."""
        if self.is_revert and self.status == "reverted":
            return tr("Undone")
        return translate(STATUSES[self.status][0])


class FileRow(_Entry, frozen=True):
    """One file as some captures changed it together."""

    path: str
    before: FileState | None
    after: FileState | None
    kind: RowKind
    status: ChangedFileStatus = "open"
    moved_from: str = ""
    is_covered: bool = True
    is_shared: bool = False
    is_one_capture: bool = False
    present: FileState | None = None
    """What stands there now, as far as the session knows."""
    alike: tuple[Contents, ...] = ()
    """What the rows compare that read the same, this one too; empty if there is no other."""
    reverted_ms: int = 0
    """When it was taken back last; 0: it was not, or nobody knows."""

    @property
    def file(self) -> FileRow:
        return self

    @property
    def contents(self) -> Contents:
        return (self.before.digest if self.before else "", self.after.digest if self.after else "")

    @property
    def is_folder(self) -> bool:
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
        return self.last.source == "revert" and len(self.captures) == 1

    @property
    def selection(self) -> RevertSelection:
        scope: RevertScope = "redo" if self.is_revert and not self.last.is_redo else "file"
        return RevertSelection(agent_capture_ids(self.captures), self.paths, scope=scope)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that it is about: of a file that was moved both."""
        return (self.path, self.moved_from) if self.moved_from and not self.is_one_capture else (self.path,)

    @property
    def can_revert_hunks(self) -> bool:
        """True if its hunks can be taken back one by one: it is one change, and stands."""
        return self.can_change and len(self.captures) == 1 and self.is_covered and self.status != "reverted"

    @property
    def kind_text(self) -> str:
        return translate(KINDS[self.kind][0])

    @property
    def made_text(self) -> str:
        """Who changed it; of a revert, whose heading says so, what it did to the file."""
        if self.is_revert:
            is_restored = self.kind == "changed" and not self.last.is_redo
            return tr("restored") if is_restored else self.kind_text
        return makers_text(self.captures) or self.kind_text

    @property
    def _own_kind_text(self) -> str:
        """What happened to it; empty where who did it says so: “Edited”."""
        first = self.captures[0]
        is_said = self.kind == "changed" and first.source in ("tool", "revert") and not first.others
        return "" if is_said else self.kind_text

    @property
    def folder_and_name(self) -> tuple[str, str]:
        """The folder of its path (empty: none) and its name, as they are shown."""
        folder, _, name = escape_hidden_name(self.path).rpartition("/")
        return folder, name

    @property
    def name(self) -> str:
        return who_text(self.last) if self.is_one_capture else escape_hidden_name(self.path)

    @property
    def tip(self) -> str:
        moved = tr("Moved from {path}", path=escape_hidden_name(self.moved_from)) if self.moved_from else ""
        shared = tr("Another command ran at the same time and may have made this change.")
        found = tr("Helix ended during the call. What it had changed was found at the next start.")
        uncovered = tr("Can't be undone: the previous content isn't saved.")
        lines = (
            escape_hidden_name(self.path),
            moved,
            makers_text(self.captures),
            found if self.last.is_after_crash else "",
            shared if self.is_shared else "",
            "" if self.is_covered else uncovered,
        )
        return "\n".join(filter(None, lines))

    def note(self, now_ms: int) -> str:
        """Return what happened to it, by whom and when; of what was taken back only that, and when."""
        if self.status == "reverted":
            time = format_relative_time(self.reverted_ms, now_ms, with_time=True) if self.reverted_ms else ""
            return dotted((self.status_text, time))
        kind = self._own_kind_text
        if self.moved_from and self.kind != "same":
            kind = tr("moved from {path}", path=escape_hidden_name(self.moved_from))
        parts = (
            kind,
            who_text(self.last) if self.is_one_capture else makers_text(self.captures),
            when_text(self.last, now_ms, with_time=True),
            "" if self.is_covered else tr("can't be undone"),
        )
        return dotted(parts)

    def accessible_text(self, counts: LineCounts | None, place: str) -> str:
        parts = (
            self.name,
            self._own_kind_text,
            counts.accessible_text if counts is not None else "",
            "" if self.is_one_capture else makers_text(self.captures),
            place,
            self.status_text if self.status != "open" else "",
            "" if self.is_covered else tr("can't be undone"),
        )
        return ", ".join(filter(None, parts))


class ChangeGroup(_Entry, frozen=True):
    """A turn or a revert with its files, or (`head`) a file with its captures."""

    rows: tuple[FileRow, ...]
    head: FileRow | None = None

    @property
    def file(self) -> FileRow | None:
        return self.head

    @property
    def first(self) -> RecordedChanges:
        """The first capture: it knows the turn."""
        return self.captures[0]

    @property
    def is_revert(self) -> bool:
        return self.head is None and self.first.source == "revert"

    @property
    def status(self) -> ChangedFileStatus:
        if self.head is not None:
            return self.head.status
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

    @property
    def title(self) -> str:
        """The heading of a turn, or of what the user took back or did again."""
        if self.is_revert:
            return tr("You: {what}", what=who_text(self.first))
        if not self.first.turn:
            return tr("Before the first message")
        return " ".join(self.first.turn_title.split()) or tr("Turn {number}", number=self.first.turn)

    @property
    def name(self) -> str:
        return self.head.name if self.head is not None else self.title

    @property
    def tip(self) -> str:
        return self.head.tip if self.head is not None else self.title

    @property
    def files_text(self) -> str:
        if not self.rows:
            return tr("not in the file history")
        files = {row.path for row in self.rows if not row.is_folder}
        paths = {row.path for row in self.rows}
        folders = len(paths - files)
        counts = [files_text(len(files))] if files else []
        counts += [tr.plural(folders, "%n folder", "%n folders")] if folders else []
        return ", ".join(counts)

    def note(self, now_ms: int) -> str:
        steps = "" if self.is_revert else tr.plural(len(self.captures), "%n step", "%n steps")
        return dotted((self.files_text, steps, when_text(self.captures[-1], now_ms, with_time=True)))


Entry: TypeAlias = ChangeGroup | FileRow


def file_of(entry: Entry | None) -> FileRow | None:
    """Return the file that a diff is shown of: a file, a capture of it, or nothing of a turn."""
    return entry.file if entry is not None else None


def agent_capture_ids(captures: Iterable[RecordedChanges]) -> tuple[str, ...]:
    """Return the ids of the captures that a revert takes back: the agent's; all where none is the agent's.

    What the user or another program changed meanwhile stays, and what is reverted already is left out anyway.
    """
    captures = tuple(captures)
    own = tuple(capture.capture_id for capture in captures if capture.source in ("tool", "command"))
    return own or tuple(capture.capture_id for capture in captures)


def net_rows(rows: Iterable[FileRow]) -> tuple[FileRow, ...]:
    """Return the files of rows, each once, from before its first change to after its last."""
    files: dict[str, FileRow] = {}
    for row in rows:
        first = files.get(row.path, row)
        change = FileChange(row.path, first.before, row.after)
        kind = row.kind if first is row else _row_kind(change.kind, change.before, change.after)
        files[row.path] = replace(row, before=first.before, kind=kind)
    return tuple(row for row in files.values() if row.kind != "same")


def capture_selection(capture: RecordedChanges) -> RevertSelection:
    scope: RevertScope = "redo" if capture.source == "revert" and not capture.is_redo else "step"
    return RevertSelection((capture.capture_id,), scope=scope)


class GroupedChanges(msgspec.Struct, frozen=True):
    """Changes as they are listed, by turn and by file; `differing` are the files not as at first."""

    changes: SessionChanges
    by_turn: tuple[ChangeGroup, ...] = ()
    by_file: tuple[ChangeGroup, ...] = ()
    differing: tuple[FileRow, ...] = ()


def changes_total_text(grouped: GroupedChanges, counts: LineCounts | None) -> str:
    """Return how many files are not as before, and their lines, if these are counted."""
    heads = [group.head for group in grouped.by_file if group.head is not None]
    is_counted = [head for head in heads if not head.is_folder] or heads
    files = len(is_counted)
    differing = sum(head.kind != "same" for head in is_counted)
    if not differing and files:
        return tr.plural(files, "%n file as before", "%n files as before")
    words = files_text(files)
    if differing < files:
        words = tr.plural(
            files, "{differing} of %n file changed", "{differing} of %n files changed", differing=differing
        )
    return dotted((words, " ".join(filter(None, counts_texts(counts)))))


class ChangesState(msgspec.Struct, frozen=True):
    """All that the page shows: changes (None: no session), what is covered, and where they are from.

    `has_git`: the workspace is in a git checkout, so that what differs from its last commit can be listed.
    `undone` is what was undone after commands of any session, the oldest first; `undone_error` says why that
    can't be read.
    """

    grouped: GroupedChanges | None = None
    coverage: FileCoverage = FileCoverage()
    obstacle: Obstacle = ""
    has_git: bool = False
    source: ListSource = "session"
    undone: tuple[AutoRunChange, ...] = ()
    undone_error: HelixError | None = None

    @property
    def changes(self) -> SessionChanges | None:
        return self.grouped.changes if self.grouped is not None else None

    @property
    def removed_captures(self) -> int:
        """The number of captures that changed files, where the file history has the list of none of them."""
        captures = self.changes.captures if self.changes is not None else ()
        return len(captures) if all(capture.is_removed for capture in captures) else 0


def matches_words(row: FileRow, words: str) -> bool:
    """Return True if each word is in a row's path, or in what says who made its changes."""
    path = row.path.casefold()
    missing = [word for word in words.casefold().split() if word not in path]
    if not missing:
        return True
    makers = " ".join(map(who_text, row.captures)).casefold()
    return all(word in makers for word in missing)


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


def narrow_groups(grouped: GroupedChanges | None, grouping: Grouping, words: str) -> Sequence[ChangeGroup]:
    """Return the groups with what has all words: the newest turn first, or files by path."""
    if grouped is None:
        return ()
    groups = grouped.by_turn if grouping == "turn" else grouped.by_file
    if not words:
        return groups
    return [narrowed for group in groups if (narrowed := _narrow(group, words)) is not None]


def visible_changes(capture: RecordedChanges) -> list[FileChange]:
    """Return what a capture changed: what was moved once, no folders that came or went with their files."""
    sources = {change.path: change.before for change in capture.changes}
    return [
        replace(change, before=sources.get(change.moved_from)) if change.moved_from else change
        for change in without_implied(capture.changes)
    ]


RevertTimes: TypeAlias = Mapping[tuple[str, str], int]
"""When what a capture did to a path was taken back last, in milliseconds since 1970."""


def _revert_times(changes: SessionChanges) -> RevertTimes:
    return {
        (taken_back, change.path): capture.at_ms
        for capture in changes.captures
        for taken_back in capture.reverts
        for change in capture.changes
    }


def _by_turn(changes: SessionChanges) -> list[ChangeGroup]:
    files = {file.path: file for file in changes.files}
    times = _revert_times(changes)
    turns: dict[tuple[int, int, str], list[RecordedChanges]] = {}
    for number, capture in enumerate(changes.captures, 1):
        own = (0, f"turn:{capture.turn}")
        if capture.source == "revert":
            own = (number, f"revert:{capture.capture_id}")
        turns.setdefault((capture.turn, *own), []).append(capture)
    groups = []
    for (_, _, key), captures in sorted(turns.items(), reverse=True):
        rows = [
            _capture_row(capture, change, files.get(change.path), times)
            for capture in captures
            for change in visible_changes(capture)
        ]
        groups.append(ChangeGroup(key, tuple(captures), _with_alike(rows)))
    return groups


def _with_alike(rows: Sequence[FileRow]) -> tuple[FileRow, ...]:
    """Return rows of one group, each with what those compare that read the same."""

    def shown(row: FileRow) -> tuple[object, ...]:
        by = row.last
        who = (by.source, by.tool, by.target, by.others, by.scope, by.is_redo)
        return row.path, row.kind, who, by.added_lines, by.removed_lines

    alike: dict[tuple[object, ...], list[FileRow]] = {}
    for row in rows:
        alike.setdefault(shown(row), []).append(row)
    contents = {key: tuple(row.contents for row in same) for key, same in alike.items() if len(same) > 1}
    return tuple(replace(row, alike=contents.get(shown(row), ())) for row in rows)


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
    times = _revert_times(changes)
    for path in sorted(files.keys() - implied):
        places = (path, *earlier.get(path, ()))
        captures = [
            (capture, change)
            for place in places
            for capture, change in by_path[place]
            if place == path or change.after is not None
        ]
        captures.sort(key=lambda pair: order[pair[0].capture_id])
        groups.append(_file_group(files[path], captures, files[places[-1]], times))
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
    file: FileSummary,
    changes: Sequence[tuple[RecordedChanges, FileChange]],
    origin: FileSummary,
    times: RevertTimes,
) -> ChangeGroup:
    """Return what was done to a file; `origin` is what it was before, by another name if it was moved."""
    captures = tuple({capture.capture_id: capture for capture, _ in changes}.values())
    net_change = FileChange(file.path, origin.before, file.after)
    is_moved = origin.path != file.path
    head = FileRow(
        f"file:{file.path}",
        captures,
        file.path,
        origin.before,
        file.after,
        "moved" if is_moved else _row_kind(net_change.kind, origin.before, file.after),
        file.status,
        origin.path if is_moved else "",
        file.is_covered and origin.is_covered,
        any(change.shared for _, change in changes),
        present=file.after,
        reverted_ms=max(times.get((capture.capture_id, change.path), 0) for capture, change in changes),
    )
    rows = [_capture_row(capture, change, file, times, is_one_capture=True) for capture, change in changes]
    return ChangeGroup(head.key, captures, _with_alike(rows), head)


def _capture_row(
    capture: RecordedChanges,
    change: FileChange,
    file: FileSummary | None,
    times: RevertTimes,
    *,
    is_one_capture: bool = False,
) -> FileRow:
    status: ChangedFileStatus = "open"
    if change.path in capture.reverted:
        status = "reverted"
    elif file is not None and file.status == "accepted":
        status = "accepted"
    return FileRow(
        f"step:{capture.capture_id}:{change.path}",
        (capture,),
        change.path,
        change.before,
        change.after,
        "moved" if change.moved_from else _row_kind(change.kind, change.before, change.after),
        status,
        change.moved_from,
        change.is_covered,
        change.shared,
        is_one_capture,
        file.after if file is not None else None,
        reverted_ms=times.get((capture.capture_id, change.path), 0),
    )


def _narrow(group: ChangeGroup, words: str) -> ChangeGroup | None:
    rows = tuple(row for row in group.rows if matches_words(row, words))
    if len(rows) == len(group.rows):
        return group if rows or group.head is not None else None
    if not rows:
        return None
    ids = {capture_id for row in rows for capture_id in row.capture_ids}
    captures = tuple(capture for capture in group.captures if capture.capture_id in ids)
    return ChangeGroup(group.key, captures, rows, group.head)
