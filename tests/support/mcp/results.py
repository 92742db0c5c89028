"""What a call of an MCP tool returned."""

from __future__ import annotations

from mcp.types import CallToolResult, TextContent


def result_text(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text
