"""list_cached_content: lists a workspace's cache, page by page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal

import msgspec

from helix_desktop.context.window.usage_gauge import content_tokens
from helix_desktop.domain.digest import HEX_DIGITS, SHORT_DIGITS
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.store.content_reader import ContentReader
from helix_desktop.domain.store.entries import (
    AGENT_KINDS,
    CacheEntry,
    EntryFilter,
    EntryOrder,
    EntryPage,
    EntrySort,
)
from helix_desktop.domain.text_format import ellipsize, format_bytes
from helix_desktop.domain.tools import OutputCallback, ToolResult
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.tools.cache.origins import CallingSession, Origins
from helix_desktop.tools.errors import store_errors_as_tool_errors
from helix_desktop.tools.tool import Arguments, UnguardedTool

_CURSOR = re.compile(r"[!-~]{1,400}")
_MAX_NAME, _MAX_FIRST_LINE = 100, 60  # characters
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
        self._contents, self._session = contents, session

    async def run(self, call_id: str, args: ListCacheArguments, on_output: OutputCallback) -> ToolResult:
        """Return a page of entries with their hashes, and the next cursor. Raises ToolError."""
        with store_errors_as_tool_errors():
            page = await self._page(args)
            total = (await self._contents.totals()).entries
            lines = await self._lines(page.entries)
        text = "\n".join([_head(args, page), *lines, _foot(page, total)])
        return ToolResult(f"{text}\n".encode(), target=escape_hidden_name(_about(args)))

    async def _lines(self, entries: Sequence[CacheEntry]) -> list[str]:
        """Return a line for each entry: for an agent with as many digits as tell it apart, event and age."""
        origins = Origins(self._contents, self._session)
        lines = []
        for entry in entries:
            if self._session is None:
                lines.append(_line(entry, entry.digest, _minute(entry), ""))
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
            if cursor and _CURSOR.fullmatch(cursor) is None:
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


def _head(args: ListCacheArguments, page: EntryPage) -> str:
    count = len(page.entries)
    count_text = f"{count} {'entry' if count == 1 else 'entries'}" if count else "No entries"
    tool_text = f" of {args.tool[:_MAX_NAME]!r}" if args.tool else ""
    path_text = f" about {args.path[:_MAX_NAME]!r}" if args.path else ""
    return (
        f"{count_text}{tool_text}{path_text}, {args.order} first:"
        if count
        else f"{count_text}{tool_text}{path_text}."
    )


def _line(entry: CacheEntry, handle: str, where: str, change: str) -> str:
    name = escape_hidden_name(" ".join(part for part in (entry.tool, entry.target) if part)) or entry.kind
    label = ellipsize(name, _MAX_NAME)
    line = ellipsize(escape_hidden_name(entry.first_line), _MAX_FIRST_LINE)
    size = f"{format_bytes(entry.size)}, {content_tokens(entry):,} tokens"
    parts = (f"{handle} {label}", size, where, change, f'"{line}"' if line else "")
    return ", ".join(part for part in parts if part)


def _minute(entry: CacheEntry) -> str:
    return f"{datetime.fromtimestamp(entry.created / 1000, UTC):%Y-%m-%d %H:%M} UTC"


def _foot(page: EntryPage, total: int) -> str:
    if not total:
        return "Nothing at all is stored in this workspace."
    if page.cursor:
        return f"There are more; to go on: cursor={page.cursor!r}."
    return f"That is all, among {total:,} stored in this workspace."
