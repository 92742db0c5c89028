"""The secrets of MCP servers: in the keychain under names of their own, one workspace apart from another."""

from __future__ import annotations

from collections.abc import Sequence

from helix_desktop.config.secrets import SecretStore
from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.services.mcp.config_import import ServerDraft


class ServerSecrets:
    """The secrets of the servers of one workspace."""

    def __init__(self, secrets: SecretStore, workspace_id: str) -> None:
        self._secrets, self._identity = secrets, workspace_id

    async def load(self, config: McpServerConfig) -> dict[str, str]:
        """Return the stored values of a server's secrets, by name."""
        keys = {
            name: await self._secrets.get(self._key_name(config.name, name)) for name in config.secret_names
        }
        return {name: key.value for name, key in keys.items() if key.value}

    async def save(self, draft: ServerDraft) -> None:
        """Save the values that a draft has."""
        for name, value in draft.secrets.items():
            if value:
                await self._secrets.set(self._key_name(draft.config.name, name), value)

    async def delete(self, server: str, names: Sequence[str]) -> None:
        """Delete a server's secrets of these names."""
        for name in names:
            await self._secrets.set(self._key_name(server, name), "")

    def _key_name(self, server: str, name: str) -> str:
        return f"mcp/{self._identity}/{server}/{name}"
