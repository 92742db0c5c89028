"""The changes of files in a session's log: in which turn, by which call, and what became of each.

All of it follows from the logs and the lists of changes; nothing of it is stored. A branch has the captures
of its parent up to its point. What was reverted in the one after that point is open in the other, whose log
does not say it; a plan there finds the files as they were already, and has nothing to do.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
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
from helix_desktop.domain.events.file_changes import ChangesAccepted, ChangesRecorded
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.file_history.capture import Capture, CapturedChanges
from helix_desktop.domain.file_history.session_changes import (
    ChangedFileStatus,
    FileSummary,
    RecordedChanges,
    RevertSelection,
    SessionChanges,
)
from helix_desktop.domain.file_history.state import ChangeList, FileChange, FileState
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.text_format import title_line
from helix_desktop.domain.tool_call_target import call_target

_Place = tuple[str, str]
"""A path in a capture: its id, and the path."""


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
    """Return what a session's log says of changes, each capture once."""
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
            case UserSpoke(steered=False, text=text):
                place = replace(
                    place, turn=place.turn + 1, turn_seq=recorded.seq, turn_title=title_line(text)
                )
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


def session_changes(
    session_id: str, own: LoggedChanges, captures: Sequence[LoggedCapture], lists: Mapping[str, ChangeList]
) -> SessionChanges:
    """Return the changes of a session; `own` is what its own log says, and `captures` has those of subagents.

    `lists` are those by digest that are still in the history.
    """
    rows = [_with_list(capture, lists.get(capture.digest)) for capture in captures]
    reverted, _ = _standing(rows)
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


def _with_list(capture: LoggedCapture, found: ChangeList | None) -> RecordedChanges:
    if found is None:
        return replace(capture.changes, is_removed=True)
    return replace(capture.changes, changes=found.changes)


def _standing(rows: Iterable[RecordedChanges]) -> tuple[set[_Place], dict[_Place, int]]:
    """Return which paths of which captures are taken back, and in which row others were redone.

    A revert names captures. It took back their changes of a path if it changed that path; or if the path was
    already as it was before the first of them, and no later call changed it that the revert does not name. A
    rewind names the reverts too that it takes back: what these had taken back stands again, unless named too.
    A revert is taken back as well once all that it turned around was turned around again by what names that.
    """
    by_path: dict[str, list[str]] = {}  # the calls that changed a path
    states: dict[str, FileState | None] = {}
    captures: dict[str, RecordedChanges] = {}
    flipped: dict[_Place, list[_Place]] = {}
    left_reverted: dict[_Place, dict[_Place, bool]] = {}  # what a revert turned around, and how it left that
    reverted: set[_Place] = set()
    redone: dict[_Place, int] = {}

    def flip(place: _Place, at: int) -> None:
        if place in reverted:
            reverted.remove(place)
            redone[place] = at
        else:
            reverted.add(place)
        for target in flipped.get(place, ()):
            flip(target, at)

    for number, row in enumerate(rows):
        captures[row.capture_id] = row
        for change in row.changes:
            states[change.path] = change.after
            if row.source in ("tool", "command"):
                by_path.setdefault(change.path, []).append(row.capture_id)
        for place in _taken_back(row, captures, states, by_path, reverted):
            if row.scope == "rewind" and place in reverted:
                continue
            flip(place, number)
            revert = (row.capture_id, place[1])
            flipped.setdefault(revert, []).append(place)
            left_reverted.setdefault(revert, {})[place] = place in reverted
    undone = {
        revert
        for revert, places in left_reverted.items()
        if all((place in reverted) != was_reverted for place, was_reverted in places.items())
    }
    return reverted | undone, redone


def _taken_back(
    row: RecordedChanges,
    captures: Mapping[str, RecordedChanges],
    states: Mapping[str, FileState | None],
    by_path: Mapping[str, Sequence[str]],
    reverted: Set[_Place],
) -> list[_Place]:
    """Return what a revert took back or redid, by the states that it left."""
    own = {change.path for change in row.changes}
    if row.scope == "rewind":
        return _rewound([captures[capture] for capture in row.reverts if capture in captures], states, own)
    places: list[_Place] = []
    for path, targets in _targets(row, captures, reverted).items():
        first, last = targets[0][1], targets[-1][1]
        left = last.after if _is_redo(row, captures[targets[0][0]]) else first.before
        calls = by_path.get(path, [])
        later = calls[calls.index(targets[0][0]) + 1 :] if targets[0][0] in calls else []
        is_last = all(call in row.reverts or (call, path) in reverted for call in later)
        if (path in own and row.scope != "hunk") or (is_last and states[path] == left):
            places += [(capture, path) for capture, _ in targets]
    return places


def _rewound(
    rows: Sequence[RecordedChanges], states: Mapping[str, FileState | None], changed: Set[str]
) -> list[_Place]:
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


def _targets(
    row: RecordedChanges, captures: Mapping[str, RecordedChanges], reverted: Set[_Place]
) -> dict[str, list[tuple[str, FileChange]]]:
    """Return what a revert names, by path: captures with their changes that it turns around, in order."""
    targets: dict[str, list[tuple[str, FileChange]]] = {}
    for capture_id in dict.fromkeys(row.reverts):
        target = captures.get(capture_id)
        for change in target.changes if target is not None else ():
            is_back = (capture_id, change.path) in reverted
            if target is not None and is_back == _is_redo(row, target):
                targets.setdefault(change.path, []).append((capture_id, change))
    return targets


def _is_redo(row: RecordedChanges, target: RecordedChanges) -> bool:
    """Return True if a capture is put in place again, not taken back; a revert is always taken back."""
    return row.scope == "redo" and target.source != "revert"


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
                (accepted_paths if row.place <= upto(path) else open_paths).add(path)

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

    What is taken back already is left out, unless `with_reverted`; what was redone was made then. A revert of
    some hunks of a selected change is taken back with it: so the path is as the change left it before that is
    taken back itself.
    """
    ids, paths = set(selection.capture_ids), frozenset(selection.paths)
    standing = {
        (row.capture_id, change.path) for row in rows for change in row.changes if row.capture_id in ids
    }
    standing -= {(row.capture_id, path) for row in rows for path in row.reverted}
    for row in rows:
        places = {(capture_id, change.path) for capture_id in row.reverts for change in row.changes}
        if row.scope == "hunk" and not standing.isdisjoint(places) and not with_reverted:
            ids.add(row.capture_id)
    _, redone = _standing(rows)
    changes: list[tuple[int, FileChange]] = []
    capture_ids: list[str] = []
    for number, row in enumerate(rows):
        left_out = frozenset() if with_reverted else frozenset(row.reverted)
        found = [
            (redone.get((row.capture_id, change.path), number), change)
            for change in row.changes
            if row.capture_id in ids and change.path not in left_out and (not paths or change.path in paths)
        ]
        if found:
            changes += found
            capture_ids.append(row.capture_id)
    return [change for _, change in sorted(changes, key=itemgetter(0))], capture_ids


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
