"""The tools by which a model looks up and calls deferred tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any

import msgspec

from helix_desktop.domain.deferred_tools import near_names, search_tools
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.messages import CALL_TOOL, FIND_TOOLS, ToolSpec, display_name
from helix_desktop.domain.text_format import pluralize
from helix_desktop.domain.tool_arguments import Arguments
from helix_desktop.domain.tools import OutputCallback, ToolResult
from helix_desktop.tools.tool import UnguardedTool

_MAX_MATCHES = 5
_MAX_NAMES = 10
_MAX_MORE_NAMES = 20
_MAX_CHARS = 14_000  # of several tools: about 3,500 tokens, which enter the window whole

_FIX = "Search for other words, or use a name from the list."

CurrentSpecs = Callable[[], Sequence[ToolSpec]]
"""Returns the tools of MCP servers as they are now."""


class FindToolsArguments(Arguments, frozen=True):
    query: str = ""
    names: tuple[str, ...] = ()


class FindTools(UnguardedTool[FindToolsArguments]):
    name = FIND_TOOLS
    arguments_type = FindToolsArguments

    def __init__(self, specs: CurrentSpecs) -> None:
        self._specs = specs

    async def run(self, call_id: str, args: FindToolsArguments, on_output: OutputCallback) -> ToolResult:
        specs = self._specs()
        by_name = {spec.name: spec for spec in specs}
        named = [by_name[name] for name in dict.fromkeys(args.names) if name in by_name][:_MAX_NAMES]
        unknown = [_unknown(name, by_name) for name in args.names[:_MAX_NAMES] if name not in by_name]
        matches = [spec for spec in search_tools(specs, args.query) if spec not in named]
        shown = [*named, *matches[:_MAX_MATCHES]]
        if not shown:
            raise ToolError(
                " ".join(unknown) or f"None of the {pluralize(len(specs), 'tool')} has these words.",
                fix=_FIX,
            )
        texts = [f"{spec.name}: {spec.description}\n{json.dumps(spec.parameters)}" for spec in shown]
        while len(texts) > 1 and sum(map(len, texts)) > _MAX_CHARS:
            texts.pop()
        rest = [spec.name for spec in (*named, *matches)[len(texts) :]]
        more = [f"Other matches: {', '.join(rest[:_MAX_MORE_NAMES])}."] if rest else []
        content = "\n\n".join([*unknown, *texts, *more])
        return ToolResult(content.encode(), target=args.query or ", ".join(map(display_name, args.names)))


class CallToolArguments(Arguments, frozen=True):
    name: str
    arguments: dict[str, Any] = msgspec.field(default_factory=dict)


class CallTool(UnguardedTool[CallToolArguments]):
    """Runs only for a call without a known tool: any other has become the call of that tool."""

    name = CALL_TOOL
    arguments_type = CallToolArguments

    def __init__(self, specs: CurrentSpecs) -> None:
        self._specs = specs

    async def run(self, call_id: str, args: CallToolArguments, on_output: OutputCallback) -> ToolResult:
        raise ToolError(_unknown(args.name, [spec.name for spec in self._specs()]), fix=_FIX)


def _unknown(name: str, names: Collection[str]) -> str:
    near = ", ".join(near_names(name, names))
    return f"There is no tool {name[:80]!r}." + (f" Tools with similar names: {near}." if near else "")
