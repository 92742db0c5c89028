"""The text of a cache search for the agent: hits, how far it went, what it skipped, how to continue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from helix_desktop.domain.digest import format_bytes
from helix_desktop.domain.store.entries import CacheEntry
from helix_desktop.domain.text_search import MatchingLine, MatchSummary
from helix_desktop.domain.unicode_safety import escape_hidden_name

_MAX_NAME = 100  # characters of a hit's tool and target that are shown
_MAX_QUOTE = 80  # characters of the agent's query that are quoted
_MAX_TOOLS = 12


@dataclass(frozen=True)
class SearchResultText:
    """The result of a call; `is_continued`: it continued another; `cursor`: there is more to search.

    `tools` are the names that a search limited to one tool's outputs could have used instead.
    """

    query: str
    tool: str
    is_continued: bool
    hits: Sequence[str]
    unreadable: int
    tools: Sequence[str]
    cursor: str

    def text(self, total: int) -> str:
        """Return the full answer; `total` is the number of stored entries."""
        return "\n".join([self._head(), *self.hits, self._foot(total)]) + "\n"

    def _head(self) -> str:
        query_text = _quoted(self.query) + (
            f" among the outputs of {_quoted(self.tool)}" if self.tool else ""
        )
        hits = len(self.hits)
        return f"{_pluralize(hits, 'hit')} for {query_text}:" if hits else f"Nothing found for {query_text}."

    def _foot(self, total: int) -> str:
        if not total:
            return "Nothing at all is stored in this workspace."
        what = f"outputs of {_quoted(self.tool)}" if self.tool else "outputs"
        older = "older " if self.is_continued else ""
        if self.cursor:
            sentences = [f"There are {what} still to be searched; to go on: cursor={self.cursor!r}."]
        else:
            sentences = [f"All {older}{what} were searched, newest first, among {total:,} entries."]
        if self.unreadable:
            sentences.append(f"{self.unreadable:,} skipped as damaged.")
        if self.tool and self.tool not in self.tools and self.tools:
            tool_names = [escape_hidden_name(tool)[:_MAX_NAME] for tool in self.tools[:_MAX_TOOLS] if tool]
            sentences.append(f"There are outputs of {', '.join(tool_names)}.")
        return " ".join(sentences)


def hit_lines(entry: CacheEntry, sighting: MatchSummary) -> list[str]:
    """Return the lines of a hit: hash, name, size and line count, then the best lines with numbers."""
    name = escape_hidden_name(" ".join(part for part in (entry.tool, entry.target) if part))
    short_name = name if len(name) <= _MAX_NAME else f"{name[:_MAX_NAME]}…"
    match_text = _pluralize(sighting.lines, "matching line") if sighting.lines else "found in its name only"
    name_and_size = ", ".join(part for part in (short_name, format_bytes(entry.size)) if part)
    return [f"{entry.digest} {name_and_size}: {match_text}", *map(_line, sighting.best)]


def _line(spot: MatchingLine) -> str:
    position = f"{spot.line}, start_char={spot.char}" if spot.char else f"{spot.line}"
    return f"  {position}: {spot.excerpt}"


def _pluralize(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _MAX_QUOTE else f"{text[:_MAX_QUOTE]}…")
