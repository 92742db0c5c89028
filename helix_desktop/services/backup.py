"""Carries workspaces out of their stores into files, and back."""

from __future__ import annotations

import asyncio
import os
from datetime import datetime
from pathlib import Path

from helix_desktop.domain.errors import ArchiveWriteFailed, HelixError, InvalidInput
from helix_desktop.domain.listeners import OnProgress, no_progress
from helix_desktop.domain.store_reports import ArchiveInfo, ExportResult, ImportResult
from helix_desktop.domain.translatable_text import TextContext, folder_reason
from helix_desktop.services.closed_workspaces import BorrowStore
from helix_desktop.store.archive_file import file_name, read_info
from helix_desktop.system.clock import ClockMs
from helix_desktop.system.files import non_folder_in
from helix_desktop.words.translation import Translator
from helix_desktop.workspaces.registry import WorkspaceRecord, WorkspaceRegistry

text = TextContext("Services")
tr = Translator("Transcript")


class BackupService:
    """Exports, imports and backs up workspaces, also while they are open."""

    def __init__(
        self, data_folder: Path, registry: WorkspaceRegistry, borrow_store: BorrowStore, clock: ClockMs
    ) -> None:
        self._data_folder = data_folder
        self._registry = registry
        self._borrow_store = borrow_store
        self._clock = clock

    def file_name(self, workspace_id: str) -> str:
        return file_name(self._registry.get(workspace_id).name)

    def session_file_name(self, title: str, suffix: str) -> str:
        return Path(file_name(title)).with_suffix(suffix).name

    async def export(
        self, workspace_id: str, path: Path, on_progress: OnProgress = no_progress
    ) -> ExportResult:
        """Write a workspace to a file. Raises ArchiveWriteFailed, StoreError, WorkspaceMissing."""
        record = self._registry.get(workspace_id)
        async with self._borrow_store(workspace_id) as store:
            return await store.export_to(path, record.name, on_progress)

    async def export_session(
        self, workspace_id: str, session_id: str, path: Path, on_progress: OnProgress = no_progress
    ) -> ExportResult:
        """Write one session with its versions to a file that can be imported. Raises as `export` does."""
        record = self._registry.get(workspace_id)
        async with self._borrow_store(workspace_id) as store:
            return await store.export_session_to(path, record.name, session_id, on_progress)

    async def inspect(self, path: Path) -> ArchiveInfo:
        """Read the header of an exported file. Raises InvalidArchive."""
        return await asyncio.to_thread(read_info, path)

    async def import_file(
        self, workspace_id: str, path: Path, on_progress: OnProgress = no_progress
    ) -> ImportResult:
        """Merge a file into a workspace. Raises InvalidArchive, StoreError, WorkspaceMissing."""
        async with self._borrow_store(workspace_id) as store:
            return await store.import_from(path, on_progress)

    async def check_folder(self, folder: Path) -> None:
        """Raise InvalidInput for a backup folder inside the data folder."""
        data_folder, target = await asyncio.to_thread(
            lambda: (self._data_folder.resolve(), Path(os.path.realpath(folder)))
        )
        if target.is_relative_to(data_folder):
            raise InvalidInput(
                text("The workspaces can't be backed up to {folder}.", folder=folder),
                text("It's in the data folder {data}, and would be lost with it.", data=data_folder),
                text("Choose another folder."),
            )

    async def back_up(
        self, workspace_id: str, folder: Path, on_progress: OnProgress = no_progress
    ) -> ExportResult:
        """Write a workspace to a new file in a folder, which is created. Raises as `export` does."""
        record = self._registry.get(workspace_id)
        await self.make_folder(folder)
        now = datetime.fromtimestamp(self._clock() / 1000)
        stamp = f"{record.id[:8]}-{now:%Y%m%d-%H%M%S}"
        return await self.export(workspace_id, folder / file_name(record.name, stamp), on_progress)

    async def make_folder(self, folder: Path) -> None:
        """Create the folder of a backup unless it is there. Raises ArchiveWriteFailed."""
        try:
            await asyncio.to_thread(folder.mkdir, mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ArchiveWriteFailed(
                text("Couldn't create the folder {folder}.", folder=folder),
                folder_reason(error, folder, non_folder_in(folder)),
                text("Choose another folder."),
            ) from error

    def unreadable_workspaces(self) -> tuple[HelixError, ...]:
        """Return why workspaces can't be backed up whose own files can't be read."""
        return tuple(self._registry.problems)

    def stored_workspaces(self) -> list[WorkspaceRecord]:
        """Return the workspaces in which anything was ever stored, also those removed from the list."""
        return [
            record
            for record in self._registry.list_workspaces(include_removed=True)
            if self._registry.store_folder(record.id).is_dir()
        ]
