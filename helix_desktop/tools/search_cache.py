"""search_cached_content: finding what to recall by the words it holds.

The store says what holds the words, newest first, each content read to see them. One call ends at a bound;
the answer then gives a cursor to go on from.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import msgspec

from helix_desktop.context.content import ContentKind, Filter, Found
from helix_desktop.context.errors import InputUnusable, StoreError, ToolError
from helix_desktop.context.signs import revealed_name
from helix_desktop.context.tool import Progress, ToolResult, unheard
from helix_desktop.tools.arguments import Arguments
from helix_desktop.tools.base import Free
from helix_desktop.tools.cache import Cache, Count
from helix_desktop.tools.search_answer import Answer, hit_lines

NAME = "search_cached_content"
_CURSOR = re.compile(r"[0-9a-f]{2,200}")
_MADE: tuple[ContentKind, ...] = (
    "output",
    "argument",
)  # kinds of contents that tools and agent made: no indexes


class SearchCacheArguments(Arguments, frozen=True):
    """What search_cached_content takes; `limit` is in hits."""

    query: str
    tool: str = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=50)] = 10
    cursor: str = ""


@dataclass(frozen=True)
class Bounds:
    """How far one call goes: bytes read, seconds, tokens of hits. One entry is always looked at."""

    size: int = 128 * 1024 * 1024
    seconds: float = 5.0
    tokens: int = 1_600  # the answer's first and last line come on top: under 2,000 in all


class SearchCachedContent(Free):
    """Finds stored outputs by words; it knows no store but its workspace's."""

    def __init__(
        self,
        cache: Cache,
        count: Count,
        bounds: Bounds | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cache, self._count = cache, count
        self._bounds, self._clock = bounds or Bounds(), clock

    async def run(self, call_id: str, given: SearchCacheArguments, told: Progress = unheard) -> ToolResult:
        """The hits with their hashes and lines, and how far it has looked. Raises ToolError."""
        try:
            found = await self._found(given)
            total = (await self._cache.totals()).entries
            tools = await self._cache.tools() if given.tool and not found.hits else ()
        except (StoreError, InputUnusable) as error:
            raise ToolError(error.what, error.why, error.fix) from error
        shown, cursor = await self._told(found)
        answer = Answer(given.query, given.tool, bool(given.cursor), shown, found.unreadable, tools, cursor)
        about = f"{given.query} in {given.tool}" if given.tool else given.query
        return ToolResult(answer.text(total).encode(), target=revealed_name(about))

    async def _found(self, given: SearchCacheArguments) -> Found:
        said = given.cursor.strip().strip("\"'`")
        if said and _CURSOR.fullmatch(said) is None:
            raise _no_cursor(given.cursor)
        # Its own answers hold every word that was ever searched: they are found when they are asked for.
        wanted = Filter(tool=given.tool, besides=() if given.tool else (NAME,), kinds=_MADE)
        try:
            return await self._cache.search(given.query, wanted, given.limit, said, self._going())
        except ValueError as error:
            raise _no_cursor(given.cursor) from error

    def _going(self) -> Callable[[int], bool]:
        """Says whether another content of so many bytes is looked at."""
        deadline, left = self._clock() + self._bounds.seconds, [self._bounds.size]

        def going(size: int) -> bool:
            left[0] -= size
            return left[0] >= 0 and self._clock() < deadline

        return going

    async def _told(self, found: Found) -> tuple[list[str], str]:
        """The hits there is room for, and where to go on; the first loses lines rather than wait for ever."""
        told: list[str] = []
        room, cursor = self._bounds.tokens, ""
        for hit in found.hits:
            lines = hit_lines(hit.entry, hit.sighting)
            counts = await self._count([f"{line}\n" for line in lines])
            if told and sum(counts) > room:
                return told, cursor
            while len(counts) > 1 and sum(counts) > room:
                counts = counts[:-1]
            told.append("\n".join(lines[: len(counts)]))
            room -= sum(counts)
            cursor = hit.cursor
        return told, found.cursor


def _no_cursor(said: str) -> ToolError:
    return ToolError(
        f"{said[:80]!r} is not a cursor of this search.",
        fix="Copy it from the answer before, or leave it out to begin with the newest.",
    )
