"""What a search of the cache tells the agent: its hits, how far it went, what it left out, how to go on."""

from __future__ import annotations

from dataclasses import dataclass, field

from helix_desktop.context.content import Entry
from helix_desktop.context.digest import size_text
from helix_desktop.context.sighting import Sighting, Spot
from helix_desktop.context.signs import revealed_name

_NAMED = 100  # characters of a hit's tool and target that are shown
_ECHO = 80  # characters of the agent's own words that are said back
_MOST_TOOLS = 12


@dataclass
class Tally:
    """What a call has done so far; `before` entries were looked at by the calls that it goes on from."""

    query: str
    tool: str
    before: int
    looked: int = 0
    searched: int = 0
    unreadable: int = 0
    hits: list[str] = field(default_factory=list)
    tools: set[str] = field(default_factory=set)
    cursor: str = ""

    @property
    def passed(self) -> int:
        """The entries looked at in all."""
        return self.before + self.looked

    def answer(self, total: int) -> str:
        """The whole answer, when so many entries are stored."""
        return "\n".join([self._head(), *self.hits, self._foot(total)]) + "\n"

    def _head(self) -> str:
        asked = _quoted(self.query) + (f" among the outputs of {_quoted(self.tool)}" if self.tool else "")
        hits = len(self.hits)
        return f"{_counted(hits, 'hit')} for {asked}:" if hits else f"Nothing found for {asked}."

    def _foot(self, total: int) -> str:
        if not self.looked:
            return f"Nothing {'older' if self.before else 'at all'} is stored in this workspace."
        said = [self._share(total)]
        if self.tool and not self.searched and self.tools:
            said.append(f"Tools seen: {', '.join(sorted(self.tools)[:_MOST_TOOLS])}.")
        if self.cursor:
            left = max(0, total - self.passed)
            said.append(f"{left:,} not looked at; to go on: cursor={self.cursor!r}.")
        return " ".join(said)

    def _share(self, total: int) -> str:
        """What was searched, and what was not for which reason."""
        said = [
            f"Looked at entries {self.before + 1:,}-{self.passed:,} of {total:,}, newest first",
            f"{self.searched:,} searched",
        ]
        out = self.looked - self.searched - self.unreadable
        others = "other tools, " if self.tool else ""
        said += [f"{out:,} left out ({others}indexes, answers of this search)"] if out else []
        said += [f"{self.unreadable:,} skipped as damaged"] if self.unreadable else []
        return f"{said[0]}: {', '.join(said[1:])}."


def hit_lines(entry: Entry, sighting: Sighting) -> list[str]:
    """A hit: its hash, name, size and count of lines, then the best of these with their numbers."""
    named = revealed_name(" ".join(part for part in (entry.tool, entry.target) if part))
    about = named if len(named) <= _NAMED else f"{named[:_NAMED]}…"
    said = _counted(sighting.lines, "matching line") if sighting.lines else "found in its name only"
    named_size = ", ".join(part for part in (about, size_text(entry.size)) if part)
    return [f"{entry.digest} {named_size}: {said}", *map(_line, sighting.best)]


def _line(spot: Spot) -> str:
    at = f"{spot.line}, start_char={spot.char}" if spot.char else f"{spot.line}"
    return f"  {at}: {spot.excerpt}"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _ECHO else f"{text[:_ECHO]}…")
