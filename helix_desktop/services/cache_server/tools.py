"""The cache of a workspace for other programs: the agent's own tools, on a store opened when needed."""

from __future__ import annotations

from helix_desktop.config.paths import resources_dir
from helix_desktop.domain.errors import DigestUnknown, StoreClosed, StoreWriteFailed
from helix_desktop.domain.messages import ToolCall, ToolSpec
from helix_desktop.domain.store import Commit
from helix_desktop.domain.tools import CountTokens, ToolResult
from helix_desktop.services.lazy_store import AnyStore, LazyStore
from helix_desktop.tools.workspace_tools import cache_tool_specs, create_cache_tools

CACHE_SERVER_SESSION = "mcp"
"""The session under which recalls by other programs are counted: none has such an id."""


class CacheServerTools:
    """The cache's tools on a store that is opened when it is needed."""

    def __init__(self, store: LazyStore, count_tokens: CountTokens) -> None:
        self._store, self._count_tokens = store, count_tokens
        self._descriptions = resources_dir() / "prompts" / "tools"
        self._specs = cache_tool_specs(self._descriptions)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """Return the tools, always in the same order."""
        return self._specs

    async def run(self, call: ToolCall) -> ToolResult:
        """Run a call; once more when the store's owner went away meanwhile. Raises HelixError."""
        try:
            return await self._run(call)
        except StoreClosed:
            return await self._run(call)

    async def _run(self, call: ToolCall) -> ToolResult:
        async with self._store.acquire() as store:
            try:
                result = await create_cache_tools(store, self._descriptions, self._count_tokens).run(call)
                await _count_recall(store, result)
            except StoreClosed:
                await self._store.discard(store)
                raise
        return result


async def _count_recall(store: AnyStore, result: ToolResult) -> None:
    """Count the recall, so that no clean-up takes it for unused; ignore a full disk."""
    if not result.recalled:
        return
    try:
        await store.commit(Commit(CACHE_SERVER_SESSION, recalls=[result.recalled]))
    except (StoreWriteFailed, DigestUnknown):
        return
