"""recall_cached_content: getting back what a marker stands for.

A regex is run by ripgrep on its standard input: its engine is linear in the text, so no pattern can hang. A
thread with a time limit could only hide a hanging match, as Python cannot end one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

import msgspec

from helix_desktop.context.content import Entry
from helix_desktop.context.digest import HEX_DIGITS, LEAST_PREFIX, is_prefix, size_text
from helix_desktop.context.errors import ContentForgotten, StoreError, ToolError
from helix_desktop.context.image import LARGEST, image_of
from helix_desktop.context.tool import Progress, ToolResult, unheard
from helix_desktop.tools.arguments import Arguments, Line
from helix_desktop.tools.base import Free
from helix_desktop.tools.cache import Cache, Count
from helix_desktop.tools.matches import find_lines
from helix_desktop.tools.pages import Page, Pages, let_go, lines_in
from helix_desktop.tools.ripgrep import Ripgrep

PAGE_TOKENS = 4_000  # paged recalls matter once recalls are frequent
_NEAR, _NEAR_PREFIX = 5, 4


class RecallArguments(Arguments, frozen=True):
    """What recall_cached_content takes; lines count from 1, start_char counts inside start_line from 0."""

    hash: str
    start_line: Line | None = None
    end_line: Line | None = None
    pattern: str = ""
    max_tokens: Annotated[int, msgspec.Meta(ge=100, le=16_000)] = PAGE_TOKENS
    start_char: Annotated[int, msgspec.Meta(ge=0)] = 0


class RecallCachedContent(Free):
    """Gives cached content back: whole, lines, or what a regex finds; long content in pages."""

    def __init__(self, cache: Cache, count: Count, ripgrep: Ripgrep) -> None:
        self._cache, self._count, self._ripgrep = cache, count, ripgrep

    async def run(self, call_id: str, given: RecallArguments, told: Progress = unheard) -> ToolResult:
        """The content, or a page of it. Raises ToolError."""
        digest = await self._resolve(given.hash)
        try:
            data, entry = await self._cache.get(digest), await self._cache.entry(digest)
        except StoreError as error:
            raise ToolError(error.what, error.why, error.fix) from error
        about = f"{entry.tool} {entry.target}".strip() or f"{digest[:12]}…"
        image = image_of(data, digest, entry.target) if len(data) <= LARGEST else None
        if image is not None:
            shown = f"{_name(entry)}: {image.about}."
            return ToolResult(data, target=about, shown=shown, recalled=digest, image=image)
        lines = await asyncio.to_thread(lines_in, data)
        choose = self._matches if given.pattern else self._lines
        try:
            shown = await choose(lines, entry, given) if lines else f"{_name(entry)} is empty (0 bytes)."
        finally:
            await asyncio.to_thread(let_go, lines)
        return ToolResult(data, target=about, shown=shown, recalled=digest)

    async def _resolve(self, said: str) -> str:
        prefix = said.strip().strip("\"'`").rstrip("….").lower()
        if not is_prefix(prefix) or not LEAST_PREFIX <= len(prefix) <= HEX_DIGITS:
            raise ToolError(
                f"{said[:80]!r} is not a hash of cached content.",
                "A hash is the 64 hex digits in a [CACHED] marker, or at least its first 8.",
                "Copy it from the marker.",
            )
        found = await self._cache.find(prefix, _NEAR + 1)
        if len(found) == 1:
            return found[0]
        if not found and len(prefix) == HEX_DIGITS:
            await self._check_forgotten(prefix)
        raise await self._not_one(prefix, found)

    async def _check_forgotten(self, digest: str) -> None:
        """Raises ToolError for what the person had removed, naming what an index entry became without it."""
        try:
            await self._cache.get(digest)
        except ContentForgotten as error:
            raise ToolError(error.what, error.why, error.fix) from error
        except StoreError:
            pass

    async def _not_one(self, prefix: str, found: list[str]) -> ToolError:
        near = await self._described(found[:_NEAR] or await self._cache.find(prefix[:_NEAR_PREFIX], _NEAR))
        if found:
            more = " and more" if len(found) > _NEAR else ""
            return ToolError(f"{prefix} fits several cached contents: {near}{more}.", fix="Give more digits.")
        return ToolError(
            f"This workspace's cache holds nothing under {prefix}.",
            f"Near matches here: {near}." if near else "Nothing here begins alike.",
            "Copy the hash from a [CACHED] marker or an index here; another workspace's cannot be read.",
        )

    async def _described(self, digests: Sequence[str]) -> str:
        said = []
        for digest in digests:
            try:
                entry = await self._cache.entry(digest)
            except StoreError:
                continue
            said.append(f"{digest} ({entry.tool} {entry.target}, {size_text(entry.size)})")
        return "; ".join(said)

    async def _lines(self, lines: list[str], entry: Entry, given: RecallArguments) -> str:
        first, last = _range(lines, given)
        pages = Pages(_part(lines, 1, last), given.max_tokens, self._count)
        page = await pages.starting(first, given.start_char)
        if page.is_all and first == 1 and last == len(lines):
            return ""
        return f"{_name(entry)}, {len(lines):,} lines in all. {_where(page, given)}\n{page.text}"

    async def _matches(self, lines: list[str], entry: Entry, given: RecallArguments) -> str:
        first, last = _range(lines, given)
        asked = f"{given.pattern!r} in lines {first}-{last}"
        found = await find_lines(self._ripgrep, _part(lines, first, last), first, given.pattern)
        if not found.count:
            return f"{_name(entry)}: no line matches {asked}."
        page = await Pages([row.shown for row in found.rows], given.max_tokens, self._count).starting(1, 0)
        # A row that is cut inside is shown as far as the page goes: to begin with it again would not end.
        left = found.rows[page.next_line - (0 if page.next_char else 1) :] if page.next_line else []
        following = next((row.number for row in left if row.number), 0)
        end = f", end_line={given.end_line}" if given.end_line else ""
        cut = f" Next: start_line={following}{end}." if following else ""
        over = "" if found.complete else "over "
        said = f"{over}{found.count:,} matching line{'s' * (found.count != 1)}"
        return f"{_name(entry)}: {said} for {asked}.{cut}\n{page.text}"


def _range(lines: list[str], given: RecallArguments) -> tuple[int, int]:
    """The first and the last line that are asked for. Raises ToolError when there are none."""
    first, last = given.start_line or 1, min(given.end_line or len(lines), len(lines))
    if first > len(lines) or last < first:
        raise ToolError(
            f"There are no lines {first} to {given.end_line or 'the end'}.",
            f"The content has {len(lines):,} lines.",
        )
    return first, last


def _part(lines: list[str], first: int, last: int) -> list[str]:
    """Some lines, from 1 on; all of them are not copied."""
    return lines if (first, last) == (1, len(lines)) else lines[first - 1 : last]


def _name(entry: Entry) -> str:
    about = f"{entry.tool} {entry.target}".strip() or entry.kind
    return f"Recalled {entry.digest[:12]}… ({about}, {size_text(entry.size)})"


def _where(page: Page, given: RecallArguments) -> str:
    end = f", end_line={given.end_line}" if given.end_line else ""
    at = f", start_char={page.next_char}" if page.next_char else ""
    follows = f"; next: start_line={page.next_line}{at}{end}" if page.next_line else ""
    inside = f" from character {page.first_char}" if page.first_char else ""
    return f"Lines {page.first}-{page.last}{inside}, page {page.number} of {page.count}{follows}."
