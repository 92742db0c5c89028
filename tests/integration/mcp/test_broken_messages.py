"""Servers that break the protocol: what can be read is read, and what cannot is named."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import CallToolResult, ListToolsResult

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.mcp.client.message_repair import read_messages, repair_result
from helix_desktop.mcp.client.session import to_tool_result
from helix_desktop.mcp.client.transports import repaired_events
from tests.support.image_bytes import png
from tests.support.mcp.mcp_rig import SCRIPTS_DIR, McpRig, approved_server


def lines_server(folder: Path, name: str = "odd", **lines: Any) -> McpServerConfig:
    """A server that answers these methods ("_" for "/") with these results, or with these raw lines."""
    raw = {method.replace("_", "/"): _as_line(line) for method, line in lines.items()}
    path = folder / f"{name}.json"
    path.write_text(json.dumps(raw), encoding="utf-8")
    return approved_server(name, "-S", str(SCRIPTS_DIR / "lines_server.py"), str(path), quiet_s=5)


def _as_line(result: Any) -> str:
    is_line = isinstance(result, str)
    return result if is_line else f'{{"jsonrpc": "2.0", "id": $ID, "result": {json.dumps(result)}}}'


async def start_with_tools(rig: McpRig, folder: Path, results: Iterable[Any]) -> list[str]:
    """Start a server that has a tool for each of these results or raw lines; return the tools' names."""
    names = {f"go{number:02}": _as_line(result) for number, result in enumerate(results)}
    listed = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]}
    await rig.start_servers(lines_server(folder, tools_list=listed, **names))
    return [f"mcp__odd__{name}" for name in names]


PNG = base64.b64encode(png(30, 20)).decode()

RESULTS: dict[str, tuple[Any, str]] = {
    "structured content only": ({"structuredContent": {"rows": 3}}, '"rows": 3'),
    "content that is null": ({"content": None, "structuredContent": {"rows": 3}}, '"rows": 3'),
    "a text in place of blocks": ({"content": "all of it"}, "all of it"),
    "a block alone": ({"content": {"type": "text", "text": "one"}}, "one"),
    "plain texts among blocks": ({"content": ["one", {"type": "text", "text": "two"}]}, "one\n\ntwo"),
    "a block of an unknown kind": ({"content": [{"type": "table", "rows": [[1, 2]]}]}, '"table"'),
    "a block without its kind": ({"content": [{"text": "said"}]}, "said"),
    "another structure": ({"answer": 42}, '"answer": 42'),
    "structure in a list": ({"content": [], "structuredContent": [1, 2]}, "structuredContent"),
    "a picture in another API's form": (
        {
            "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
            ]
        },
        "[an image: PNG image",
    ),
    "a picture as a data URL": (
        {"content": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}]},
        "[an image: PNG image",
    ),
    "a picture without its type": ({"content": [{"type": "image", "data": PNG}]}, "[an image: PNG image"),
    "a link without a name": (
        {"content": [{"type": "resource_link", "uri": "file:///y"}]},
        "[Link to a resource: file:///y]",
    ),
    "an unknown block with words": (
        {"content": [{"type": "markdown", "markdown": "# Title\n\nText"}]},
        "# Title\n\nText\n{",
    ),
    "a number as text": ({"content": [{"type": "text", "text": 42}]}, "42"),
    "wrong annotations": (
        {"content": [{"type": "text", "text": "said", "annotations": {"priority": 5, "audience": "all"}}]},
        "said",
    ),
    "fields of another style": ({"structured_content": {"rows": 3}}, '"rows": 3'),
}


async def test_what_a_result_holds_is_kept(rig: McpRig, tmp_path: Path) -> None:
    tools = await start_with_tools(rig, tmp_path, (result for result, _ in RESULTS.values()))
    for tool, (case, (_, expected)) in zip(tools, RESULTS.items(), strict=True):
        assert expected in await rig.call_text(tool), case


LINES: dict[str, tuple[str, str]] = {
    "a lone surrogate": (
        '{"jsonrpc": "2.0", "id": $ID, "result": {"content": [{"type": "text", "text": "a \\ud800 b"}]}}',
        "a \ufffd b",
    ),
    "bytes of another encoding": (
        '{"jsonrpc": "2.0", "id": $ID, "result": {"content": [{"type": "text", "text": "caf\xe9"}]}}',
        "caf\ufffd",
    ),
    "an error that is null": (
        '{"id": $ID, "result": {"content": [{"type": "text", "text": "ok"}]}, "error": null}',
        "ok",
    ),
    "a result that is a text": ('{"jsonrpc": "2.0", "id": $ID, "result": "just this"}', "just this"),
    "the id left out": ('{"jsonrpc": "2.0", "result": {"content": "mine"}}', "mine"),
    "an id that nobody gave": ('{"jsonrpc": "2.0", "id": 4711, "result": {"content": "mine"}}', "mine"),
    "the request repeated": (
        '{"jsonrpc": "2.0", "id": $ID, "method": "tools/call", "params": {}, "result": {"content": "both"}}',
        "both",
    ),
    "a batch": ('[{"jsonrpc": "2.0", "id": $ID, "result": {"content": "in a list"}}]', "in a list"),
    "a message over lines": (
        '{\n "jsonrpc": "2.0",\n "id": $ID,\n "result": {\n  "content": "tall"\n }\n}',
        "tall",
    ),
    "a byte order mark": (
        '\xef\xbb\xbf{"jsonrpc": "2.0", "id": $ID, "result": {"content": "marked"}}',
        "marked",
    ),
    "the result's fields beside the id": ('{"jsonrpc": "2.0", "id": $ID, "content": "flat"}', "flat"),
    "colors of a logger": ('\x1b[32m{"id": $ID, "result": {"content": "colored"}}\x1b[0m', "colored"),
    "log lines around it": ('INFO asked\n{"id": $ID, "result": {"content": "logged"}}\nINFO done', "logged"),
    "the id as a text": ('{"jsonrpc": "2.0", "id": "$ID", "result": {"content": "quoted"}}', "quoted"),
    "the start of no message before it": (
        '{\nnot a message\n{"jsonrpc": "2.0", "id": $ID, "result": {"content": "on it goes"}}',
        "on it goes",
    ),
    "a notification before it": (
        '{"jsonrpc": "2.0", "method": "notifications/message", "params": {}}\n'
        '{"id": $ID, "result": {"content": "noted"}}',
        "noted",
    ),
    "no version": ('{"id": $ID, "result": {"content": [{"type": "text", "text": "old"}]}}', "old"),
}


async def test_a_line_is_read_as_far_as_it_can_be(rig: McpRig, tmp_path: Path) -> None:
    tools = await start_with_tools(rig, tmp_path, (line for line, _ in LINES.values()))
    for tool, (case, (_, expected)) in zip(tools, LINES.items(), strict=True):
        assert await rig.call_text(tool) == expected, case
    assert "not a message" in rig.actor("odd").stderr_log.text


ERRORS: dict[str, tuple[str, tuple[str, ...]]] = {
    "no text": (
        '"id": $ID, "error": {"code": -32000, "message": null, "data": {"x": 1}}',
        ("-32000", '"x": 1'),
    ),
    "no id": ('"id": null, "error": {"code": -32603, "message": "overloaded"}', ("overloaded",)),
    "neither result nor error": ('"id": $ID', ("neither a result nor an error",)),
    "an error that is null alone": ('"id": $ID, "error": null', ("neither a result nor an error",)),
    "an empty text": ('"id": $ID, "error": {"code": 7, "message": ""}', ("without a text", "7")),
    "a text in place of an object": ('"id": $ID, "error": "it broke"', ("it broke",)),
    "a code in words": ('"id": $ID, "error": {"code": "E_BUSY", "message": "busy"}', ("busy",)),
    "data beside its text": (
        '"id": $ID, "error": {"code": 1, "message": "bad", "data": {"field": "q"}}',
        ("bad", '"field": "q"'),
    ),
}


async def test_an_error_says_what_is_known_at_once(rig: McpRig, tmp_path: Path) -> None:
    lines = (f'{{"jsonrpc": "2.0", {rest}}}' for rest, _ in ERRORS.values())
    for tool, (case, (_, fragments)) in zip(
        await start_with_tools(rig, tmp_path, lines), ERRORS.items(), strict=True
    ):
        with pytest.raises(ToolError) as raised:
            await rig.call(tool)
        assert all(fragment in str(raised.value) for fragment in fragments), case
        assert "sign of life" not in str(raised.value), case


async def test_a_tool_that_can_t_be_used_is_left_out_and_named_and_the_others_stay(
    rig: McpRig, tmp_path: Path
) -> None:
    tools = [
        {"name": "good", "inputSchema": {"type": "object"}},
        {"name": "text_schema", "inputSchema": "string"},
        {"name": "scalar", "inputSchema": {"type": "string"}},
        {"name": "bare"},
        {
            "name": "typed",
            "inputSchema": {"properties": {"q": {"type": "str"}}},
            "description": 5,
            "annotations": [],
        },
        {"inputSchema": {"type": "object"}},
        None,
        {"name": "good", "inputSchema": {"type": "object"}},
    ]
    await rig.start_servers(lines_server(tmp_path, tools_list={"tools": tools, "nextCursor": 7}))
    assert rig.tool_names == ["mcp__odd__bare", "mcp__odd__good", "mcp__odd__typed"]
    rejected = {tool: reason for _, tool, reason in rig.hub.rejected_tools}
    assert set(rejected) == {"text_schema", "scalar", "#6", "#7", "good"}
    assert all(rejected.values())


async def test_an_odd_opening_is_enough(rig: McpRig, tmp_path: Path) -> None:
    """A version of the protocol that nobody knows is tried, and fields may be missing."""
    offered: dict[str, Any] = {"capabilities": {"tools": {}}}
    openings: dict[str, dict[str, Any]] = {
        "none": offered,
        "bare": {"protocolVersion": "2025-06-18", "capabilities": None, "serverInfo": None},
        **{f"v{at}": {**offered, "protocolVersion": version} for at, version in enumerate(ODD_VERSIONS)},
    }
    await rig.start_servers(*(lines_server(tmp_path, name, initialize=it) for name, it in openings.items()))
    for name in openings:
        assert rig.actor(name).is_up
        if name != "bare":
            assert await rig.call_text(f"mcp__{name}__go") == "done"


ODD_VERSIONS = ("2099-01-01", "2024-10-07", "v1")


async def test_tools_whose_names_are_alike_once_they_are_cleaned_stay_apart(
    rig: McpRig, tmp_path: Path
) -> None:
    names = ["go", "a b", "a.b", "a_b", "n" * 70 + "1", "n" * 70 + "2", "工具", "x\ny"]
    listed = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
    await rig.start_servers(lines_server(tmp_path, tools_list={"tools": listed, "nextCursor": "same"}))
    offered = rig.tool_names
    assert len(set(offered)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in offered)
    assert await rig.call_text("mcp__odd__go") == "done"


async def test_an_answer_to_a_reply_is_no_answer_to_a_request(rig: McpRig, tmp_path: Path) -> None:
    """A server asks for the roots before it has opened, and takes the reply for a request."""
    opening = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
    listed = {"tools": [{"name": "go", "inputSchema": {"type": "object"}}]}
    question = '{"jsonrpc": "2.0", "id": "q", "method": "roots/list"}'
    error = '{"jsonrpc": "2.0", "id": "q", "error": {"code": -32601, "message": "Method not found"}}'
    lines = [
        f'{first}\n{{"jsonrpc": "2.0", "id": $ID, "result": {json.dumps(result)}}}'
        for first, result in ((question, opening), (error, listed))
    ]
    await rig.start_servers(lines_server(tmp_path, initialize=lines[0], tools_list=lines[1]))
    assert rig.tool_names == ["mcp__odd__go"]
    assert await rig.call_text("mcp__odd__go") == "done"


async def test_no_words_of_a_validation_library_are_told(rig: McpRig, tmp_path: Path) -> None:
    await rig.start_servers(
        lines_server(tmp_path, "list", tools_list={"tools": 5}),
        lines_server(tmp_path, "open", initialize={"protocolVersion": 5}),
    )
    for name in ("list", "open"):
        reason = str(rig.actor(name).status.reason)
        assert reason
        assert "validation error" not in reason
        assert "pydantic" not in reason
        assert "Input should be" not in reason


LAST_WORDS = """
import json, sys, time
for line in sys.stdin:
    message = json.loads(line)
    result = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}},
        "tools/list": {"tools": [{"name": "go"}]},
    }.get(message["method"])
    if message["method"] == sys.argv[1]:
        if result:
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
        print("the license has expired", file=sys.stderr, flush=True)
        sys.exit(7)
    if "id" in message:
        reply = {"result": result} if result else {"error": {"code": -32601, "message": "no"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}), flush=True)
"""


async def test_a_call_whose_server_ends_says_what_that_printed_last(rig: McpRig) -> None:
    await rig.start_servers(approved_server("brief", "-S", "-c", LAST_WORDS, "tools/call", quiet_s=30))
    with pytest.raises(ToolError) as raised:
        await rig.call("mcp__brief__go")
    assert "ended in the middle of the call. It ended with exit code 7." in str(raised.value)
    assert "the license has expired" in str(raised.value)


async def test_a_server_that_ends_after_its_start_is_named_with_its_last_line(rig: McpRig) -> None:
    await rig.start_servers(approved_server("brief", "-S", "-c", LAST_WORDS, "tools/list"))
    await rig.wait_until(lambda: rig.actor("brief").status.state == "failed")
    ((name, reason),) = rig.hub.failures
    assert name == "brief"
    assert "exit code 7" in reason
    assert "the license has expired" in reason


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


LONG_TEXT = "line of a file\n" * 20
BLOCK = {"type": "text", "text": LONG_TEXT}
PIXEL = {"type": "image", "data": base64.b64encode(b"GIF89a").decode(), "mimeType": "image/gif"}


@pytest.mark.parametrize(
    ("content", "structure", "more"),
    [
        ([BLOCK], {"content": LONG_TEXT}, None),
        ([BLOCK], {"text": LONG_TEXT.strip()}, None),
        ([BLOCK], {"content": [BLOCK]}, None),
        ([BLOCK], {"result": {"output": LONG_TEXT}}, None),
        ([BLOCK], {"data": LONG_TEXT, "size": 7}, {"size": 7}),
        ([BLOCK, {"type": "text", "text": "b"}], {"lines": [LONG_TEXT, "b"]}, None),
        ([BLOCK, {"type": "text", "text": "b"}], {"all": f"{LONG_TEXT}\n\nb"}, None),
        ([{"type": "text", "text": '{"b": 1, "a": [2]}'}], {"a": [2], "b": 1}, None),
        ([{"type": "text", "text": '{"b": 1}'}], {"value": {"b": 1}}, None),
        ([PIXEL], {"content": [PIXEL]}, None),
        ([BLOCK], {}, None),
        ([{"type": "text", "text": "yes"}], {"ok": "yes", "again": "yes"}, {"ok": "yes", "again": "yes"}),
        ([{"type": "text", "text": "1"}], {"n": True}, {"n": True}),
        ([BLOCK], {"other": 3, "none": None}, {"other": 3, "none": None}),
    ],
)
def test_structured_content_says_only_what_the_blocks_do_not(
    content: list[dict[str, object]], structure: dict[str, object], more: dict[str, object] | None
) -> None:
    """It came twice unless its field had one certain name: each read of a file cost double."""
    plain = to_tool_result(CallToolResult.model_validate({"content": content}), "x")
    result = to_tool_result(
        CallToolResult.model_validate({"content": content, "structuredContent": structure}), "x"
    )
    added = "" if more is None else f"\n\n{json.dumps(more, indent=1)}"
    assert result.content.decode() == plain.content.decode() + added


@pytest.mark.parametrize("content", [[], [{"type": "text", "text": " \n"}]])
def test_an_error_without_words_says_so(content: list[dict[str, object]]) -> None:
    """The agent read nothing, and could take the call for done."""
    result = to_tool_result(CallToolResult.model_validate({"content": content, "isError": True}), "x")
    assert not result.ok
    assert result.content == b"The tool reports an error (isError), and no words say which."
