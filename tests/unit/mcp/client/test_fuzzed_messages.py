"""JSON-RPC of servers, cut and with odd fields: a message of the protocol, or none."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import CallToolResult, ListToolsResult

from helix_desktop.mcp.client.message_repair import read_messages, repair_result
from helix_desktop.mcp.client.session import to_tool_result
from helix_desktop.mcp.client.transports import repaired_events

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


class Pieces(httpx2.AsyncByteStream):
    """A body that arrives in pieces of one size."""

    def __init__(self, body: bytes, size: int) -> None:
        self._pieces = [body[at : at + size] for at in range(0, len(body), size)]

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


async def test_events_are_the_same_in_pieces_of_any_size() -> None:
    body = b'event: message\r\ndata: {"jsonrpc": "2.0", "id": 1}\r\n\r\n\ndata: {"id": 2}\n: no end'
    streams = [repaired_events(Pieces(body, size)) for size in range(1, len(body) + 1)]
    read = [b"".join([line async for line in stream]) for stream in streams]
    assert read == [read[-1]] * len(body)
    fields = [line.partition(b":")[0] for line in read[0].splitlines() if line]
    assert fields == [b"event", b"data", b"data", b""]
