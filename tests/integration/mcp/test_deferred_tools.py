"""With more than 40 tools the agent looks them up and calls them by name; all others see the tool itself."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.config.paths import DataDir
from helix_desktop.domain.deferred_tools import MAX_WHOLE_TOOLS
from helix_desktop.domain.events.conversation import ApprovalGiven, AssistantSpoke, ToolAnswered
from helix_desktop.domain.messages import CALL_TOOL, FIND_TOOLS, ToolCall
from helix_desktop.domain.tools import ApprovalRequest
from helix_desktop.services.app_services import AppServices
from helix_desktop.services.mcp_config import ServerDraft
from tests.support.agent_rig import AgentRig
from tests.support.mcp.hub_tools import HubTools
from tests.support.mcp.mcp_rig import McpRig, raw_server
from tests.support.model_servers.chat_server import ChatServer
from tests.support.model_servers.chat_server import text_reply as chat_reply
from tests.support.scripted_model import ScriptedModel, replies_in_order, text_reply, tool_call_reply

ECHO = "mcp__raw__echo"
MANY, RAW_TOOLS = "many=50", 6  # it has six others


def via_call_tool(name: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    return CALL_TOOL, {"name": name, "arguments": arguments}


def agent_of(rig: McpRig, *steps: tuple[str, dict[str, Any]]) -> AgentRig:
    """Return a conversation whose model makes these calls, one by one."""
    replies: Iterator[Any] = (tool_call_reply(step, id_prefix=f"c{n}_") for n, step in enumerate(steps))
    model = ScriptedModel(replies_in_order(*replies, text_reply("Done.")))
    return AgentRig(model, tools=HubTools(rig.hub))


def answers(agent: AgentRig) -> list[str]:
    return [event.text for event in agent.events(ToolAnswered)]


async def test_a_found_tool_is_asked_about_recorded_and_run_as_itself(rig: McpRig) -> None:
    """Its schema comes in an answer, so each request begins with the one before it: the cache holds."""
    await rig.start_servers(raw_server(MANY))
    agent = agent_of(rig, (FIND_TOOLS, {"query": "echo"}), via_call_tool(ECHO, a=1))
    conversation = await agent.begin()
    await conversation.send("Go.")
    await agent.wait_until(lambda: conversation.asks)
    (ask,) = conversation.asks
    assert isinstance(ask, ApprovalRequest)
    assert (ask.tool, ask.server, ask.detail) == (ECHO, "raw", '{\n  "a": 1\n}')
    conversation.decide(ask.call_id, "once")
    await agent.wait_until_idle()

    found, echoed = answers(agent)
    assert found.startswith(f"{ECHO}: [MCP server raw] Does echo.\n{{")
    assert echoed == '{"a": 1}'
    assert [event.target for event in agent.events(ToolAnswered)] == ["echo", "a: 1"]
    calls = [call for event in agent.events(AssistantSpoke) for call in event.calls]
    assert calls[1] == ToolCall("c1_0", ECHO, '{"a": 1}')
    assert [event.tool for event in agent.events(ApprovalGiven)] == [ECHO]
    assert [event.name for event in agent.events(ToolAnswered)] == [FIND_TOOLS, ECHO]

    first, second, third = agent.model.requests
    assert [spec.name for spec in first.tools] == [FIND_TOOLS, CALL_TOOL]
    assert first.tools == second.tools == third.tools
    assert third.messages[: len(second.messages)] == second.messages
    assert third.messages[-2].calls[0].name == CALL_TOOL
    assert json.loads(third.messages[-2].calls[0].arguments) == {"name": ECHO, "arguments": {"a": 1}}
    assert len({answer.layers for answer in agent.events(AssistantSpoke)}) == 1
    await agent.assert_consistent()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (via_call_tool("mcp__raw__ecco"), "Tools with similar names: mcp__raw__echo"),
        (via_call_tool("echo"), "Tools with similar names: mcp__raw__echo"),
        ((CALL_TOOL, {"nam": ECHO}), "It takes name, arguments?"),
        ((FIND_TOOLS, {"names": ["mcp__raw__ecco"]}), "Tools with similar names: mcp__raw__echo"),
        ((FIND_TOOLS, {"query": "zebra"}), "None of the 56 tools has these words."),
        ((FIND_TOOLS, {}), "None of the 56 tools has these words."),
    ],
)
async def test_an_unknown_name_lists_similar_ones(
    rig: McpRig, call: tuple[str, dict[str, Any]], words: str
) -> None:
    await rig.start_servers(raw_server(MANY))
    agent = agent_of(rig, call)
    await (await agent.begin()).send("Go.")
    await agent.wait_until_idle()
    (answer,) = answers(agent)
    assert words in answer
    assert "tool_049" not in answer, "not all names again"
    await agent.assert_consistent()


async def test_a_call_with_wrong_arguments_gets_the_schema_and_asks_nobody(rig: McpRig) -> None:
    await rig.start_servers(raw_server(MANY, "typed"))
    agent = agent_of(rig, via_call_tool(ECHO, txt="x"))
    await (await agent.begin()).send("Go.")
    await agent.wait_until_idle()
    (answer,) = answers(agent)
    assert answer.startswith(f"{ECHO} was called with wrong arguments. text is missing.")
    assert '"required": ["text"]' in answer
    assert not agent.events(ApprovalGiven)


async def test_the_answer_is_bounded_and_in_order(rig: McpRig) -> None:
    await rig.start_servers(raw_server(MANY))
    tools = HubTools(rig.hub)
    found = await tools.run(ToolCall("c0", FIND_TOOLS, '{"query": "the tools with a number"}'))
    *whole, others = found.content.decode().split("\n\n")
    assert [text.partition(":")[0] for text in whole] == [f"mcp__raw__tool_{n:03}" for n in range(5)]
    assert others.startswith("Other matches: mcp__raw__tool_005, mcp__raw__tool_006, ")
    assert others.endswith(", mcp__raw__tool_024.")
    best = await tools.run(ToolCall("c0", FIND_TOOLS, '{"query": "tool 007"}'))
    assert best.content.decode().partition(":")[0] == "mcp__raw__tool_007"


async def test_tools_of_servers_are_deferred_from_the_41st_on_and_settings_say_so(tmp_path: Path) -> None:
    """Its own tools count, too, and so does the one that starts subagents."""
    data, project = DataDir(tmp_path / "data"), tmp_path / "shop"
    data.ensure()
    project.mkdir()
    services = AppServices(data, dict(os.environ), FixedApprover("once"))
    async with ChatServer(lambda _: chat_reply("Done.")) as server:
        try:
            record = services.registry.add(project, trusted=True)
            workspace = await services.open_workspace(record.id)
            await workspace.set_models(await services.models.adhoc("local/small", server.base_url, 0))
            own = await names_sent(workspace, server)
            assert FIND_TOOLS not in own
            for count in (40, 41):
                config = raw_server(f"many={count - len(own) - RAW_TOOLS}", name=f"s{count}")
                await services.mcp_servers.add(record.id, [ServerDraft(config, {})])
                await services.mcp_servers.wait_until_ready(record.id, 60)
                sent = await names_sent(workspace, server)
                (status,) = await services.mcp_servers.statuses(record.id)
                assert status.defers_tools == (count > MAX_WHOLE_TOOLS)
                if count > MAX_WHOLE_TOOLS:
                    assert sent == [*own[:-1], FIND_TOOLS, CALL_TOOL, own[-1]]
                else:
                    assert (sent[: len(own) - 1], len(sent)) == (own[:-1], count)
                await services.mcp_servers.remove(record.id, config.name)
            assert await names_sent(workspace, server) == own
        finally:
            await services.close()


async def names_sent(workspace: OpenWorkspace, server: ChatServer) -> list[str]:
    """Return the tools of the request of a new session."""
    await (await workspace.create_session()).run("Hello.")
    return [tool["function"]["name"] for tool in server.bodies[-1]["tools"]]
