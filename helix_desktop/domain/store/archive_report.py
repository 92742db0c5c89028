"""The results of exporting a workspace to a file, or importing it from one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import msgspec

from helix_desktop.domain.digest import pluralize

SUFFIX = ".helix"
Progress = Callable[[int, int], None]
"""Bytes done and bytes in all; called on a thread that is not the event loop's."""


def no_progress(done: int, size: int) -> None:
    """Ignore progress."""


_Count = Annotated[int, msgspec.Meta(ge=0, lt=2**62)]


class ArchiveInfo(msgspec.Struct, frozen=True):
    """The header of an archive: its workspace, and how much follows."""

    name: str
    workspace: str
    created: _Count
    entries: _Count
    sessions: _Count


class ArchiveTotals(msgspec.Struct, frozen=True):
    """The totals at the end of an archive: what it holds, and what the store had lost.

    `missing` are digests that events name and whose bytes are lost, `left_out` sessions with damaged logs.
    """

    entries: _Count
    size: _Count
    sessions: _Count
    events: _Count
    missing: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


class ExportResult(msgspec.Struct, frozen=True):
    """The result of an export: what the file holds, and its size in bytes."""

    path: str
    file_size: int
    totals: ArchiveTotals = msgspec.field(name="held")


class ImportResult(msgspec.Struct, frozen=True):
    """The result of an import: counts of entries, and the sessions by what was done with them.

    `apart` are the new ids of sessions that went another way here; `busy` would be extended, but are open.
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

    @property
    def is_complete(self) -> bool:
        """Return True if everything was imported."""
        return not self.busy


def export_summary(result: ExportResult) -> str:
    """Return a text of what the file holds and lacks."""
    totals = result.totals
    counts = f"{pluralize(totals.entries, 'entry', 'entries')}, {pluralize(totals.sessions, 'session')}."
    lacking = [
        (len(totals.missing), "damaged or lost entries are"),
        (len(totals.left_out), "sessions with damaged logs are"),
    ]
    return " ".join([counts, *(f"{count} {what} not in the file." for count, what in lacking if count)])


def import_summary(result: ImportResult) -> str:
    """Return a text of what an import added."""
    sessions = [
        (len(result.new), "new"),
        (len(result.extended), "extended"),
        (len(result.unchanged), "known"),
        (len(result.apart), "beside those that went another way"),
        (len(result.busy), "left because they are open"),
    ]
    listed = ", ".join(f"{count} {word}" for count, word in sessions if count) or "none"
    return (
        f"{pluralize(result.added, 'entry', 'entries')} added, {result.existing:,} known. Sessions: {listed}."
    )
