"""Running calls: which of them made a change that was found, and captures of what they made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import uuid4

import msgspec

from helix_desktop.domain.file_history.capture import (
    CallMark,
    Capture,
    CapturedChanges,
    ChangeSource,
)
from helix_desktop.domain.file_history.state import ChangeList, FileChange, FileState
from helix_desktop.file_history.database.capture_rows import RunningCallRow
from helix_desktop.file_history.database.database import FileHistoryDatabase
from helix_desktop.file_history.tree.moves import with_moves
from helix_desktop.file_history.tree.process_lock import ProcessLock
from helix_desktop.file_history.tree.tree import WorkspaceTree
from helix_desktop.system.clock import ClockMs


class CallCaptures:
    """Captures what changed, for the call that ran, or for the session that looks when none did.

    A change that is found while calls run is of each of them that may have made it. A call whose process is
    gone ended with it. Every method raises OSError if the workspace cannot be read.
    """

    def __init__(
        self, tree: WorkspaceTree, database: FileHistoryDatabase, lock: ProcessLock, clock: ClockMs
    ) -> None:
        """`clock` returns the time in milliseconds since 1970."""
        self._tree, self._database, self._lock, self._clock = tree, database, lock, clock

    def begin(self, mark: CallMark) -> CapturedChanges | None:
        """Begin a call; return what changed before it outside all calls."""
        with self._tree.write():
            # A path through a link, or in another spelling, may be any file.
            if mark.paths is not None and not all(map(self._tree.is_plain, mark.paths)):
                mark = msgspec.structs.replace(mark, paths=None)
            outside, running = self._scan(mark.paths)
            captured = self._capture(outside, mark.session, "outside")
            self._tree.store_ignored(mark.paths or ())
            others = [call for call in running if _can_meet(call.mark, mark)]
            for call in others:
                self._put_other(call, mark.title)
            titles = tuple(dict.fromkeys(call.mark.title for call in others))
            self._database.captures.end(mark)
            self._database.captures.put_running(
                RunningCallRow(mark, self._lock.name, self._clock(), others=titles)
            )
            self._database.captures.put_changes(
                mark, (FileChange(path, state, state) for path, state in self._present_outside(mark).items())
            )
        return captured

    def end(self, session_id: str, call_id: str) -> CapturedChanges | None:
        """End a call; return what changed during it."""
        with self._tree.write():
            call = next(
                (
                    call
                    for call in self._database.captures.running()
                    if (call.mark.session, call.mark.call_id) == (session_id, call_id)
                ),
                None,
            )
            if call is None:
                return None
            outside, _ = self._scan(call.mark.paths)
            self._capture(outside, session_id, "outside")
            return self._end(call)

    def scan(self, session_id: str) -> CapturedChanges | None:
        """Return what changed outside all calls."""
        with self._tree.write():
            outside, _ = self._scan(None)
            return self._capture(outside, session_id, "outside")

    def end_cut_off(self) -> None:
        """End the calls whose process is gone."""
        with self._tree.write():
            if any(not self._runs(call) for call in self._database.captures.running()):
                self._scan(None)

    def is_any_running(self) -> bool:
        """Return True if a call is running, in any process."""
        return any(map(self._runs, self._database.captures.running()))

    def is_busy(self, path: str) -> bool:
        """Return True if a call that may change a path is running."""
        return any(
            _may_write(call.mark, path) and self._runs(call) for call in self._database.captures.running()
        )

    def _scan(self, paths: Sequence[str] | None) -> tuple[list[FileChange], list[RunningCallRow]]:
        """Look for changes, at paths alone or everywhere; return those of no call, and the calls that run."""
        changes = None if paths is None else self._tree.changes_at(paths)
        if changes is None:
            changes = self._tree.changes()
        calls = self._database.captures.running()
        outside = self._share(changes, calls)
        running = [call for call in calls if self._runs(call)]
        for call in calls:
            if call not in running:
                self._end(call)
        return outside, running

    def _share(self, changes: Iterable[FileChange], calls: Sequence[RunningCallRow]) -> list[FileChange]:
        """Add changes to the calls that may have made them; return those of no call."""
        outside = []
        parts: dict[int, list[FileChange]] = {}
        for change in changes:
            writers = [at for at, call in enumerate(calls) if _may_write(call.mark, change.path)]
            shared = msgspec.structs.replace(change, shared=True) if len(writers) > 1 else change
            for at in writers:
                parts.setdefault(at, []).append(shared)
            if not writers:
                outside.append(change)
        for at, part in parts.items():
            mark = calls[at].mark
            before = self._database.captures.changes(mark)
            self._database.captures.put_changes(
                mark, (_joined(before.get(change.path), change) for change in part)
            )
        return outside

    def _end(self, call: RunningCallRow) -> CapturedChanges | None:
        changes = self._database.captures.changes(call.mark)
        for path, state in self._present_outside(call.mark).items():
            earlier = changes.get(path, FileChange(path))
            changes[path] = msgspec.structs.replace(earlier, after=state)
        self._database.captures.end(call.mark)
        return self._capture(
            changes.values(),
            call.mark.session,
            "command" if call.mark.paths is None else "tool",
            call_id=call.mark.call_id,
            others=call.others,
        )

    def _present_outside(self, mark: CallMark) -> dict[str, FileState | None]:
        """Return what stands at those paths of a call that no scan looks at."""
        return self._tree.current_states(path for path in mark.paths or () if self._tree.is_outside(path))

    def _capture(
        self,
        changes: Iterable[FileChange],
        session_id: str,
        source: ChangeSource,
        call_id: str = "",
        others: tuple[str, ...] = (),
    ) -> CapturedChanges | None:
        """Store a capture; None: nothing changed in the end."""
        real = {change.path: change for change in changes if change.before != change.after}
        if not real:
            return None
        listed = ChangeList(tuple(with_moves(real)))
        digest = self._database.contents.put(listed.encode())
        capture = Capture(uuid4().hex, session_id, source, digest, self._clock(), call_id, others)
        self._database.captures.add(capture)
        return CapturedChanges(capture, listed)

    def _put_other(self, call: RunningCallRow, title: str) -> None:
        if title not in call.others:
            self._database.captures.put_running(msgspec.structs.replace(call, others=(*call.others, title)))

    def _runs(self, call: RunningCallRow) -> bool:
        return call.process == self._lock.name or self._lock.is_held(call.process)


def _joined(before: FileChange | None, change: FileChange) -> FileChange:
    """Return a change of a path with an earlier one as one."""
    if before is None:
        return change
    return msgspec.structs.replace(before, after=change.after, shared=before.shared or change.shared)


def _may_write(mark: CallMark, path: str) -> bool:
    """Return True if a call may have changed a path: any, or those it names with the folders above them."""
    return mark.paths is None or any(path == target or target.startswith(path + "/") for target in mark.paths)


def _can_meet(mark: CallMark, other: CallMark) -> bool:
    """Return True if two calls may change the same path."""
    if mark.paths is None or other.paths is None:
        return True
    return not {*mark.paths}.isdisjoint(other.paths)
