"""The tree of a workspace in memory and in the database: what stands at each path, what changed.

Calls run side by side: which of them made a change that was found is told at the end.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
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
    FileCoverage,
    FileCoverageSettings,
    FileState,
    UncoveredPlace,
    UncoveredReason,
    with_moves,
)
from helix_desktop.file_history.database import FileHistoryDatabase
from helix_desktop.file_history.tables import RunningCallRow, SeenPath, file_stamp, folder_stamp
from helix_desktop.file_history.tree.rules import FileCoverageRules
from helix_desktop.file_history.tree.scan import PathRecorder, Scan, ScanResult, TooManyPaths, unread
from helix_desktop.system.clock import ClockMs
from helix_desktop.system.folders import OpenFolders, WorkspaceRoot, is_folder, stat_in

_PENDING_PLACES = 500  # named; of the others the number is


def measure_file_coverage(tree: WorkspaceTree, stored_size: int) -> FileCoverage:
    """Return what of a tree is covered; `stored_size` are the bytes that all contents take."""
    files = size = 0
    places = list(tree.skipped.values())
    for path, (state, _, _) in tree.rows.items():
        if state.stored and path not in tree.linked:
            if state.kind != "folder":
                files += 1
                size += state.size
        else:
            places.append(UncoveredPlace(path, _reason(tree, path, state), files=1, size=state.size))
    places.sort(key=lambda place: (place.reason == "pending", not place.is_folder, place.path))
    pending = sum(place.reason == "pending" for place in places)
    first = tuple(places[: len(places) - pending + _PENDING_PLACES])
    return FileCoverage(files, size, stored_size, first, len(places), pending, is_complete=not tree.pending)


def uncovered_files(tree: WorkspaceTree, paths: Iterable[str]) -> tuple[UncoveredPlace, ...]:
    """Return the files at paths whose content cannot be stored, not even when a tool names them."""
    states = tree.current_states(paths)
    return tuple(
        UncoveredPlace(path, _reason_for_tool(tree, path, state), files=1, size=state.size)
        for path, state in states.items()
        if state is not None and state.kind == "file" and state.size and not state.stored
    )


def _reason_for_tool(tree: WorkspaceTree, path: str, state: FileState) -> UncoveredReason:
    reason = _reason(tree, path, state)
    return "quota" if reason == "ignored" else reason  # a tool's change of ignored files is covered


def _reason(tree: WorkspaceTree, path: str, state: FileState) -> UncoveredReason:
    reason = tree.rules.file_reason(path, state.size)
    if reason is not None:
        return reason
    if path in tree.linked:
        return "hard_links"
    if path in tree.unreadable:
        return "unreadable"
    if path in tree.pending:
        return "pending"
    return "secret" if tree.was_removed(state.digest) else "quota"


# Names of single values.
_MANIFEST = "manifest"
_SKIPPED = "skipped"


@dataclass
class _Update:
    changes: list[FileChange] = field(default_factory=list)
    rows: dict[str, SeenPath] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)


class WorkspaceTree:
    """What stood at each path when it was last seen; `rows` and `skipped` by path.

    Every use is within `write`, in one thread. A path is covered from its first scan on: its stamp is noted
    then, its content follows (`pending`). `linked` files have other names, too: a revert would part them
    from these.
    """

    def __init__(
        self,
        root: str,
        database: FileHistoryDatabase,
        settings: FileCoverageSettings,
        own_data: Iterable[str] = (),
    ) -> None:
        """`own_data` are paths of the app's own data in the workspace."""
        self.root = root
        self._database = database
        self._own_data = tuple(own_data)
        self._opened_root = WorkspaceRoot(Path(root))
        self.rules = FileCoverageRules(settings, self._own_data)
        self._recorder = PathRecorder(database, self.rules)
        self.rows: dict[str, SeenPath] = {}
        self.skipped: dict[str, UncoveredPlace] = {}
        self.pending: dict[str, None] = {}
        self.linked: set[str] = set()
        self.edition = 0
        """Another number after every change of what is seen, or is to be copied."""
        self._stamps: dict[str, bytes] = {}
        self._read_before: set[str] = set()
        self._has_manifest = self._is_loaded = False
        self._must_sort_again = True  # the rules are not those that the tree was sorted by
        self._is_full = self.has_too_many = False  # too many: paths that no scan gets through
        self._version = -1

    @property
    def unreadable(self) -> set[str]:
        """The files that could not be opened when they were read last."""
        return self._recorder.unreadable

    def use_settings(self, settings: FileCoverageSettings) -> None:
        self.rules = self._recorder.rules = FileCoverageRules(settings, self._own_data)
        self._must_sort_again = True

    @contextmanager
    def write(self) -> Iterator[None]:
        """Run a block as one transaction of the database, with the tree in memory as it is stored.

        Raises OSError if the workspace's folder was away: then nothing of it holds, and no file is gone.
        """
        self._opened_root.check()
        try:
            with self._database.write():
                if not self._is_loaded or self._database.version != self._version:
                    self._load()
                yield
                self._opened_root.check()
        except BaseException:
            self.discard()  # memory may be ahead of what was rolled back
            raise

    def begin(self) -> None:
        """Note what was there before any scan looked at it; what changed is left to `changes`."""
        self._is_full = self.has_too_many = False
        self._recorder.try_large_again()
        result = self._scan(trusts_folders=False)
        update = _Update()
        with OpenFolders(self.root) as folders:
            for path in sorted(result.candidates.keys() - self.rows.keys()):
                self._adopt(folders, path, update, result.candidates[path])
        self._apply(update)
        self._note_skipped(result)
        self._find_pending()
        self._note_manifest()

    def changes(self) -> list[FileChange]:
        """Scan the workspace and return what changed since it was last seen. Raises OSError, TooManyPaths."""
        if self.has_too_many:
            raise TooManyPaths
        result = self._scan()
        if self._must_sort_again:
            result.rules_changed = True
            self._must_sort_again = False
        if result.rules_changed and self.rows:
            result = self._scan(trusts_folders=False)
            result.rules_changed = True
        update = _Update()
        if result.candidates or len(result.same) != len(self.rows):
            with OpenFolders(self.root) as folders:
                for path in sorted(result.candidates):
                    self._compare(folders, path, update, result.candidates[path])
                self._find_gone(result, folders, update)
        self._apply(update)
        self._note_skipped(result)
        if result.rules_changed:
            self._find_pending()
        self._note_manifest()
        return update.changes

    def changes_at(self, paths: Iterable[str]) -> list[FileChange] | None:
        """Return what changed at paths, and at the folders above them; None: only a scan shows it all."""
        if self.has_too_many:
            return []
        if self._must_sort_again or not self._has_manifest:
            return None
        targets = set(paths)
        update = _Update()
        with OpenFolders(self.root) as folders:
            for path in sorted({above for target in targets for above in _with_folders(target)}):
                if self.is_outside(path):
                    continue
                file_stat = _stat(folders, path)
                row = self.rows.get(path)
                if (file_stat is not None and is_folder(file_stat) and path in targets) or (
                    row is not None
                    and file_stat is not None
                    and (row.state.kind == "folder") != is_folder(file_stat)
                ):
                    return None
                if row is not None and row.state.kind == "folder" and (path in targets or file_stat is None):
                    return None
                if file_stat is None:
                    if row is not None:
                        self._note_gone(path, update)
                elif self._stamps.get(path) != _stamp(file_stat):
                    self._compare(folders, path, update, file_stat, is_named=path in targets)
        self._apply(update)
        return update.changes

    def is_plain(self, path: str) -> bool:
        """Return True if a path is written as a scan writes it: no folder above it is a link, or a file.

        What is there, but was not seen, may be another spelling, where upper and lower case are the same.
        """
        if any(part in ("", ".", "..") for part in path.split("/")):
            return False
        *above, _ = _with_folders(path)
        with OpenFolders(self.root) as folders:
            parents = [_stat(folders, folder) for folder in above]
            is_there = _stat(folders, path) is not None
        if not all(file_stat is None or is_folder(file_stat) for file_stat in parents):
            return False
        return path in self.rows or not is_there or self.is_outside(path)

    def is_outside(self, path: str) -> bool:
        """Return True if a path lies in a place that no scan looks into."""
        if self.has_too_many:
            return True
        *above, _ = _with_folders(path)
        return (
            any(
                folder in self.skipped
                or (folder not in self.rows and self.rules.folder_reason(folder) is not None)
                for folder in above
            )
            or path in self.skipped
        )

    def uncovered_places(self) -> frozenset[str]:
        """Return the places that no scan looks into or reads, as they are now. Raises OSError, TooManyPaths.

        It has rules of its own, so that the next scan still finds what changed in them.
        """
        rules = FileCoverageRules(self.rules.settings, self._own_data)
        return frozenset(Scan(self.root, rules, self._stamps).run().skipped)

    def current_states(self, paths: Iterable[str]) -> dict[str, FileState | None]:
        """Return what stands at paths; contents are stored, except those of secrets and large files."""
        states: dict[str, FileState | None] = {}
        with OpenFolders(self.root) as folders:
            for path in sorted(set(paths)):
                row = self.rows.get(path)
                file_stat = _stat(folders, path)
                if file_stat is None:
                    states[path] = None
                elif row is not None and row.state.stored and self._stamps.get(path) == _stamp(file_stat):
                    states[path] = row.state
                else:
                    read = self._recorder.record(folders, path, file_stat, row, is_named=True)
                    states[path] = None if read is None else read.state
        return states

    def covers(self, path: str, size: int) -> bool:
        """Return True if a file of so many bytes may be stored with its content: no secret, not too large."""
        return self.rules.file_reason(path, size) in (None, "ignored")

    def was_removed(self, digest: str) -> bool:
        """Return True if the user had a content removed, with a secret in it."""
        return self._database.contents.removed_at(digest) > 0

    def put(self, rows: Iterable[tuple[str, SeenPath]]) -> None:
        """Note what stands at paths: no change of anybody. `discard` follows if the transaction is undone."""
        self._apply(_Update(rows=dict(rows)))

    def remove(self, paths: Sequence[str]) -> None:
        """Note at which paths nothing stands any more; else as `put`."""
        self._apply(_Update(gone=list(paths)))

    def discard(self) -> None:
        """Forget what is in memory: the database is read again."""
        self._is_loaded = False

    def copy(self, paths: Sequence[str]) -> None:
        """Store the contents of files that are not in yet; those that changed are left to the next scan.

        Once the quota has no room none is pending any more, until the next `begin`.
        """
        update = _Update()
        with OpenFolders(self.root) as folders:
            for path in paths:
                row = self.rows.get(path)
                if row is not None and not self._recorder.has_room(row.state.size):
                    self._is_full = True
                    self.pending.clear()
                    break
                self.pending.pop(path, None)
                file_stat = None if row is None else _stat(folders, path)
                if row is None or file_stat is None or row.stamp != _stamp(file_stat):
                    continue
                read = self._recorder.record(folders, path, file_stat, row)
                if read is not None and read.stamp == row.stamp:
                    update.rows[path] = read
        self._apply(update)
        self.edition += 1  # also if nothing was stored: less is pending

    def store_ignored(self, paths: Iterable[str]) -> None:
        """Store the contents of files that are ignored: a tool is about to change them."""
        update = _Update()
        with OpenFolders(self.root) as folders:
            for path in paths:
                row = self.rows.get(path)
                file_stat = _stat(folders, path)
                if row is not None and file_stat is not None and not row.state.stored:
                    read = self._recorder.record(folders, path, file_stat, row, is_named=True)
                    if read is not None and read.stamp == row.stamp:
                        update.rows[path] = read
        self._apply(update)

    def _scan(self, trusts_folders: bool = True) -> ScanResult:
        try:
            return Scan(self.root, self.rules, self._stamps, trusts_folders).run()
        except TooManyPaths:
            self.has_too_many = True  # until the next `begin`: it takes a second to find out
            raise

    def _load(self) -> None:
        self.rows = self._database.tree.load()
        self._stamps = {path: _certain_stamp(row) for path, row in self.rows.items()}
        places = msgspec.json.decode(self._database.meta.get(_SKIPPED) or b"[]", type=list[UncoveredPlace])
        self.skipped = {place.path: place for place in places}
        self._find_read_before()
        self._has_manifest = self._database.meta.get(_MANIFEST) is not None
        self._version = self._database.version
        self._is_loaded = True
        self._recorder.count_again()
        self._is_full = False  # a clean-up may have made room
        self._find_pending()

    def _compare(
        self,
        folders: OpenFolders,
        path: str,
        update: _Update,
        file_stat: os.stat_result,
        is_named: bool = False,
    ) -> None:
        """Look at a path that is new or has another stamp.

        What was covered and is ignored from now on is read once more, so that this change can be undone.
        """
        row = self.rows.get(path)
        if row is None and self._adopt(folders, path, update, file_stat):
            return
        before = None if row is None else row.state
        was_covered = before is not None and before.kind == "file" and before.stored
        present = self._recorder.record(folders, path, file_stat, row, is_named or was_covered)
        if present is None:
            if row is not None:
                self._note_gone(path, update)
            return
        update.rows[path] = present
        state = present.state
        if was_covered and not is_named and state.kind == "file" and self.rules.file_reason(path, state.size):
            update.rows[path] = present._replace(state=msgspec.structs.replace(state, stored=False))
        if before is None or not _is_same(before, present.state):
            update.changes.append(FileChange(path, before, present.state))

    def _adopt(self, folders: OpenFolders, path: str, update: _Update, file_stat: os.stat_result) -> bool:
        """Note a path that was there before any scan looked at it, and return True: nobody made it."""
        if self._has_manifest and not self._was_skipped(path, file_stat):
            return False
        present = (
            unread(file_stat)
            if stat.S_ISREG(file_stat.st_mode)
            else self._recorder.record(folders, path, file_stat, self.rows.get(path))
        )
        if present is not None:
            update.rows[path] = present
            if present.state.kind == "file":
                self.pending[path] = None
        return True

    def _was_skipped(self, path: str, file_stat: os.stat_result) -> bool:
        if not self.skipped:
            return False
        *above, _ = _with_folders(path)
        place = self.skipped.get(path)
        return any(folder in self.skipped and folder not in self._read_before for folder in above) or (
            place is not None and place.is_folder and is_folder(file_stat)
        )

    def _find_gone(self, result: ScanResult, folders: OpenFolders, update: _Update) -> None:
        for path in sorted(self.rows.keys() - result.same - result.candidates.keys()):
            if result.is_unknown(path):
                continue
            *above, _ = _with_folders(path)
            if not any(folder in result.skipped for folder in above):
                if path not in result.skipped or self.rows[path].state.kind != "folder":
                    self._note_gone(path, update)
                else:
                    update.gone.append(path)
                continue
            file_stat = _stat(folders, path)  # a last look: from now on it is not covered
            if file_stat is None:
                self._note_gone(path, update)
            elif self._stamps[path] != _stamp(file_stat):
                self._compare(folders, path, update, file_stat)
                update.rows.pop(path, None)
            update.gone.append(path)

    def _note_gone(self, path: str, update: _Update) -> None:
        update.changes.append(FileChange(path, self.rows[path].state, None))
        update.gone.append(path)

    def _apply(self, update: _Update) -> None:
        if update.rows:
            self._database.tree.put(update.rows.items())
            self.rows.update(update.rows)
            self._stamps.update((path, _certain_stamp(row)) for path, row in update.rows.items())
        if update.gone:
            self._database.tree.remove(update.gone)
            for path in update.gone:
                self.rows.pop(path, None)
                self._stamps.pop(path, None)
                self.pending.pop(path, None)
        self.edition += bool(update.rows or update.gone)

    def _note_skipped(self, result: ScanResult) -> None:
        if result.linked != self.linked:
            self.linked = result.linked
            self.edition += 1
        skipped = result.skipped
        for path, place in self.skipped.items():
            if path not in skipped and result.is_unknown(path):
                skipped[path] = place
        if skipped != self.skipped:
            is_less = bool(self.skipped.keys() - skipped.keys())
            self.skipped = skipped
            self._database.meta.put(_SKIPPED, msgspec.json.encode(list(skipped.values())))
            self._find_read_before()
            self.edition += 1
            if is_less:  # files in it may not have been copied while it could not be read
                self._find_pending()

    def _find_read_before(self) -> None:
        """Find the folders that cannot be read now, but could be: what is new in them later is new."""
        unreadable = [f"{path}/" for path, place in self.skipped.items() if place.reason == "unreadable"]
        self._read_before = {
            prefix[:-1] for prefix in unreadable if any(path.startswith(prefix) for path in self.rows)
        }

    def _note_manifest(self) -> None:
        if not self._has_manifest:
            self._has_manifest = True
            self._database.meta.put(_MANIFEST, b"1")

    def _find_pending(self) -> None:
        """Find the files whose content is to be stored, or at least hashed."""
        self.pending = {
            path: None
            for path, (state, _, _) in self.rows.items()
            if not self._is_full
            and not state.stored
            and state.size <= self.rules.largest(path)
            and (not state.digest or self.rules.file_reason(path, state.size) is None)
        }
        self.edition += 1


def _with_folders(path: str) -> list[str]:
    """Return the folders above a path, from the top, and the path."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]


def _stat(folders: OpenFolders, path: str) -> os.stat_result | None:
    """Return what stands at a path; None: nothing, or a folder above is none or a link."""
    with suppress(OSError):
        folder, name = folders.of(path)
        return stat_in(folder, name)
    return None


def _stamp(file_stat: os.stat_result) -> bytes:
    return folder_stamp(file_stat.st_mode) if is_folder(file_stat) else file_stamp(file_stat)


def _certain_stamp(row: SeenPath) -> bytes:
    """Return the stamp that says a path is the same; of a fresh one none does."""
    return b"" if row.is_fresh else row.stamp


def _is_same(before: FileState, after: FileState) -> bool:
    """Return True if nothing changed; whether the content is stored is no change."""
    return msgspec.structs.replace(before, stored=after.stored) == after


_PREFIX = "file-history-"
_SUFFIX = ".lock"
_NEW_S = 60.0


class ProcessLock:
    """The lock of one open file history, in the folder of its database."""

    def __init__(self, folder: Path) -> None:
        """Raises OSError."""
        self._folder = folder
        self.name = uuid4().hex
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


class CallCaptures:
    """Captures what changed, for the call that ran, or for the session that looks when none did.

    A change that is found while calls run is of each of them that may have made it. A call whose process is
    gone ended with it. Every method raises OSError if the workspace cannot be read.
    """

    def __init__(
        self, tree: WorkspaceTree, database: FileHistoryDatabase, lock: ProcessLock, clock: ClockMs
    ) -> None:
        """`clock` returns the time in milliseconds since 1970."""
        self._tree = tree
        self._database = database
        self._lock = lock
        self._clock = clock

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
                if mark.title not in call.others:
                    self._database.captures.put_running(
                        msgspec.structs.replace(call, others=(*call.others, mark.title))
                    )
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
