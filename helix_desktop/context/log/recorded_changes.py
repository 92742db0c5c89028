"""The changes of files in a session's log: in which turn, by which call, and what became of each.

All of it follows from the logs and the lists of changes; nothing of it is stored. A branch has the captures
of its parent up to its point. What was reverted in the one after that point is reverted in the other, too:
the files are the workspace's.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from operator import itemgetter

import msgspec
from msgspec.structs import replace

from helix_desktop.context.log.reverted_changes import RevertedChanges
from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    SubagentStarted,
    ToolAnswered,
    TurnEnded,
    TurnRetried,
    UserSpoke,
)
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.workspace import ChangesAccepted, ChangesRecorded
from helix_desktop.domain.file_history.changes import (
    Capture,
    CapturedChanges,
    ChangedFileStatus,
    ChangeList,
    FileChange,
    FileSummary,
    RecordedChanges,
    RevertSelection,
    SessionChanges,
)
from helix_desktop.domain.file_history.revert import RevertDirections
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.text_format import title_line
from helix_desktop.domain.tool_call_target import call_target


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

    What is taken back already is left out, unless `with_reverted`; what was redone was made then. Where parts
    of a selected change were taken back or redone, that comes along: so the path is as the change left it
    before that is taken back itself.
    """
    ids, paths = set(selection.capture_ids), frozenset(selection.paths)
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
    waiting, is_reached = list(row.reverts), False
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
