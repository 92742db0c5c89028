"""The reports on an export or import of a workspace, and on a damaged store."""

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
    user removed, with when, in ms since 1970; `left_out` are sessions whose logs can't be read, damaged or of
    a newer version. `subagents` are those of the sessions that work for another one; of the others,
    `trashed_sessions` are in the trash.
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
        return not self.busy


class LostContent(msgspec.Struct, frozen=True):
    """A content whose bytes are gone, and what is known of it; size in bytes."""

    digest: str
    size: int = 0
    tool: str = ""
    target: str = ""
    first_line: str = ""
    references: int = 0


class TruncatedSession(msgspec.Struct, frozen=True):
    """A session whose log now ends early: events kept, set aside behind a gap, and not found at all."""

    session: str
    title: str
    kept: int
    aside: int = 0
    lost: int = 0

    @property
    def total(self) -> int:
        """Return how many events it is known to have had."""
        return self.kept + self.aside + self.lost


class RepairReport(msgspec.Struct, frozen=True):
    """What was wrong with a store when it was opened, and what is left; `at` in milliseconds since 1970.

    `copy` is the folder of the damaged files as they were found, `aside` that of rows set aside; both may be
    empty. `writes` counts writes that are known to have been made and are gone, `rows` those that cannot be
    read, `vanished` contents of which not even the digest is known. `uncounted`: a file, or a
    part of one, is gone of which nobody knows what it held.
    """

    at: int
    wrong: tuple[str, ...]
    entries: int
    sessions: int
    events: int
    contents: tuple[LostContent, ...] = ()
    cut: tuple[TruncatedSession, ...] = ()
    writes: int = 0
    rows: int = 0
    vanished: int = 0
    uncounted: bool = False
    copy: str = ""
    aside: str = ""

    @property
    def is_lossless(self) -> bool:
        """Return True if nothing known was lost."""
        return not (self.contents or self.cut or self.writes or self.rows or self.vanished or self.uncounted)


class IntegrityReport(msgspec.Struct, frozen=True):
    """What a full check of a store found: rows and contents that were verified, and what is wrong.

    Damaged contents heal when they are stored again; `problems` are repaired at the next opening, unless all
    of them are rows of another version: `is_of_another_version`.
    """

    rows: int
    contents: int
    damaged: tuple[LostContent, ...] = ()
    problems: tuple[str, ...] = ()
    is_of_another_version: bool = False

    @property
    def is_sound(self) -> bool:
        return not (self.damaged or self.problems)
