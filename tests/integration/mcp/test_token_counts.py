"""What a server's tools cost is one figure, in the settings and in the inspector."""

from __future__ import annotations

from helix_desktop.config.paths import resources_dir
from helix_desktop.providers.tiktoken_counter import TiktokenCounter
from helix_desktop.services.mcp_servers import StatusBuilder
from helix_desktop.ui.settings.mcp.server_form import tools_cost_text
from helix_desktop.words.numbers import format_tokens
from tests.support.agent_rig import AgentRig
from tests.support.mcp.hub_tools import HubTools
from tests.support.mcp.mcp_rig import McpRig, raw_server
from tests.support.scripted_model import ScriptedModel, replies_in_order


class CountingRig(AgentRig):
    """A conversation that counts as the app does."""

    counter = TiktokenCounter(resources_dir() / "tokenizers" / "o200k_base.tiktoken")


async def test_settings_and_inspector_count_tools_alike(rig: McpRig) -> None:
    config = raw_server()
    await rig.start_servers(config)
    agent = CountingRig(ScriptedModel(replies_in_order()), tools=HubTools(rig.hub))
    conversation = await agent.begin()
    (row,) = (item for item in conversation.window.items() if item.kind == "mcp")
    status = await StatusBuilder(agent.counter).build(rig.hub, config)
    assert row.tokens == status.tokens > 0


async def test_both_count_only_names_where_a_request_holds_no_more(rig: McpRig) -> None:
    """The inspector counts the two tools that stand for them, too."""
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
