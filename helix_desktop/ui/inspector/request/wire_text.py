"""A request as JSON and as a curl command: without secrets, which are named by environment variables."""

from __future__ import annotations

import json
from collections.abc import Callable
from shlex import quote

import msgspec

from helix_desktop.context.window.window import Window
from helix_desktop.domain.messages import WireRequest

_END = "END_OF_REQUEST"  # the line that ends the body; JSON on one line never is that line


def window_json(window: Window) -> bytes:
    """Return the messages and tools of a request that no server has a format for."""
    messages = [msgspec.structs.replace(message, verbatim=None) for message in window.request.messages]
    return msgspec.json.encode({"messages": messages, "tools": window.request.tools})


def indented_json(body: bytes) -> str:
    """Return JSON with line breaks and indents, to be read."""
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
