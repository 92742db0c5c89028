"""The agent's calls of real servers' tools: looked up where there are many, changed, failed, and counted."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.run_settings import schema_json
from helix_desktop.agent.session import RequestChanged
from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.agent.tool_calls.toolset import Toolset
from helix_desktop.config.paths import DataDir, resources_dir
from helix_desktop.context.window.window_breakdown import WindowItem
from helix_desktop.domain.deferred_tools import MAX_WHOLE_TOOLS
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.events.conversation import ApprovalGiven, AssistantSpoke, ToolAnswered
from helix_desktop.domain.messages import CALL_TOOL, FIND_TOOLS, ModelInfo, ToolCall, ToolSpec
from helix_desktop.domain.question import Question
from helix_desktop.domain.tools import AllowedCall, ApprovalRequest, OutputCallback, ToolResult, ignore_output
from helix_desktop.mcp.client import servers
from helix_desktop.mcp.client.servers import Hub
from helix_desktop.providers.http import HttpClient
from helix_desktop.providers.streaming import StreamedModel
from helix_desktop.providers.tiktoken_counter import TiktokenCounter
from helix_desktop.services.app_services import AppServices
from helix_desktop.services.mcp_config import ServerDraft
from helix_desktop.services.mcp_servers import StatusBuilder
from helix_desktop.tools.find_tools import CallTool, FindTools
from helix_desktop.tools.tool import ToolRegistry
from helix_desktop.ui.chat.rows.row_texts import outcome_text
from helix_desktop.ui.chat.rows.row_types import ToolRow
from helix_desktop.ui.chat.rows.rows_from_events import rows_from_log
from helix_desktop.ui.settings.mcp.server_parts import tools_cost_text
from helix_desktop.words.numbers import format_tokens
from tests.integration.mcp.test_real_servers import serving
from tests.support.agent_rig import AgentRig, ScriptedTools
from tests.support.mcp.mcp_rig import McpRig, approved_server, raw_server
from tests.support.mcp.raw_http_server import RawHttpServer
from tests.support.model_servers.chat_server import ChatServer, Reply, api_error
from tests.support.model_servers.chat_server import text_reply as chat_reply
from tests.support.model_servers.connect import connect_model
from tests.support.scripted_model import (
    ScriptedModel,
    replies_in_order,
    text_reply,
    tool_call_reply,
    tool_result_texts,
)
from tests.support.tool_rig import DESCRIPTIONS_DIR

ECHO = "mcp__raw__echo"
MANY = "many=50"
RAW_TOOLS = 6  # other tools of the same server


def via_call_tool(name: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    return CALL_TOOL, {"name": name, "arguments": arguments}


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


def agent_of(rig: McpRig, *steps: tuple[str, dict[str, Any]], **fields: Any) -> AgentRig:
    """Return a conversation whose model makes these calls, one by one."""
    replies: Iterator[Any] = (tool_call_reply(step, id_prefix=f"c{n}_") for n, step in enumerate(steps))
    model = ScriptedModel(replies_in_order(*replies, text_reply("Done.")))
    return AgentRig(model, tools=HubTools(rig.hub), **fields)


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
    await agent.assert_consistent()


async def test_an_unknown_name_lists_similar_ones(rig: McpRig) -> None:
    await rig.start_servers(raw_server(MANY))
    similar = "Tools with similar names: mcp__raw__echo"
    none = "None of the 56 tools has these words."
    calls: dict[tuple[str, str], str] = {
        (CALL_TOOL, '{"name": "mcp__raw__ecco", "arguments": {}}'): similar,
        (CALL_TOOL, '{"name": "echo", "arguments": {}}'): similar,
        (CALL_TOOL, '{"nam": "mcp__raw__echo"}'): "It takes name, arguments?",
        (FIND_TOOLS, '{"names": ["mcp__raw__ecco"]}'): similar,
        (FIND_TOOLS, '{"query": "zebra"}'): none,
        (FIND_TOOLS, "{}"): none,
    }
    agent = agent_of(rig, *((name, json.loads(arguments)) for name, arguments in calls))
    await (await agent.begin()).send("Go.")
    await agent.wait_until_idle()
    for answer, (call, words) in zip(answers(agent), calls.items(), strict=True):
        assert words in answer, call
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
    data = DataDir(tmp_path / "data")
    project = tmp_path / "shop"
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


REWORDED = "Does echo, and sends it away."


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
    agent = agent_of(rig, (ECHO, {"a": 1}))
    await agent.rules.add((await rig.hub.approval(ToolCall("c0", ECHO, "{}"))).rule)
    await restart_reworded(rig)
    conversation = await agent.begin()
    await conversation.send("Go.")
    request = await open_request(agent, REWORDED)
    assert request.mcp_change == "tool"
    assert not agent.tools.executed_calls
    conversation.decide("c0_0", "deny")
    await agent.wait_until_idle()
    assert not agent.tools.executed_calls


async def test_an_answer_holds_for_the_description_that_was_shown(rig: McpRig) -> None:
    """The server restarts while the card waits: the answer is asked for again, and its rule is not saved."""
    await rig.start_servers(raw_server())
    agent = agent_of(rig, (ECHO, {"a": 1}))
    conversation = await agent.begin()
    await conversation.send("Go.")
    assert (await open_request(agent, "Does echo.")).mcp_change == ""
    await restart_reworded(rig)
    conversation.decide("c0_0", "always")
    assert (await open_request(agent, REWORDED)).mcp_change == "tool"
    assert not agent.tools.executed_calls
    conversation.decide("c0_0", "once")
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


async def test_the_card_of_a_failed_call_says_what_the_server_says(rig: McpRig) -> None:
    server = RawHttpServer()
    await server.start()
    server.call_error = {"code": -32602, "message": "invalid params: lines must be positive"}
    await rig.start_servers(server.config())
    agent = agent_of(rig, ("mcp__web__echo", {"lines": -1, "all": False}), approver=FixedApprover("once"))
    conversation = await agent.begin()
    await conversation.send("Go.")
    await agent.wait_until_idle()
    (row,) = (row for row in rows_from_log(conversation.session.log)[1] if isinstance(row, ToolRow))
    assert row.target == "lines: -1, all: false"
    assert outcome_text(row) == "Failed: invalid params: lines must be positive"
    assert tool_result_texts(agent.model.requests[-1]) == [
        "invalid params: lines must be positive. The MCP server web did not carry out echo."
    ]
    await server.close()


class CountingRig(AgentRig):
    """A conversation that counts as the app does."""

    counter = TiktokenCounter(resources_dir() / "tokenizers" / "o200k_base.tiktoken")


async def test_settings_and_panel_count_tools_alike(rig: McpRig) -> None:
    """What a server's tools cost is one figure."""
    config = raw_server()
    await rig.start_servers(config)
    agent = CountingRig(ScriptedModel(replies_in_order()), tools=HubTools(rig.hub))
    conversation = await agent.begin()
    (row,) = (item for item in conversation.window.items() if item.kind == "mcp")
    status = await StatusBuilder(agent.counter).build(rig.hub, config)
    assert row.tokens == status.tokens > 0


async def test_the_panel_counts_no_tool_that_the_server_of_the_model_refuses(rig: McpRig) -> None:
    """Until another model answers, whose server may take it."""
    await rig.start_servers(raw_server())
    tools = HubTools(rig.hub)
    agent = CountingRig(ScriptedModel(replies_in_order()), tools=tools)
    conversation = await agent.begin()
    words = f"Invalid schema for function '{ECHO}': circular references are not supported."

    def reply(body: dict[str, Any]) -> Reply:
        return api_error(400, words) if ECHO in json.dumps(body["tools"]) else chat_reply("Fine.")

    def row() -> WindowItem:
        return next(item for item in conversation.window.items() if item.kind == "mcp")

    async def row_after(model: StreamedModel) -> WindowItem:
        await agent.workspace.set_models(model)
        refreshed = asyncio.Event()
        stop = conversation.session.on(RequestChanged, lambda _: refreshed.set())
        assert (await conversation.run("Go.")).how == "done"
        await refreshed.wait()
        stop()
        return row()

    http = HttpClient()
    before = row()
    (refused,) = (tool for tool in tools.specs if tool.name == ECHO)
    (tokens,) = await agent.counter.count([schema_json(refused)])
    async with ChatServer(reply) as server:
        for name in ("first", "other"):
            model = connect_model("openai-chat", ModelInfo("here", name), server.base_url, http=http)
            after = await row_after(model)
            assert str(after.name) == f"{RAW_TOOLS - 1} MCP tools"
            assert after.tokens == before.tokens - tokens
            await agent.workspace.set_models(agent.model)
            assert row() == before
    await http.aclose()


async def test_both_count_only_names_where_a_request_holds_no_more(rig: McpRig) -> None:
    """The panel counts the two tools that stand for them, too."""
    config = raw_server("many=200")
    await rig.start_servers(config)
    agent = CountingRig(ScriptedModel(replies_in_order()), tools=HubTools(rig.hub))
    conversation = await agent.begin()
    (row,) = (item for item in conversation.window.items() if item.kind == "mcp")
    whole = await StatusBuilder(agent.counter).build(rig.hub, config)
    deferred = await StatusBuilder(agent.counter).build(rig.hub, config, defers_tools=True)
    assert deferred.tokens < row.tokens < deferred.tokens + 500
    assert row.tokens < whole.tokens / 3
    assert tools_cost_text(whole) == f"206 tools · ≈ {format_tokens(whole.tokens)} tokens in each request"
    assert tools_cost_text(deferred).startswith("206 tools · only names in requests, ≈ ")
