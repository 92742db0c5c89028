"""search_cached_content: finds content to recall by the words in it.

The store searches newest first and reads each content. One call stops at a limit; the answer then gives a
cursor to continue from.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.store.content_reader import ContentReader
from helix_desktop.domain.store.entries import AGENT_KINDS, ContentHit, EntryFilter, SearchResults
from helix_desktop.domain.text_format import format_bytes, pluralize
from helix_desktop.domain.text_search import MatchingLine
from helix_desktop.domain.tools import CountTokens, OutputCallback, ToolResult, ignore_output
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.tools.arguments import Arguments
from helix_desktop.tools.errors import store_errors_as_tool_errors
from helix_desktop.tools.tool import UnguardedTool

_CURSOR = re.compile(r"[0-9a-f]{2,200}")
_MAX_NAME = 100  # characters of a hit's tool and target that are shown
_MAX_QUOTE = 80  # characters of the agent's query that are quoted
_MAX_TOOLS = 12


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


class SearchCachedContent(UnguardedTool[SearchCacheArguments]):
    """Finds stored outputs by words; it has access to its workspace's store only."""

    name = "search_cached_content"
    arguments_type = SearchCacheArguments

    def __init__(
        self,
        contents: ContentReader,
        count_tokens: CountTokens,
        limits: SearchLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._contents, self._count_tokens = contents, count_tokens
        self._limits, self._clock = limits or SearchLimits(), clock

    async def run(
        self, call_id: str, args: SearchCacheArguments, on_output: OutputCallback = ignore_output
    ) -> ToolResult:
        """Return the hits with their hashes and lines, and how far the search went. Raises ToolError."""
        with store_errors_as_tool_errors():
            results = await self._search(args)
            total = (await self._contents.totals()).entries
            tools = await self._contents.tools() if args.tool and not results.hits else ()
        hits, cursor = await self._fit_hits(results)
        results = msgspec.structs.replace(results, cursor=cursor)
        text = "\n".join([_head(args, len(hits)), *hits, _foot(args, results, total, tools)])
        target = f"{args.query} in {args.tool}" if args.tool else args.query
        return ToolResult(f"{text}\n".encode(), target=escape_hidden_name(target))

    async def _search(self, args: SearchCacheArguments) -> SearchResults:
        cursor = args.cursor.strip().strip("\"'`")
        if cursor and _CURSOR.fullmatch(cursor) is None:
            raise _invalid_cursor(args.cursor)
        # Its own answers contain every word that was ever searched: they are found only when asked for.
        entry_filter = EntryFilter(
            tool=args.tool, except_tools=() if args.tool else (self.name,), kinds=AGENT_KINDS
        )
        try:
            return await self._contents.search(
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
            lines = _hit_lines(hit)
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


def _head(args: SearchCacheArguments, hit_count: int) -> str:
    query = _quoted(args.query) + (f" among the outputs of {_quoted(args.tool)}" if args.tool else "")
    return f"{pluralize(hit_count, 'hit')} for {query}:" if hit_count else f"Nothing found for {query}."


def _foot(args: SearchCacheArguments, results: SearchResults, total: int, tools: Sequence[str]) -> str:
    """Return how far the search went, of `total` entries; `tools` are those that have stored outputs."""
    if not total:
        return "Nothing at all is stored in this workspace."
    what = f"outputs of {_quoted(args.tool)}" if args.tool else "outputs"
    older = "older " if args.cursor else ""
    if results.cursor:
        sentences = [f"There are {what} still to be searched; to go on: cursor={results.cursor!r}."]
    else:
        sentences = [f"All {older}{what} were searched, newest first, among {total:,} entries."]
    if results.unreadable:
        sentences.append(f"{results.unreadable:,} skipped as damaged.")
    if args.tool and args.tool not in tools and tools:
        tool_names = [escape_hidden_name(tool)[:_MAX_NAME] for tool in tools[:_MAX_TOOLS] if tool]
        sentences.append(f"There are outputs of {', '.join(tool_names)}.")
    return " ".join(sentences)


def _hit_lines(hit: ContentHit) -> list[str]:
    """Return the lines of a hit: hash, name, size and line count, then the best lines with numbers."""
    entry, matches = hit.entry, hit.matches
    name = escape_hidden_name(" ".join(part for part in (entry.tool, entry.target) if part))
    short_name = name if len(name) <= _MAX_NAME else f"{name[:_MAX_NAME]}…"
    match_text = pluralize(matches.lines, "matching line") if matches.lines else "found in its name only"
    name_and_size = ", ".join(part for part in (short_name, format_bytes(entry.size)) if part)
    return [f"{entry.digest} {name_and_size}: {match_text}", *map(_line, matches.best)]


def _line(match: MatchingLine) -> str:
    position = f"{match.line}, start_char={match.char}" if match.char else f"{match.line}"
    return f"  {position}: {match.excerpt}"


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _MAX_QUOTE else f"{text[:_MAX_QUOTE]}…")
