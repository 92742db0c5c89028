"""Carries workspaces out of their stores into files, and back. No Qt here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from pathlib import Path

from helix_desktop.context.archive import Exported, Imported, Inside, Progress, silent
from helix_desktop.context.errors import ArchiveNotWritten
from helix_desktop.store.archive.form import file_name
from helix_desktop.store.archive.reading import look_into
from helix_desktop.store.remote.client import RemoteStore
from helix_desktop.store.remote.shared import SharedStore
from helix_desktop.workspaces.record import WorkspaceRecord
from helix_desktop.workspaces.registry import Registry

Lend = Callable[[str], AbstractAsyncContextManager[SharedStore | RemoteStore]]
"""The store of a workspace, open as long as it is used."""


class Carrier:
    """Exports, imports and backs up workspaces, also while they are open."""

    def __init__(self, registry: Registry, lend: Lend, clock: Callable[[], int]) -> None:
        self._registry, self._lend, self._clock = registry, lend, clock

    def file_name(self, identity: str) -> str:
        """A name for a file of a workspace."""
        return file_name(self._registry.get(identity).name)

    async def export(self, identity: str, path: Path, progress: Progress = silent) -> Exported:
        """Write a workspace to a file. Raises ArchiveNotWritten, StoreError, WorkspaceMissing."""
        record = self._registry.get(identity)
        async with self._lend(identity) as store:
            return await store.export_to(path, record.name, progress)

    async def look(self, path: Path) -> Inside:
        """What a file says of itself. Raises ArchiveUnusable."""
        return await asyncio.to_thread(look_into, path)

    async def take_in(self, identity: str, path: Path, progress: Progress = silent) -> Imported:
        """Merge a file into a workspace. Raises ArchiveUnusable, StoreError, WorkspaceMissing."""
        async with self._lend(identity) as store:
            return await store.import_from(path, progress)

    async def back_up(self, identity: str, folder: Path, progress: Progress = silent) -> Exported:
        """Write a workspace to a new file in a folder, which is made. Raises as `export` does."""
        record = self._registry.get(identity)
        try:
            await asyncio.to_thread(folder.mkdir, mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ArchiveNotWritten(
                f"The folder {folder} cannot be made.", f"{error.strerror}.", "Choose another place."
            ) from error
        moment = datetime.fromtimestamp(self._clock() / 1000)
        stamp = f"{record.id[:8]}-{moment:%Y%m%d-%H%M%S}"
        return await self.export(identity, folder / file_name(record.name, stamp), progress)

    def stored(self) -> list[WorkspaceRecord]:
        """The workspaces in which anything was ever stored, also those that are off the list."""
        return [
            one for one in self._registry.listed(removed=True) if self._registry.store_folder(one.id).is_dir()
        ]
