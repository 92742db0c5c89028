"""A request as a text to read, with a heading before each message: a pure translation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from helix_desktop.context.window.window import Window
from helix_desktop.context.window.window_breakdown import WindowItem, WindowItemKind
from helix_desktop.domain.messages import Message
from helix_desktop.words.translation import Translator, translate

tr = Translator("Inspector")

_TOOL_KINDS, _OPENING_KINDS = ("tools", "mcp"), ("system", "environment", "instructions")


class RequestPart(msgspec.Struct, frozen=True):
    """A part of the text: its heading's words, what it is, its tokens, and its first line, from 1.

    `tool` is what an output is of.
    """

    heading: str
    kind: WindowItemKind
    title: str
    tokens: int
    line: int
    tool: str = ""


class RequestDocument(msgspec.Struct, frozen=True):
    """The text of a request, and where its parts begin."""

    text: str = ""
    parts: tuple[RequestPart, ...] = ()


def request_document(window: Window, items: Sequence[WindowItem]) -> RequestDocument:
    """Return the whole request, word for word: the system prompt, tools, fields, then the other messages.

    `contents` are its parts with their tokens, as `break_down_window` lists them.
    """
    texts: list[str] = []
    parts: list[RequestPart] = []
    line = 1
    for part, body in _sections(window, items):
        parts.append(replace(part, line=line))
        count = tr.plural(part.tokens, "%n token", "%n tokens") if part.tokens else ""
        texts.append("\n".join((" · ".join(filter(None, (f"== {part.heading}", count))), body)))
        line += texts[-1].count("\n") + 2
    return RequestDocument("\n\n".join(texts), tuple(parts))


def _sections(window: Window, items: Sequence[WindowItem]) -> Iterator[tuple[RequestPart, str]]:
    """Yield each part, before its line is counted, and its text."""
    messages, tools = window.request.messages, window.request.tools
    opening = len(messages) - len(window.entries)
    tokens = sum(item.tokens for item in items if item.kind in _OPENING_KINDS and not item.seq)
    for message in messages[:opening]:
        # With environment and instructions, which have rows of their own in the inspector.
        yield RequestPart(message.role, "system", tr("System message"), tokens, 0), message_body(message)
    if tools:
        names = tr.plural(len(tools), "%n tool", "%n tools")
        tokens = sum(item.tokens for item in items if item.kind in _TOOL_KINDS)
        descriptions = (f"{tool.name}\n{tool.description}" for tool in tools)
        yield RequestPart("tools", "tools", names, tokens, 0), "\n\n".join(descriptions)
    for item in items:
        if item.kind == "fields":
            yield RequestPart("fields", "fields", translate(item.name), 0, 0), item.text
    entry_items = items[len(items) - len(window.entries) :]
    for message, item in zip(messages[opening:], entry_items, strict=True):
        heading = f"{message.role} {message.name}".strip()
        part = RequestPart(heading, item.kind, translate(item.name), item.tokens, 0, item.tool)
        yield part, message_body(message)


def message_body(message: Message) -> str:
    """Return all that a message says, word for word; an image is named by its digest."""
    calls = [f"-> {call.name} {call.arguments}" for call in message.calls]
    images = [f"{image.text} sha256 {image.digest}" for image in message.images]
    return "\n".join([*([message.text] if message.text or not calls else []), *images, *calls])
