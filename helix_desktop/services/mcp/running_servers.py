"""The running MCP servers of open workspaces, and their tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from helix_desktop.agent.ports import Tools
from helix_desktop.agent.tool_calls.toolset import Toolset
from helix_desktop.config.secrets import SecretStore
from helix_desktop.mcp.client.hub import Hub
from helix_desktop.mcp.client.server_actor import ServerContext
from helix_desktop.services.mcp.secrets import ServerSecrets
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.workspaces.registry import WorkspaceRegistry


class RunningServers:
    """Runs servers as the workspaces' records say; programs get what they need of `inherited_env`."""

    def __init__(
        self, registry: WorkspaceRegistry, secrets: SecretStore, inherited_env: Mapping[str, str]
    ) -> None:
        self._registry, self._secrets, self._inherited_env = registry, secrets, inherited_env
        self._scope = TaskScope()
        self._hubs: dict[str, Hub] = {}
        self._listeners: list[Callable[[str], None]] = []

    def listen(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Call `listener` with the workspace whose servers changed; return a function to unsubscribe."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def create_toolset(self, workspace_id: str, root: Path, own_tools: Tools) -> Toolset:
        """Our own tools of a workspace that is being opened, then those of its servers.

        None of them starts before `start` or `wait_until_ready`.
        """
        context = ServerContext(root, self._inherited_env, self._secrets_of(workspace_id).load)
        hub = self._hubs[workspace_id] = Hub(context, self._scope.start, lambda: self._notify(workspace_id))
        tools = Toolset(own_tools, hub)
        hub.on_tools_changed = tools.refresh
        return tools

    def start(self, workspace_id: str) -> None:
        """Start the servers of an open workspace in the background; without trust, stop them."""
        if self._registry.get(workspace_id).servers:
            self._scope.start(self._apply(workspace_id), f"mcp begin {workspace_id}")

    async def wait_until_ready(self, workspace_id: str, timeout_s: float) -> None:
        """Wait until every server is ready or has failed, at most so many seconds."""
        await self._apply(workspace_id)
        if workspace_id in self._hubs:
            await self._hubs[workspace_id].wait_settled(timeout_s)

    async def stop(self, workspace_id: str) -> None:
        """End the servers of a workspace."""
        hub = self._hubs.pop(workspace_id, None)
        if hub is not None:
            await hub.close()

    async def close(self) -> None:
        """End all servers."""
        for workspace_id in tuple(self._hubs):
            await self.stop(workspace_id)
        await self._scope.close()

    def _secrets_of(self, workspace_id: str) -> ServerSecrets:
        return ServerSecrets(self._secrets, workspace_id)

    def _notify(self, workspace_id: str) -> None:
        for listener in tuple(self._listeners):
            listener(workspace_id)

    async def _apply(self, workspace_id: str, restart_name: str = "") -> None:
        hub = self._hubs.get(workspace_id)
        if hub is not None:
            record = self._registry.get(workspace_id)
            await hub.set_servers(record.servers, record.trusted, restart_name)
        self._notify(workspace_id)
