"""The tools on a workspace's cache, for our own agent, and for other programs through MCP."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from helix_desktop.domain.messages import ToolSpec
from helix_desktop.tools.arguments import Arguments
from helix_desktop.tools.cache.list import ListCacheArguments, ListCachedContent
from helix_desktop.tools.cache.port import Cache, CountTokens
from helix_desktop.tools.cache.recall import RecallArguments, RecallCachedContent
from helix_desktop.tools.cache.search import SearchCacheArguments, SearchCachedContent
from helix_desktop.tools.process.environment import clean_environment
from helix_desktop.tools.process.ripgrep import Ripgrep, find_ripgrep
from helix_desktop.tools.registry import RegisteredTool, ToolRegistry, spec_of

_RECALL, _SEARCH, _LIST = "recall_cached_content", "search_cached_content", "list_cached_content"
_ARGUMENT_TYPES: dict[str, type[Arguments]] = {
    _RECALL: RecallArguments,
    _SEARCH: SearchCacheArguments,
    _LIST: ListCacheArguments,
}


def cache_tools(store: Cache, count_tokens: CountTokens, ripgrep: Ripgrep) -> tuple[RegisteredTool[Any], ...]:
    """Return the tools on one workspace's cache; `count_tokens` counts the tokens of texts."""
    return (
        RegisteredTool(_RECALL, RecallArguments, RecallCachedContent(store, count_tokens, ripgrep)),
        RegisteredTool(_SEARCH, SearchCacheArguments, SearchCachedContent(store, count_tokens)),
        RegisteredTool(_LIST, ListCacheArguments, ListCachedContent(store)),
    )


def cache_specs(descriptions: Path) -> tuple[ToolSpec, ...]:
    """Return the specs of the same tools, as they are sent to a model."""
    return tuple(spec_of(name, kind, descriptions) for name, kind in _ARGUMENT_TYPES.items())


def cache_registry(store: Cache, descriptions: Path, count_tokens: CountTokens) -> ToolRegistry:
    """Return a registry of the cache tools alone; `descriptions` holds one Markdown file per tool."""
    ripgrep = Ripgrep(find_ripgrep(), clean_environment(os.environ))
    return ToolRegistry(cache_tools(store, count_tokens, ripgrep), descriptions)
