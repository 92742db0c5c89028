"""The report on a damaged store: what was wrong, and what is left."""

from __future__ import annotations

import msgspec


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

    Damaged contents heal when they are stored again; `problems` are repaired at the next opening.
    """

    rows: int
    contents: int
    damaged: tuple[LostContent, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Return True if everything is as it was written."""
        return not (self.damaged or self.problems)
