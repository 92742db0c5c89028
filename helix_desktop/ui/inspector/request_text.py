"""A request as texts: to read, with a heading before each message; as JSON; and as a curl command.

Secrets are named by environment variables.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from shlex import quote

import msgspec

from helix_desktop.context.window.window import Window
from helix_desktop.context.window.window_breakdown import WindowItem
from helix_desktop.domain.messages import Message, WireRequest
from helix_desktop.words.translation import Translator

tr = Translator("Inspector")

_TOOL_KINDS, _OPENING_KINDS = ("tools", "mcp"), ("system", "environment", "instructions")
_END = "END_OF_REQUEST"  # the line that ends the body; JSON on one line never is that line


def request_text(window: Window, items: Sequence[WindowItem]) -> str:
    """Return the whole request, word for word: the system prompt, tools, fields, then the other messages.

    `items` are its parts with their tokens, as `break_down_window` lists them.
    """
    texts = []
    for heading, tokens, body in request_sections(window, items):
        count = tr.plural(tokens, "%n token", "%n tokens") if tokens else ""
        texts.append("\n".join((" · ".join(filter(None, (f"== {heading}", count))), body)))
    return "\n\n".join(texts)


def request_sections(window: Window, items: Sequence[WindowItem]) -> Iterator[tuple[str, int, str]]:
    """Yield the heading of each part, its tokens, and its text."""
    messages, tools = window.request.messages, window.request.tools
    opening = len(messages) - len(window.entries)
    tokens = sum(item.tokens for item in items if item.kind in _OPENING_KINDS and not item.seq)
    for message in messages[:opening]:
        # With environment and instructions, which have rows of their own in the inspector.
        yield message.role, tokens, message_body(message)
    if tools:
        tokens = sum(item.tokens for item in items if item.kind in _TOOL_KINDS)
        yield "tools", tokens, "\n\n".join(f"{tool.name}\n{tool.description}" for tool in tools)
    for item in items:
        if item.kind == "fields":
            yield "fields", 0, item.text
    entry_items = items[len(items) - len(window.entries) :]
    for message, item in zip(messages[opening:], entry_items, strict=True):
        yield f"{message.role} {message.name}".strip(), item.tokens, message_body(message)


def message_body(message: Message) -> str:
    """Return all that a message says, word for word; an image is named by its digest."""
    calls = [f"-> {call.name} {call.arguments}" for call in message.calls]
    images = [f"{image.text} sha256 {image.digest}" for image in message.images]
    return "\n".join([*([message.text] if message.text or not calls else []), *images, *calls])


def window_json(window: Window) -> bytes:
    """Return the messages and tools of a request that no server has a format for."""
    messages = [msgspec.structs.replace(message, verbatim=None) for message in window.request.messages]
    return msgspec.json.encode({"messages": messages, "tools": window.request.tools})


def indented_json(body: bytes) -> str:
    return json.dumps(json.loads(body), indent=2, ensure_ascii=False)


def curl_command(wire: WireRequest, variable: Callable[[str], str]) -> str:
    """Return a command that sends a request; `variable` names the environment variable of a secret.

    The body stands on its standard input, because a command line has a limit.
    """
    lines = [f"curl {quote(wire.url)}"]
    lines += [
        f'-H "{_in_double_quotes(f"{header.name}: {header.value}")}${{{variable(header.secret)}}}"'
        if header.secret
        else f"-H {quote(f'{header.name}: {header.value}')}"
        for header in wire.headers
    ]
    lines.append(f"--data-binary @- <<'{_END}'")
    command = " \\\n  ".join(lines)
    return f"{command}\n{wire.body.decode()}\n{_END}\n"


def _in_double_quotes(text: str) -> str:
    return "".join(f"\\{char}" if char in '\\"$`' else char for char in text)
