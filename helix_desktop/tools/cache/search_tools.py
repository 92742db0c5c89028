"""search_cached_content and list_cached_content: find content to recall by its words, or page by page.

The store searches newest first and reads each content; what one call found is ranked by how rare the words of
its best line are, then by age. One call stops at a limit; the answer then gives a cursor to continue from.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal

import msgspec

from helix_desktop.context.window.used_tokens import content_tokens
from helix_desktop.domain.digest import CACHE_TOOLS, HEX_DIGITS, SHORT_DIGITS
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.store import (
    AGENT_KINDS,
    CacheEntry,
    ContentReader,
    EntryFilter,
    EntryOrder,
    EntryPage,
    EntrySort,
)
from helix_desktop.domain.text_format import ellipsize, format_bytes, pluralize
from helix_desktop.domain.text_search import parse_query
from helix_desktop.domain.tool_arguments import Arguments
from helix_desktop.domain.tools import CountTokens, OutputCallback, ToolResult, ignore_output
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.tools.cache.entry_search import read_index
from helix_desktop.tools.cache.origins import CallingSession, Origins
from helix_desktop.tools.cache.search_hits import (
    Hit,
    HitWriter,
    find_indexed_words,
    find_words,
    hit_of_content,
    merge_equal,
    newest_searchable_seq,
    rank,
    rank_partial,
)
from helix_desktop.tools.tool import UnguardedTool, store_errors_as_tool_errors

_LIST_CURSOR = re.compile(r"[!-~]{1,400}")
_MAX_ARGUMENT = 100  # characters
_MAX_FIRST_LINE = 60  # characters
_ORDERS: dict[str, EntryOrder] = {
    "newest": "newest",
    "oldest": "oldest",
    "largest": EntrySort("size", descending=True),
    "last used": EntrySort("used", descending=True),
}


class ListCacheArguments(Arguments, frozen=True):
    """The arguments of list_cached_content; `limit` is in entries, `path` a part of an entry's target."""

    tool: str = ""
    path: str = ""
    order: Literal["newest", "oldest", "largest", "last used"] = "newest"
    limit: Annotated[int, msgspec.Meta(ge=1, le=100)] = 20
    cursor: str = ""


class ListCachedContent(UnguardedTool[ListCacheArguments]):
    """Lists the entries of a cache; it has access to its workspace's store only."""

    name = "list_cached_content"
    arguments_type = ListCacheArguments

    def __init__(self, contents: ContentReader, session: CallingSession | None = None) -> None:
        """The session that calls sees by event what arose in it; other programs see whole hashes."""
        self._contents = contents
        self._session = session

    async def run(self, call_id: str, args: ListCacheArguments, on_output: OutputCallback) -> ToolResult:
        """Return a page of entries with their hashes, and the next cursor. Raises ToolError."""
        with store_errors_as_tool_errors():
            page = await self._page(args)
            total = (await self._contents.totals()).entries
            lines = await self._lines(page.entries)
        text = "\n".join([_list_head(args, page), *lines, _list_foot(page, total)])
        return ToolResult(f"{text}\n".encode(), target=escape_hidden_name(_about(args)))

    async def _lines(self, entries: Sequence[CacheEntry]) -> list[str]:
        """Return a line for each entry: for an agent with as many digits as tell it apart, event and age."""
        origins = Origins(self._contents, self._session)
        lines = []
        for entry in entries:
            if self._session is None:
                created = datetime.fromtimestamp(entry.created / 1000, UTC)
                lines.append(_line(entry, entry.digest, f"{created:%Y-%m-%d %H:%M} UTC", ""))
                continue
            digits = SHORT_DIGITS
            while digits < HEX_DIGITS and len(await self._contents.find(entry.digest[:digits], 2)) > 1:
                digits += 4
            origin = await origins.of_content(entry)
            where = ", ".join(part for part in (origin.event, origin.time, origin.session_name) if part)
            lines.append(_line(entry, entry.digest[:digits], where, origin.change))
        return lines

    async def _page(self, args: ListCacheArguments) -> EntryPage:
        cursor = args.cursor.strip().strip("\"'`")
        entry_filter = EntryFilter(tool=args.tool, target=args.path, kinds=AGENT_KINDS)
        try:
            if cursor and _LIST_CURSOR.fullmatch(cursor) is None:
                raise ValueError(cursor)
            return await self._contents.page(
                cursor, args.limit, _ORDERS[args.order], entry_filter=entry_filter
            )
        except ValueError as error:
            raise ToolError(
                f"{args.cursor[:80]!r} is not a cursor of this list.",
                fix="Copy it from the answer before, with the same order, or leave it out to begin anew.",
            ) from error


def _about(args: ListCacheArguments) -> str:
    parts = [args.order, f"of {args.tool}" if args.tool else "", f"in {args.path}" if args.path else ""]
    return " ".join(part for part in parts if part)


def _list_head(args: ListCacheArguments, page: EntryPage) -> str:
    count = len(page.entries)
    tool_text = f" of {args.tool[:_MAX_ARGUMENT]!r}" if args.tool else ""
    path_text = f" about {args.path[:_MAX_ARGUMENT]!r}" if args.path else ""
    if not count:
        return f"No entries{tool_text}{path_text}."
    noun = "entry" if count == 1 else "entries"
    return f"{count} {noun}{tool_text}{path_text}, {args.order} first:"


def _line(entry: CacheEntry, handle: str, where: str, change: str) -> str:
    name = escape_hidden_name(" ".join(part for part in (entry.tool, entry.target) if part)) or entry.kind
    label = ellipsize(name, _MAX_ARGUMENT)
    line = ellipsize(escape_hidden_name(entry.first_line), _MAX_FIRST_LINE)
    size = f"{format_bytes(entry.size)}, {content_tokens(entry):,} tokens"
    parts = (f"{handle} {label}", size, where, change, f'"{line}"' if line else "")
    return ", ".join(part for part in parts if part)


def _list_foot(page: EntryPage, total: int) -> str:
    if not total:
        return "Nothing at all is stored in this workspace."
    if page.cursor:
        return f"There are more; to go on: cursor={page.cursor!r}."
    return f"That is all, among {total:,} stored in this workspace."


_CURSOR = re.compile(r"([0-9a-f]{1,16})\.([0-9a-f]{1,16})\.([0-9a-f]{1,8})\.([0-9a-f]{0,200})")
_BATCH = 50  # hits that are ranked together
_MAX_INDEXES = 20  # indexes of other sessions that are read for what was said
_MAX_NAME = 100  # characters of a tool's name
_MAX_QUOTE = 80  # characters of the agent's query that are quoted
_MAX_TOOLS = 12


class SearchCacheArguments(Arguments, frozen=True):
    """The arguments of search_cached_content; `limit` is in hits."""

    query: str
    tool: str = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=50)] = 10
    cursor: str = ""


class SearchLimits(msgspec.Struct, frozen=True):
    """The limits of one call: bytes read, seconds, tokens of hits. At least one entry is always read."""

    max_bytes: int = 128 * 1024 * 1024
    max_seconds: float = 5.0
    max_tokens: int = 1_600  # the answer's first and last line come on top: under 2,000 in all


class SearchPosition(msgspec.Struct, frozen=True):
    """How far the answers before went, as a cursor tells it.

    What is newer than `until` (milliseconds since 1970; 0: nothing is) and than event `upto` is left out, so
    that the ranking stays; `skip` hits were in earlier answers; `cursor` is the store's.
    """

    until: int = 0
    upto: int = 0
    skip: int = 0
    cursor: str = ""

    @property
    def text(self) -> str:
        return f"{self.until:x}.{self.upto:x}.{self.skip:x}.{self.cursor}"


class SearchOutcome(msgspec.Struct, frozen=True):
    """Ranked hits, the store's cursor behind them, and whether they have only some of the words."""

    hits: tuple[Hit, ...]
    cursor: str = ""
    unreadable: int = 0
    is_partial: bool = False
    newest_ms: int = 0


class SearchCachedContent(UnguardedTool[SearchCacheArguments]):
    """Finds outputs, and words of the calling session; it has access to its workspace's store only."""

    name = "search_cached_content"
    arguments_type = SearchCacheArguments

    def __init__(
        self,
        contents: ContentReader,
        count_tokens: CountTokens,
        limits: SearchLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
        session: CallingSession | None = None,
    ) -> None:
        self._contents = contents
        self._count_tokens = count_tokens
        self._limits = limits or SearchLimits()
        self._clock = clock
        self._session = session

    async def run(
        self, call_id: str, args: SearchCacheArguments, on_output: OutputCallback = ignore_output
    ) -> ToolResult:
        """Return the hits with their hashes and lines, and how far the search went. Raises ToolError."""
        position = _position(args)
        origins = Origins(self._contents, self._session)
        with store_errors_as_tool_errors():
            outcome = await self._search(args, position, origins)
            total = (await self._contents.totals()).entries
            tools = await self._contents.tools() if args.tool and not outcome.hits else ()
            hits = merge_equal(outcome.hits)[position.skip :]
            writer = HitWriter(self._contents, origins, self._count_tokens)
            texts = await writer.write(hits[: args.limit], self._limits.max_tokens)
        following = self._next_position(position, outcome, len(texts), len(hits))
        text = "\n".join(
            [
                _head(args, len(texts), outcome.is_partial),
                *texts,
                _foot(args, outcome, following, total, tools),
            ]
        )
        target = f"{args.query} in {args.tool}" if args.tool else args.query
        return ToolResult(f"{text}\n".encode(), target=escape_hidden_name(target))

    def _next_position(
        self, position: SearchPosition, outcome: SearchOutcome, count: int, left: int
    ) -> SearchPosition | None:
        """Return where the next answer begins; None if there is no more."""
        until = position.until or outcome.newest_ms
        upto = position.upto or self._upto()
        if count < left:
            return SearchPosition(until, upto, position.skip + count, position.cursor)
        return SearchPosition(until, upto, 0, outcome.cursor) if outcome.cursor else None

    def _upto(self) -> int:
        return newest_searchable_seq(self._session.transcript) if self._session is not None else 0

    async def _search(
        self, args: SearchCacheArguments, position: SearchPosition, origins: Origins
    ) -> SearchOutcome:
        entry_filter = EntryFilter(
            tool=args.tool,
            # Their answers hold words that were searched, or copies: they are found only when asked for.
            except_tools=() if args.tool else CACHE_TOOLS,
            kinds=AGENT_KINDS,
            until=position.until or None,
        )
        terms = parse_query(args.query)
        should_continue = self._should_continue()
        try:
            results = await self._contents.search(
                args.query, entry_filter, max(_BATCH, args.limit), position.cursor, should_continue
            )
        except ValueError as error:
            raise _invalid_cursor(args.cursor) from error
        hits = [hit_of_content(hit, terms) for hit in results.hits]
        if not position.cursor and not args.tool and self._session is not None:
            upto = position.upto or self._upto()
            words = await asyncio.to_thread(find_words, self._session.transcript, upto, terms, len(terms))
            hits += words
        if not position.cursor and not args.tool:
            hits += await self._words_elsewhere(args.query, terms, position, origins, should_continue)
        newest_ms = max((hit.entry.created for hit in results.hits), default=0)
        if not hits and not results.cursor and not args.cursor and len(terms) > 1:
            return await self._search_parts(terms, entry_filter, args, should_continue)
        ranked = rank(hits)
        return SearchOutcome(tuple(ranked), results.cursor, results.unreadable, newest_ms=newest_ms)

    async def _words_elsewhere(
        self,
        query: str,
        terms: Sequence[str],
        position: SearchPosition,
        origins: Origins,
        should_continue: Callable[[int], bool],
    ) -> list[Hit]:
        """Return the messages of other sessions with all words, as far as indexes hold them; each once."""
        index_filter = EntryFilter(kinds=("index",), until=position.until or None)
        results = await self._contents.search(query, index_filter, _MAX_INDEXES, "", should_continue)
        hits: dict[object, Hit] = {}
        for found in results.hits:
            if not origins.is_of_caller(session_id := origins.session_of_index(found.entry)):
                lines, _ = await read_index(self._contents, origins, found.entry.digest)
                shared = await origins.shared_end(session_id)  # found in the caller's own log already
                lines = [line for line in lines if line.seq > shared or not line.seq]
                words = await asyncio.to_thread(find_indexed_words, found.entry, lines, terms)
                hits |= {hit.key: hit for hit in words if hit.key not in hits}
        return list(hits.values())

    async def _search_parts(
        self,
        terms: Sequence[str],
        entry_filter: EntryFilter,
        args: SearchCacheArguments,
        should_continue: Callable[[int], bool],
    ) -> SearchOutcome:
        """Return the contents and messages with the rarest of the words, as nothing has all of them."""
        hits_by_term: dict[str, list[Hit]] = {}
        for term in terms:
            query = f'"{term}"' if " " in term else term
            results = await self._contents.search(query, entry_filter, _BATCH, "", should_continue)
            hits_by_term[term] = [hit_of_content(hit, (term,)) for hit in results.hits]
            if not args.tool and self._session is not None:
                transcript = self._session.transcript
                hits_by_term[term] += await asyncio.to_thread(
                    find_words, transcript, self._upto(), (term,), 1
                )
        return SearchOutcome(tuple(rank_partial(hits_by_term)), is_partial=True)

    def _should_continue(self) -> Callable[[int], bool]:
        """Return a predicate: may another content of this many bytes be read?"""
        deadline = self._clock() + self._limits.max_seconds
        remaining_bytes = [self._limits.max_bytes]

        def should_continue(size: int) -> bool:
            remaining_bytes[0] -= size
            return remaining_bytes[0] >= 0 and self._clock() < deadline

        return should_continue


def _position(args: SearchCacheArguments) -> SearchPosition:
    cursor = args.cursor.strip().strip("\"'`")
    if not cursor:
        return SearchPosition()
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise _invalid_cursor(args.cursor)
    until, upto, skip = (int(part, 16) for part in match.groups()[:3])
    if max(until, upto) >= 1 << 53:
        raise _invalid_cursor(args.cursor)
    return SearchPosition(until, upto, skip, match[4])


def _invalid_cursor(text: str) -> ToolError:
    return ToolError(
        f"{text[:80]!r} is not a cursor of this search.",
        fix="Copy it from the answer before, or leave it out to begin with the newest.",
    )


def _head(args: SearchCacheArguments, hit_count: int, is_partial: bool) -> str:
    query = _quoted(args.query) + (f" among the outputs of {_quoted(args.tool)}" if args.tool else "")
    if not hit_count:
        return f"Nothing found for {query}."
    if is_partial:
        hits_text = pluralize(hit_count, "hit")
        return f"Nothing has all of {query}; {hits_text} with some of it, the rarest words first:"
    return f"{pluralize(hit_count, 'hit')} for {query}:"


def _foot(
    args: SearchCacheArguments,
    outcome: SearchOutcome,
    following: SearchPosition | None,
    total: int,
    tools: Sequence[str],
) -> str:
    """Return how far the search went, of `total` entries; `tools` are those that have outputs."""
    if not total and not outcome.hits:
        return "Nothing at all is stored in this workspace."
    what = f"outputs of {_quoted(args.tool)}" if args.tool else "outputs"
    older = "older " if args.cursor else ""
    if following is not None and not outcome.is_partial:
        more = "hits" if following.skip else f"{what} still to be searched"
        sentences = [f"There are more {more}; to go on: cursor={following.text!r}."]
    else:
        sentences = [f"All {older}{what} were searched, among {total:,} entries."]
    if outcome.unreadable:
        sentences.append(f"{outcome.unreadable:,} skipped as damaged.")
    if args.tool and args.tool not in tools and tools:
        tool_names = [escape_hidden_name(tool)[:_MAX_NAME] for tool in tools[:_MAX_TOOLS] if tool]
        sentences.append(f"There are outputs of {', '.join(tool_names)}.")
    return " ".join(sentences)


def _quoted(text: str) -> str:
    return repr(ellipsize(text, _MAX_QUOTE))
