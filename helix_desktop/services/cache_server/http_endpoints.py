"""The caches of open workspaces, served over HTTP to programs of this machine that hold the token."""

from __future__ import annotations

import asyncio
import importlib
import secrets
from pathlib import Path

from helix_desktop import __version__
from helix_desktop.config.paths import DataDir
from helix_desktop.config.secrets import SecretStore
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.tools import CountTokens
from helix_desktop.services.app_command import app_command
from helix_desktop.services.cache_server.config_snippets import SharingState
from helix_desktop.services.cache_server.tools import CacheServerTools
from helix_desktop.services.lazy_store import BorrowStore, LazyStore
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.words.errors import error_text
from helix_desktop.workspaces.registry import WorkspaceRegistry


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
        """`token_secrets` holds the tokens of the endpoints."""
        self._data_dir = data_dir
        self._registry, self._token_secrets, self._borrow_store, self._count_tokens = (
            registry,
            token_secrets,
            borrow_store,
            count_tokens,
        )
        self._scopes: dict[str, TaskScope] = {}
        self._states: dict[str, SharingState] = {}

    async def sharing_state(self, workspace_id: str) -> SharingState:
        """Return how a workspace's cache is shared now; switched off if there is no endpoint."""
        return self._states.get(workspace_id, SharingState())

    def stdio_command(self, workspace_id: str) -> tuple[str, ...]:
        """Return the command that serves a workspace's cache to another program through its pipes."""
        is_default = DataDir.locate(None, {}).root == self._data_dir
        options = () if is_default else ("--data-dir", str(self._data_dir))
        return app_command("mcp", *options, "--workspace", self._registry.get(workspace_id).path)

    async def start(self, workspace_id: str) -> None:
        """Start the endpoint of a workspace that has it switched on."""
        port = self._registry.get(workspace_id).share_port
        if port and workspace_id not in self._scopes:
            await self._start_serving(workspace_id, port)

    async def set_enabled(self, workspace_id: str, enabled: bool) -> None:
        """Start or stop serving a workspace's cache."""
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
        """Stop the endpoint of a workspace."""
        self._states.pop(workspace_id, None)
        scope = self._scopes.pop(workspace_id, None)
        if scope is not None:
            await scope.close()

    async def close(self) -> None:
        """Stop all endpoints."""
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
