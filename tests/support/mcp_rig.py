"""A workspace's MCP servers for tests: real programs, real tasks, and whoever listens."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from helix_desktop.agent.tool_calls.toolset import Toolset
from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.tools import OutputCallback, ToolResult, ignore_output
from helix_desktop.mcp.client.hub import Hub
from helix_desktop.mcp.client.server_actor import ServerActor, ServerContext
from helix_desktop.system.task_scope import TaskScope

HERE = Path(__file__).parent
_PATIENCE_S = 60.0


def agreed(name: str, *args: str, **fields: Any) -> McpServerConfig:
    """An entry that runs Python with these arguments, or what `fields` say, and that the person agreed to."""
    given = {"command": sys.executable, "args": tuple(map(str, args)), **fields}
    entry = McpServerConfig(name=name, **given)
    return msgspec.structs.replace(entry, approved=entry.fingerprint)


def made(name: str = "made", **fields: Any) -> McpServerConfig:
    """The server that is made with the protocol's own package."""
    return agreed(name, str(HERE / "mcp_made.py"), **fields)


def raw(*how: str, name: str = "raw", **fields: Any) -> McpServerConfig:
    """The server that speaks the protocol by hand, and misbehaves as told."""
    return agreed(name, "-S", str(HERE / "mcp_raw.py"), *how, **fields)


class McpRig:
    """The servers of a workspace, as the app has them."""

    def __init__(self, root: Path, secrets: Mapping[str, str] | None = None) -> None:
        self.root, self.kept = root, dict(secrets or {})
        self.scope = TaskScope()
        self.told = 0
        self.hub = Hub(ServerContext(root, os.environ, self._secrets), self.scope.start, self._tell)
        self.tools = Toolset(self.hub)
        self.hub.on_tools_changed = self.tools.refresh

    async def _secrets(self, entry: McpServerConfig) -> Mapping[str, str]:
        return {name: self.kept[name] for name in entry.secret_names if name in self.kept}

    def _tell(self) -> None:
        self.told += 1

    async def use(self, *entries: McpServerConfig, trusted: bool = True) -> None:
        """Have these servers, and wait until each is ready or has failed."""
        await self.hub.set_servers(entries, trusted)
        await self.hub.wait_settled(_PATIENCE_S)

    def actor(self, name: str) -> ServerActor:
        """A server that runs."""
        found = self.hub.actor(name)
        assert found is not None
        return found

    @property
    def names(self) -> list[str]:
        """The tools that a model is told."""
        return [spec.name for spec in self.tools.specs]

    async def call(self, name: str, told: OutputCallback = ignore_output, **given: Any) -> ToolResult:
        """Call a tool by the name it is told under."""
        return await self.tools.run(ToolCall("c1", name, msgspec.json.encode(given).decode()), told)

    async def text(self, name: str, **given: Any) -> str:
        """The text that a call brings."""
        return (await self.call(name, **given)).content.decode()

    async def when(self, holds: Callable[[], bool]) -> None:
        """Let the loop run until something holds."""
        deadline = time.monotonic() + _PATIENCE_S
        while not holds():
            assert time.monotonic() < deadline, "it never came to that"
            await asyncio.sleep(0.01)

    async def close(self) -> None:
        """End everything."""
        await self.hub.close()
        await self.scope.close()
