"""What a model gets of tools fits what is accepted, and into a request; invalid arguments are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from helix_desktop.agent.run_settings import schemas_json
from helix_desktop.agent.session_services import split_versions
from helix_desktop.agent.subagents import DELEGATE, SubagentTools, delegate_spec
from helix_desktop.config.paths import load_prompts, resources_dir
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.tool_arguments import Arguments, parse, schema
from helix_desktop.providers.tiktoken_counter import TiktokenCounter
from helix_desktop.services.tool_service import WebFetcher, resolve
from helix_desktop.tools.cache.index_recall import RecallArguments
from helix_desktop.tools.cache.search_tools import ListCacheArguments
from helix_desktop.tools.files.edit import MultiEditArguments
from helix_desktop.tools.files.read import ReadFileArguments
from helix_desktop.tools.shell.run_command import RunCommandArguments
from helix_desktop.tools.tool import ToolGrants, description_of, parse_description
from helix_desktop.tools.workspace_tools import TodoArguments
from tests.support.tables import for_each
from tests.support.tool_rig import DESCRIPTIONS_DIR, make_tools


@for_each(
    ("text", "message"),
    [
        ("{}", "path"),
        ('{"path": 3}', "path"),
        ('{"path": "a", "start_line": 0}', "start_line"),
        ('{"path": "a", "start_line": "x"}', "start_line"),
        ('{"path": "a", "file": "b"}', "file"),
        ('{"path": "a"', "its arguments end in the middle"),
        ("[]", "must be an object (got a list)"),
        ('"x"', "got text"),
        ('{"path": "\\ud800"}', "wrong arguments"),
        ("[" * 100_000, "recursion"),
    ],
)
def test_the_invalid_argument_is_named(text: str, message: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse("read_file", text, ReadFileArguments)
    assert message in str(caught.value)
    assert "It takes path, start_line?, end_line?, whole?." in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "signature"),
    [
        (MultiEditArguments, "edits (each {path, old_text, new_text, replace_all?})"),
        (TodoArguments, "items (each {content, status? (one of pending, in_progress, done)})"),
        (ListCacheArguments, "order? (one of newest, oldest, largest, last used)"),
    ],
)
def test_what_a_value_may_be_is_named(kind: type[Arguments], signature: str) -> None:
    """The names in a list of objects, and words of which one is taken."""
    with pytest.raises(ToolError) as caught:
        parse("a_tool", '{"wrong": 1}', kind)
    assert signature in str(caught.value)


def test_null_counts_as_omitted_and_digits_as_a_number() -> None:
    arguments = parse("read_file", '{"path": "a", "start_line": "12", "end_line": null}', ReadFileArguments)
    assert arguments == ReadFileArguments("a", 12, None)
    assert parse("run_command", '{"command": "x", "timeout_s": 5.0}', RunCommandArguments).timeout_s == 5


def test_a_schema_has_kinds_bounds_and_required_fields() -> None:
    parameters = schema(RecallArguments, {"hash": "the hash"})
    assert parameters["required"] == ["hash"]
    assert parameters["properties"]["hash"] == {"type": "string", "description": "the hash"}
    assert parameters["properties"]["start_line"] == {"type": "integer", "minimum": 1}
    assert parameters["properties"]["max_tokens"] == {"type": "integer", "minimum": 100, "maximum": 16000}
    assert parameters["additionalProperties"] is False


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
    assert {spec.name for spec in registry.specs} >= {"fetch_url", "recall_cached_content"}
    assert system + tools <= MAX_TOKENS, f"system prompt {system}, tools {tools}"


def test_a_subagent_is_told_of_no_tool_that_it_has_not(tmp_path: Path) -> None:
    """Its system prompt is the agent's, then its own; nobody reads its words."""
    registry = make_tools(tmp_path)
    prompts, _ = split_versions(load_prompts())
    text = f"{prompts['system']}\n\n{prompts['subagent']}"
    named = {spec.name for spec in registry.specs if spec.name in text}
    assert "recall_cached_content" in named
    assert named <= {spec.name for spec in SubagentTools(registry).specs}
    assert "The user reads" not in text
