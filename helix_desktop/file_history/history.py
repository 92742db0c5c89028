"""The history of a workspace's files: database, tree and reverts as one, in a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import msgspec

from helix_desktop.domain.errors import ContentDamaged, HelixError, StoreClosed
from helix_desktop.domain.file_history.capture import AgentChanges, CallMark, CapturedChanges
from helix_desktop.domain.file_history.file_coverage import FileCoverage, FileCoverageSettings, UncoveredPlace
from helix_desktop.domain.file_history.revert import RevertPlan
from helix_desktop.domain.file_history.revert_choice import RevertChoice
from helix_desktop.domain.file_history.state import ChangeList, FileChange, FileState
from helix_desktop.domain.listeners import Listeners
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.file_history.opened_history import OpenedHistory
from helix_desktop.file_history.tree.rules import included_place
from helix_desktop.system.clock import ClockMs
from helix_desktop.system.task_scope import TaskScope

text = TextContext("Changes")
log = logging.getLogger(__name__)
T = TypeVar("T")

_PAUSE_S = 0.02  # between two batches of the first copy: a call that came meanwhile goes first
_RETRY_S = 30.0  # until it is tried again whether another process ended its first copy


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
        self._root, self._file, self._clock = root, database_file, clock
        self._load_settings = load_settings
        self._own_data, self._save_settings = tuple(own_data), save_settings
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="file-history")
        self._opened: OpenedHistory | None = None
        self._coverage = FileCoverage()
        self._listeners: Listeners[[], None] = Listeners()
        self._scope = TaskScope()
        self._copying: asyncio.Task[None] | None = None
        self._is_closed = self._is_started = False

    @property
    def coverage(self) -> FileCoverage:
        """What is covered, as last known; does not block."""
        return self._coverage

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Subscribe to changes of the coverage. Call the returned function to unsubscribe."""
        return self._listeners.listen(listener)

    async def start(self) -> None:
        """Repair what a kill left, then copy what is not covered yet in the background. Does not raise."""
        if self._is_closed:
            return
        try:
            await self._run(lambda opened: opened.start())
        except HelixError as error:
            log.warning("the file history of a workspace did not start: %s", error)
            self._publish(msgspec.structs.replace(self._coverage, error=str(error)))
            return
        finally:
            self._is_started = True  # what could not be looked at may be later
        self._copy_pending()

    async def begin_call(self, mark: CallMark) -> CapturedChanges | None:
        """Note that a call begins; return what changed before it outside all calls, for its session."""
        return await self._run(lambda opened: opened.begin_call(mark))

    async def end_call(self, session_id: str, call_id: str) -> CapturedChanges | None:
        """Note that a call of a session ended, and return what changed during it; None: nothing did."""
        return await self._run(lambda opened: opened.end_call(session_id, call_id))

    async def scan(self, session_id: str) -> CapturedChanges | None:
        """Return what changed outside all calls since the last look of any session, for this one."""
        return await self._run(lambda opened: opened.scan(session_id))

    async def unrecorded(self, session_id: str) -> tuple[CapturedChanges, ...]:
        """Return what was captured for a session and not acknowledged yet, oldest first."""
        return await self._run(lambda opened: opened.unrecorded(session_id))

    async def acknowledge(self, capture_ids: Sequence[str]) -> None:
        """Note that captures stand in their session's log."""
        await self._run(lambda opened: opened.acknowledge(capture_ids))

    async def change_list(self, digest: str) -> ChangeList:
        """Return a list of changes. Raises DigestUnknown, ContentDamaged."""
        data = await self.content(digest)
        try:
            return ChangeList.decode(data)
        except msgspec.MsgspecError as error:
            raise ContentDamaged(
                text("The list of changes can't be read."),
                fix=text("Repair the data with {command}.", command="helix-desktop cache repair"),
            ) from error

    async def agent_changes(self, since_ms: int, folders: Sequence[str]) -> AgentChanges:
        """Return what calls of the agent changed below folders from a time on; "" is the workspace's own."""
        return await self._run(lambda opened: opened.agent_changes(since_ms, folders))

    async def uncovered_places(self) -> frozenset[str]:
        """Return the places that are not covered, as they are now."""
        return await self._run(lambda opened: opened.uncovered_places())

    async def content(self, digest: str) -> bytes:
        """Return a former content; `digest` may be its first digits. Raises DigestUnknown, ContentDamaged."""
        return await self._run(lambda opened: opened.content(digest))

    async def put_content(self, data: bytes) -> str:
        """Store a content that a revert is to write, and return its digest."""
        return await self._run(lambda opened: opened.put_content(data))

    async def current_states(self, paths: Sequence[str]) -> dict[str, FileState | None]:
        """Return what stands at paths now; their contents are stored where they are covered."""
        return await self._run(lambda opened: opened.current_states(paths))

    async def uncovered_files(self, paths: Sequence[str]) -> tuple[UncoveredPlace, ...]:
        """Return the files at paths whose content cannot be brought back if a tool changes it, and why."""
        return await self._run(lambda opened: opened.uncovered_files(paths))

    async def plan_revert(self, changes: Sequence[FileChange], capture_ids: Sequence[str] = ()) -> RevertPlan:
        """Return what taking back changes would do; they are in the order in which they were made."""
        return await self._run(lambda opened: opened.plan_revert(changes, capture_ids))

    async def revert(
        self, session_id: str, plan: RevertPlan, choices: Mapping[str, RevertChoice]
    ) -> CapturedChanges | None:
        """Bring the files of a plan to what is planned and chosen: all of it, or nothing."""
        return await self._run(lambda opened: opened.revert(session_id, plan, choices))

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
        await self._run(lambda opened: opened.use_settings(settings))
        await self.start()

    async def pause(self, is_paused: bool) -> None:
        """Pause the first copy, or let it go on; holds for later starts too.

        While it is paused only what a call needs is copied, as far as that takes no time before the call.
        """
        self._save_settings(msgspec.structs.replace(self._load_settings(), is_paused=is_paused))
        if self._copying is not None:
            self._copying.cancel()  # it may wait for another process
        await self._run(lambda opened: opened.pause(is_paused))

    async def close(self) -> None:
        """Stop the first copy (it goes on at the next start), and close the files."""
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
        """Copy what is not in yet, in batches; calls go between them."""
        while not (self._is_closed or self._coverage.is_paused):
            try:
                pause = await self._run(lambda opened: opened.copy_batch())
            except HelixError as error:  # the next call tries again
                log.warning("the first copy of a workspace's files stopped: %s", error)
                self._publish(msgspec.structs.replace(self._coverage, error=str(error)))
                return
            if pause is None:
                return
            await asyncio.sleep(_RETRY_S if pause else _PAUSE_S)

    async def _run(self, work: Callable[[OpenedHistory], T]) -> T:
        """Run work in the thread, on the open files; then say if the coverage is another one."""
        if self._is_closed:
            raise StoreClosed(text("The file history of this workspace is closed."))
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
