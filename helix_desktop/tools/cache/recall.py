"""recall_cached_content: returns the content that a marker stands for.

A regex is run by ripgrep on its standard input: its engine is linear in the text, so no pattern can hang. A
thread with a time limit could only hide a hanging match, as Python cannot end one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

import msgspec

from helix_desktop.domain.digest import HEX_DIGITS, MIN_PREFIX, is_digest_prefix
from helix_desktop.domain.errors import ContentRedacted, StoreError, ToolError
from helix_desktop.domain.image import MAX_IMAGE_BYTES, identify_image
from helix_desktop.domain.store.content_reader import ContentReader
from helix_desktop.domain.store.entries import CacheEntry
from helix_desktop.domain.text_format import format_bytes, pluralize
from helix_desktop.domain.tools import CountTokens, OutputCallback, ToolResult, ignore_output
from helix_desktop.tools.arguments import Arguments, Line
from helix_desktop.tools.cache.paging import Paginator, TextPage, decode_lines, release_lines
from helix_desktop.tools.cache.regex_lines import find_lines
from helix_desktop.tools.errors import store_errors_as_tool_errors
from helix_desktop.tools.process.ripgrep import Ripgrep
from helix_desktop.tools.tool import UnguardedTool

PAGE_TOKENS = 4_000  # paged recalls matter once recalls are frequent
_MAX_NEAR, _NEAR_PREFIX = 5, 4


class RecallArguments(Arguments, frozen=True):
    """The arguments of recall_cached_content; lines count from 1, start_char in start_line from 0."""

    hash: str
    start_line: Line | None = None
    end_line: Line | None = None
    pattern: str = ""
    max_tokens: Annotated[int, msgspec.Meta(ge=100, le=16_000)] = PAGE_TOKENS
    start_char: Annotated[int, msgspec.Meta(ge=0)] = 0


class RecallCachedContent(UnguardedTool[RecallArguments]):
    """Returns cached content: all of it, lines, or regex matches; long content in pages."""

    name = "recall_cached_content"
    arguments_type = RecallArguments

    def __init__(self, contents: ContentReader, count_tokens: CountTokens, ripgrep: Ripgrep) -> None:
        self._contents, self._count_tokens, self._ripgrep = contents, count_tokens, ripgrep

    async def run(
        self, call_id: str, args: RecallArguments, on_output: OutputCallback = ignore_output
    ) -> ToolResult:
        """Return the content, or a page of it. Raises ToolError."""
        digest = await self._resolve(args.hash)
        with store_errors_as_tool_errors():
            data, entry = await self._contents.get(digest), await self._contents.entry(digest)
        about = f"{entry.tool} {entry.target}".strip() or f"{digest[:12]}…"
        image = identify_image(data, digest, entry.target) if len(data) <= MAX_IMAGE_BYTES else None
        if image is not None:
            model_text = f"{_name(entry)}: {image.summary}."
            return ToolResult(data, target=about, model_text=model_text, recalled=digest, image=image)
        lines = await asyncio.to_thread(decode_lines, data)
        select_lines = self._matching_lines if args.pattern else self._page_of_lines
        try:
            model_text = (
                await select_lines(lines, entry, args) if lines else f"{_name(entry)} is empty (0 bytes)."
            )
        finally:
            await asyncio.to_thread(release_lines, lines)
        return ToolResult(data, target=about, model_text=model_text, recalled=digest)

    async def _resolve(self, text: str) -> str:
        prefix = text.strip().strip("\"'`").rstrip("….").lower()
        if not is_digest_prefix(prefix) or not MIN_PREFIX <= len(prefix) <= HEX_DIGITS:
            raise ToolError(
                f"{text[:80]!r} is not a hash of cached content.",
                "A hash is the 64 hex digits in a [CACHED] marker, or at least its first 8.",
                "Copy it from the marker.",
            )
        digests = await self._contents.find(prefix, _MAX_NEAR + 1)
        if len(digests) == 1:
            return digests[0]
        if not digests and len(prefix) == HEX_DIGITS:
            await self._check_redacted(prefix)
        raise await self._lookup_error(prefix, digests)

    async def _check_redacted(self, digest: str) -> None:
        """Raise ToolError if the user had it removed, with the new hash of an index entry that named it."""
        try:
            await self._contents.get(digest)
        except ContentRedacted as error:
            raise ToolError(error.what, error.why, error.fix) from error
        except StoreError:
            pass

    async def _lookup_error(self, prefix: str, digests: list[str]) -> ToolError:
        near = await self._describe(
            digests[:_MAX_NEAR] or await self._contents.find(prefix[:_NEAR_PREFIX], _MAX_NEAR)
        )
        if digests:
            more = " and more" if len(digests) > _MAX_NEAR else ""
            return ToolError(f"{prefix} fits several cached contents: {near}{more}.", fix="Give more digits.")
        return ToolError(
            f"This workspace's cache holds nothing under {prefix}.",
            f"Near matches here: {near}." if near else "Nothing here begins alike.",
            "Copy the hash from a [CACHED] marker or an index here; another workspace's cannot be read.",
        )

    async def _describe(self, digests: Sequence[str]) -> str:
        descriptions = []
        for digest in digests:
            try:
                entry = await self._contents.entry(digest)
            except StoreError:
                continue
            descriptions.append(f"{digest} ({entry.tool} {entry.target}, {format_bytes(entry.size)})")
        return "; ".join(descriptions)

    async def _page_of_lines(self, lines: list[str], entry: CacheEntry, args: RecallArguments) -> str:
        first, last = _line_range(lines, args)
        pages = Paginator(_part(lines, 1, last), args.max_tokens, self._count_tokens)
        page = await pages.page_at(first, args.start_char)
        if page.is_only and first == 1 and last == len(lines):
            return ""
        return f"{_name(entry)}, {len(lines):,} lines in all. {_where(page, args)}\n{page.text}"

    async def _matching_lines(self, lines: list[str], entry: CacheEntry, args: RecallArguments) -> str:
        first, last = _line_range(lines, args)
        query = f"{args.pattern!r} in lines {first}-{last}"
        matches = await find_lines(self._ripgrep, _part(lines, first, last), first, args.pattern)
        if not matches.count:
            return f"{_name(entry)}: no line matches {query}."
        page = await Paginator(
            [row.text for row in matches.lines], args.max_tokens, self._count_tokens
        ).page_at(1, 0)
        # A row cut in the middle is shown up to the end of the page: restarting at it would loop.
        remaining = matches.lines[page.next_line - (0 if page.next_char else 1) :] if page.next_line else []
        following = next((row.number for row in remaining if row.number), 0)
        end_text = f", end_line={args.end_line}" if args.end_line else ""
        next_text = f" Next: start_line={following}{end_text}." if following else ""
        over_text = "" if matches.is_complete else "over "
        count_text = f"{over_text}{pluralize(matches.count, 'matching line')}"
        return f"{_name(entry)}: {count_text} for {query}.{next_text}\n{page.text}"


def _line_range(lines: list[str], args: RecallArguments) -> tuple[int, int]:
    """Return the first and the last requested line. Raises ToolError when there are none."""
    first, last = args.start_line or 1, min(args.end_line or len(lines), len(lines))
    if first > len(lines) or last < first:
        raise ToolError(
            f"There are no lines {first} to {args.end_line or 'the end'}.",
            f"The content has {len(lines):,} lines.",
        )
    return first, last


def _part(lines: list[str], first_line: int, last_line: int) -> list[str]:
    """Return a range of lines, counted from 1; the full range is not copied."""
    return lines if (first_line, last_line) == (1, len(lines)) else lines[first_line - 1 : last_line]


def _name(entry: CacheEntry) -> str:
    about = f"{entry.tool} {entry.target}".strip() or entry.kind
    return f"Recalled {entry.digest[:12]}… ({about}, {format_bytes(entry.size)})"


def _where(page: TextPage, args: RecallArguments) -> str:
    end_text = f", end_line={args.end_line}" if args.end_line else ""
    char_text = f", start_char={page.next_char}" if page.next_char else ""
    next_text = f"; next: start_line={page.next_line}{char_text}{end_text}" if page.next_line else ""
    first_char_text = f" from character {page.first_char}" if page.first_char else ""
    return f"Lines {page.first}-{page.last}{first_char_text}, page {page.number} of {page.count}{next_text}."
