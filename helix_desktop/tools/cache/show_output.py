"""show_output: puts stored content before the user without passing it through the model."""

from __future__ import annotations

import asyncio

import msgspec

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.image import MAX_IMAGE_BYTES, identify_image
from helix_desktop.domain.store.content_reader import ContentReader
from helix_desktop.domain.text_format import ellipsize, pluralize
from helix_desktop.domain.tools import SHOW_OUTPUT, Excerpt, OutputCallback, ToolResult, ignore_output
from helix_desktop.tools.arguments import Arguments, Line
from helix_desktop.tools.cache.file_lines import file_lines
from helix_desktop.tools.cache.handles import EntryRange, HandleResolver, parse_handle
from helix_desktop.tools.cache.origins import CallingSession, Origins, content_name
from helix_desktop.tools.cache.paging import decode_lines, release_lines
from helix_desktop.tools.errors import store_errors_as_tool_errors
from helix_desktop.tools.tool import UnguardedTool

_MAX_CAPTION = 200  # characters


class ShowArguments(Arguments, frozen=True):
    """The arguments of show_output; lines count from 1."""

    hash: str
    start_line: Line | None = None
    end_line: Line | None = None
    caption: str = ""


class ShowOutput(UnguardedTool[ShowArguments]):
    """Names content that the chat puts before the user; the model gets one line that says so."""

    name = SHOW_OUTPUT
    arguments_type = ShowArguments

    def __init__(self, contents: ContentReader, session: CallingSession | None = None) -> None:
        """Without the session that calls, only hashes are known."""
        self._contents, self._session = contents, session

    async def run(
        self, call_id: str, args: ShowArguments, on_output: OutputCallback = ignore_output
    ) -> ToolResult:
        """Return a line on what the user sees. Raises ToolError for an unknown hash, and lines not there."""
        with store_errors_as_tool_errors():
            digest = await self._resolve(args.hash)
            data, entry = await self._contents.get(digest), await self._contents.entry(digest)
        caption = ellipsize(" ".join(args.caption.split()), _MAX_CAPTION)
        excerpt = Excerpt(digest, 0, 0, len(data), 0, entry.tool, entry.target, caption)
        image = identify_image(data, digest, entry.target) if len(data) <= MAX_IMAGE_BYTES else None
        if image is not None:
            excerpt, part = msgspec.structs.replace(excerpt, image=image), image.summary
        else:
            excerpt, part = await asyncio.to_thread(_select_lines, data, excerpt, args)
        target = f"{content_name(entry)}, {part}"
        return ToolResult(f"Shown to the user: {target}\n".encode(), target=target, excerpt=excerpt)

    async def _resolve(self, text: str) -> str:
        """Return the digest of what a hash, an entry number or the target of a call names."""
        try:
            handle = parse_handle(text)
        except ToolError as error:
            if digest := self._newest_output(text.strip()):
                return digest
            raise ToolError(
                f"No output of this session is of {text[:80]!r}.",
                "Content is shown once it is stored: by its hash, or the path or command of your call.",
                "Call the tool that gives it first.",
            ) from error
        if isinstance(handle, EntryRange):
            item = self._session.transcript.messages.item(handle.first) if self._session is not None else None
            if item is None or not isinstance(item.event, ToolAnswered) or not item.event.digest:
                raise ToolError(
                    f"{handle.text} is no output of this session.", fix="Show one output by its hash."
                )
            return item.event.digest
        return await HandleResolver(self._contents, Origins(self._contents, self._session)).resolve(handle)

    def _newest_output(self, target: str) -> str:
        """Return the digest of the newest output of a call on `src/app.py`, or of `read_file src/app.py`."""
        items = self._session.transcript.messages.items if self._session is not None and target else ()
        outputs = (item.event for item in reversed(items) if isinstance(item.event, ToolAnswered))
        return next(
            (
                output.digest
                for output in outputs
                if target in (output.target, f"{output.name} {output.target}") and output.excerpt is None
            ),
            "",
        )


def _select_lines(data: bytes, excerpt: Excerpt, args: ShowArguments) -> tuple[Excerpt, str]:
    """Return the excerpt with its lines, and what it is as a phrase. Raises ToolError if there are none."""
    text, first = file_lines(excerpt.tool, data)
    is_part = text is not data
    before = first - 2 if is_part else 0  # lines of a file that are not in this part of it
    lines = decode_lines(data)
    count = len(lines)
    start = max(args.start_line - before, 1) if args.start_line else 1
    end = min(args.end_line - before, count) if args.end_line else count
    size = sum(len(line.encode()) for line in lines[start - 1 : end])
    release_lines(lines)
    if not count:
        raise ToolError("The content is empty (0 bytes).", fix="Tell the user so.")
    if start > count or end < start:
        raise ToolError(
            f"There are no lines {args.start_line or 1} to {args.end_line or 'the end'}.",
            f"The content has lines {first}-{count + before} of its file."
            if is_part
            else f"The content has {pluralize(count, 'line')}.",
        )
    part = pluralize(end - start + 1, "line")
    if (start, end) != (1, count):
        part = f"lines {max(start + before, first)}-{end + before}, {part}"
    lines_of = msgspec.structs.replace(excerpt, start_line=start, end_line=end, size=size, total_lines=count)
    return lines_of, part
