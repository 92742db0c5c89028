"""The caches of workspaces for other programs: the agent's own tools on them, over HTTP with a token."""

from __future__ import annotations

import asyncio
import importlib
import json
import secrets
from collections.abc import Sequence
from pathlib import Path

import msgspec

from helix_desktop import __version__
from helix_desktop.config.paths import DataDir, resources_dir
from helix_desktop.config.secrets import SecretStore
from helix_desktop.domain.errors import DigestUnknown, HelixError, StoreClosed, StoreWriteFailed
from helix_desktop.domain.messages import ToolCall, ToolSpec
from helix_desktop.domain.store import Commit
from helix_desktop.domain.tools import CountTokens, ToolResult
from helix_desktop.services.app_command import app_command
from helix_desktop.services.closed_workspaces import AnyStore, BorrowStore, LazyStore
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.tools.workspace_tools import cache_tool_specs, create_cache_tools
from helix_desktop.words.translation import error_text
from helix_desktop.workspaces.registry import WorkspaceRegistry

CACHE_SERVER_SESSION = "mcp"
"""The session under which recalls by other programs are counted: none has such an id."""


class CacheServerTools:
    """The cache's tools on a store that is opened when it is needed."""

    def __init__(self, store: LazyStore, count_tokens: CountTokens) -> None:
        self._store = store
        self._count_tokens = count_tokens
        self._descriptions = resources_dir() / "prompts" / "tools"
        self._specs = cache_tool_specs(self._descriptions)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
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


class SharingState(msgspec.Struct, frozen=True):
    """The state of an endpoint: switched on or off, its address and token while it serves, its error."""

    is_enabled: bool = False
    url: str = ""
    token: str = ""
    error: str = ""

    @property
    def port(self) -> int:
        """Return the port of its address; 0 without one."""
        return int(self.url.rpartition(":")[2].partition("/")[0]) if self.url else 0


def stdio_config(name: str, command: Sequence[str]) -> str:
    return _to_json({name: {"command": command[0], "args": list(command[1:])}})


def http_config(name: str, sharing: SharingState) -> str:
    """Return the JSON with which another program connects to the endpoint; it holds the token."""
    headers = {"Authorization": f"Bearer {sharing.token}"}
    return _to_json({name: {"type": "http", "url": sharing.url, "headers": headers}})


def server_name(workspace_name: str) -> str:
    plain = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in workspace_name.lower())
    return f"helix-cache-{plain.strip('-') or 'workspace'}"[:60]


def _to_json(servers: dict[str, dict[str, object]]) -> str:
    return json.dumps({"mcpServers": servers}, indent=2, ensure_ascii=False)


class CacheEndpoints:
    """Starts and stops one endpoint for each workspace that has it switched on."""

    def __init__(
        self,
        data_dir: Path,
        registry: WorkspaceRegistry,
        token_secrets: SecretStore,
        borrow_store: BorrowStore,
        count_tokens: CountTokens,
    ) -> None:
        self._data_dir = data_dir
        self._registry = registry
        self._token_secrets = token_secrets
        self._borrow_store = borrow_store
        self._count_tokens = count_tokens
        self._scopes: dict[str, TaskScope] = {}
        self._states: dict[str, SharingState] = {}

    async def sharing_state(self, workspace_id: str) -> SharingState:
        """Return how a workspace's cache is shared now; switched off if there is no endpoint."""
        return self._states.get(workspace_id, SharingState())

    def stdio_command(self, workspace_id: str) -> tuple[str, ...]:
        is_default = DataDir.locate(None, {}).root == self._data_dir
        options = () if is_default else ("--data-dir", str(self._data_dir))
        return app_command("mcp", *options, "--workspace", self._registry.get(workspace_id).path)

    async def start(self, workspace_id: str) -> None:
        port = self._registry.get(workspace_id).share_port
        if port and workspace_id not in self._scopes:
            await self._start_serving(workspace_id, port)

    async def set_enabled(self, workspace_id: str, enabled: bool) -> None:
        await self.stop(workspace_id)
        if not enabled:
            self._registry.change(workspace_id, share_port=0)
            return
        state = await self._start_serving(workspace_id, 0)
        if state.url:
            self._registry.change(workspace_id, share_port=state.port)

    async def rotate_token(self, workspace_id: str) -> None:
        """Create a new token: the previous one is no longer valid."""
        await self.stop(workspace_id)
        await self._token_secrets.delete(_secret_name(workspace_id))
        await self.start(workspace_id)

    async def stop(self, workspace_id: str) -> None:
        self._states.pop(workspace_id, None)
        scope = self._scopes.pop(workspace_id, None)
        if scope is not None:
            await scope.close()

    async def close(self) -> None:
        for workspace_id in tuple(self._scopes):
            await self.stop(workspace_id)

    async def _start_serving(self, workspace_id: str, port: int) -> SharingState:
        """Start serving, and wait until the endpoint serves or has failed."""
        token = (await self._token_secrets.get(_secret_name(workspace_id))).value
        if not token:
            token = secrets.token_urlsafe(32)
            await self._token_secrets.set(_secret_name(workspace_id), token)
        scope = self._scopes[workspace_id] = TaskScope()
        ready: asyncio.Future[SharingState] = asyncio.get_running_loop().create_future()
        scope.start(self._serve(workspace_id, port, token, ready), f"share cache {workspace_id}")
        self._states[workspace_id] = await ready
        return self._states[workspace_id]

    async def _serve(
        self, workspace_id: str, port: int, token: str, ready: asyncio.Future[SharingState]
    ) -> None:
        # Half a second of imports, which must not hold the window up.
        loopback = await asyncio.to_thread(importlib.import_module, "helix_desktop.mcp.http_server")
        serving = await asyncio.to_thread(importlib.import_module, "helix_desktop.mcp.cache_server")
        store = LazyStore(lambda: self._borrow_store(workspace_id))
        tools = CacheServerTools(store, self._count_tokens)
        server = serving.cache_server(tools, self._registry.get(workspace_id).name, __version__)
        try:
            await loopback.serve_loopback(
                server, token, port, lambda url: ready.set_result(SharingState(True, url, token))
            )
        except HelixError as error:
            ready.set_result(SharingState(True, error=error_text(error)))
        finally:
            if not ready.done():
                ready.set_result(SharingState())
            await store.close()


def _secret_name(workspace_id: str) -> str:
    return f"cache-{workspace_id}"
