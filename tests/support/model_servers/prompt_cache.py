"""An Anthropic server whose prompt cache follows the published rules."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from typing import Any

from tests.support.model_servers.chat_server import Reply, StreamedReply, TokenCounts, api_error
from tests.support.model_servers.signed_thinking import strip_cache_breakpoints

_MAX_BREAKPOINTS = 4
_LOOK_BACK = 20
_LIFETIMES_S = {"5m": 300, "1h": 3_600}
_CHARS_PER_TOKEN = 4


class PromptCacheScript:
    """Stores a prefix at each breakpoint, reads the longest one within 20 blocks before a breakpoint.

    `now_s` is its clock. `reads`, `writes` and `inputs` are the tokens of each request, `shared` those that
    it has in common with the one before: what an ideal cache would read.
    """

    def __init__(self, script: Callable[[dict[str, Any]], Reply]) -> None:
        self._script = script
        self._entries: dict[
            str, tuple[float, int]
        ] = {}  # by the hash of a prefix: until when, and for how long
        self.now_s = 0.0
        self.reads: list[int] = []
        self.writes: list[int] = []
        self.inputs: list[int] = []
        self.shared: list[int] = []
        self._hashes_before: list[str] = []
        self.refused_count = 0

    def __call__(self, request: dict[str, Any]) -> Reply:
        blocks = list(_blocks(request))
        breakpoints = {
            at: block["cache_control"] for at, block in enumerate(blocks) if "cache_control" in block
        }
        lifetimes = [_LIFETIMES_S[mark.get("ttl", "5m")] for mark in breakpoints.values()]
        if len(breakpoints) > _MAX_BREAKPOINTS or lifetimes != sorted(lifetimes, reverse=True):
            self.refused_count += 1
            return api_error(400, f"{len(breakpoints)} blocks with cache_control for {lifetimes}")
        hashes, ends = _prefixes(blocks)
        hit = self._longest_hit(hashes, breakpoints)
        stored = max(breakpoints, default=-1)
        for (at, _), lifetime_s in zip(breakpoints.items(), lifetimes, strict=True):
            known_s = self._entries.get(hashes[at], (0.0, lifetime_s))[1] if at <= hit else lifetime_s
            self._entries[hashes[at]] = (self.now_s + known_s, known_s)
        read = ends[hit] if hit >= 0 else 0
        write_tokens = max(0, (ends[stored] if stored >= 0 else 0) - read)
        self.reads.append(read)
        self.writes.append(write_tokens)
        self.inputs.append(ends[-1])
        pairs = zip(hashes, self._hashes_before, ends, strict=False)
        self.shared.append(max((end for new, old, end in pairs if new == old), default=0))
        self._hashes_before = hashes
        reply = self._script(request)
        if isinstance(reply, StreamedReply):
            hour = write_tokens if lifetimes and lifetimes[-1] > _LIFETIMES_S["5m"] else 0
            reply.usage = TokenCounts(ends[-1], 20, read, write_tokens, hour)
        return reply

    def _longest_hit(self, hashes: list[str], breakpoints: Mapping[int, Any]) -> int:
        """Return the last block of the longest stored prefix; -1 without one."""
        reachable = {at for end in breakpoints for at in range(max(0, end - _LOOK_BACK + 1), end + 1)}
        for at in sorted(reachable, reverse=True):
            until_s, lifetime_s = self._entries.get(hashes[at], (-1.0, 0))
            if until_s >= self.now_s:
                self._entries[hashes[at]] = (self.now_s + lifetime_s, lifetime_s)
                return at
        return -1


def _blocks(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield tools, system prompt and messages as the cache sees them: one after the other."""
    yield from request.get("tools", ())
    yield from request.get("system", ())
    for message in request["messages"]:
        for at, block in enumerate(message["content"]):
            yield {"role": message["role"], "at": at, **block}


def _prefixes(blocks: list[dict[str, Any]]) -> tuple[list[str], list[int]]:
    """Return the hash of each prefix, and its tokens."""
    digest = sha256()
    size = 0
    hashes = []
    ends = []
    for block in blocks:
        text = json.dumps(strip_cache_breakpoints(block))
        digest.update(text.encode())
        size += len(text)
        hashes.append(digest.hexdigest())
        ends.append(size // _CHARS_PER_TOKEN)
    return hashes, ends
