"""The caches of open workspaces, served over HTTP to programs of this machine that hold the token."""

from __future__ import annotations

import asyncio
import importlib
import secrets
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from helix_desktop import __version__
from helix_desktop.agent.tasks import TaskScope
from helix_desktop.app.cache_sharing import SharedCache
from helix_desktop.app.itself import itself
from helix_desktop.app.on_demand import AnyStore, OnDemand
from helix_desktop.config.paths import DataDir
from helix_desktop.config.secrets import Secrets
from helix_desktop.context.errors import HelixError
from helix_desktop.context.sharing import Sharing
from helix_desktop.tools.cache import Count
from helix_desktop.workspaces.registry import Registry

Lend = Callable[[str], AbstractAsyncContextManager[AnyStore]]


class CacheEndpoints:
    """Starts and ends one endpoint for each workspace that has it switched on."""

    def __init__(self, root: Path, registry: Registry, kept: Secrets, lend: Lend, count: Count) -> None:
        """`root` is the data directory, `kept` holds the tokens."""
        self._root = root
        self._registry, self._kept, self._lend, self._count = registry, kept, lend, count
        self._scopes: dict[str, TaskScope] = {}
        self._shared: dict[str, Sharing] = {}

    async def sharing(self, identity: str) -> Sharing:
        """How a workspace's cache is shared now; without an endpoint, as if it were switched off."""
        return self._shared.get(identity, Sharing())

    def command(self, identity: str) -> tuple[str, ...]:
        """What another program runs to have a workspace's cache served through its pipes."""
        usual = DataDir.locate(None, {}).root == self._root
        place = () if usual else ("--data-dir", str(self._root))
        return itself("mcp", *place, "--workspace", self._registry.get(identity).path)

    async def begin(self, identity: str) -> None:
        """Start the endpoint of a workspace that has it switched on."""
        port = self._registry.get(identity).share_port
        if port and identity not in self._scopes:
            await self._start(identity, port)

    async def switch(self, identity: str, on: bool) -> None:
        """Serve a workspace's cache from now on, or no longer."""
        await self.end(identity)
        if not on:
            self._registry.change(identity, share_port=0)
            return
        shared = await self._start(identity, 0)
        if shared.url:
            self._registry.change(identity, share_port=shared.port)

    async def renew(self, identity: str) -> None:
        """Make a new token: who holds the former one is shut out."""
        await self.end(identity)
        await self._kept.delete(_name(identity))
        await self.begin(identity)

    async def end(self, identity: str) -> None:
        """End the endpoint of a workspace."""
        self._shared.pop(identity, None)
        scope = self._scopes.pop(identity, None)
        if scope is not None:
            await scope.close()

    async def close(self) -> None:
        """End all endpoints."""
        for identity in tuple(self._scopes):
            await self.end(identity)

    async def _start(self, identity: str, port: int) -> Sharing:
        """Serve, and wait until it does or cannot."""
        token = (await self._kept.get(_name(identity))).value
        if not token:
            token = secrets.token_urlsafe(32)
            await self._kept.set(_name(identity), token)
        scope = self._scopes[identity] = TaskScope()
        begun: asyncio.Future[Sharing] = asyncio.get_running_loop().create_future()
        scope.start(self._serve(identity, port, token, begun), f"share cache {identity}")
        self._shared[identity] = await begun
        return self._shared[identity]

    async def _serve(self, identity: str, port: int, token: str, begun: asyncio.Future[Sharing]) -> None:
        # Half a second of imports, which must not hold the window up.
        loopback = await asyncio.to_thread(importlib.import_module, "helix_desktop.mcp.loopback")
        serving = await asyncio.to_thread(importlib.import_module, "helix_desktop.mcp.server")
        store = OnDemand(lambda: self._lend(identity))
        tools = SharedCache(store, self._count)
        server = serving.cache_server(tools, self._registry.get(identity).name, __version__)
        try:
            await loopback.serve_loopback(
                server, token, port, lambda url: begun.set_result(Sharing(True, url, token))
            )
        except HelixError as error:
            begun.set_result(Sharing(True, fault=str(error)))
        finally:
            if not begun.done():
                begun.set_result(Sharing())
            await store.close()


def _name(identity: str) -> str:
    return f"cache-{identity}"
