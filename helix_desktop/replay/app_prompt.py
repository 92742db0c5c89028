"""Count what the app itself sends: its system prompt and tools, and the environment of a session."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

import msgspec

from helix_desktop.agent.run_settings import schemas_json
from helix_desktop.agent.session_services import split_versions
from helix_desktop.agent.subagents import DELEGATE, delegate_spec
from helix_desktop.config.paths import load_prompts, resources_dir
from helix_desktop.domain.messages import ToolSpec
from helix_desktop.replay.message_tokens import MessageTokenCounter
from helix_desktop.store.memory.store import MemoryStore
from helix_desktop.tools.environment.description import WorkspaceEnvironment, describe_environment
from helix_desktop.tools.grants import ToolGrants, clean_environment
from helix_desktop.tools.shell.sandbox_detect import no_sandbox_provider
from helix_desktop.tools.tool import description_of, parse_description
from helix_desktop.tools.workspace_tools import ToolSetup, create_workspace_tools, open_jail


class AppPrompt(msgspec.Struct, frozen=True):
    """The tokens of the system prompt, and of the schemas of all tools that a new workspace offers.

    `environment_tokens` are those of what a session in an empty folder of this machine gets at its start.
    """

    system_tokens: int
    tool_tokens: int
    environment_tokens: int = 0


def count_app_prompt() -> AppPrompt:
    """Count the shipped prompt and tools with the bundled vocabulary, as sent: the schemas as JSON."""
    tokens = MessageTokenCounter.bundled()
    system = split_versions(load_prompts())[0]["system"]
    return AppPrompt(
        tokens.text_tokens(system),
        tokens.text_tokens(schemas_json(_builtin_specs())),
        tokens.text_tokens(_environment()),
    )


def _environment() -> str:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        sandboxes = no_sandbox_provider()
        environment = WorkspaceEnvironment(
            root, open_jail(root), clean_environment(os.environ), sandboxes, ToolGrants
        )
        return asyncio.run(describe_environment(environment)).replace(
            folder, "/workspace"
        )  # any name, any time


def _builtin_specs() -> tuple[ToolSpec, ...]:
    descriptions = resources_dir() / "prompts" / "tools"
    delegate = delegate_spec(*parse_description(description_of(DELEGATE, descriptions)))
    with tempfile.TemporaryDirectory() as folder:
        setup = ToolSetup(descriptions, MessageTokenCounter.bundled().count)
        tools = create_workspace_tools(Path(folder), MemoryStore(lambda: 0), setup)
        return (*tools.specs, delegate)
