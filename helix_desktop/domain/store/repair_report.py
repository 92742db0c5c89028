"""The report on a damaged store: what was wrong, what is left, and the text for the user."""

from __future__ import annotations

import msgspec

from helix_desktop.domain.digest import pluralize
from helix_desktop.domain.errors import StoreRepaired
from helix_desktop.domain.unicode_safety import escape_hidden_name

_MAX_LISTED = 5  # lost contents and truncated sessions that are listed by name


class LostContent(msgspec.Struct, frozen=True):
    """A content whose bytes are gone, and what is known of it; size in bytes."""

    digest: str
    size: int = 0
    tool: str = ""
    target: str = ""
    first_line: str = ""
    references: int = 0

    @property
    def text(self) -> str:
        """Return its name for display."""
        return escape_hidden_name(
            " ".join(part for part in (self.digest[:12], self.tool, self.target) if part)
        )


class TruncatedSession(msgspec.Struct, frozen=True):
    """A session whose log now ends early: events kept, set aside behind a gap, and not found at all."""

    session: str
    title: str
    kept: int
    aside: int = 0
    lost: int = 0

    @property
    def text(self) -> str:
        """Return its name for display."""
        return (
            f"{escape_hidden_name(self.title) or self.session[:8]} ends at event {self.kept} of {self.total}"
        )

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

    @property
    def notice(self) -> StoreRepaired:
        """Return the notice for the user: what happened, what was lost, what to do."""
        readable = (
            f"{pluralize(self.entries, 'cached output')}, {pluralize(self.sessions, 'session')} and "
            f"{pluralize(self.events, 'event')} could be read"
        )
        return StoreRepaired(
            "This workspace's store was damaged and has been mended."
            if self.copy
            else "This workspace's store lost its newest writes.",
            f"{'; '.join(self.wrong)}. {readable}. {self._losses()}",
            self._advice(),
        )

    def _losses(self) -> str:
        if self.is_lossless:
            return "Nothing was lost."
        sentences = []
        if self.contents:
            names = _list_some([content.text for content in self.contents])
            sentences.append(
                f"The bytes of {pluralize(len(self.contents), 'cached output')} are lost: {names}."
            )
        if self.cut:
            sentences.append(
                f"Sessions that end early: {_list_some([content.text for content in self.cut])}."
            )
        if self.writes:
            last = "last write is" if self.writes == 1 else f"last {self.writes:,} writes are"
            sentences.append(f"The {last} missing.")
        if self.vanished:
            count = pluralize(self.vanished, "cached output")
            sentences.append(f"Of {count} nothing is left, not even the hash.")
        if self.uncounted:
            sentences.append(
                "What the missing parts held beyond that is lost, and nobody can say how much it was."
            )
        if self.rows:
            sentences.append(f"{pluralize(self.rows, 'row')} could not be read.")
        return " ".join(sentences)

    def _advice(self) -> str:
        sentences = []
        if self.contents:
            sentences.append("Run again what made a lost output: storing the same bytes heals the entry.")
        if any(session.aside for session in self.cut):
            sentences.append(f"Events behind a gap are kept as text in {self.aside}.")
        if self.copy:
            sentences.append(f"The damaged files are kept in {self.copy}; delete them when you miss nothing.")
        sentences.append("If this comes again, check the disk.")
        return " ".join(sentences)


def _list_some(texts: list[str]) -> str:
    more = len(texts) - _MAX_LISTED
    return "; ".join(texts[:_MAX_LISTED]) + (f"; and {more} more" if more > 0 else "")


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
