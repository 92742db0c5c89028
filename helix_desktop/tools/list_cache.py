"""list_cached_content: what a workspace's cache holds, page by page."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Literal

import msgspec

from helix_desktop.context.content import ContentKind, Entry, Filter, Order, Page, Sort
from helix_desktop.context.digest import ellipsize, size_text
from helix_desktop.context.errors import StoreError, ToolError
from helix_desktop.context.signs import revealed_name
from helix_desktop.context.tool import Progress, ToolResult
from helix_desktop.tools.arguments import Arguments
from helix_desktop.tools.base import Free
from helix_desktop.tools.cache import Cache

_MADE: tuple[ContentKind, ...] = ("output", "argument")  # what tools and agent made: no indexes
_CURSOR = re.compile(r"[!-~]{1,400}")
_NAMED, _QUOTED = 100, 60  # characters
_ORDERS: dict[str, Order] = {
    "newest": "newest",
    "oldest": "oldest",
    "largest": Sort("size", descending=True),
    "last used": Sort("used", descending=True),
}


class ListCacheArguments(Arguments, frozen=True):
    """What list_cached_content takes; `limit` is in entries, `path` a part of what an entry is about."""

    tool: str = ""
    path: str = ""
    order: Literal["newest", "oldest", "largest", "last used"] = "newest"
    limit: Annotated[int, msgspec.Meta(ge=1, le=100)] = 20
    cursor: str = ""


class ListCachedContent(Free):
    """Lists the entries of a cache; it knows no store but its workspace's."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    async def run(self, call_id: str, given: ListCacheArguments, told: Progress) -> ToolResult:
        """A page of entries with their hashes, and how to go on. Raises ToolError."""
        try:
            page = await self._page(given)
            total = (await self._cache.totals()).entries
        except StoreError as error:
            raise ToolError(error.what, error.why, error.fix) from error
        text = "\n".join([_head(given, page), *map(_line, page.entries), _foot(given, page, total)])
        return ToolResult(f"{text}\n".encode(), target=revealed_name(_about(given)))

    async def _page(self, given: ListCacheArguments) -> Page:
        said = given.cursor.strip().strip("\"'`")
        wanted = Filter(tool=given.tool, target=given.path, kinds=_MADE)
        try:
            if said and _CURSOR.fullmatch(said) is None:
                raise ValueError(said)
            return await self._cache.page(said, given.limit, _ORDERS[given.order], wanted=wanted)
        except ValueError as error:
            raise ToolError(
                f"{given.cursor[:80]!r} is not a cursor of this list.",
                fix="Copy it from the answer before, with the same order, or leave it out to begin anew.",
            ) from error


def _about(given: ListCacheArguments) -> str:
    parts = [given.order, f"of {given.tool}" if given.tool else "", f"in {given.path}" if given.path else ""]
    return " ".join(part for part in parts if part)


def _head(given: ListCacheArguments, page: Page) -> str:
    count = len(page.entries)
    what = f"{count} {'entry' if count == 1 else 'entries'}" if count else "No entries"
    asked = f" of {given.tool[:_NAMED]!r}" if given.tool else ""
    path = f" about {given.path[:_NAMED]!r}" if given.path else ""
    return f"{what}{asked}{path}, {given.order} first:" if count else f"{what}{asked}{path}."


def _line(entry: Entry) -> str:
    named = revealed_name(" ".join(part for part in (entry.tool, entry.target) if part)) or entry.kind
    about = named if len(named) <= _NAMED else f"{named[:_NAMED]}…"
    at = datetime.fromtimestamp(entry.created / 1000, UTC).strftime("%Y-%m-%d %H:%M")
    first = f', "{ellipsize(revealed_name(entry.first_line), _QUOTED)}"' if entry.first_line else ""
    return f"{entry.digest} {about}, {size_text(entry.size)}, {entry.tokens:,} tokens, {at} UTC{first}"


def _foot(given: ListCacheArguments, page: Page, total: int) -> str:
    if not total:
        return "Nothing at all is stored in this workspace."
    if page.cursor:
        return f"There are more; to go on: cursor={page.cursor!r}."
    return f"That is all, among {total:,} stored in this workspace."
