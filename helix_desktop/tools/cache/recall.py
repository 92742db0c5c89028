"""recall_cached_content: returns what a marker or an index stands for.

The text of a matching line comes from the content itself, never from ripgrep's output: nothing in a line can
pass for a line number.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Sequence

import msgspec
from msgspec import structs
from msgspec.structs import replace

from helix_desktop.context.intake.descriptions import CAP as ABOUT_CAP
from helix_desktop.context.intake.descriptions import describe_output
from helix_desktop.domain.errors import InvalidInput, ToolError
from helix_desktop.domain.files.file_use import (
    tool_kind,
)
from helix_desktop.domain.image import MAX_IMAGE_BYTES, identify_image
from helix_desktop.domain.store import ContentReader
from helix_desktop.domain.text_format import ellipsize, pluralize
from helix_desktop.domain.text_search import MatchingLines
from helix_desktop.domain.tools import (
    CountTokens,
    OutputCallback,
    ToolResult,
    ignore_output,
)
from helix_desktop.domain.translatable_text import TextContext, verbatim
from helix_desktop.tools.cache.index_recall import IndexRecall, RecallArguments, RecalledText, RecallLimits
from helix_desktop.tools.cache.lines import (
    LineMatch,
    Paginator,
    TextPage,
    decode_lines,
    file_lines,
    match_lines,
    number_lines,
    plain_pattern,
    release_lines,
    with_line_numbers,
)
from helix_desktop.tools.cache.origins import (
    CallingSession,
    EntryRange,
    HandleResolver,
    Origins,
    content_name,
    heading,
    parse_handle,
)
from helix_desktop.tools.process import Ripgrep
from helix_desktop.tools.tool import UnguardedTool, store_errors_as_tool_errors

_text = TextContext("Tools")

_MAX_LINE = 400  # characters shown of a line
_BEFORE = 100  # how many of these stand before the match
_SYNTAX_ERROR = "error: "  # of ripgrep, before what is wrong with a pattern
_MAX_COUNTED = 100_000  # matching lines
_MAX_ROWS = 20_000  # more than the largest page, 16,000 tokens, can show
_ENCODED = 10_000  # lines


class MatchedLine(msgspec.Struct, frozen=True):
    """A line as it is shown, with its number from 1 (0: a gap between lines)."""

    number: int
    text: str


class RegexLineSearch:
    """Finds the lines that the user recalls, as the agent's recall finds its own."""

    def __init__(self, ripgrep: Ripgrep) -> None:
        self._ripgrep = ripgrep

    async def find(self, data: bytes, pattern: str, context: int, first: int = 1) -> MatchingLines:
        """Return the lines of a content that match, numbered from `first`, with `context` lines around each.

        Raises InvalidInput if the pattern is invalid, or the search takes too long.
        """
        lines = await asyncio.to_thread(decode_lines, data)
        try:
            found, is_complete = await find_lines(self._ripgrep, lines, pattern)
            rows = await asyncio.to_thread(rows_of, lines, first, found, context)
        except ToolError as error:
            raise _as_input_error(error) from error
        finally:
            await asyncio.to_thread(release_lines, lines)
        return MatchingLines(len(found), is_complete, "".join(row.text for row in rows))


def _as_input_error(error: ToolError) -> InvalidInput:
    reason = str(error.why) or str(error.what)
    return pattern_error(error) or InvalidInput(_text("The search failed."), verbatim(reason))


def pattern_error(error: ToolError) -> InvalidInput | None:
    """Return the error for the user if a pattern is wrong, as ripgrep's last line says; else None."""
    reason = str(error.why)
    if _SYNTAX_ERROR not in reason:
        return None
    return InvalidInput(
        _text("The regular expression can't be read."),
        verbatim(reason.rpartition(_SYNTAX_ERROR)[2].strip().capitalize() + "."),
        _text("Correct it, or put \\ before a sign that stands for itself."),
    )


async def find_lines(ripgrep: Ripgrep, lines: Sequence[str], pattern: str) -> tuple[list[LineMatch], bool]:
    """Return the lines that match a pattern, numbered from 1, and whether they are all.

    Raises ToolError when the pattern is invalid.
    """
    text = await asyncio.to_thread(_encoded, lines)
    (found,), is_complete = await match_lines(
        [text], pattern, plain_pattern(pattern), ripgrep, _MAX_COUNTED + 1
    )
    return found[:_MAX_COUNTED], is_complete and len(found) <= _MAX_COUNTED


def _encoded(lines: Sequence[str]) -> bytes:
    """Encode the text part by part: a single call would block all other threads until it is done."""
    parts = ("".join(lines[start : start + _ENCODED]).encode() for start in range(0, len(lines), _ENCODED))
    return b"".join(parts)


def rows_of(
    lines: Sequence[str], first: int, found: Sequence[LineMatch], context: int, has_numbers: bool = False
) -> list[MatchedLine]:
    """Return the rows of the lines found, each with so many lines around it, and of the gaps between.

    The first of the lines has the number `first`. `has_numbers`: they show others already, those of a file,
    whose name stands above its lines, and comes with them.
    """
    matches = {match.number: match for match in found}
    rows = list[MatchedLine]()
    last = 0
    for number in matches:
        start = max(number - context, 1)
        end = min(number + context, len(lines))
        if len(rows) >= _MAX_ROWS:
            break
        if has_numbers and (name := _line_of_file(lines, start, last)):
            rows.append(MatchedLine(first + name - 1, lines[name - 1]))
        if context and rows and start > last + 1:
            rows.append(MatchedLine(0, "--\n"))
        for at in range(max(start, last + 1), end + 1):
            match = matches.get(at)
            excerpt = _excerpt(lines[at - 1], match.match_at - match.start if match else 0)
            label = ""
            if not has_numbers:
                mark = ":" if match else "-"
                label = f"{first + at - 1}{mark}"
            rows.append(MatchedLine(first + at - 1, f"{label}{excerpt}\n"))
        last = end
    return rows


def _line_of_file(lines: Sequence[str], start: int, last: int) -> int:
    """Return the number of the line after `last` that names the file of `start`; 0: none does."""
    numbers = range(start, last, -1)
    name = next((number for number in numbers if not lines[number - 1].startswith((" ", "-"))), 0)
    return name if name not in (0, start) else 0


def _excerpt(line: str, byte_offset: int) -> str:
    """Return a line, or the part of a long line around a byte offset, with the character it starts at."""
    line = line.removesuffix("\n").removesuffix("\r")
    if len(line) <= _MAX_LINE:
        return line
    char = len(line.encode()[:byte_offset].decode(errors="replace"))
    start = max(0, char - _BEFORE)
    if start + _MAX_LINE >= len(line):
        return f"[start_char={start}] …{line[start:]}"
    cut = f"{line[start : start + _MAX_LINE]}…"
    return f"[start_char={start}] …{cut}" if start else cut


PAGE_TOKENS = 4_000  # paged recalls matter once recalls are frequent
_CONTEXT_LINES = 2  # as long as all matches with them fit the page
_WIDER_CONTEXTS = (4, 15)  # lines, as long as they fit _WIDE_TOKENS; the last one has all of a small content
_WIDE_TOKENS = 600
_FEW_MATCHES = 20  # lines
_MATCHED_ROW = re.compile(r"^\d+:(.*)", re.MULTILINE)


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
        self._contents = contents
        self._count_tokens = count_tokens
        self._ripgrep = ripgrep
        self._session = session
        self._covered = IndexRecall(contents, count_tokens, ripgrep, limits or RecallLimits(), clock)

    async def run(
        self, call_id: str, args: RecallArguments, on_output: OutputCallback = ignore_output
    ) -> ToolResult:
        origins = Origins(self._contents, self._session)
        handle = parse_handle(args.hash)
        resolver = HandleResolver(self._contents, origins)
        with store_errors_as_tool_errors():
            if isinstance(handle, EntryRange):
                index = await resolver.resolve(handle.index) if handle.index else ""
                entries = await self._covered.entries(handle, index, origins)
                others = (
                    await self._covered.others_of_index(index, handle, args, origins)
                    if index and args.pattern
                    else None
                )
                if len(entries) != 1 or not entries[0].digest:
                    return await self._covered.recall_entries(entries, handle, args, origins, others)
                digest = entries[0].digest
            else:
                digest = await resolver.resolve(handle)
                others = None
            entry = await self._contents.entry(digest)
            if entry.kind == "index":
                return await self._covered.recall_index(entry, args, origins)
            wider = _WIDER_CONTEXTS if others is None else ()
            result = await self._recall_content(digest, args, origins, (_CONTEXT_LINES, *wider))
            if others:
                result = structs.replace(result, model_text=f"{result.model_text.rstrip()}\n{others}")
            return result

    async def _recall_content(
        self, digest: str, args: RecallArguments, origins: Origins, contexts: Sequence[int]
    ) -> ToolResult:
        data = await self._contents.get(digest)
        entry = await self._contents.entry(digest)
        head = heading(entry, await origins.of_content(entry))
        name = content_name(entry)
        image = identify_image(data, digest, entry.target) if len(data) <= MAX_IMAGE_BYTES else None
        if image is not None:
            model_text = f"{head}: {image.summary}."
            return ToolResult(data, target=name, model_text=model_text, recalled=digest, image=image)
        text, first = await asyncio.to_thread(file_lines, entry.tool, data)
        lines = await asyncio.to_thread(decode_lines, text)
        part_of = entry.target if text is not data else ""
        select_lines = self._matching_lines if args.pattern else self._page_of_lines
        try:
            answer = RecalledText(f"{head} · is empty (0 bytes).")
            if lines:
                has_numbers = tool_kind(entry.tool) == "search"
                answer = await select_lines(
                    _Lines(lines, data, first, part_of, has_numbers, contexts), head, args
                )
            if not answer.text:
                nothing = f"{head} · no line matches {args.missed_pattern}"
                answer = await self._covered.search_session(nothing, args, origins)
                answer = replace(answer, part=f"{args.quoted_pattern} elsewhere: {answer.part}")
        finally:
            await asyncio.to_thread(release_lines, lines)
        return ToolResult(
            data, target=name, model_text=answer.text, recalled=digest, about=_described(answer, entry.tool)
        )

    async def _page_of_lines(self, lines: _Lines, head: str, args: RecallArguments) -> RecalledText:
        first, last = lines.range(args)
        max_tokens = args.max_tokens or PAGE_TOKENS
        if not (args.start_line or args.end_line or args.start_char):
            count = with_line_numbers(self._count_tokens) if lines.part_of else self._count_tokens
            page = await Paginator(lines.lines, max_tokens, count).page_at(1, 0)
            if page.is_only:
                text = lines.data.decode("utf-8", "replace")
                return RecalledText(f"{head}\n{text}", of=page.text)
        numbered = max(lines.first, 1)
        part = lines.part(numbered, last)
        skipped = numbered - 1
        pages = Paginator(part, max_tokens, with_line_numbers(self._count_tokens))
        page = (await pages.page_at(first - skipped, args.start_char)).moved(skipped)
        beyond = lines.beyond(args) if page.last == lines.last else ""
        header = "".join(lines.lines[: numbered - lines.first]) if page.first == 1 else ""
        blank = ""
        if not page.text.strip():
            blank = " It is blank." if page.first == page.last else " They are blank."
        text = f"{head} · {_where(page, lines.total, args)}{blank}{beyond}\n{header}{number_lines(page)}"
        return RecalledText(text, f"lines {page.first}-{page.last} of {lines.total}", page.text)

    async def _matching_lines(self, lines: _Lines, head: str, args: RecallArguments) -> RecalledText:
        """Return the matching lines; without a text if the whole content has none."""
        first, last = lines.range(args)
        beyond = lines.beyond(args)
        from_line = first if args.start_line else lines.first  # a header is searched too
        place = f"in lines {first}-{last}{f' of {lines.total}' if beyond else ''}"
        part_lines = lines.part(from_line, last)
        found, is_complete = await find_lines(self._ripgrep, part_lines, args.pattern)
        if not found:
            is_all = not (args.start_line or args.end_line)
            return (
                RecalledText("")
                if is_all
                else RecalledText(
                    f"{head} · no line matches {args.missed_pattern} {place}.",
                    f"nothing for {args.quoted_pattern} {place}",
                )
            )
        rows = await self._rows(part_lines, from_line, found, args, lines)
        page = await Paginator(
            [row.text for row in rows], args.max_tokens or PAGE_TOKENS, self._count_tokens
        ).page_at(1, 0)
        remaining = list[MatchedLine]()
        if page.next_line:
            # A row cut in the middle is shown up to the end of the page: restarting at it would loop.
            shown = page.next_line if page.next_char else page.next_line - 1
            remaining = rows[shown:]
        following = next((row.number for row in remaining if row.number), 0)
        end_text = f", end_line={args.end_line}" if args.end_line else ""
        next_text = f" Next: start_line={following}{end_text}." if following else ""
        over_text = "" if is_complete else "over "
        count_text = f"{over_text}{pluralize(len(found), 'matching line')}"
        part = f"{over_text}{pluralize(len(found), 'line')} for {args.quoted_pattern}"
        return RecalledText(
            f"{head} · {count_text} for {args.quoted_pattern} {place}.{next_text}\n{page.text}",
            part,
            "\n".join(_MATCHED_ROW.findall(page.text)),
        )

    async def _rows(
        self,
        part: list[str],
        first: int,
        found: Sequence[LineMatch],
        args: RecallArguments,
        lines: _Lines,
    ) -> list[MatchedLine]:
        """Return the matching lines of a part, with those around them where there is room for all."""
        context = args.context or 0
        max_tokens = args.max_tokens or PAGE_TOKENS
        rows = await asyncio.to_thread(rows_of, part, first, found, context, lines.has_numbers)
        # What stands beside a line that a search found is elsewhere in its file.
        for wider in lines.contexts if args.context is None and not lines.has_numbers else ():
            if wider > _CONTEXT_LINES:
                max_tokens = min(max_tokens, _WIDE_TOKENS)
                if len(found) > _FEW_MATCHES:
                    break
            wide = await asyncio.to_thread(rows_of, part, first, found, wider)
            if len(wide) > max_tokens:
                break
            if sum(await self._count_tokens([row.text for row in wide])) > max_tokens:
                break
            rows = wide
        return rows


def _described(answer: RecalledText, tool: str) -> str:
    """Return what a recall shows in a few words: which part of the content, and what that holds."""
    is_telling = bool(answer.of) and tool_kind(tool) != "search"  # not some lines of the ones found
    description = describe_output(tool, answer.of) if is_telling else ""
    return ellipsize(", ".join(filter(None, (answer.part, description))), ABOUT_CAP)


class _Lines(msgspec.Struct, frozen=True):
    """The lines of a content: of `data`, or from line `first` on those of the file `part_of` in it.

    A `first` of 0 is a header above the numbered lines. `has_numbers`: the lines are those of a search, which
    show where they stand in their files. `contexts`: how many lines to try around matches, fewest first.
    """

    lines: list[str]
    data: bytes
    first: int
    part_of: str
    has_numbers: bool
    contexts: Sequence[int]

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1

    @property
    def total(self) -> str:
        return f"the stored {self.first}-{self.last}" if self.part_of else f"{self.last:,}"

    def range(self, args: RecallArguments) -> tuple[int, int]:
        """Return the first and the last requested line. Raises ToolError when there are none."""
        first = max(args.start_line or 1, self.first)
        last = min(args.end_line or self.last, self.last)
        if first > self.last or last < first:
            there = f"the lines of {self.part_of}" if self.part_of else pluralize(self.last, "line")
            raise ToolError(
                f"There are no lines {args.start_line or 1} to {args.end_line or 'the end'}.",
                f"The content has {there}.",
            )
        return first, last

    def beyond(self, args: RecallArguments) -> str:
        """Return which lines were requested behind the last one, as a sentence; empty if none were."""
        if not args.end_line or args.end_line <= self.last:
            return ""
        behind = max(self.last + 1, args.start_line or 1)
        numbers = f"line {behind}" if behind == args.end_line else f"lines {behind} to {args.end_line}"
        return f" It has no {numbers}."

    def part(self, first: int, last: int) -> list[str]:
        """Return a range of lines; the full range is not copied."""
        if (first, last) == (self.first, self.last):
            return self.lines
        return self.lines[first - self.first : last - self.first + 1]


def _where(page: TextPage, total: str, args: RecallArguments) -> str:
    end_text = f", end_line={args.end_line}" if args.end_line else ""
    char_text = f", start_char={page.next_char}" if page.next_char else ""
    next_text = f"; next: start_line={page.next_line}{char_text}{end_text}" if page.next_line else ""
    first_char_text = f" from character {page.first_char}" if page.first_char else ""
    pages = f"page {page.number} of {page.count}"
    return f"lines {page.first}-{page.last} of {total}{first_char_text}, {pages}{next_text}."
