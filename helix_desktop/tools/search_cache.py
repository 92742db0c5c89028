"""search_cached_content: finding what to recall by the words it holds (CONTEXT.md 3.1).

The store is read newest first, each content verified, until a bound is reached; the answer then says how much
is left and gives a cursor to go on from.
"""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import msgspec

from helix_desktop.context.content import Entry, Page
from helix_desktop.context.errors import ContentDamaged, DigestUnknown, StoreError, ToolError
from helix_desktop.context.signs import revealed_name
from helix_desktop.context.tool import ToolResult
from helix_desktop.tools.arguments import Arguments
from helix_desktop.tools.base import Free
from helix_desktop.tools.recall import Cache, Count
from helix_desktop.tools.search_answer import Tally, hit_lines
from helix_desktop.tools.sighting import Sighting, look
from helix_desktop.tools.words import words_of

NAME = "search_cached_content"
_PAGE = 200  # entries asked of the store at once
_CURSOR = re.compile(r"(\d{1,12})-([0-9a-f]{2,200})")


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

    async def run(self, call_id: str, given: SearchCacheArguments) -> ToolResult:
        """The hits with their hashes and lines, and how far it has looked. Raises ToolError."""
        search = _Search(self._cache, self._count, self._bounds, self._clock, given)
        try:
            tally = await search.walk()
            total = (await self._cache.totals()).entries
        except StoreError as error:
            raise ToolError(error.what, error.why, error.fix) from error
        about = f"{given.query} in {given.tool}" if given.tool else given.query
        return ToolResult(tally.answer(total).encode(), target=revealed_name(about))


class _Search:
    """One call: a walk over the entries from the cursor on, until something is used up. Raises ToolError."""

    def __init__(
        self,
        cache: Cache,
        count: Count,
        bounds: Bounds,
        clock: Callable[[], float],
        given: SearchCacheArguments,
    ) -> None:
        self._cache, self._count, self._bounds, self._clock = cache, count, bounds, clock
        self._given = given
        self._words = words_of(given.query)
        before, self._start = _place(given.cursor)
        self._tally = Tally(given.query, given.tool, before)
        self._deadline = clock() + bounds.seconds
        self._size = self._tokens = 0

    async def walk(self) -> Tally:
        """Look at entries, newest first. Raises StoreError."""
        cursor = self._start
        while True:
            page = await self._page(cursor, _PAGE)
            for place, entry in enumerate(page.entries):
                if not await self._look(entry):
                    key = (await self._page(cursor, place)).cursor if place else cursor
                    self._tally.cursor = f"{self._tally.passed}-{key}"
                    return self._tally
            if not page.cursor:
                return self._tally
            cursor = page.cursor

    async def _page(self, cursor: str, limit: int) -> Page:
        try:
            return await self._cache.page(cursor, limit)
        except ValueError as error:
            raise _no_cursor(self._given.cursor) from error

    async def _look(self, entry: Entry) -> bool:
        """Search one entry; False when it has to wait for the next call."""
        wanted = self._wants(entry)
        if self._tally.looked and self._enough(entry.size if wanted else 0):
            return False
        if wanted:
            try:
                sighting = await self._sighting(entry)
            except (ContentDamaged, DigestUnknown):
                self._tally.unreadable += 1
            else:
                if sighting is not None and not await self._take(hit_lines(entry, sighting)):
                    return False
                self._tally.searched += 1
                self._size += entry.size
        self._tally.looked += 1
        return True

    def _wants(self, entry: Entry) -> bool:
        """Whether to search it: no index, and this tool's own answers only when they are asked for."""
        if entry.kind == "index":
            return False
        self._tally.tools.add(entry.tool)
        return entry.tool == self._given.tool if self._given.tool else entry.tool != NAME

    def _enough(self, size: int) -> bool:
        full = len(self._tally.hits) >= self._given.limit or self._size + size > self._bounds.size
        return full or self._clock() >= self._deadline

    async def _sighting(self, entry: Entry) -> Sighting | None:
        data = await self._cache.get(entry.digest)
        about = f"{entry.tool} {entry.target}\n{entry.first_line}"
        stopped = threading.Event()
        try:
            return await asyncio.to_thread(look, self._words, data, about, lambda: not stopped.is_set())
        finally:
            stopped.set()  # cancelling does not end a thread

    async def _take(self, lines: list[str]) -> bool:
        """Take a hit if there is room for it; the first one loses lines rather than wait for ever."""
        counts = await self._count([f"{line}\n" for line in lines])
        room = self._bounds.tokens - self._tokens
        if self._tally.hits and sum(counts) > room:
            return False
        while len(counts) > 1 and sum(counts) > room:
            counts = counts[:-1]
        self._tally.hits.append("\n".join(lines[: len(counts)]))
        self._tokens += sum(counts)
        return True


def _place(cursor: str) -> tuple[int, str]:
    """How many entries were looked at before, and the store's own cursor. Raises ToolError."""
    if not cursor:
        return 0, ""
    found = _CURSOR.fullmatch(cursor.strip().strip("\"'`"))
    if found is None:
        raise _no_cursor(cursor)
    return int(found[1]), found[2]


def _no_cursor(said: str) -> ToolError:
    return ToolError(
        f"{said[:80]!r} is not a cursor of this search.",
        fix="Copy it from the answer before, or leave it out to begin with the newest.",
    )
