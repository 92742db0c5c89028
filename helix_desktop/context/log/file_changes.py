"""The changes of files in a session's log: by which call, what became of each, and which are taken back.

All of it follows from the logs and the lists of changes; nothing of it is stored. A branch has the captures
of its parent up to its point. What was reverted in the one after that point is reverted in the other, too:
the files are the workspace's.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from operator import itemgetter

import msgspec
from msgspec.structs import replace

from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    SubagentStarted,
    ToolAnswered,
    TurnEnded,
    TurnRetried,
    UserSpoke,
)
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import ChangesAccepted, ChangesRecorded
from helix_desktop.domain.file_history.changes import (
    Capture,
    CapturedChanges,
    ChangedFileStatus,
    ChangeList,
    FileChange,
    FileState,
    FileSummary,
    RecordedChanges,
    RevertDirections,
    RevertSelection,
    SessionChanges,
)
from helix_desktop.domain.files.file_use import call_target
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.text_format import title_line
from helix_desktop.domain.typed_text import typed_text

Place = tuple[str, str]
"""A path in a capture: its id, and the path."""


class FileRevert(msgspec.Struct, frozen=True):
    """The newest revert of what the agent changed in a file; `is_partial` if some of it still stands."""

    seq: int
    is_partial: bool = False


class RevertedFiles:
    """Which files of a session's log are reverted, from its events alone, for summaries.

    What `RevertedChanges` says by contents is said here by what a revert names; of a part of a change it says
    no more than that.
    """

    def __init__(self) -> None:
        self._directions = RevertDirections()
        self._events: dict[str, ChangesRecorded] = {}
        self._standing: dict[str, set[str]] = {}  # by path, the captures of the agent that stand
        self._newest: dict[str, FileRevert] = {}

    def add(self, seq: int, event: ChangesRecorded) -> None:
        if event.capture in self._events:
            return
        self._events[event.capture] = event
        is_redo = self._directions.add(event.capture, event.source, event.scope, event.reverts)
        for path in _paths_of(event):
            standing = self._standing.setdefault(path, set())
            if event.source in ("tool", "command"):
                standing.add(event.capture)
            if event.source != "revert":
                continue
            concerned = {capture for capture in event.reverts if path in self._paths(capture)}
            again = set().union(*(self._agent_captures(capture) for capture in concerned))
            if is_redo:
                standing |= again
                self._newest.pop(path, None)
            elif event.scope == "hunk":
                self._newest[path] = FileRevert(seq, is_partial=True)
            else:
                standing |= again - concerned if event.scope == "rewind" else set()
                standing -= concerned
                self._newest[path] = FileRevert(seq, is_partial=bool(standing))

    @property
    def by_path(self) -> Mapping[str, FileRevert]:
        """Return the newest revert of each file that no redo followed."""
        return self._newest

    def is_reverted(self, capture: str) -> bool:
        """Return True if nothing that the agent changed in a capture still stands."""
        paths = self._paths(capture)
        return bool(paths) and not any(capture in self._standing[path] for path in paths)

    def fork(self) -> RevertedFiles:
        copy = RevertedFiles()
        for event in self._events.values():
            copy._directions.add(event.capture, event.source, event.scope, event.reverts)
        copy._events = dict(self._events)
        copy._newest = dict(self._newest)
        copy._standing = {path: set(captures) for path, captures in self._standing.items()}
        return copy

    def _paths(self, capture: str) -> tuple[str, ...]:
        event = self._events.get(capture)
        return _paths_of(event) if event is not None else ()

    def _agent_captures(self, capture: str) -> Set[str]:
        """Return the capture if it is the agent's; of a revert those that it took back."""
        event = self._events.get(capture)
        if event is None or event.source != "revert":
            return {capture}
        return frozenset().union(*map(self._agent_captures, event.reverts))


def _paths_of(event: ChangesRecorded) -> tuple[str, ...]:
    return event.paths or ((event.first_path,) if event.first_path else ())


class RevertedChanges:
    """Which paths of which captures are taken back, and in which row others were redone.

    A revert names captures. It took back their changes of a path if it changed that path; or if the path was
    already as it was before the first of them, and no later call changed it that the revert does not name. A
    rewind names the reverts too that it takes back: what these had taken back stands again, unless named too.
    A revert is taken back as well once all that it turned around was turned around again by what names that.
    A change of which a part was redone is not taken back, until the path is as before it again.
    """

    def __init__(self, rows: Iterable[RecordedChanges]) -> None:
        self._reverted: set[Place] = set()
        self._partly: set[Place] = set()  # of what was taken back, a part was redone
        self._newly_reverted: set[Place] = set()  # by the row that was added last
        self._parted: set[str] = set()  # paths of which parts were turned around
        self.redone: dict[Place, int] = {}
        self._by_path: dict[str, list[str]] = {}  # the calls that changed a path
        self._states: dict[str, FileState | None] = {}
        self._captures: dict[str, RecordedChanges] = {}
        self._turned: dict[Place, dict[Place, tuple[bool, bool]]] = {}  # by a revert, from what to what
        for number, row in enumerate(rows):
            self._add(number, row)
        self.reverted = frozenset(self._reverted | self._undone())
        """The places that are taken back."""

    def _add(self, number: int, row: RecordedChanges) -> None:
        self._captures[row.capture_id] = row
        for change in row.changes:
            self._states[change.path] = change.after
            if row.source in ("tool", "command"):
                self._by_path.setdefault(change.path, []).append(row.capture_id)
        if row.source != "revert":
            return
        if row.scope == "hunk":
            self._parted.update(change.path for change in row.changes)
        self._newly_reverted.clear()
        is_rewind = row.scope == "rewind"
        places = self._taken_back(row)
        turned = {
            place: (place in self._reverted, is_rewind or place not in self._reverted) for place in places
        }
        for place, (was_reverted, is_reverted) in turned.items():
            self._put(place, is_reverted, number)
            self._turned.setdefault((row.capture_id, place[1]), {})[place] = was_reverted, is_reverted
        self._settle_parts(number, row, turned)

    def _put(self, place: Place, is_reverted: bool, at: int) -> None:
        """Say of a place that it is taken back, or not, and so of all that it turned around."""
        self._partly.discard(place)
        if (place in self._reverted) == is_reverted:
            return
        if is_reverted:
            self._reverted.add(place)
            self._newly_reverted.add(place)
        else:
            self._reverted.remove(place)
            self.redone[place] = at
        for target, (was, became) in self._turned.get(place, {}).items():
            self._put(target, was if is_reverted else became, at)

    def _settle_parts(self, at: int, row: RecordedChanges, turned: Collection[Place]) -> None:
        """Look what parts that came or went make of the changes of calls that they are parts of."""
        captures = _captures_of(row, self._captures)
        is_part = any(capture.scope == "hunk" for capture in (row, *captures))
        for change in row.changes:
            for target in captures if change.path in self._parted else ():
                place = (target.capture_id, change.path)
                own = next((own for own in target.changes if own.path == change.path), None)
                if own is None or target.source == "revert" or place in turned:
                    continue
                is_open = place not in self._reverted
                is_as_before = own.before == change.after
                is_partly = (row.is_redo and is_part) or (
                    place in self._newly_reverted and self._has_redone_part(place)
                )
                if is_partly and not (is_open or is_as_before):
                    self._reverted.remove(place)
                    self._partly.add(place)
                elif is_open and is_as_before and not row.is_redo and self._is_last(row, *place):
                    self._put(place, True, at)
                    self._turned.setdefault((row.capture_id, change.path), {})[place] = False, True

    def _has_redone_part(self, place: Place) -> bool:
        redos = (row for row in self._captures.values() if row.is_redo)
        return any(
            (row.capture_id, place[1]) not in self._reverted
            and any(change.path == place[1] for change in row.changes)
            and any(capture.capture_id == place[0] for capture in captures)
            and any(capture.scope == "hunk" for capture in (row, *captures))
            for row, captures in ((row, _captures_of(row, self._captures)) for row in redos)
        )

    def _undone(self) -> set[Place]:
        """Return the reverts whose effect was turned around again; of parts the log says it itself."""
        taken_back = self._reverted | self._partly
        return {
            revert
            for revert, places in self._turned.items()
            if self._captures[revert[0]].scope != "hunk"
            and all((place in taken_back) == was for place, (was, became) in places.items() if was != became)
            and any(was != became for was, became in places.values())
        }

    def _taken_back(self, row: RecordedChanges) -> list[Place]:
        """Return what a revert took back or redid, the newest first, by the states that it left."""
        own = {change.path for change in row.changes}
        if row.scope == "rewind":
            captures = [self._captures[capture] for capture in row.reverts if capture in self._captures]
            return _rewound(captures, self._states, own)
        places: list[Place] = []
        for path, targets in self._targets(row).items():
            first = targets[0][1]
            last = targets[-1][1]
            is_redo = _puts_back(row, self._captures[targets[0][0]])
            left = last.after if is_redo else first.before
            is_last = self._is_last(row, targets[0][0], path)
            if (path in own and row.scope != "hunk") or (is_last and self._states[path] == left):
                ids = [capture for capture, _ in targets]
                places += [(capture, path) for capture in ids]
                places += self._standing_parts(ids, path) if is_redo else []
        return places[::-1]

    def _standing_parts(self, capture_ids: Sequence[str], path: str) -> list[Place]:
        """Return the reverts of parts of captures that stand: they are over once the whole is redone."""
        return [
            (row.capture_id, path)
            for row in self._captures.values()
            if row.scope == "hunk"
            and not set(row.reverts).isdisjoint(capture_ids)
            and (row.capture_id, path) not in self._reverted
            and any(change.path == path for change in row.changes)
        ]

    def _is_last(self, row: RecordedChanges, capture_id: str, path: str) -> bool:
        """Return True if no later call changed a path, but those that a revert names or that are over."""
        calls = self._by_path.get(path, [])
        later = calls[calls.index(capture_id) + 1 :] if capture_id in calls else []
        return all(call in row.reverts or (call, path) in self._reverted for call in later)

    def _targets(self, row: RecordedChanges) -> dict[str, list[tuple[str, FileChange]]]:
        """Return what a revert names, by path: captures with their changes that it turns around, in order."""
        targets: dict[str, list[tuple[str, FileChange]]] = {}
        for capture_id in dict.fromkeys(row.reverts):
            target = self._captures.get(capture_id)
            for change in target.changes if target is not None else ():
                is_back = (capture_id, change.path) in self._reverted
                if target is not None and is_back == _puts_back(row, target):
                    targets.setdefault(change.path, []).append((capture_id, change))
        return targets


def redo_ids(log: Iterable[RecordedEvent]) -> frozenset[str]:
    """Return the captures of a log that bring back what was taken back."""
    directions = RevertDirections()
    events = (recorded.event for recorded in log)
    return frozenset(
        event.capture
        for event in events
        if isinstance(event, ChangesRecorded)
        and directions.add(event.capture, event.source, event.scope, event.reverts)
    )


def _captures_of(row: RecordedChanges, captures: Mapping[str, RecordedChanges]) -> list[RecordedChanges]:
    """Return the captures that a revert names, and those that these name."""
    found: dict[str, RecordedChanges] = {}
    waiting = list(row.reverts)
    while waiting:
        capture = captures.get(waiting.pop())
        if capture is not None and capture.capture_id not in found:
            found[capture.capture_id] = capture
            waiting += capture.reverts
    return list(found.values())


def _rewound(
    rows: Sequence[RecordedChanges], states: Mapping[str, FileState | None], changed: Set[str]
) -> list[Place]:
    """Return what a rewind over rows took back, the newest first: where files are as before all of them."""
    first: dict[str, FileState | None] = {}
    for row in rows:
        for change in row.changes:
            first.setdefault(change.path, change.before)
    is_back = {path for path, state in first.items() if path in changed or states[path] == state}
    return [
        (row.capture_id, change.path)
        for row in reversed(rows)
        for change in row.changes
        if change.path in is_back
    ]


def _puts_back(row: RecordedChanges, target: RecordedChanges) -> bool:
    """Return True if a capture is put in place again, not taken back; a revert is always taken back."""
    return row.scope == "redo" and target.source != "revert"


class LoggedCapture(msgspec.Struct, frozen=True):
    """A capture as the log names it; `digest` is that of its list, which `changes` is still without."""

    changes: RecordedChanges
    digest: str


class LoggedChanges(msgspec.Struct, frozen=True):
    """What one log says of changes: captures in order, subagents by session, and what was accepted.

    A subagent comes with a capture that has the turn and the place of the call that started it, `end` has
    those of the log's end. `calls` are the newest by id.
    """

    end: RecordedChanges
    calls: Mapping[str, ToolCall]
    captures: tuple[LoggedCapture, ...] = ()
    subagents: Mapping[str, RecordedChanges] = msgspec.field(default_factory=dict)
    accepted: tuple[ChangesAccepted, ...] = ()


def logged_changes(session_id: str, log: Iterable[RecordedEvent]) -> LoggedChanges:
    place = RecordedChanges("", session_id, 0, 0, 0, 0, "", "tool")
    calls: dict[str, ToolCall] = {}
    targets: dict[str, str] = {}
    captures: dict[str, LoggedCapture] = {}
    subagents: dict[str, RecordedChanges] = {}
    accepted: list[ChangesAccepted] = []
    last_seq = 0
    is_after_crash = False
    for recorded in log:
        last_seq = recorded.seq
        match recorded.event:
            case TurnEnded(interruption=interruption):
                is_after_crash = interruption == "crash"
            case TurnRetried():
                is_after_crash = False
            case UserSpoke(steered=False, text=text, prompt=prompt):
                title = title_line(prompt.typed_text if prompt else typed_text(text))
                place = replace(place, turn=place.turn + 1, turn_seq=recorded.seq, turn_title=title)
                is_after_crash = False
            case AssistantSpoke(calls=answered_with):
                calls.update((call.id, call) for call in answered_with)
            case ToolAnswered(call_id=call_id, target=target) if target:
                targets[call_id] = target
            case SubagentStarted(session=subagent):
                subagents[subagent] = replace(place, place=recorded.seq)
            case ChangesAccepted() as event:
                accepted.append(event)
            case ChangesRecorded() as event if event.capture not in captures:
                call = calls.get(event.call_id)
                changes = replace(
                    _described(place, event, call, targets.get(event.call_id, "")),
                    capture_id=event.capture,
                    seq=recorded.seq,
                    at_ms=recorded.at,
                    place=recorded.seq,
                    added_lines=event.added_lines,
                    removed_lines=event.removed_lines,
                    binary=event.binary,
                    is_after_crash=is_after_crash and event.source in ("tool", "command"),
                )
                captures[event.capture] = LoggedCapture(changes, event.changes)
    end = replace(place, place=last_seq)
    return LoggedChanges(end, calls, tuple(captures.values()), subagents, tuple(accepted))


def _described(
    place: RecordedChanges, capture: ChangesRecorded | Capture, call: ToolCall | None, target: str = ""
) -> RecordedChanges:
    return replace(
        place,
        source=capture.source,
        call_id=capture.call_id,
        tool=call.name if call else "",
        target=target or (call_target(call.arguments) if call else ""),
        others=capture.others,
        reverts=capture.reverts,
        scope=capture.scope,
    )


def with_unrecorded(own: LoggedChanges, unrecorded: Sequence[CapturedChanges]) -> LoggedChanges:
    """Return what a log says with captures that it does not have yet: another process writes it."""
    there = {capture.changes.capture_id for capture in own.captures}
    new = tuple(
        LoggedCapture(
            replace(
                _described(own.end, capture, own.calls.get(capture.call_id)),
                capture_id=capture.id,
                at_ms=capture.created_ms,
            ),
            capture.changes,
        )
        for capture in (captured.capture for captured in unrecorded)
        if capture.id not in there
    )
    return replace(own, captures=own.captures + new) if new else own


def with_subagents(own: LoggedChanges, subagents: Mapping[str, LoggedChanges]) -> tuple[LoggedCapture, ...]:
    """Return the captures of a session and its subagents, oldest first.

    Those of a subagent are of the turn, and in the place, of the call that started it.
    """

    def of_subagent(session_id: str, logged: LoggedChanges) -> list[LoggedCapture]:
        start = own.subagents[session_id]
        return [
            replace(
                capture,
                changes=replace(
                    capture.changes,
                    turn=start.turn,
                    turn_seq=start.turn_seq,
                    turn_title=start.turn_title,
                    place=start.place,
                ),
            )
            for capture in logged.captures
        ]

    logs = [own.captures, *(of_subagent(session_id, logged) for session_id, logged in subagents.items())]
    merged = heapq.merge(*logs, key=lambda capture: (capture.changes.at_ms, capture.changes.place))
    return tuple({capture.changes.capture_id: capture for capture in merged}.values())


def with_reverts_of(
    captures: Sequence[LoggedCapture], own: LoggedChanges, related: Iterable[LoggedChanges]
) -> tuple[LoggedCapture, ...]:
    """Return the captures of a session with the reverts of them that the logs of `related` branches have.

    They stand where the session's log ends: what it had done by then is what they take back.
    """
    ids = {capture.changes.capture_id for capture in captures}
    found: dict[str, LoggedCapture] = {}
    reverts = (capture for logged in related for capture in logged.captures if capture.changes.reverts)
    for capture in sorted(reverts, key=lambda capture: capture.changes.at_ms):
        changes = capture.changes
        if changes.capture_id not in ids and not ids.isdisjoint(changes.reverts):
            ids.add(changes.capture_id)
            end = own.end
            at_end = replace(
                changes, turn=end.turn, turn_seq=end.turn_seq, turn_title=end.turn_title, place=end.place
            )
            found[changes.capture_id] = replace(capture, changes=at_end)
    if not found:
        return tuple(captures)
    by_time = heapq.merge(captures, found.values(), key=lambda capture: capture.changes.at_ms)
    return tuple(by_time)


def session_changes(
    session_id: str, own: LoggedChanges, captures: Sequence[LoggedCapture], lists: Mapping[str, ChangeList]
) -> SessionChanges:
    """Return the changes of a session; `own` is what its own log says, and `captures` has those of subagents.

    `lists` are those by digest that are still in the history.
    """
    directions = RevertDirections()
    rows = [_with_list(capture, lists.get(capture.digest), directions) for capture in captures]
    reverted = RevertedChanges(rows).reverted
    rows = [
        replace(
            row,
            reverted=tuple(
                change.path for change in row.changes if (row.capture_id, change.path) in reverted
            ),
        )
        for row in rows
    ]
    return SessionChanges(session_id, tuple(rows), tuple(_files(rows, own.accepted)), own.end.turn)


def _with_list(
    capture: LoggedCapture, found: ChangeList | None, directions: RevertDirections
) -> RecordedChanges:
    row = capture.changes
    is_redo = directions.add(row.capture_id, row.source, row.scope, row.reverts)
    if found is None:
        return replace(row, is_removed=True, is_redo=is_redo)
    return replace(row, changes=found.changes, is_redo=is_redo)


def _files(rows: Sequence[RecordedChanges], accepted: Sequence[ChangesAccepted]) -> list[FileSummary]:
    summaries: dict[str, FileSummary] = {}
    open_paths: set[str] = set()
    accepted_paths: set[str] = set()
    upto = _accepted_upto(accepted)
    for row in rows:
        taken_back = frozenset(row.reverted)
        for change in row.changes:
            path = change.path
            summary = summaries.get(path) or FileSummary(path, change.before, None, ())
            summaries[path] = replace(
                summary,
                after=change.after,
                capture_ids=(*summary.capture_ids, row.capture_id),
                by_user=summary.by_user or row.source == "outside",
                is_covered=summary.is_covered and change.is_covered,
            )
            if row.source != "revert" and path not in taken_back:
                paths = accepted_paths if row.place <= upto(path) else open_paths
                paths.add(path)

    def status(path: str) -> ChangedFileStatus:
        if path in open_paths:
            return "open"
        return "accepted" if path in accepted_paths else "reverted"

    return [replace(summaries[path], status=status(path)) for path in sorted(summaries)]


def _accepted_upto(accepted: Sequence[ChangesAccepted]) -> Callable[[str], int]:
    """Return a function from a path to the last event up to which its changes are accepted."""
    of_all = max((event.upto for event in accepted if not event.paths), default=0)
    of_paths: dict[str, int] = {}
    for event in accepted:
        for path in event.paths:
            of_paths[path] = max(of_paths.get(path, 0), event.upto)
    return lambda path: max(of_all, of_paths.get(path, 0))


def selected_changes(
    rows: Sequence[RecordedChanges], selection: RevertSelection, *, with_reverted: bool = False
) -> tuple[list[FileChange], list[str]]:
    """Return the changes to take back, in the order in which they were made, and the ids of their captures.

    What is taken back already is left out, unless `with_reverted`; what was redone was made then. Where parts
    of a selected change were taken back or redone, that comes along: so the path is as the change left it
    before that is taken back itself.
    """
    ids = set(selection.capture_ids)
    paths = frozenset(selection.paths)
    parts = {} if with_reverted else _with_parts(rows, ids)
    redone = RevertedChanges(rows).redone
    changes: list[tuple[int, FileChange]] = []
    capture_ids: list[str] = []
    for number, row in enumerate(rows):
        is_named = False
        for change in row.changes:
            place = (row.capture_id, change.path)
            if paths and change.path not in paths:
                continue
            if place in parts:
                changes.append((number, change))
                is_named |= parts[place]
            elif row.capture_id in ids and (with_reverted or change.path not in row.reverted):
                changes.append((redone.get(place, number), change))
                is_named = True
        if is_named:
            capture_ids.append(row.capture_id)
    return [change for _, change in sorted(changes, key=itemgetter(0))], capture_ids


def _with_parts(rows: Sequence[RecordedChanges], ids: Set[str]) -> dict[tuple[str, str], bool]:
    """Return the selected changes of which parts were turned around, and what turned them around.

    By capture and path: whether a revert of the selected ones takes it back, too.
    """
    captures = {row.capture_id: row for row in rows}
    reverts = [row for row in rows if row.source == "revert" and row.scope != "rewind"]
    parted = {change.path for row in reverts if row.scope == "hunk" for change in row.changes}
    standing = {
        (row.capture_id, change.path): row
        for row in rows
        for change in row.changes
        if row.capture_id in ids and change.path in parted and change.path not in row.reverted
    }
    found: dict[tuple[str, str], bool] = {}
    for path in {path for _, path in standing}:
        selected = [row for (_, of), row in standing.items() if of == path]
        turned = [row for row in reverts if _turns_only(row, path, ids, captures)]
        if not any(row.scope == "hunk" for row in turned):
            continue
        found |= {(row.capture_id, path): True for row in selected}
        is_redo = selected[0].source == "revert" and not selected[0].is_redo
        for row in turned:
            scopes = {
                row.scope,
                *(captures[capture_id].scope for capture_id in row.reverts if capture_id in captures),
            }
            is_over = "hunk" in scopes and row.is_redo != is_redo and path not in row.reverted
            found.setdefault((row.capture_id, path), is_over)
    return found


def _turns_only(
    row: RecordedChanges, path: str, ids: Set[str], captures: Mapping[str, RecordedChanges]
) -> bool:
    """Return True if a revert turned a path around as selected captures left it, and no others of calls."""
    if all(change.path != path for change in row.changes):
        return False
    waiting = list(row.reverts)
    is_reached = False
    while waiting:
        capture_id = waiting.pop()
        capture = captures.get(capture_id)
        if capture_id in ids:
            is_reached = True
        elif capture is not None and capture.source == "revert":
            waiting += capture.reverts
        elif capture is not None and any(change.path == path for change in capture.changes):
            return False
    return is_reached


def changes_after(rows: Iterable[RecordedChanges], seq: int) -> tuple[list[FileChange], list[str]]:
    """Return what the agent and reverts changed behind event `seq`, joined by path, and their ids."""
    later = [row for row in rows if row.place > seq and row.source != "outside"]
    changes = joined_changes(change for row in later for change in row.changes)
    return changes, [row.capture_id for row in later]


def joined_changes(changes: Iterable[FileChange]) -> list[FileChange]:
    """Return changes with those of one path that follow each other as one; none that leaves it as it was.

    A change that begins with another state than the one before it left stays one of its own; what several
    calls may have made, as they ran at the same time, counts once.
    """
    joined: dict[str, list[FileChange]] = {}
    last: dict[str, FileChange] = {}
    for change in changes:
        if change.shared and last.get(change.path) == change:
            continue
        last[change.path] = change
        of_path = joined.setdefault(change.path, [])
        if of_path and of_path[-1].after == change.before:
            of_path[-1] = replace(of_path[-1], after=change.after)
        else:
            of_path.append(change)
    return [change for of_path in joined.values() for change in of_path if change.before != change.after]
