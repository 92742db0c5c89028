"""JSON-RPC of servers, cut and with odd fields: a message of the protocol, or none."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from mcp_types import CallToolResult, ListToolsResult

from helix_desktop.mcp.client.message_repair import read_messages, repair_result
from helix_desktop.mcp.client.session import to_tool_result

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | st.text(max_size=6),
    lambda parts: (
        st.lists(parts, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "text",
                    "content",
                    "data",
                    "name",
                    "inputSchema",
                    "isError",
                    "_meta",
                    "resource",
                    "uri",
                    "x",
                ]
            ),
            parts,
            max_size=4,
        )
    ),
    max_leaves=8,
)
ENVELOPE = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", "1.0", 2, None]),
        "id": JSON,
        "method": JSON,
        "params": JSON,
        "result": JSON,
        "error": JSON,
    },
)


@given(ENVELOPE, st.integers(0, 40), st.binary(max_size=3))
def test_any_line_is_a_message_or_none(envelope: dict[str, Any], cut: int, noise: bytes) -> None:
    line = json.dumps(envelope).encode()
    for broken in (line, line[:-cut], line[:cut] + noise + line[cut:]):
        read_messages(broken)


@given(
    st.fixed_dictionaries(
        {},
        optional={"content": JSON, "structuredContent": JSON, "isError": JSON, "_meta": JSON, "other": JSON},
    )
)
def test_any_result_of_a_call_can_be_shown(result: dict[str, Any]) -> None:
    repaired = repair_result("tools/call", result)
    shown = to_tool_result(CallToolResult.model_validate(repaired, by_name=False), "x")
    assert isinstance(shown.content, bytes)


@given(st.fixed_dictionaries({}, optional={"tools": JSON | st.lists(JSON, max_size=4), "nextCursor": JSON}))
def test_any_list_of_tools_keeps_what_can_be_used(result: dict[str, Any]) -> None:
    repaired = repair_result("tools/list", result)
    if isinstance(repaired.get("tools"), list):
        ListToolsResult.model_validate(repaired, by_name=False)
