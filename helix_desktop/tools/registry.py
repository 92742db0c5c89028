"""A registry of tools: describes them to the model, asks for approval, runs them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from helix_desktop.domain.errors import ToolError, UnknownTool
from helix_desktop.domain.messages import ToolCall, ToolSpec
from helix_desktop.domain.question import Question
from helix_desktop.domain.tools import ApprovalRequest, OutputCallback, ToolResult, ignore_output
from helix_desktop.tools.arguments import parse, schema
from helix_desktop.tools.tool import Tool


class ToolRegistry:
    """Tools by their names; `descriptions` holds one Markdown file per tool.

    Without tools it is that of a workspace whose folder is missing, and refuses every call.
    """

    def __init__(self, tools: Sequence[Tool[Any]] = (), descriptions: Path = Path()) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._specs = {tool.name: spec_of(type(tool), descriptions) for tool in tools}

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tool specs sent to the model, always in the same order."""
        return tuple(self._specs[name] for name, tool in self._tools.items() if tool.is_offered)

    async def approval(self, call: ToolCall) -> ApprovalRequest | Question | None:
        """Return what the user is asked before a call; None when that is nothing.

        Raises ToolError when the call is refused whatever the user decides.
        """
        tool = self._find(call)
        return await tool.approval_request(call.id, parse(tool.name, call.arguments, tool.arguments_type))

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        """Run a call; `on_output` gets its output. Raises ToolError with the text for the agent.

        Canceling ends what was started; with the message STOPPED or TURN_ENDED, the result may be the
        output so far.
        """
        tool = self._find(call)
        return await tool.run(call.id, parse(tool.name, call.arguments, tool.arguments_type), on_output)

    def _find(self, call: ToolCall) -> Tool[Any]:
        if not self._tools:
            raise ToolError("This workspace is open for reading only.", "Its folder is not there.")
        try:
            return self._tools[call.name]
        except KeyError:
            raise UnknownTool(call.name, self._tools) from None


@cache
def spec_of(tool: type[Tool[Any]], descriptions: Path) -> ToolSpec:
    """Return the spec of a tool, with its description file and its argument schema."""
    description, argument_descriptions = parse_description(description_of(tool.name, descriptions))
    return ToolSpec(tool.name, description, schema(tool.arguments_type, argument_descriptions))


def description_of(name: str, folder: Path, windows: bool = os.name == "nt") -> str:
    """Return the text of a tool's description file; some tools have another one for Windows."""
    windows_path = folder / f"{name}-windows.md"
    path = windows_path if windows and windows_path.is_file() else folder / f"{name}.md"
    return path.read_text(encoding="utf-8")


def parse_description(text: str) -> tuple[str, dict[str, str]]:
    """Parse a description file into the tool's text and each argument's (lines `- name: text`)."""
    lines = [line.strip() for line in text.splitlines()]
    pairs = [line[2:].partition(": ") for line in lines if line.startswith("- ") and ": " in line]
    description = " ".join(line for line in lines if line and not line.startswith("- "))
    return description, {name: argument_text for name, _, argument_text in pairs}
