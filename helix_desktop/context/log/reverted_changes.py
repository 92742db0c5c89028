"""Which changes of files are taken back, by the reverts that a log has."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set

import msgspec

from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.workspace import ChangesRecorded
from helix_desktop.domain.file_history.changes import FileChange, FileState, RecordedChanges
from helix_desktop.domain.file_history.revert import RevertDirections

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
        """Add the next capture."""
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

    def fork(self) -> RevertedFiles:
        """Return a copy to which further events can be added without changing this one."""
        copy = RevertedFiles()
        for event in self._events.values():
            copy._directions.add(event.capture, event.source, event.scope, event.reverts)
        copy._events, copy._newest = dict(self._events), dict(self._newest)
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
                is_open, is_as_before = place not in self._reverted, own.before == change.after
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
        """Return True if a redo of a part of a change stands."""
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
            first, last = targets[0][1], targets[-1][1]
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
