"""What a damaged store was found to be, and what became of it: facts, and the words a person is told."""

from __future__ import annotations

import msgspec

from helix_desktop.context.digest import count_text
from helix_desktop.context.errors import StoreMended
from helix_desktop.context.signs import revealed_name

_NAMED = 5  # lost contents and cut sessions that are told by name


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
        """How it is named to a person."""
        return revealed_name(" ".join(part for part in (self.digest[:12], self.tool, self.target) if part))


class CutSession(msgspec.Struct, frozen=True):
    """A session whose log now ends early: events kept, set aside behind a gap, and not found at all."""

    session: str
    title: str
    kept: int
    aside: int = 0
    lost: int = 0

    @property
    def text(self) -> str:
        """How it is named to a person."""
        return f"{revealed_name(self.title) or self.session[:8]} ends at event {self.kept} of {self.total}"

    @property
    def total(self) -> int:
        """How many events it is known to have had."""
        return self.kept + self.aside + self.lost


class Mending(msgspec.Struct, frozen=True):
    """What was wrong with a store when it was opened, and what is left; `at` in milliseconds since 1970.

    `copy` is the folder of the damaged files as they were found, `aside` that of rows set aside; both may be
    empty. `writes` counts writes that are known to have been made and are gone, `rows` those that cannot be
    read, `vanished` contents of which not even the digest is known. `uncounted`: a file is gone of which
    nobody knows what it held.
    """

    at: int
    wrong: tuple[str, ...]
    entries: int
    sessions: int
    events: int
    contents: tuple[LostContent, ...] = ()
    cut: tuple[CutSession, ...] = ()
    writes: int = 0
    rows: int = 0
    vanished: int = 0
    uncounted: bool = False
    copy: str = ""
    aside: str = ""

    @property
    def whole(self) -> bool:
        """Whether nothing that is known of was lost."""
        return not (self.contents or self.cut or self.writes or self.rows or self.vanished or self.uncounted)

    @property
    def notice(self) -> StoreMended:
        """What a person is told: what happened, what was lost, what to do."""
        kept = (
            f"{count_text(self.entries, 'cached output')}, {count_text(self.sessions, 'session')} and "
            f"{count_text(self.events, 'event')} could be read"
        )
        return StoreMended(
            "This workspace's store was damaged and has been mended."
            if self.copy
            else "This workspace's store lost its newest writes.",
            f"{'; '.join(self.wrong)}. {kept}. {self._losses()}",
            self._advice(),
        )

    def _losses(self) -> str:
        if self.whole:
            return "Nothing was lost."
        said = []
        if self.contents:
            named = _some([one.text for one in self.contents])
            said.append(f"The bytes of {count_text(len(self.contents), 'cached output')} are lost: {named}.")
        if self.cut:
            said.append(f"Sessions that end early: {_some([one.text for one in self.cut])}.")
        if self.writes:
            last = "last write is" if self.writes == 1 else f"last {self.writes:,} writes are"
            said.append(f"The {last} missing.")
        if self.vanished:
            gone = count_text(self.vanished, "cached output")
            said.append(f"Of {gone} nothing is left, not even the hash.")
        if self.uncounted:
            said.append(
                "What the missing files held beyond that is lost, and nobody can say how much it was."
            )
        if self.rows:
            said.append(f"{count_text(self.rows, 'row')} could not be read.")
        return " ".join(said)

    def _advice(self) -> str:
        said = []
        if self.contents:
            said.append("Run again what made a lost output: storing the same bytes heals the entry.")
        if any(one.aside for one in self.cut):
            said.append(f"Events behind a gap are kept as text in {self.aside}.")
        if self.copy:
            said.append(f"The damaged files are kept in {self.copy}; delete them when you miss nothing.")
        said.append("If this comes again, check the disk.")
        return " ".join(said)


def _some(texts: list[str]) -> str:
    more = len(texts) - _NAMED
    return "; ".join(texts[:_NAMED]) + (f"; and {more} more" if more > 0 else "")


class Checked(msgspec.Struct, frozen=True):
    """What a full check of a store found: rows and contents that were verified, and what is wrong.

    Damaged contents heal when they are stored again; `problems` are mended at the next opening.
    """

    rows: int
    contents: int
    damaged: tuple[LostContent, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether everything is as it was written."""
        return not (self.damaged or self.problems)
