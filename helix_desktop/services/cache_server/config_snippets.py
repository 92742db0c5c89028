"""How a workspace's cache is shared with other programs of this machine."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec


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
    """Return the JSON with which another program starts a cache server as a command of its own."""
    return _to_json({name: {"command": command[0], "args": list(command[1:])}})


def http_config(name: str, sharing: SharingState) -> str:
    """Return the JSON with which another program connects to the endpoint; it holds the token."""
    headers = {"Authorization": f"Bearer {sharing.token}"}
    return _to_json({name: {"type": "http", "url": sharing.url, "headers": headers}})


def server_name(workspace_name: str) -> str:
    """Return a name for a workspace's cache server in the configuration of another program."""
    plain = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in workspace_name.lower())
    return f"helix-cache-{plain.strip('-') or 'workspace'}"[:60]


def _to_json(servers: dict[str, dict[str, object]]) -> str:
    return json.dumps({"mcpServers": servers}, indent=2, ensure_ascii=False)
