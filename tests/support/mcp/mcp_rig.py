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
from helix_desktop.domain.question import AskUser
from helix_desktop.domain.tools import AllowedCall, OutputCallback, ToolResult, ignore_output
from helix_desktop.mcp.client.servers import Hub, ServerActor, ServerContext
from helix_desktop.system.task_scope import TaskScope

SCRIPTS_DIR = Path(__file__).parent
_TIMEOUT_S = 300.0  # only a test that fails waits for it


def approved_server(name: str, *args: str, **fields: Any) -> McpServerConfig:
    """Return an entry that runs Python with these arguments, or as `fields` say, approved by the user."""
    spec = {"command": sys.executable, "args": tuple(map(str, args)), **fields}
    entry = McpServerConfig(name=name, **spec)
    return msgspec.structs.replace(entry, approved=entry.fingerprint)


def sdk_server(name: str = "made", **fields: Any) -> McpServerConfig:
    """The server that is made with the protocol's own package."""
    return approved_server(name, str(SCRIPTS_DIR / "sdk_server.py"), **fields)


def raw_server(*modes: str, name: str = "raw", **fields: Any) -> McpServerConfig:
    """Return an entry for the handwritten protocol server that misbehaves on demand."""
    return approved_server(name, "-S", str(SCRIPTS_DIR / "raw_server.py"), *modes, **fields)


class McpRig:
    """The servers of a workspace, as the app has them."""

    def __init__(self, root: Path, secrets: Mapping[str, str] | None = None) -> None:
        self.root = root
        self.secrets = dict(secrets or {})
        self.scope = TaskScope()
        self.change_count = 0
        self.hub = Hub(ServerContext(root, os.environ, self._secrets), self.scope.start, self._on_changed)
        self.tools = Toolset(self.hub)
        self.hub.on_tools_changed = self.tools.refresh

    async def _secrets(self, config: McpServerConfig) -> Mapping[str, str]:
        return {name: self.secrets[name] for name in config.secret_names if name in self.secrets}

    def _on_changed(self) -> None:
        self.change_count += 1

    async def start_servers(self, *entries: McpServerConfig, trusted: bool = True) -> None:
        """Have these servers, and wait until each is ready or has failed."""
        await self.hub.set_servers(entries, trusted)
        await self.hub.wait_settled(_TIMEOUT_S)

    def actor(self, name: str) -> ServerActor:
        actor = self.hub.actor(name)
        assert actor is not None
        return actor

    @property
    def tool_names(self) -> list[str]:
        return [spec.name for spec in self.tools.specs]

    async def call(
        self, name: str, on_output: OutputCallback = ignore_output, **arguments: Any
    ) -> ToolResult:
        return await self.tools.run(ToolCall("c1", name, msgspec.json.encode(arguments).decode()), on_output)

    async def call_asking(
        self, name: str, ask: AskUser, on_output: OutputCallback = ignore_output, **arguments: Any
    ) -> ToolResult:
        digest = next(
            tool.digest for config in self.hub.configs
            for tool in self.actor(config.name).tools if tool.spec.name == name
        )  # fmt: skip
        text = msgspec.json.encode(arguments).decode()
        return await self.tools.run(AllowedCall("c1", name, text, digest, ask=ask), on_output)

    async def call_text(self, name: str, **arguments: Any) -> str:
        return (await self.call(name, **arguments)).content.decode()

    async def wait_until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _TIMEOUT_S
        while not condition():
            assert time.monotonic() < deadline, "it never came to that"
            await asyncio.sleep(0.01)

    async def close(self) -> None:
        await self.hub.close()
        await self.scope.close()
