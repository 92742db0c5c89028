"""Which tool of an MCP server a model's server refuses because of its schema."""

from __future__ import annotations

import re
from collections.abc import Sequence

from helix_desktop.domain.messages import ToolSpec

_OF_A_SCHEMA = re.compile(
    r"schema|param|propert|\$ref|\$defs|circular|recursi|definition|declaration|keyword|\benum\b|\bformat\b"
)
_NUMBER = re.compile(r"function_?declarations\W{1,2}(\d+)|\btools?\W{1,2}(\d+)(?!\W{1,2}function_?decl)")


def find_refused_tool(tools: Sequence[ToolSpec], error_text: str) -> ToolSpec | None:
    """Return the tool of an MCP server whose schema an error blames, by its name or its number among all.

    None: it blames none, or one of ours.
    """
    lowered = error_text.lower()
    if not _OF_A_SCHEMA.search(lowered):
        return None

    named = [tool for tool in tools if tool.is_mcp and _is_named(tool.name, error_text)]
    if named:
        return max(named, key=lambda tool: len(tool.name))

    found = _NUMBER.search(lowered)
    number = int(found[1] or found[2]) if found else len(tools)
    blamed = tools[number : number + 1]
    return blamed[0] if blamed and blamed[0].is_mcp else None


def _is_named(name: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None
