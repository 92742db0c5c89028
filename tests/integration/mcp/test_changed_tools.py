"""A tool that its server comes to describe differently is asked about again, and never runs unasked."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.events.conversation import ApprovalGiven, ToolAnswered
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.tools import AllowedCall, ApprovalRequest
from helix_desktop.mcp.client import servers
from tests.integration.mcp.test_http import serving
from tests.support.agent_rig import AgentRig
from tests.support.mcp.hub_tools import HubTools
from tests.support.mcp.mcp_rig import McpRig, approved_server, raw_server
from tests.support.scripted_model import ScriptedModel, replies_in_order, text_reply, tool_call_reply

ECHO = "mcp__raw__echo"
REWORDED = "Does echo, and sends it away."


def agent_of(rig: McpRig) -> AgentRig:
    """Return a conversation whose model calls echo."""
    model = ScriptedModel(replies_in_order(tool_call_reply((ECHO, {"a": 1})), text_reply("Done.")))
    return AgentRig(model, tools=HubTools(rig.hub))


async def restart_reworded(rig: McpRig) -> None:
    """End the server; it describes echo differently when it is started again."""
    (rig.root / "reworded").touch()
    os.kill(int(await rig.call_text("mcp__raw__pid")), signal.SIGTERM)
    await rig.wait_until(lambda: not rig.actor("raw").is_up)


async def open_request(agent: AgentRig, description: str) -> ApprovalRequest:

    def requests() -> list[ApprovalRequest]:
        return [ask for ask in agent.conversation.asks if isinstance(ask, ApprovalRequest)]

    await agent.wait_until(lambda: [ask.description for ask in requests()] == [description])
    return requests()[0]


async def test_a_saved_rule_does_not_run_a_tool_that_changed_while_its_server_was_down(rig: McpRig) -> None:
    """The call itself connects again: what the server says then decides, not what it said before."""
    await rig.start_servers(raw_server())
    agent = agent_of(rig)
    await agent.rules.add((await rig.hub.approval(ToolCall("c0", ECHO, "{}"))).rule)
    await restart_reworded(rig)
    conversation = await agent.begin()
    await conversation.send("Go.")
    request = await open_request(agent, REWORDED)
    assert request.mcp_change == "tool"
    assert not agent.tools.executed_calls
    conversation.decide("c0", "deny")
    await agent.wait_until_idle()
    assert not agent.tools.executed_calls


async def test_an_answer_holds_for_the_description_that_was_shown(rig: McpRig) -> None:
    """The server restarts while the card waits: the answer is asked for again, and its rule is not saved."""
    await rig.start_servers(raw_server())
    agent = agent_of(rig)
    conversation = await agent.begin()
    await conversation.send("Go.")
    assert (await open_request(agent, "Does echo.")).mcp_change == ""
    await restart_reworded(rig)
    conversation.decide("c0", "always")
    assert (await open_request(agent, REWORDED)).mcp_change == "tool"
    assert not agent.tools.executed_calls
    conversation.decide("c0", "once")
    await agent.wait_until_idle()
    assert [event.text for event in agent.events(ToolAnswered)] == ['{"a": 1}']
    assert [event.decision for event in agent.events(ApprovalGiven)] == ["once"]
    assert agent.rules.rules() == ()
    await agent.assert_consistent()


async def test_a_call_runs_only_the_tool_that_was_allowed(rig: McpRig) -> None:
    """What changes between the answer and the call is refused, also where the call connects again."""
    await rig.start_servers(raw_server())
    request = await rig.hub.approval(ToolCall("c0", ECHO, "{}"))
    allowed = AllowedCall("c0", ECHO, "{}", request.description_digest)
    assert (await rig.tools.run(allowed)).content == b"{}"
    await restart_reworded(rig)
    with pytest.raises(ToolError, match="echo was not run: it is not the tool that was allowed"):
        await rig.tools.run(allowed)
    assert await rig.call_text(ECHO) == "{}"


async def test_a_server_at_a_url_that_was_replaced_unnoticed_is_asked_about(
    rig: McpRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The protocol may need no session: then only its list of tools tells that another program answers."""
    monkeypatch.setattr(servers, "LISTED_LATELY_S", 0.0)
    call = ToolCall("c0", "mcp__web__say", '{"text": "hello"}')
    async with serving(tmp_path) as port:
        url = f"http://127.0.0.1:{port}/mcp"
        await rig.start_servers(approved_server("web", command="", args=(), url=url))
        request = await rig.hub.approval(call)
    allowed = AllowedCall(call.id, call.name, call.arguments, request.description_digest)
    async with serving(tmp_path, port, "Wipes the disk."):
        with pytest.raises(ToolError, match="was not run"):
            await rig.tools.run(allowed)
        assert (await rig.hub.approval(call)).description == "Wipes the disk."
