"""A workspace's cache in memory, and a toolbox on a folder, for tests of tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from helix_desktop.context.content import EVERYTHING, Entry, Filter, Found, Hit, Order, Page, StoreTotals
from helix_desktop.context.digest import digest_of, first_line
from helix_desktop.context.errors import DigestUnknown
from helix_desktop.context.listing import passes
from helix_desktop.context.message import ToolCall
from helix_desktop.context.sighting import look
from helix_desktop.context.words import words_of
from helix_desktop.tools.cache import Cache
from helix_desktop.tools.reach import Reach
from helix_desktop.tools.toolbox import Toolbox

DESCRIPTIONS = Path(__file__).parents[2] / "resources" / "prompts" / "tools"


class MemoryCache:
    """Contents by digest, as the tools see a store."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[bytes, Entry]] = {}

    def put(self, data: bytes, tool: str = "read_file", target: str = "a.txt") -> str:
        """Store bytes; gives their digest."""
        digest, line = digest_of(data), first_line(data.decode(errors="replace"))
        entry = Entry(digest, len(data), len(data), len(data) // 4, tool, target, line, "output", 1, 1)
        self._held[digest] = (data, entry)
        return digest

    async def get(self, digest: str) -> bytes:
        """The bytes of a digest."""
        return self._of(digest)[0]

    async def entry(self, digest: str) -> Entry:
        """What is known of a content."""
        return self._of(digest)[1]

    async def find(self, prefix: str, limit: int = 20) -> list[str]:
        """The digests that begin with a prefix."""
        return sorted(digest for digest in self._held if digest.startswith(prefix))[:limit]

    async def page(
        self,
        cursor: str = "",
        limit: int = 200,
        order: Order = "newest",
        prefix: str = "",
        wanted: Filter = EVERYTHING,
    ) -> Page:
        """The newest entries that pass, on one page."""
        listed = [entry for _, entry in reversed(self._held.values()) if passes(entry, wanted)]
        return Page(tuple(listed[:limit]))

    async def search(
        self,
        query: str,
        wanted: Filter = EVERYTHING,
        limit: int = 20,
        cursor: str = "",
        going: Callable[[int], bool] = lambda _: True,
    ) -> Found:
        """All contents that hold the words, newest first."""
        hits = []
        for data, entry in reversed(self._held.values()):
            sighting = look(words_of(query), data, f"{entry.tool} {entry.target}", lambda: True)
            hits += [Hit(entry, sighting, "")] if sighting else []
        return Found(tuple(hits[:limit]))

    async def tools(self) -> tuple[str, ...]:
        """The tools that something is held of."""
        return tuple(sorted({entry.tool for _, entry in self._held.values()}))

    async def totals(self) -> StoreTotals:
        """How much is held."""
        size = sum(entry.size for _, entry in self._held.values())
        return StoreTotals(len(self._held), size, size, 0)

    def _of(self, digest: str) -> tuple[bytes, Entry]:
        if digest not in self._held:
            raise DigestUnknown(f"Nothing is stored under {digest}.")
        return self._held[digest]


async def count_quarters(texts: Sequence[str]) -> list[int]:
    """Four characters to a token, rounded up."""
    return [-(-len(text) // 4) for text in texts]


def make_toolbox(root: Path, cache: Cache | None = None, **more: Any) -> Toolbox:
    """The real tools on a folder, with the shipped descriptions; what Reach takes may be given too."""
    far = {name: more.pop(name) for name in ("sandboxes", "granted", "web") if name in more}
    more |= {"reach": Reach(**far)} if far else {}
    return Toolbox(root, cache or MemoryCache(), DESCRIPTIONS, count_quarters, **more)


def call_of(name: str, **arguments: Any) -> ToolCall:
    """A tool call as a model writes it."""
    return ToolCall(f"call-{name}", name, json.dumps(arguments))
