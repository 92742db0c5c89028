"""The tools on a workspace's cache: our own agent has them, and other programs through MCP."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from helix_desktop.context.message import ToolSpec
from helix_desktop.tools.arguments import Arguments
from helix_desktop.tools.box import Box, Slot, spec_of
from helix_desktop.tools.cache import Cache, Count
from helix_desktop.tools.environment import clean
from helix_desktop.tools.list_cache import ListCacheArguments, ListCachedContent
from helix_desktop.tools.recall import RecallArguments, RecallCachedContent
from helix_desktop.tools.ripgrep import Ripgrep, find_ripgrep
from helix_desktop.tools.search_cache import SearchCacheArguments, SearchCachedContent

_RECALL, _SEARCH, _LIST = "recall_cached_content", "search_cached_content", "list_cached_content"
_KINDS: dict[str, type[Arguments]] = {
    _RECALL: RecallArguments,
    _SEARCH: SearchCacheArguments,
    _LIST: ListCacheArguments,
}


def cache_slots(store: Cache, count: Count, ripgrep: Ripgrep) -> tuple[Slot[Any], ...]:
    """The tools on one workspace's cache; `count` counts tokens of texts."""
    return (
        Slot(_RECALL, RecallArguments, RecallCachedContent(store, count, ripgrep)),
        Slot(_SEARCH, SearchCacheArguments, SearchCachedContent(store, count)),
        Slot(_LIST, ListCacheArguments, ListCachedContent(store)),
    )


def cache_specs(descriptions: Path) -> tuple[ToolSpec, ...]:
    """The same tools as a model is told of them."""
    return tuple(spec_of(name, kind, descriptions) for name, kind in _KINDS.items())


def cache_box(store: Cache, descriptions: Path, count: Count) -> Box:
    """The tools on one workspace's cache alone; `descriptions` holds one Markdown file per tool."""
    ripgrep = Ripgrep(find_ripgrep(), clean(os.environ))
    return Box(cache_slots(store, count, ripgrep), descriptions)
