"""The file histories of open workspaces: where they are, what they cover, when they start."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import msgspec

from helix_desktop.domain.file_history.file_coverage import FileCoverageSettings
from helix_desktop.file_history.database import FILE_NAME
from helix_desktop.file_history.history import WorkspaceFileHistory
from helix_desktop.file_history.storage import FileHistoryStorage
from helix_desktop.file_history.tree.rules import included_place
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.workspaces.registry import WorkspaceRecord, WorkspaceRegistry

_FIRST_COPY_S = 5.0  # a sample is copied in a moment; longer means that something is wrong


class FileHistories:
    """The file histories of open workspaces, by id. A folder that is not trusted is not looked at."""

    def __init__(self, registry: WorkspaceRegistry, data_root: Path) -> None:
        """`data_root` is the app's own data directory, which no history covers."""
        self._registry, self._data_root = registry, data_root
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

    def storage(self, workspace_id: str) -> FileHistoryStorage:
        """Return what the file history of a workspace takes on disk, open or not."""
        return FileHistoryStorage(self._file(workspace_id), wall_clock_ms)

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
        """Close the file history of a workspace."""
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
    """Return what a workspace's record says of its coverage."""
    return FileCoverageSettings(
        record.history_included, record.history_max_file, record.history_quota, record.history_paused
    )
