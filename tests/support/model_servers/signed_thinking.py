"""An Anthropic server of the newer kind, which binds thinking to the preceding content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from tests.support.model_servers.chat_server import Reply, api_error


class SignedThinkingScript:
    """A server that accepts its thinking only if nothing before it has changed since.

    The signature of its thinking is a digest of all that it read, without the cache breakpoints.
    """

    def __init__(self, script: Callable[[dict[str, Any], str], Reply]) -> None:
        self._script = script
        self.refused_count = 0
        """Requests refused so far."""
        self.thinking_block_counts: list[int] = []
        """Pieces of thinking that came back with each request that was not refused."""

    def __call__(self, request: dict[str, Any]) -> Reply:
        """Check all thinking, then answer by the script, which gets the signature for its own."""
        count = 0
        messages = request["messages"]
        for number, message in enumerate(messages):
            for place, block in enumerate(message["content"]):
                if block["type"] != "thinking":
                    continue
                count += 1
                if block["signature"] != _sign(request, messages[:number], message["content"][:place]):
                    self.refused_count += 1
                    return api_error(
                        400,
                        f"messages.{number}.content.{place}: Invalid `signature` in `thinking` block. "
                        "The block is bound to a different conversation.",
                    )
        self.thinking_block_counts.append(count)
        return self._script(request, _sign(request, messages, []))


def _sign(request: dict[str, Any], messages: list[Any], preceding_blocks: list[Any]) -> str:
    read = [request.get("system"), request.get("tools"), messages, preceding_blocks]
    return hashlib.sha256(json.dumps(strip_cache_breakpoints(read)).encode()).hexdigest()


def strip_cache_breakpoints(value: Any) -> Any:
    """Return a part of a request without its cache breakpoints, which move with each request."""
    if isinstance(value, dict):
        return {key: strip_cache_breakpoints(child) for key, child in value.items() if key != "cache_control"}
    return [strip_cache_breakpoints(child) for child in value] if isinstance(value, list) else value
