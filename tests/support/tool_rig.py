"""A workspace's cache in memory, and a toolbox on a folder, for tests of tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import DigestUnknown
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.store import (
    DEFAULT_FILTER,
    CacheEntry,
    ContentHit,
    ContentReader,
    EntryFilter,
    EntryOrder,
    EntryPage,
    SearchResults,
    SessionSummary,
    StoreTotals,
    matches_filter,
)
from helix_desktop.domain.text_format import first_line
from helix_desktop.domain.text_search import find_matches, parse_query
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.tools.tool import ToolRegistry
from helix_desktop.tools.workspace_tools import ToolSetup, create_workspace_tools

DESCRIPTIONS_DIR = Path(__file__).parents[2] / "resources" / "prompts" / "tools"


class MemoryCache:
    """Contents by digest, as the tools see a store."""

    def __init__(self) -> None:
        self._contents: dict[str, tuple[bytes, CacheEntry]] = {}

    def put(self, data: bytes, tool: str = "read_file", target: str = "a.txt") -> str:
        """Store bytes; return their digest."""
        digest, line = digest_of(data), first_line(data.decode(errors="replace"))
        entry = CacheEntry(
            1, 1, len(data), len(data), len(data) // 4, tool, target, line, "output", digest=digest
        )
        self._contents[digest] = (data, entry)
        return digest

    async def get(self, digest: str) -> bytes:
        return self._lookup(digest)[0]

    async def entry(self, digest: str) -> CacheEntry:
        return self._lookup(digest)[1]

    async def find(self, prefix: str, limit: int = 20) -> list[str]:
        """The digests that begin with a prefix."""
        return sorted(digest for digest in self._contents if digest.startswith(prefix))[:limit]

    async def page(
        self,
        cursor: str = "",
        limit: int = 200,
        order: EntryOrder = "newest",
        prefix: str = "",
        entry_filter: EntryFilter = DEFAULT_FILTER,
    ) -> EntryPage:
        """The newest entries that pass, on one page."""
        listed = [
            entry for _, entry in reversed(self._contents.values()) if matches_filter(entry, entry_filter)
        ]
        return EntryPage(tuple(listed[:limit]))

    async def search(
        self,
        query: str,
        entry_filter: EntryFilter = DEFAULT_FILTER,
        limit: int = 20,
        cursor: str = "",
        should_continue: Callable[[int], bool] = lambda _: True,
    ) -> SearchResults:
        """Return all contents that contain the words, newest first."""
        hits = []
        for data, entry in reversed(self._contents.values()):
            sighting = find_matches(parse_query(query), data, f"{entry.tool} {entry.target}", lambda: True)
            hits += [ContentHit(entry, sighting, "")] if sighting else []
        return SearchResults(tuple(hits[:limit]))

    async def tools(self) -> tuple[str, ...]:
        return tuple(sorted({entry.tool for _, entry in self._contents.values()}))

    async def sessions(self) -> list[SessionSummary]:
        return []

    async def totals(self) -> StoreTotals:
        size = sum(entry.size for _, entry in self._contents.values())
        return StoreTotals(len(self._contents), size, size, 0)

    def _lookup(self, digest: str) -> tuple[bytes, CacheEntry]:
        if digest not in self._contents:
            raise DigestUnknown(verbatim(f"Nothing is stored under {digest}."))
        return self._contents[digest]


async def estimate_tokens(texts: Sequence[str]) -> list[int]:
    """Four characters to a token, rounded up."""
    return [-(-len(text) // 4) for text in texts]


def make_tools(root: Path, cache: ContentReader | None = None, **options: Any) -> ToolRegistry:
    """Return the real tools on a folder, with the shipped descriptions; `options` are those of ToolSetup."""
    setup = ToolSetup(DESCRIPTIONS_DIR, estimate_tokens, **options)
    return create_workspace_tools(root, cache or MemoryCache(), setup)


def make_call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(f"call-{name}", name, json.dumps(arguments))
