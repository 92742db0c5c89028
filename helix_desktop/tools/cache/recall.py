"""recall_cached_content: returns the content that a marker stands for, or what an index or entries lead to.

A regex is run by ripgrep on its standard input: its engine is linear in the text, so no pattern can hang. A
thread with a time limit could only hide a hanging match, as Python cannot end one.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from helix_desktop.context.intake.descriptions import CAP as ABOUT_CAP
from helix_desktop.context.intake.descriptions import describe_output
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.image import MAX_IMAGE_BYTES, identify_image
from helix_desktop.domain.store.content_reader import ContentReader
from helix_desktop.domain.text_format import ellipsize, pluralize
from helix_desktop.domain.tools import CountTokens, OutputCallback, ToolResult, ignore_output
from helix_desktop.tools.cache.handles import EntryRange, HandleResolver, parse_handle
from helix_desktop.tools.cache.index_recall import IndexRecall, RecalledText, RecallLimits
from helix_desktop.tools.cache.origins import CallingSession, Origins, content_name, heading
from helix_desktop.tools.cache.paging import (
    Paginator,
    TextPage,
    decode_lines,
    number_lines,
    release_lines,
    with_line_numbers,
)
from helix_desktop.tools.cache.recall_arguments import RecallArguments
from helix_desktop.tools.cache.regex_lines import LineMatches, find_lines
from helix_desktop.tools.errors import store_errors_as_tool_errors
from helix_desktop.tools.process.ripgrep import Ripgrep
from helix_desktop.tools.tool import UnguardedTool

PAGE_TOKENS = 4_000  # paged recalls matter once recalls are frequent
_CONTEXT_LINES = 2
_WIDER_CONTEXTS = (4, 15)  # lines, as long as they fit _WIDE_TOKENS; the last one has all of a small content
_WIDE_TOKENS = 600
_FEW_MATCHES = 20  # lines
_ROW_NUMBER = re.compile(r"^\d+[:-]", re.MULTILINE)


class RecallCachedContent(UnguardedTool[RecallArguments]):
    """Returns cached content: all of it, lines, or regex matches; long content in pages."""

    name = "recall_cached_content"
    arguments_type = RecallArguments

    def __init__(
        self,
        contents: ContentReader,
        count_tokens: CountTokens,
        ripgrep: Ripgrep,
        session: CallingSession | None = None,
        limits: RecallLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Without the session that calls, entry numbers are those of indexes only."""
        self._contents, self._count_tokens, self._ripgrep = contents, count_tokens, ripgrep
        self._session = session
        self._covered = IndexRecall(contents, count_tokens, ripgrep, limits or RecallLimits(), clock)

    async def run(
        self, call_id: str, args: RecallArguments, on_output: OutputCallback = ignore_output
    ) -> ToolResult:
        """Return the content, or a page of it. Raises ToolError."""
        origins, handle = Origins(self._contents, self._session), parse_handle(args.hash)
        resolver = HandleResolver(self._contents, origins)
        with store_errors_as_tool_errors():
            if isinstance(handle, EntryRange):
                index = await resolver.resolve(handle.index) if handle.index else ""
                entries = await self._covered.entries(handle, index, origins)
                if len(entries) != 1 or not entries[0].digest:
                    return await self._covered.recall_entries(entries, handle, args, origins)
                digest = entries[0].digest
            else:
                digest = await resolver.resolve(handle)
            entry = await self._contents.entry(digest)
            if entry.kind == "index":
                return await self._covered.recall_index(entry, args, origins)
            return await self._recall_content(digest, args, origins)

    async def _recall_content(self, digest: str, args: RecallArguments, origins: Origins) -> ToolResult:
        data, entry = await self._contents.get(digest), await self._contents.entry(digest)
        head, name = heading(entry, await origins.of_content(entry)), content_name(entry)
        image = identify_image(data, digest, entry.target) if len(data) <= MAX_IMAGE_BYTES else None
        if image is not None:
            model_text = f"{head}: {image.summary}."
            return ToolResult(data, target=name, model_text=model_text, recalled=digest, image=image)
        lines = await asyncio.to_thread(decode_lines, data)
        select_lines = self._matching_lines if args.pattern else self._page_of_lines
        try:
            answer = RecalledText(f"{head} · is empty (0 bytes).")
            if lines:
                answer = await select_lines(lines, head, args)
            if not answer.text:
                nothing = f"{head} · no line matches {args.missed_pattern}"
                answer = await self._covered.search_session(nothing, args, origins)
                answer = replace(answer, part=f"{args.quoted_pattern} elsewhere: {answer.part}")
        finally:
            await asyncio.to_thread(release_lines, lines)
        return ToolResult(
            data, target=name, model_text=answer.text, recalled=digest, about=_described(answer, entry.tool)
        )

    async def _page_of_lines(self, lines: list[str], head: str, args: RecallArguments) -> RecalledText:
        first, last = _line_range(lines, args)
        max_tokens = args.max_tokens or PAGE_TOKENS
        if not (args.start_line or args.end_line or args.start_char):
            page = await Paginator(lines, max_tokens, self._count_tokens).page_at(1, 0)
            if page.is_only:
                return RecalledText(f"{head}\n{page.text}", of=page.text)
        pages = Paginator(_part(lines, 1, last), max_tokens, with_line_numbers(self._count_tokens))
        page = await pages.page_at(first, args.start_char)
        text = f"{head} · {_where(page, len(lines), args)}\n{number_lines(page)}"
        return RecalledText(text, f"lines {page.first}-{page.last} of {len(lines):,}", page.text)

    async def _matching_lines(self, lines: list[str], head: str, args: RecallArguments) -> RecalledText:
        """Return the matching lines; without a text if the whole content has none."""
        first, last = _line_range(lines, args)
        place = f"in lines {first}-{last}"
        matches = await self._find_lines(_part(lines, first, last), first, args)
        if not matches.count:
            is_all = not (args.start_line or args.end_line)
            return (
                RecalledText("")
                if is_all
                else RecalledText(
                    f"{head} · no line matches {args.missed_pattern} {place}.",
                    f"nothing for {args.quoted_pattern} {place}",
                )
            )
        page = await Paginator(
            [row.text for row in matches.lines], args.max_tokens or PAGE_TOKENS, self._count_tokens
        ).page_at(1, 0)
        # A row cut in the middle is shown up to the end of the page: restarting at it would loop.
        remaining = matches.lines[page.next_line - (0 if page.next_char else 1) :] if page.next_line else []
        following = next((row.number for row in remaining if row.number), 0)
        end_text = f", end_line={args.end_line}" if args.end_line else ""
        next_text = f" Next: start_line={following}{end_text}." if following else ""
        over_text = "" if matches.is_complete else "over "
        count_text = f"{over_text}{pluralize(matches.count, 'matching line')}"
        part = f"{over_text}{pluralize(matches.count, 'line')} for {args.quoted_pattern}"
        return RecalledText(
            f"{head} · {count_text} for {args.quoted_pattern} {place}.{next_text}\n{page.text}",
            part,
            page.text,
        )

    async def _find_lines(self, lines: list[str], first: int, args: RecallArguments) -> LineMatches:
        """Return the matching lines with those around them: more than two if that costs little."""
        context = _CONTEXT_LINES if args.context is None else args.context
        matches = await find_lines(self._ripgrep, lines, first, args.pattern, context)
        if args.context is not None or not 0 < matches.count <= _FEW_MATCHES:
            return matches
        max_tokens = min(args.max_tokens or _WIDE_TOKENS, _WIDE_TOKENS)
        for wider in _WIDER_CONTEXTS:
            wide = await find_lines(self._ripgrep, lines, first, args.pattern, wider)
            if sum(await self._count_tokens([row.text for row in wide.lines])) > max_tokens:
                break
            matches = wide
        return matches


def _described(answer: RecalledText, tool: str) -> str:
    """Return what a recall shows in a few words: which part of the content, and what that holds."""
    description = describe_output(tool, _ROW_NUMBER.sub("", answer.of)) if answer.of else ""
    return ellipsize(", ".join(filter(None, (answer.part, description))), ABOUT_CAP)


def _line_range(lines: Sequence[str], args: RecallArguments) -> tuple[int, int]:
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


def _where(page: TextPage, line_count: int, args: RecallArguments) -> str:
    end_text = f", end_line={args.end_line}" if args.end_line else ""
    char_text = f", start_char={page.next_char}" if page.next_char else ""
    next_text = f"; next: start_line={page.next_line}{char_text}{end_text}" if page.next_line else ""
    first_char_text = f" from character {page.first_char}" if page.first_char else ""
    pages = f"page {page.number} of {page.count}"
    return f"lines {page.first}-{page.last} of {line_count:,}{first_char_text}, {pages}{next_text}."
