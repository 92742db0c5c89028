"""The tools of real MCP servers, for a conversation with a scripted model."""

from __future__ import annotations

from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.tools import ApprovalRequest, OutputCallback, ToolResult, ignore_output
from helix_desktop.mcp.client.servers import Hub
from tests.support.agent_rig import ScriptedTools


class HubTools(ScriptedTools):
    """The tools of real servers."""

    def __init__(self, hub: Hub) -> None:
        super().__init__()
        self._hub, self.specs = hub, hub.specs

    async def approval(self, call: ToolCall) -> ApprovalRequest:
        """Return what is asked before a call."""
        return await self._hub.approval(call)

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        """Run a call at its server."""
        self.executed_calls.append(call.id)
        return await self._hub.run(call, on_output)
