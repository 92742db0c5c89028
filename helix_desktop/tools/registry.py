"""A registry of tools: describes them to the model, asks for approval, runs them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.messages import ToolCall, ToolSpec
from helix_desktop.domain.tools import ApprovalRequest, OutputCallback, ToolResult, ignore_output
from helix_desktop.tools.arguments import Arguments, parse, schema
from helix_desktop.tools.tool import Tool

Args = TypeVar("Args", bound=Arguments)


@dataclass(frozen=True)
class RegisteredTool(Generic[Args]):
    """A tool with its name and the type of its arguments."""

    name: str
    arguments_type: type[Args]
    tool: Tool[Args]

    async def approval_request(self, call: ToolCall) -> ApprovalRequest | None:
        """Return the tool's approval request for this call, or None."""
        return await self.tool.approval_request(
            call.id, parse(self.name, call.arguments, self.arguments_type)
        )

    async def run(self, call: ToolCall, on_output: OutputCallback) -> ToolResult:
        """Run the tool and return its result."""
        return await self.tool.run(call.id, parse(self.name, call.arguments, self.arguments_type), on_output)


class ToolRegistry:
    """Tools by their names; `descriptions` holds one Markdown file per tool."""

    def __init__(self, tools: Sequence[RegisteredTool[Any]], descriptions: Path) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._specs = tuple(spec_of(tool.name, tool.arguments_type, descriptions) for tool in tools)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tool specs sent to the model, always in the same order."""
        return self._specs

    async def approval(self, call: ToolCall) -> ApprovalRequest | None:
        """Return the approval request of a call; None when it needs no approval.

        Raises ToolError when the call is refused whatever the user decides.
        """
        return await self._find(call).approval_request(call)

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        """Run a call; `on_output` gets its output. Raises ToolError with the text for the agent.

        Cancelling ends what was started; with the message STOPPED, the result may be the output so far.
        """
        return await self._find(call).run(call, on_output)

    def _find(self, call: ToolCall) -> RegisteredTool[Any]:
        try:
            return self._tools[call.name]
        except KeyError:
            names = ", ".join(self._tools)
            raise ToolError(f"There is no tool {call.name[:80]!r}.", fix=f"The tools are: {names}.") from None


def spec_of(name: str, arguments_type: type[Arguments], descriptions: Path) -> ToolSpec:
    """Return the spec of a tool, with its description file and its argument schema."""
    description, argument_descriptions = parse_description(description_of(name, descriptions))
    return ToolSpec(name, description, schema(arguments_type, argument_descriptions))


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
