"""What every request begins with, a subagent's too: the system prompt, and schemas of the built-in tools."""

from __future__ import annotations

from pathlib import Path

from helix_desktop.agent.run_settings import schemas_json
from helix_desktop.agent.session_services import split_versions
from helix_desktop.agent.subagents import DELEGATE, SubagentTools, delegate_spec
from helix_desktop.config.paths import load_prompts, resources_dir
from helix_desktop.providers.tiktoken_counter import TiktokenCounter
from helix_desktop.services.tool_service import WebFetcher, resolve
from helix_desktop.tools.tool import ToolGrants, description_of, parse_description
from tests.support.tool_rig import DESCRIPTIONS_DIR, make_tools

MAX_TOKENS = 3_000  # 11 % of a window of 24,000 tokens was too much


async def test_system_prompt_and_tools_take_at_most_3000_tokens(tmp_path: Path) -> None:
    """All tools that there can be, as they are sent; MCP servers add their own."""
    registry = make_tools(
        tmp_path, web=(WebFetcher(), resolve), current_grants=lambda: ToolGrants(fetch=True)
    )
    delegate = delegate_spec(*parse_description(description_of(DELEGATE, DESCRIPTIONS_DIR)))
    prompts, _ = split_versions(load_prompts())
    counter = TiktokenCounter(resources_dir() / "tokenizers" / "o200k_base.tiktoken")
    system, tools = await counter.count([prompts["system"], schemas_json((*registry.specs, delegate))])
    assert {spec.name for spec in registry.specs} >= {"show_output", "fetch_url", "recall_cached_content"}
    assert system + tools <= MAX_TOKENS, f"system prompt {system}, tools {tools}"


def test_a_subagent_is_told_of_no_tool_that_it_has_not(tmp_path: Path) -> None:
    """Its system prompt is the agent's, then its own; nobody reads its words."""
    registry, (prompts, _) = make_tools(tmp_path), split_versions(load_prompts())
    text = f"{prompts['system']}\n\n{prompts['subagent']}"
    named = {spec.name for spec in registry.specs if spec.name in text}
    assert "recall_cached_content" in named
    assert named <= {spec.name for spec in SubagentTools(registry).specs}
    assert "The user reads" not in text
