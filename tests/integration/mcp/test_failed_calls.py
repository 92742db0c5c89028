"""The card of a call that its server did not carry out says what it was about, and why it failed."""

from __future__ import annotations

from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.ui.chat.rows.row_texts import outcome_text
from helix_desktop.ui.chat.rows.row_types import ToolRow
from helix_desktop.ui.chat.rows.rows_from_events import rows_from_log
from tests.support.agent_rig import AgentRig
from tests.support.mcp.hub_tools import HubTools
from tests.support.mcp.mcp_rig import McpRig
from tests.support.mcp.raw_http_server import RawHttpServer
from tests.support.scripted_model import (
    ScriptedModel,
    replies_in_order,
    text_reply,
    tool_call_reply,
    tool_result_texts,
)


async def test_the_card_of_a_failed_call_says_what_the_server_says(rig: McpRig) -> None:
    server = RawHttpServer()
    await server.start()
    server.call_error = {"code": -32602, "message": "invalid params: lines must be positive"}
    await rig.start_servers(server.config())
    call = tool_call_reply(("mcp__web__echo", {"lines": -1, "all": False}))
    model = ScriptedModel(replies_in_order(call, text_reply("Done.")))
    agent = AgentRig(model, tools=HubTools(rig.hub), approver=FixedApprover("once"))
    conversation = await agent.begin()
    await conversation.send("Go.")
    await agent.wait_until_idle()
    (row,) = (row for row in rows_from_log(conversation.session.log)[1] if isinstance(row, ToolRow))
    assert row.target == "lines: -1, all: false"
    assert outcome_text(row) == "Failed: invalid params: lines must be positive"
    assert tool_result_texts(model.requests[-1]) == [
        "invalid params: lines must be positive. The MCP server web did not carry out echo."
    ]
    await server.close()
