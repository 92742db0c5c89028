"""An MCP server's actor ends when it is stopped, whatever fails at that moment."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.mcp.client.servers import ServerActor, ServerContext
from helix_desktop.system.task_scope import TaskScope


async def test_a_failure_during_the_stop_does_not_restart_it(tmp_path: Path) -> None:
    """A task group hides a cancellation behind its child's failure: the window would wait forever."""
    loading = asyncio.Event()

    async def fail_when_cut_off(config: McpServerConfig) -> Mapping[str, str]:
        loading.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise OSError("the keychain went away") from None
        return {}

    async def ignore_tools() -> None:
        return

    context = ServerContext(tmp_path, {}, fail_when_cut_off)
    actor = ServerActor(McpServerConfig(name="x", command="x"), context, ignore_tools, lambda: None)
    running = TaskScope().start(actor.run(), "mcp x")
    await loading.wait()
    running.cancel()
    await asyncio.wait([running])
    assert running.cancelled()
