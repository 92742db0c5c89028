"""Count what the program itself sends with every request: its system prompt and its tools."""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec

from helix_desktop.agent.settings.run_settings import schemas_json
from helix_desktop.agent.subagents.delegate_tool import DELEGATE, delegate_spec
from helix_desktop.config.paths import resources_dir
from helix_desktop.config.prompts import load_prompts
from helix_desktop.context.prompt_version import split_versions
from helix_desktop.domain.messages import ToolSpec
from helix_desktop.replay.message_tokens import MessageTokenCounter
from helix_desktop.store.memory.store import MemoryStore
from helix_desktop.tools.registry import description_of, parse_description
from helix_desktop.tools.workspace_tools import ToolSetup, create_workspace_tools


class OwnPrompt(msgspec.Struct, frozen=True):
    """The tokens of the system prompt, and of the schemas of all tools that a new workspace offers."""

    system_tokens: int
    tool_tokens: int


def count_own_prompt() -> OwnPrompt:
    """Count the shipped prompt and tools with the bundled vocabulary, as sent: the schemas as JSON."""
    tokens = MessageTokenCounter.bundled()
    system = split_versions(load_prompts())[0]["system"]
    return OwnPrompt(tokens.text_tokens(system), tokens.text_tokens(schemas_json(_builtin_specs())))


def _builtin_specs() -> tuple[ToolSpec, ...]:
    descriptions = resources_dir() / "prompts" / "tools"
    delegate = delegate_spec(*parse_description(description_of(DELEGATE, descriptions)))
    with tempfile.TemporaryDirectory() as folder:
        setup = ToolSetup(descriptions, MessageTokenCounter.bundled().count)
        tools = create_workspace_tools(Path(folder), MemoryStore(lambda: 0), setup)
        return (*tools.specs, delegate)
