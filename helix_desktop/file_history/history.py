"""The history of a workspace's files: database, tree and reverts as one, in a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import msgspec
from filelock import FileLock, Timeout

from helix_desktop.domain.choices import RevertChoice
from helix_desktop.domain.digest import is_digest
from helix_desktop.domain.errors import (
    ContentDamaged,
    ContentRedacted,
    DigestUnknown,
    HelixError,
    RevertRefused,
    StoreError,
    StoreUnreadable,
    WorkspaceClosed,
)
from helix_desktop.domain.file_history.changes import (
    AgentChanges,
    CallMark,
    Capture,
    CapturedChanges,
    ChangeList,
    FileChange,
    FileCoverage,
    FileCoverageSettings,
    FileState,
    RevertPlan,
    UncoveredPlace,
)
from helix_desktop.domain.listeners import Listeners
from helix_desktop.domain.translatable_text import TextContext, system_reason
from helix_desktop.file_history.database import FileHistoryDatabase
from helix_desktop.file_history.revert.reverts import Reverts
from helix_desktop.file_history.tree.rules import included_place
from helix_desktop.file_history.tree.scan import MAX_PATHS, TooManyPaths
from helix_desktop.file_history.tree.tree import (
    CallCaptures,
    ProcessLock,
    WorkspaceTree,
    measure_file_coverage,
    uncovered_files,
)
from helix_desktop.system.clock import ClockMs
from helix_desktop.system.task_scope import TaskScope

text = TextContext("Changes")
log = logging.getLogger(__name__)

_TOO_MANY = text("What commands change is not recorded in this workspace.")

# A batch of the first copy takes about 30 ms.
_BATCH_FILES = 100
_BATCH_BYTES = 4 * 1024 * 1024
_BEFORE_CALL_S = 0.25
_NAMED_CHANGES = 20  # of the agent's: nobody reads more
_COUNT_AGAIN_S = 60.0  # too many files take a second to count
_COVERAGE_S = 0.5  # the coverage is counted as often while the first copy runs


class OpenedHistory:
    def __init__(
        self,
        root: Path,
        database_file: Path,
        settings: FileCoverageSettings,
        clock: ClockMs,
        own_data: tuple[str, ...],
    ) -> None:
        """`own_data` are paths in the workspace. Raises StoreError."""
        self._error = ""
        with self._readable():
            database_file.parent.mkdir(parents=True, exist_ok=True)
            self._lock = ProcessLock(database_file.parent)
        try:
            self._database = FileHistoryDatabase(database_file, clock)
        except BaseException:
            self._lock.release()
            raise
        self._copy_lock = FileLock(database_file.parent / "file-history-copy.lock", thread_local=False)
        self._tree = WorkspaceTree(str(root), self._database, settings, own_data)
        self._captures = CallCaptures(self._tree, self._database, self._lock, clock)
        self._reverts = Reverts(root, self._database, _RevertTree(self._tree, self._captures), clock)
        self._coverage = FileCoverage()
        self._counted = (-1, 0.0)
        self._is_paused = settings.is_paused
        self._has_looked = False  # at the workspace's files, at least once
        self._counts_again_s = 0.0  # when to see whether there still are too many files
        self._not_ended: list[tuple[str, str]] = []

    def start(self) -> None:
        """Repair what a kill cut off, and look at the tree for the first time."""
        self._repair()
        with self._readable():
            self._captures.end_cut_off()
            with self._tree.write():
                self._tree.begin()
        self._has_looked = True

    def begin_call(self, mark: CallMark) -> CapturedChanges | None:
        """Begin a call; what is not copied yet is, as far as that takes no time that a user would notice."""
        self._repair()
        with self._readable():
            captured = self._captures.begin(mark)
        self._has_looked = True
        until = time.monotonic() + _BEFORE_CALL_S
        with suppress(StoreError):  # the call is begun; who copies in the background will say so
            while time.monotonic() < until and self.copy_batch(mark.paths) is False:
                pass
        if self._is_paused:
            self._copy_lock.release()
        return captured

    def end_call(self, session_id: str, call_id: str) -> CapturedChanges | None:
        """End a call; if that fails, what it changed is captured later, and stays in `unrecorded`."""
        try:
            with self._readable():
                return self._captures.end(session_id, call_id)
        except BaseException:
            self._not_ended.append((session_id, call_id))
            raise

    def scan(self, session_id: str) -> CapturedChanges | None:
        """Capture what changed outside all calls; of too many files from when there are fewer."""
        self._repair()
        if self._tree.has_too_many and time.monotonic() >= self._counts_again_s:
            self._counts_again_s = time.monotonic() + _COUNT_AGAIN_S
            self._tree.has_too_many = False
        with self._readable():
            captured = self._captures.scan(session_id)
        self._has_looked = True
        return captured

    def unrecorded(self, session_id: str) -> tuple[CapturedChanges, ...]:
        return tuple(
            CapturedChanges(capture, self._list_of(capture))
            for capture in self._database.captures.unrecorded(session_id)
        )

    def acknowledge(self, capture_ids: Sequence[str]) -> None:
        with self._database.write():
            self._database.captures.acknowledge(capture_ids)

    def agent_changes(self, since_ms: int, folders: Sequence[str]) -> AgentChanges:
        """Return what calls of the agent changed below folders from a time on; "" is the workspace's own."""
        with self._readable():
            self._captures.end_cut_off()
        is_certain = not self._captures.is_any_running()
        paths: dict[str, None] = {}
        for capture in self._database.captures.since(since_ms):
            if capture.source not in ("tool", "command"):
                continue
            changes = self._list_of(capture).changes
            is_certain &= bool(changes)
            for path in (path for change in changes for path in (change.path, change.moved_from)):
                if path and any(not folder or f"{path}/".startswith(folder + "/") for folder in folders):
                    paths[path] = None
            if len(paths) >= _NAMED_CHANGES:
                break
        return AgentChanges(tuple(islice(paths, _NAMED_CHANGES)), is_certain)

    def uncovered_places(self) -> frozenset[str]:
        with self._readable(), self._tree.write():
            return self._tree.uncovered_places()

    def content(self, digest: str) -> bytes:
        """Return a content. Raises DigestUnknown, ContentDamaged."""
        full = digest if is_digest(digest) else self._database.contents.find(digest)
        if not full:
            raise DigestUnknown(
                text("No version of a file in the file history has this digest."),
                fix=text("Choose one of the versions listed now."),
            )
        return self._database.contents.get(full)

    def put_content(self, data: bytes) -> str:
        with self._database.write():
            return self._database.contents.put(data)

    def current_states(self, paths: Sequence[str]) -> dict[str, FileState | None]:
        with self._readable(), self._tree.write():
            return self._tree.current_states(paths)

    def uncovered_files(self, paths: Sequence[str]) -> tuple[UncoveredPlace, ...]:
        with self._readable(), self._tree.write():
            return uncovered_files(self._tree, paths)

    def plan_revert(self, changes: Sequence[FileChange], capture_ids: Sequence[str] = ()) -> RevertPlan:
        with self._may_discard():
            return self._reverts.plan(changes, capture_ids)

    def revert(
        self, session_id: str, plan: RevertPlan, choices: Mapping[str, RevertChoice]
    ) -> CapturedChanges | None:
        """Take back what is planned and chosen; what changed outside all calls before is captured first."""
        with suppress(StoreUnreadable):  # there may be too many files for that
            self.scan(session_id)
        with self._may_discard():
            return self._reverts.apply(session_id, plan, choices)

    def use_settings(self, settings: FileCoverageSettings) -> None:
        self._tree.use_settings(settings)

    def pause(self, is_paused: bool) -> None:
        """Note whether the user paused the first copy; another process may make it then."""
        self._is_paused = is_paused
        if is_paused:
            self._copy_lock.release()

    def copy_batch(self, first: Sequence[str] | None = None) -> bool | None:
        """Store some contents of the first copy; True: another process does, None: all are in.

        The paths that come `first` are in then.
        """
        if not self._tree.pending:
            self._copy_lock.release()
            return None
        if not self._copy_lock.is_locked:
            try:
                self._copy_lock.acquire(timeout=0)
            except Timeout:
                return True
        with self._readable(), self._tree.write():
            paths = [path for path in first or () if path in self._tree.pending]
            size = 0
            for path in islice(self._tree.pending, _BATCH_FILES):
                paths.append(path)
                size += self._tree.rows[path].state.size
                if size > _BATCH_BYTES:
                    break
            self._tree.copy(paths)
        if self._tree.pending:
            return False
        self._copy_lock.release()
        return None

    def _repair(self) -> None:
        """Repair the revert of a killed process, before a scan takes it for changes of the user.

        If that fails, the next revert says so. Then end the calls that could not be ended before.
        """
        with suppress(RevertRefused), self._may_discard():
            self._reverts.recover()
        while self._not_ended:
            with self._readable():
                self._captures.end(*self._not_ended[0])
            self._not_ended.pop(0)

    def _list_of(self, capture: Capture) -> ChangeList:
        """Return the changes of a capture; none if their list is lost: the capture still is recorded."""
        try:
            return ChangeList.decode(self._database.contents.get(capture.changes))
        except (ContentDamaged, ContentRedacted, DigestUnknown, msgspec.MsgspecError) as error:
            log.warning("the changes of a capture are lost: %s", error)
            return ChangeList(())

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Raise StoreUnreadable for what the system refuses of the workspace; the coverage says so too."""
        try:
            yield
        except OSError as error:
            self._error = text("The workspace's files can't be looked at.")
            raise StoreUnreadable(
                self._error, system_reason(error), text("Check that the folder is there and you may read it.")
            ) from error
        except TooManyPaths as error:
            raise StoreUnreadable(
                _TOO_MANY,
                text("It has over {count} files.", count=MAX_PATHS),
                text("Open a folder in it as a workspace, or list large folders in .gitignore."),
            ) from error
        self._error = ""

    @contextmanager
    def _may_discard(self) -> Iterator[None]:
        """Run what has transactions of its own: the tree in memory is read again if one is undone."""
        try:
            yield
        except BaseException:
            self._tree.discard()
            raise

    def coverage(self) -> FileCoverage:
        """Return what is covered now; it is not complete before the files were looked at."""
        edition, at = self._counted
        now = time.monotonic()
        is_copying = bool(self._tree.pending) and self._copy_lock.is_locked  # else another process does
        is_due = not is_copying or self._coverage.is_complete or now - at > _COVERAGE_S
        if edition != self._tree.edition and is_due:
            self._counted = (self._tree.edition, now)
            self._coverage = measure_file_coverage(self._tree, self._database.contents.totals()[2])
        return msgspec.structs.replace(
            self._coverage,
            is_complete=self._coverage.is_complete and self._has_looked,
            is_paused=self._is_paused,
            error=_TOO_MANY if self._tree.has_too_many else self._error,
        )

    def close(self) -> None:
        """Close the files; calls that still run are ended by the next start."""
        self._copy_lock.release(force=True)
        self._database.close()
        self._lock.release()


class _RevertTree:
    def __init__(self, tree: WorkspaceTree, captures: CallCaptures) -> None:
        self.covers = tree.covers
        self.put = tree.put
        self.remove = tree.remove
        self.is_busy = captures.is_busy


P = ParamSpec("P")
T = TypeVar("T")

_PAUSE_S = 0.02  # between two batches of the first copy: a call that came meanwhile goes first
_RETRY_S = 30.0  # until it is tried again whether another process ended its first copy


def _in_thread(
    method: Callable[Concatenate[OpenedHistory, P], T],
) -> Callable[Concatenate[WorkspaceFileHistory, P], Coroutine[Any, Any, T]]:
    """Return a method of the open files as one that is awaited."""

    def call(history: WorkspaceFileHistory, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        return history.run(lambda opened: method(opened, *args, **kwargs))

    return call


class WorkspaceFileHistory:
    """The file history of one workspace, for asyncio: see the port of that name.

    The files are opened at the first use. One thread does everything, in the order of the calls; what it
    began is done to its end, even if the task that waits for it is canceled.
    """

    def __init__(
        self,
        root: Path,
        database_file: Path,
        load_settings: Callable[[], FileCoverageSettings],
        clock: ClockMs,
        own_data: Iterable[Path] = (),
        save_settings: Callable[[FileCoverageSettings], None] = lambda _: None,
    ) -> None:
        """`own_data` are folders of the app, which are not covered; `clock` returns ms since 1970."""
        self._root = root
        self._file = database_file
        self._clock = clock
        self._load_settings = load_settings
        self._own_data = tuple(own_data)
        self._save_settings = save_settings
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="file-history")
        self._opened: OpenedHistory | None = None
        self._coverage = FileCoverage()
        self._listeners: Listeners[[], None] = Listeners()
        self._scope = TaskScope()
        self._copying: asyncio.Task[None] | None = None
        self._is_closed = self._is_started = False

    @property
    def coverage(self) -> FileCoverage:
        return self._coverage

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        return self._listeners.listen(listener)

    async def start(self) -> None:
        if self._is_closed:
            return
        try:
            await self.run(lambda opened: opened.start())
        except HelixError as error:
            log.warning("the file history of a workspace did not start: %s", error)
            self._publish(msgspec.structs.replace(self._coverage, error=str(error)))
            return
        finally:
            self._is_started = True  # what could not be looked at may be later
        self._copy_pending()

    begin_call = _in_thread(OpenedHistory.begin_call)
    end_call = _in_thread(OpenedHistory.end_call)
    scan = _in_thread(OpenedHistory.scan)
    unrecorded = _in_thread(OpenedHistory.unrecorded)
    acknowledge = _in_thread(OpenedHistory.acknowledge)
    agent_changes = _in_thread(OpenedHistory.agent_changes)
    uncovered_places = _in_thread(OpenedHistory.uncovered_places)
    content = _in_thread(OpenedHistory.content)
    put_content = _in_thread(OpenedHistory.put_content)
    current_states = _in_thread(OpenedHistory.current_states)
    uncovered_files = _in_thread(OpenedHistory.uncovered_files)
    plan_revert = _in_thread(OpenedHistory.plan_revert)
    revert = _in_thread(OpenedHistory.revert)

    async def change_list(self, digest: str) -> ChangeList:
        data = await self.content(digest)
        try:
            return ChangeList.decode(data)
        except msgspec.MsgspecError as error:
            raise ContentDamaged(
                text("The list of changes can't be read."),
                fix=text("Repair the data with {command}.", command="helix-desktop cache repair"),
            ) from error

    async def include(self, path: str, included: bool) -> None:
        """Cover a place that is not covered, or leave it to the rules again; holds for later starts too.

        Raises InvalidInput for what is no path of the workspace.
        """
        path = included_place(path)
        settings = self._load_settings()
        others = tuple(place for place in settings.included if place != path)
        await self.use_settings(
            msgspec.structs.replace(settings, included=(*others, path) if included else others)
        )

    async def use_settings(self, settings: FileCoverageSettings) -> None:
        """Use other settings, and save them; copy what they cover besides."""
        self._save_settings(settings)
        await self.run(lambda opened: opened.use_settings(settings))
        await self.start()

    async def pause(self, is_paused: bool) -> None:
        """Pause the first copy, or let it go on; holds for later starts too.

        While it is paused only what a call needs is copied, as far as that takes no time before the call.
        """
        self._save_settings(msgspec.structs.replace(self._load_settings(), is_paused=is_paused))
        if self._copying is not None:
            self._copying.cancel()  # it may wait for another process
        await self.run(lambda opened: opened.pause(is_paused))

    async def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        await self._scope.close(for_good=True)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=False)

    def _copy_pending(self) -> None:
        """Copy what is not in yet, in the background, if that is neither done already nor paused."""
        is_running = self._copying is not None and not self._copying.done()
        has_to = self._is_started and not (self._coverage.is_complete or self._coverage.is_paused)
        if has_to and not (self._is_closed or is_running):
            self._copying = self._scope.start(self._copy(), "first copy of a workspace's files")

    async def _copy(self) -> None:
        while not (self._is_closed or self._coverage.is_paused):
            try:
                pause = await self.run(lambda opened: opened.copy_batch())
            except HelixError as error:  # the next call tries again
                log.warning("the first copy of a workspace's files stopped: %s", error)
                self._publish(msgspec.structs.replace(self._coverage, error=str(error)))
                return
            if pause is None:
                return
            await asyncio.sleep(_RETRY_S if pause else _PAUSE_S)

    async def run(self, work: Callable[[OpenedHistory], T]) -> T:
        """Run work in the thread, on the open files; then say if the coverage is another one."""
        if self._is_closed:
            raise WorkspaceClosed(text("The file history of this workspace is closed."))
        loop = asyncio.get_running_loop()
        done, coverage = await loop.run_in_executor(self._thread, self._work, work)
        self._publish(coverage)
        self._copy_pending()
        return done

    def _work(self, work: Callable[[OpenedHistory], T]) -> tuple[T, FileCoverage]:
        if self._opened is None:
            self._opened = OpenedHistory(
                self._root, self._file, self._load_settings(), self._clock, _below(self._own_data, self._root)
            )
        done = work(self._opened)
        return done, self._opened.coverage()

    def _close(self) -> None:
        if self._opened is not None:
            self._opened.close()

    def _publish(self, coverage: FileCoverage) -> None:
        if coverage == self._coverage:
            return
        self._coverage = coverage
        self._listeners.notify()


def _below(paths: Iterable[Path], root: Path) -> tuple[str, ...]:
    """Return the paths that lie in a folder, relative to it."""
    top = os.path.realpath(root)
    real = (Path(os.path.realpath(path)) for path in paths)
    return tuple(
        path.relative_to(top).as_posix() for path in real if path != Path(top) and path.is_relative_to(top)
    )
