"""What a search of the cache tells the agent: its hits, how far it went, what it left out, how to go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from helix_desktop.context.content import Entry
from helix_desktop.context.digest import size_text
from helix_desktop.context.sighting import Sighting, Spot
from helix_desktop.context.signs import revealed_name

_NAMED = 100  # characters of a hit's tool and target that are shown
_ECHO = 80  # characters of the agent's own words that are said back
_MOST_TOOLS = 12


@dataclass(frozen=True)
class Answer:
    """What a call found; `older` says that it went on from another, `cursor` that there is more to look at.

    `tools` are those that a search among the outputs of one tool could have named instead.
    """

    query: str
    tool: str
    older: bool
    hits: Sequence[str]
    unreadable: int
    tools: Sequence[str]
    cursor: str

    def text(self, total: int) -> str:
        """The whole answer, when so many entries are stored."""
        return "\n".join([self._head(), *self.hits, self._foot(total)]) + "\n"

    def _head(self) -> str:
        asked = _quoted(self.query) + (f" among the outputs of {_quoted(self.tool)}" if self.tool else "")
        hits = len(self.hits)
        return f"{_counted(hits, 'hit')} for {asked}:" if hits else f"Nothing found for {asked}."

    def _foot(self, total: int) -> str:
        if not total:
            return "Nothing at all is stored in this workspace."
        what = f"outputs of {_quoted(self.tool)}" if self.tool else "outputs"
        older = "older " if self.older else ""
        if self.cursor:
            said = [f"There are {what} still to be searched; to go on: cursor={self.cursor!r}."]
        else:
            said = [f"All {older}{what} were searched, newest first, among {total:,} entries."]
        if self.unreadable:
            said.append(f"{self.unreadable:,} skipped as damaged.")
        if self.tool and self.tool not in self.tools and self.tools:
            known = [revealed_name(tool)[:_NAMED] for tool in self.tools[:_MOST_TOOLS] if tool]
            said.append(f"There are outputs of {', '.join(known)}.")
        return " ".join(said)


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
