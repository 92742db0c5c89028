"""show_output: puts stored content before the user without passing it through the model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered
from helix_desktop.domain.image import MAX_IMAGE_BYTES, identify_image
from helix_desktop.domain.store.content_reader import ContentReader
from helix_desktop.domain.text_format import ellipsize, pluralize
from helix_desktop.domain.tool_call_target import decode_arguments, tool_kind
from helix_desktop.domain.tools import SHOW_OUTPUT, Excerpt, OutputCallback, ToolResult, ignore_output
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.tools.cache.line_matches import file_lines
from helix_desktop.tools.cache.origins import (
    CallingSession,
    EntryRange,
    HandleResolver,
    Origins,
    content_name,
    parse_handle,
)
from helix_desktop.tools.cache.paging import decode_lines, release_lines
from helix_desktop.tools.errors import store_errors_as_tool_errors
from helix_desktop.tools.tool import Arguments, Line, UnguardedTool

_MAX_CAPTION = 200  # characters
_CHANGES = ("write", "edit")  # kinds of tools whose outputs say what they did to a file


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
        caption = ellipsize(" ".join(args.caption.split()), _MAX_CAPTION)
        with store_errors_as_tool_errors():
            found = await self._find(args.hash)
            if isinstance(found, ToolAnswered):
                return await asyncio.to_thread(self._show_written, found, args, caption)
            data, entry = await self._contents.get(found), await self._contents.entry(found)
        excerpt = Excerpt(found, 0, 0, len(data), 0, entry.tool, entry.target, caption)
        image = identify_image(data, found, entry.target) if len(data) <= MAX_IMAGE_BYTES else None
        if image is not None:
            excerpt, part = msgspec.structs.replace(excerpt, image=image), image.summary
        else:
            excerpt, part = await asyncio.to_thread(_select_lines, data, excerpt, args)
        target = f"{content_name(entry)}, {part}"
        return ToolResult(f"Shown to the user: {target}\n".encode(), target=target, excerpt=excerpt)

    async def _find(self, text: str) -> str | ToolAnswered:
        """Return the digest of what a hash, an entry number or a target names; of a change its answer."""
        try:
            handle = parse_handle(text)
        except ToolError as error:
            if output := self._newest_output(text.strip()):
                return output if tool_kind(output.name) in _CHANGES else output.digest
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

    def _newest_output(self, target: str) -> ToolAnswered | None:
        """Return the newest output of a call on `src/app.py`, or of `read_file src/app.py`.

        A change of a file that failed left it as it was, and its answer is not what is looked for.
        """
        outputs = (item.event for item in reversed(self._items) if isinstance(item.event, ToolAnswered))
        for output in outputs if target else ():
            is_change = tool_kind(output.name) in _CHANGES
            targets = output.target.split(", ") if is_change else [output.target]
            if output.excerpt is not None or (is_change and not output.ok):
                continue
            if target in (*targets, *(f"{output.name} {part}" for part in targets)):
                return output
        return None

    @property
    def _items(self) -> Sequence[LogItem]:
        return self._session.transcript.messages.items if self._session is not None else ()

    def _show_written(self, output: ToolAnswered, args: ShowArguments, caption: str) -> ToolResult:
        """Show what a call wrote, which becomes this call's output. Raises ToolError for an edit."""
        messages = (item.event for item in reversed(self._items) if isinstance(item.event, AssistantSpoke))
        calls = (call for message in messages for call in message.calls if call.id == output.call_id)
        call = next(calls, None)
        values = decode_arguments(call.arguments) if call is not None and call.name == output.name else None
        content = values.get("content") if isinstance(values, dict) else None
        if not isinstance(content, str):
            raise ToolError(
                f"{args.hash.strip()[:80]} was changed since it was read; what it is now is not stored.",
                fix="Read it, then show that.",
            )
        data = content.encode("utf-8", "replace")
        excerpt = Excerpt(digest_of(data), 0, 0, len(data), 0, output.name, output.target, caption)
        excerpt, part = _select_lines(data, excerpt, args)
        target = escape_hidden_name(f"{output.name} {output.target}, {part}")
        return ToolResult(data, target=target, model_text=f"Shown to the user: {target}\n", excerpt=excerpt)


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
