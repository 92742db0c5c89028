"""Running calls: which of them made a change that was found, and captures of what they made."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import msgspec
from filelock import FileLock, Timeout

from helix_desktop.domain.file_history.changes import (
    CallMark,
    Capture,
    CapturedChanges,
    ChangeList,
    ChangeSource,
    FileChange,
    FileState,
)
from helix_desktop.file_history.database import FileHistoryDatabase
from helix_desktop.file_history.rows import RunningCallRow
from helix_desktop.file_history.tree.tree import WorkspaceTree
from helix_desktop.system.clock import ClockMs

_PREFIX, _SUFFIX = "file-history-", ".lock"
_NEW_S = 60.0


class ProcessLock:
    """The lock of one open file history, in the folder of its database."""

    def __init__(self, folder: Path) -> None:
        """Raises OSError."""
        self._folder, self.name = folder, uuid4().hex
        self._lock = self._of(self.name)
        self._lock.acquire(timeout=1)
        self._remove_left_over()

    def is_held(self, name: str) -> bool:
        """Return True if the process that holds the lock of this name is alive."""
        lock = self._of(name)
        try:
            lock.acquire(timeout=0)
        except (Timeout, OSError):
            return True
        lock.release()
        self._remove(name)
        return False

    def release(self) -> None:
        self._lock.release()
        self._remove(self.name)

    def _remove_left_over(self) -> None:
        """Remove the files of processes that were killed, but none that may just begin."""
        for path in self._folder.glob(f"{_PREFIX}*{_SUFFIX}"):
            name = path.name[len(_PREFIX) : -len(_SUFFIX)]
            with suppress(OSError):
                if len(name) == len(self.name) and time.time() - path.stat().st_mtime > _NEW_S:
                    self.is_held(name)

    def _of(self, name: str) -> FileLock:
        return FileLock(self._path(name), thread_local=False)

    def _path(self, name: str) -> Path:
        return self._folder / f"{_PREFIX}{name}{_SUFFIX}"

    def _remove(self, name: str) -> None:
        with suppress(OSError):
            self._path(name).unlink(missing_ok=True)


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
    if before is None:
        return change
    return msgspec.structs.replace(before, after=change.after, shared=before.shared or change.shared)


def _may_write(mark: CallMark, path: str) -> bool:
    """Return True if a call may have changed a path: any, or those it names with the folders above them."""
    return mark.paths is None or any(path == target or target.startswith(path + "/") for target in mark.paths)


def _can_meet(mark: CallMark, other: CallMark) -> bool:
    if mark.paths is None or other.paths is None:
        return True
    return not {*mark.paths}.isdisjoint(other.paths)
