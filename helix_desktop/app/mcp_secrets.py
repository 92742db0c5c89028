"""The secrets of MCP servers: in the keychain under names of their own, one workspace apart from another."""

from __future__ import annotations

from collections.abc import Sequence

from helix_desktop.config.secrets import Secrets
from helix_desktop.context.mcp_pasted import Draft
from helix_desktop.context.mcp_server import ServerEntry


class McpSecrets:
    """The secrets of the servers of one workspace."""

    def __init__(self, secrets: Secrets, identity: str) -> None:
        self._secrets, self._identity = secrets, identity

    async def of(self, entry: ServerEntry) -> dict[str, str]:
        """The values that are known of an entry's secrets, by name."""
        found = {name: await self._secrets.get(self._place(entry.name, name)) for name in entry.secrets}
        return {name: key.value for name, key in found.items() if key.value}

    async def keep(self, draft: Draft) -> None:
        """Keep the values that a draft has."""
        for name, value in draft.secrets.items():
            if value:
                await self._secrets.set(self._place(draft.entry.name, name), value)

    async def drop(self, server: str, names: Sequence[str]) -> None:
        """Forget a server's secrets of these names."""
        for name in names:
            await self._secrets.set(self._place(server, name), "")

    def _place(self, server: str, name: str) -> str:
        return f"mcp/{self._identity}/{server}/{name}"
