"""The file histories of open workspaces: where they are, what they cover, what they take and what may go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from helix_desktop.agent.ports import Store
from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.domain.file_history.changes import (
    FileCoverageSettings,
    FileHistoryCleanup,
    FileHistoryTotals,
)
from helix_desktop.file_history.database import FILE_NAME
from helix_desktop.file_history.history import WorkspaceFileHistory
from helix_desktop.file_history.maintenance import FileHistoryMaintenance
from helix_desktop.file_history.tree.rules import included_place
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.workspaces.registry import WorkspaceRecord, WorkspaceRegistry


class WorkspaceHistoryStorage:
    """The file history of one open workspace as it is stored. Every method may raise StoreError."""

    def __init__(
        self,
        maintenance: FileHistoryMaintenance,
        store: Store,
        quota: int,
        saved_copies_size: Callable[[], int] = lambda: 0,
    ) -> None:
        """`quota` is what it may take, in bytes as stored; `store` says which sessions there are.

        `saved_copies_size` returns the bytes of the copies of files that commands changed; it blocks.
        """
        self.quota = quota
        self._saved_copies_size = saved_copies_size
        self.maintenance = maintenance
        self._store = store

    async def totals(self) -> FileHistoryTotals:
        totals = await self.maintenance.totals()
        return replace(totals, saved_copies_size=await asyncio.to_thread(self._saved_copies_size))

    async def plan(self) -> FileHistoryCleanup:
        return await self.maintenance.plan(await self._gone(), self.quota)

    async def plan_deletion(self, sessions: Collection[str]) -> FileHistoryCleanup:
        """Return what a clean-up would remove if these sessions were gone, beside what it would now."""
        captures = await self.maintenance.captures()
        gone = await self._gone()
        listed = [*await self._store.sessions(), *(await self._store.retention.trash()).sessions]
        leaving = set[str]().union(*(captures.get(session_id, ()) for session_id in sessions))
        for branch in listed:
            # Its log may begin in any of them: between them another may be gone that it branched from.
            if leaving and branch.branch_of and branch.id not in sessions:
                leaving -= await self._recorded(branch.id)
        now = await self.maintenance.plan(gone, self.quota)
        then = await self.maintenance.plan(gone | leaving, self.quota)
        return FileHistoryCleanup(
            then.captures - now.captures,
            max(0, then.contents - now.contents),
            max(0, then.stored_size - now.stored_size),
        )

    async def clean_up(self) -> FileHistoryCleanup:
        """Remove what deleted sessions had, and over the quota the oldest; return what was removed.

        Sessions in the trash keep theirs.
        """
        return await self.maintenance.clean_up(await self._gone(), self.quota)

    async def _gone(self) -> set[str]:
        """Return the captures that are in no log any more, and will come into none."""
        gone: set[str] = set()
        captures = await self.maintenance.captures()  # read first: a session is listed before it captures
        unlisted = captures.keys() - {summary.id for summary in await self._store.sessions()}
        if not unlisted:
            return gone  # the trash has no index: it is found by reading every entry's record
        trash = await self._store.retention.trash()
        for session_id in unlisted - {summary.id for summary in trash.sessions}:
            # Of a deleted session that branches begin with, the part of the log is left that they need.
            gone |= captures[session_id] - await self._recorded(session_id)
        return gone

    async def _recorded(self, session_id: str) -> set[str]:
        events = (recorded.event for recorded in await self._store.events(session_id))
        return {event.capture for event in events if isinstance(event, ChangesRecorded)}


_FIRST_COPY_S = 5.0  # a sample is copied in a moment; longer means that something is wrong


class FileHistories:
    """The file histories of open workspaces, by id. A folder that is not trusted is not looked at."""

    def __init__(self, registry: WorkspaceRegistry, data_root: Path) -> None:
        """`data_root` is the app's own data directory, which no history covers."""
        self._registry = registry
        self._data_root = data_root
        self._open: dict[str, WorkspaceFileHistory] = {}
        self._read_only: dict[str, WorkspaceFileHistory] = {}
        self._scopes: dict[str, TaskScope] = {}

    def open(self, workspace_id: str, root: Path, starts: bool = True) -> WorkspaceFileHistory:
        """Return the file history of a workspace in a folder; it starts if the folder is trusted.

        Without `starts` it is only read, and looks at no file.
        """
        history = WorkspaceFileHistory(
            root,
            self._file(workspace_id),
            lambda: file_coverage_settings(self._registry.get(workspace_id)),
            wall_clock_ms,
            own_data=(self._data_root,),
            save_settings=lambda settings: self._save(workspace_id, settings),
        )
        if starts:
            self._open[workspace_id] = history
            self.start(workspace_id)
        else:
            self._read_only[workspace_id] = history
        return history

    def of(self, workspace_id: str) -> WorkspaceFileHistory | None:
        """Return the file history of an open workspace; None: it has none now."""
        return self._open.get(workspace_id)

    def maintenance(self, workspace_id: str) -> FileHistoryMaintenance:
        """Return what cleans up and checks the file history of a workspace, open or not."""
        return FileHistoryMaintenance(self._file(workspace_id), wall_clock_ms)

    def start(self, workspace_id: str) -> None:
        """Start the file history of an open workspace in the background, if its folder is trusted."""
        history = self._open.get(workspace_id)
        if history is not None and self._registry.get(workspace_id).trusted:
            scope = self._scopes.setdefault(workspace_id, TaskScope())
            scope.start(history.start(), f"start the file history of {workspace_id}")

    async def wait_for_first_copy(self, workspace_id: str) -> None:
        """Wait until all files of an open workspace are covered, but a few seconds at most."""
        history = self._open.get(workspace_id)
        if history is None:
            return
        is_complete = asyncio.Event()
        unsubscribe = history.listen(lambda: is_complete.set() if history.coverage.is_complete else None)
        try:
            if not history.coverage.is_complete:
                with suppress(TimeoutError):
                    await asyncio.wait_for(is_complete.wait(), _FIRST_COPY_S)
        finally:
            unsubscribe()

    async def use_settings(self, workspace_id: str, settings: FileCoverageSettings) -> None:
        """Change what is covered in a workspace, open or not; a pause of the first copy stays as it is.

        Raises HelixError, InvalidInput for a place.
        """
        places = dict.fromkeys(included_place(place) for place in settings.included)
        is_paused = self._registry.get(workspace_id).history_paused
        settings = msgspec.structs.replace(settings, included=tuple(places), is_paused=is_paused)
        history = self._open.get(workspace_id)
        if history is None or not self._registry.get(workspace_id).trusted:
            self._save(workspace_id, settings)
        else:
            await history.use_settings(settings)

    async def close(self, workspace_id: str) -> None:
        history = self._open.pop(workspace_id, None) or self._read_only.pop(workspace_id, None)
        scope = self._scopes.pop(workspace_id, None)
        if scope is not None:
            await scope.close()
        if history is not None:
            await history.close()

    def _file(self, workspace_id: str) -> Path:
        return self._registry.data_folder(workspace_id) / FILE_NAME

    def _save(self, workspace_id: str, settings: FileCoverageSettings) -> None:
        self._registry.change(
            workspace_id,
            history_included=settings.included,
            history_max_file=settings.max_file,
            history_quota=settings.quota,
            history_paused=settings.is_paused,
        )


def file_coverage_settings(record: WorkspaceRecord) -> FileCoverageSettings:
    return FileCoverageSettings(
        record.history_included, record.history_max_file, record.history_quota, record.history_paused
    )
