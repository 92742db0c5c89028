"""How a workspace's cache is shared with other programs of this machine."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec


class Sharing(msgspec.Struct, frozen=True):
    """Whether an endpoint is wanted, its address and token while it serves, and why it does not."""

    on: bool = False
    url: str = ""
    token: str = ""
    fault: str = ""

    @property
    def port(self) -> int:
        """The port of its address; 0 without one."""
        return int(self.url.rpartition(":")[2].partition("/")[0]) if self.url else 0


def over_pipes(name: str, command: Sequence[str]) -> str:
    """What other programs are given to start a cache server as a command of their own."""
    return _written({name: {"command": command[0], "args": list(command[1:])}})


def over_http(name: str, sharing: Sharing) -> str:
    """What other programs are given to reach the endpoint; it holds the token."""
    headers = {"Authorization": f"Bearer {sharing.token}"}
    return _written({name: {"type": "http", "url": sharing.url, "headers": headers}})


def server_name(workspace: str) -> str:
    """A name for a workspace's cache server among others."""
    plain = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in workspace.lower())
    return f"helix-cache-{plain.strip('-') or 'workspace'}"[:60]


def _written(servers: dict[str, dict[str, object]]) -> str:
    return json.dumps({"mcpServers": servers}, indent=2, ensure_ascii=False)
