"""The MCP servers of open workspaces: started, ended, and told as tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from helix_desktop.agent.ports import Tools
from helix_desktop.agent.tasks import TaskScope
from helix_desktop.agent.toolset import Toolset
from helix_desktop.app.mcp_secrets import McpSecrets
from helix_desktop.config.secrets import Secrets
from helix_desktop.mcp.actor import Ground
from helix_desktop.mcp.hub import Hub
from helix_desktop.workspaces.registry import Registry


class McpRunning:
    """Runs servers as the workspaces' records say; programs get what they need of `inherited`."""

    def __init__(self, registry: Registry, secrets: Secrets, inherited: Mapping[str, str]) -> None:
        self._registry, self._secrets, self._inherited = registry, secrets, inherited
        self._scope = TaskScope()
        self._hubs: dict[str, Hub] = {}
        self._listeners: list[Callable[[str], None]] = []

    def listen(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Hear of the workspace whose servers have changed. Call the returned function to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def tools(self, identity: str, root: Path, own: Tools) -> Toolset:
        """Our own tools of a workspace that is being opened, then those of its servers.

        None of them starts before `begin` or `settled`.
        """
        ground = Ground(root, self._inherited, self._of(identity).of)
        hub = self._hubs[identity] = Hub(ground, self._scope.start, lambda: self._tell(identity))
        tools = Toolset(own, hub)
        hub.changed = tools.refresh
        return tools

    def begin(self, identity: str) -> None:
        """Start the servers of an open workspace beside everything else; without trust end them."""
        if self._registry.get(identity).servers:
            self._scope.start(self._use(identity), f"mcp begin {identity}")

    async def settled(self, identity: str, seconds: float) -> None:
        """Wait until every server is ready or has failed, at most so many seconds."""
        await self._use(identity)
        if identity in self._hubs:
            await self._hubs[identity].settled(seconds)

    async def shut(self, identity: str) -> None:
        """End the servers of a workspace."""
        hub = self._hubs.pop(identity, None)
        if hub is not None:
            await hub.close()

    async def close(self) -> None:
        """End all servers."""
        for identity in tuple(self._hubs):
            await self.shut(identity)
        await self._scope.close()

    def _of(self, identity: str) -> McpSecrets:
        return McpSecrets(self._secrets, identity)

    def _tell(self, identity: str) -> None:
        for listener in tuple(self._listeners):
            listener(identity)

    async def _use(self, identity: str, anew: str = "") -> None:
        hub = self._hubs.get(identity)
        if hub is not None:
            record = self._registry.get(identity)
            await hub.use(record.servers, record.trusted, anew)
        self._tell(identity)
