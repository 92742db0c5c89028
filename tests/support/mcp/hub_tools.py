"""The tools of real MCP servers, for a conversation with a scripted model."""

from __future__ import annotations

from helix_desktop.agent.tool_calls.toolset import Toolset
from helix_desktop.domain.messages import ToolCall, ToolSpec
from helix_desktop.domain.question import Question
from helix_desktop.domain.tools import ApprovalRequest, OutputCallback, ToolResult, ignore_output
from helix_desktop.mcp.client.servers import Hub
from helix_desktop.tools.find_tools import CallTool, FindTools
from helix_desktop.tools.tool import ToolRegistry
from tests.support.agent_rig import ScriptedTools
from tests.support.tool_rig import DESCRIPTIONS_DIR


class HubTools(ScriptedTools):
    """The tools of real servers, with `find_tools` and `call_tool`."""

    def __init__(self, hub: Hub) -> None:
        super().__init__()

        def specs() -> tuple[ToolSpec, ...]:
            return hub.specs

        self.all = Toolset(hub, ToolRegistry([FindTools(specs), CallTool(specs)], DESCRIPTIONS_DIR))
        self.specs = self.all.specs

    async def approval(self, call: ToolCall) -> ApprovalRequest | Question | None:
        return await self.all.approval(call)

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        self.executed_calls.append(call.id)
        return await self.all.run(call, on_output)
