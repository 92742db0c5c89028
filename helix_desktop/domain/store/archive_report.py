"""The results of exporting a workspace to a file, or importing it from one."""

from __future__ import annotations

from typing import Annotated

import msgspec

_Count = Annotated[int, msgspec.Meta(ge=0, lt=2**62)]


class ArchiveInfo(msgspec.Struct, frozen=True):
    """The header of an archive: its workspace, and how much follows."""

    name: str
    workspace_id: str = msgspec.field(name="workspace")
    created: _Count
    entries: _Count
    sessions: _Count


class ArchiveTotals(msgspec.Struct, frozen=True):
    """The totals at the end of an archive: what it holds, and what the store had lost.

    `missing` are digests that events name and whose bytes are not there, `removed` those of them that the
    user removed, with when, in ms since 1970; `left_out` are sessions with damaged logs. `subagents` are
    those of the sessions that work for another one; of the others, `trashed_sessions` are in the trash.
    Archives of older versions have nothing there.
    """

    entries: _Count
    size: _Count
    sessions: _Count
    events: _Count
    missing: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    subagents: _Count = 0
    trashed_sessions: _Count = 0
    trashed_entries: _Count = 0
    removed: dict[str, _Count] = {}

    @property
    def lost(self) -> tuple[str, ...]:
        """Return the digests whose bytes are damaged or lost."""
        return tuple(digest for digest in self.missing if digest not in self.removed)


class ExportResult(msgspec.Struct, frozen=True):
    """The result of an export: what the file holds, and its size in bytes."""

    path: str
    file_size: int
    totals: ArchiveTotals = msgspec.field(name="held")


class ImportResult(msgspec.Struct, frozen=True):
    """The result of an import: counts of entries, and the sessions by what was done with them.

    `apart` are the new ids of sessions that went another way here; `busy` would be extended, but are open.
    Of the new and unchanged ones, `trashed` are in the trash.
    """

    name: str
    added: int = 0
    existing: int = msgspec.field(default=0, name="known")
    new: tuple[str, ...] = ()
    extended: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    busy: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    trashed: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Return True if everything was imported."""
        return not self.busy
