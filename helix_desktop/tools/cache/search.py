"""search_cached_content: finds content to recall by the words in it.

The store searches newest first and reads each content. One call stops at a limit; the answer then gives a
cursor to continue from.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import msgspec

from helix_desktop.domain.errors import InvalidInput, StoreError, ToolError
from helix_desktop.domain.store.entries import ContentKind, EntryFilter, SearchResults
from helix_desktop.domain.tools import OutputCallback, ToolResult, ignore_output
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.tools.arguments import Arguments
from helix_desktop.tools.cache.port import Cache, CountTokens
from helix_desktop.tools.cache.search_result import SearchResultText, hit_lines
from helix_desktop.tools.tool import UnguardedTool

NAME = "search_cached_content"
_CURSOR = re.compile(r"[0-9a-f]{2,200}")
_SEARCHED_KINDS: tuple[ContentKind, ...] = (
    "output",
    "argument",
)  # kinds of contents that tools and agent made: no indexes


class SearchCacheArguments(Arguments, frozen=True):
    """The arguments of search_cached_content; `limit` is in hits."""

    query: str
    tool: str = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=50)] = 10
    cursor: str = ""


@dataclass(frozen=True)
class SearchLimits:
    """The limits of one call: bytes read, seconds, tokens of hits. At least one entry is always read."""

    max_bytes: int = 128 * 1024 * 1024
    max_seconds: float = 5.0
    max_tokens: int = 1_600  # the answer's first and last line come on top: under 2,000 in all


class SearchCachedContent(UnguardedTool):
    """Finds stored outputs by words; it has access to its workspace's store only."""

    def __init__(
        self,
        cache: Cache,
        count_tokens: CountTokens,
        limits: SearchLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cache, self._count_tokens = cache, count_tokens
        self._limits, self._clock = limits or SearchLimits(), clock

    async def run(
        self, call_id: str, args: SearchCacheArguments, on_output: OutputCallback = ignore_output
    ) -> ToolResult:
        """Return the hits with their hashes and lines, and how far the search went. Raises ToolError."""
        try:
            results = await self._search(args)
            total = (await self._cache.totals()).entries
            tools = await self._cache.tools() if args.tool and not results.hits else ()
        except (StoreError, InvalidInput) as error:
            raise ToolError(error.what, error.why, error.fix) from error
        hits, cursor = await self._fit_hits(results)
        result_text = SearchResultText(
            args.query, args.tool, bool(args.cursor), hits, results.unreadable, tools, cursor
        )
        target = f"{args.query} in {args.tool}" if args.tool else args.query
        return ToolResult(result_text.text(total).encode(), target=escape_hidden_name(target))

    async def _search(self, args: SearchCacheArguments) -> SearchResults:
        cursor = args.cursor.strip().strip("\"'`")
        if cursor and _CURSOR.fullmatch(cursor) is None:
            raise _invalid_cursor(args.cursor)
        # Its own answers contain every word that was ever searched: they are found only when asked for.
        entry_filter = EntryFilter(
            tool=args.tool, except_tools=() if args.tool else (NAME,), kinds=_SEARCHED_KINDS
        )
        try:
            return await self._cache.search(
                args.query, entry_filter, args.limit, cursor, self._should_continue()
            )
        except ValueError as error:
            raise _invalid_cursor(args.cursor) from error

    def _should_continue(self) -> Callable[[int], bool]:
        """Return a predicate: may another content of this many bytes be read?"""
        deadline, remaining_bytes = self._clock() + self._limits.max_seconds, [self._limits.max_bytes]

        def should_continue(size: int) -> bool:
            remaining_bytes[0] -= size
            return remaining_bytes[0] >= 0 and self._clock() < deadline

        return should_continue

    async def _fit_hits(self, results: SearchResults) -> tuple[list[str], str]:
        """Return the hits that fit, and the next cursor; the first hit is shortened to fit."""
        hits: list[str] = []
        remaining_tokens, cursor = self._limits.max_tokens, ""
        for hit in results.hits:
            lines = hit_lines(hit.entry, hit.sighting)
            counts = await self._count_tokens([f"{line}\n" for line in lines])
            if hits and sum(counts) > remaining_tokens:
                return hits, cursor
            while len(counts) > 1 and sum(counts) > remaining_tokens:
                counts = counts[:-1]
            hits.append("\n".join(lines[: len(counts)]))
            remaining_tokens -= sum(counts)
            cursor = hit.cursor
        return hits, results.cursor


def _invalid_cursor(text: str) -> ToolError:
    return ToolError(
        f"{text[:80]!r} is not a cursor of this search.",
        fix="Copy it from the answer before, or leave it out to begin with the newest.",
    )
