"""Servers that break the protocol: what can be read is read, and what cannot is named."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.mcp_server import McpServerConfig
from tests.support.image_bytes import png
from tests.support.mcp.mcp_rig import SCRIPTS_DIR, McpRig, approved_server


def lines_server(folder: Path, name: str = "odd", **lines: Any) -> McpServerConfig:
    """A server that answers these methods ("_" for "/") with these results, or with these raw lines."""
    raw = {
        method.replace("_", "/"): line
        if isinstance(line, str)
        else f'{{"jsonrpc": "2.0", "id": $ID, "result": {json.dumps(line)}}}'
        for method, line in lines.items()
    }
    path = folder / f"{name}.json"
    path.write_text(json.dumps(raw), encoding="utf-8")
    return approved_server(name, "-S", str(SCRIPTS_DIR / "lines_server.py"), str(path), quiet_s=5)


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


@pytest.mark.parametrize("name", RESULTS)
async def test_what_a_result_holds_is_kept(name: str, rig: McpRig, tmp_path: Path) -> None:
    result, expected = RESULTS[name]
    await rig.start_servers(lines_server(tmp_path, tools_call=result))
    assert expected in await rig.call_text("mcp__odd__go")


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
    "a notification before it": (
        '{"jsonrpc": "2.0", "method": "notifications/message", "params": {}}\n'
        '{"id": $ID, "result": {"content": "noted"}}',
        "noted",
    ),
    "no version": ('{"id": $ID, "result": {"content": [{"type": "text", "text": "old"}]}}', "old"),
}


@pytest.mark.parametrize("name", LINES)
async def test_a_line_is_read_as_far_as_it_can_be(name: str, rig: McpRig, tmp_path: Path) -> None:
    line, expected = LINES[name]
    await rig.start_servers(lines_server(tmp_path, tools_call=line))
    assert await rig.call_text("mcp__odd__go") == expected


ERRORS: dict[str, tuple[str, tuple[str, ...]]] = {
    "no text": ('{"code": -32000, "message": null, "data": {"x": 1}}', ("-32000", '"x": 1')),
    "no id": ("", ("overloaded",)),
    "neither result nor error": ("", ("neither a result nor an error",)),
    "an error that is null alone": ("", ("neither a result nor an error",)),
    "an empty text": ('{"code": 7, "message": ""}', ("without a text", "7")),
    "a text in place of an object": ('"it broke"', ("it broke",)),
    "a code in words": ('{"code": "E_BUSY", "message": "busy"}', ("busy",)),
    "data beside its text": (
        '{"code": 1, "message": "bad", "data": {"field": "q"}}',
        ("bad", '"field": "q"'),
    ),
}


UNUSUAL_LINES = {
    "no id": '{"jsonrpc": "2.0", "id": null, "error": {"code": -32603, "message": "overloaded"}}',
    "neither result nor error": '{"jsonrpc": "2.0", "id": $ID}',
    "an error that is null alone": '{"jsonrpc": "2.0", "id": $ID, "error": null}',
}


@pytest.mark.parametrize("name", ERRORS)
async def test_an_error_says_what_is_known_at_once(name: str, rig: McpRig, tmp_path: Path) -> None:
    error, fragments = ERRORS[name]
    line = UNUSUAL_LINES.get(name, f'{{"jsonrpc": "2.0", "id": $ID, "error": {error}}}')
    await rig.start_servers(lines_server(tmp_path, tools_call=line))
    with pytest.raises(ToolError) as raised:
        await rig.call("mcp__odd__go")
    for fragment in fragments:
        assert fragment in str(raised.value)
    assert "sign of life" not in str(raised.value)


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


@pytest.mark.parametrize("version", ["2099-01-01", "2024-10-07", "v1", None])
async def test_a_version_of_the_protocol_that_nobody_knows_is_tried(
    version: str | None, rig: McpRig, tmp_path: Path
) -> None:
    opening = {"capabilities": {"tools": {}}, **({"protocolVersion": version} if version else {})}
    await rig.start_servers(lines_server(tmp_path, initialize=opening))
    assert await rig.call_text("mcp__odd__go") == "done"


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


async def test_an_opening_without_its_fields_is_enough(rig: McpRig, tmp_path: Path) -> None:
    opening = {"protocolVersion": "2025-06-18", "capabilities": None, "serverInfo": None}
    await rig.start_servers(lines_server(tmp_path, initialize=opening))
    assert rig.actor("odd").is_up


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


async def test_a_server_that_does_not_run_is_named_with_its_last_line(rig: McpRig) -> None:
    program = "import sys; print('boom: no TOKEN_FILE', file=sys.stderr); sys.exit(3)"
    await rig.start_servers(approved_server("early", "-S", "-c", program))
    ((name, reason),) = rig.hub.failures
    assert name == "early"
    assert "ended before it was ready" in reason
    assert "boom: no TOKEN_FILE" in reason


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


async def test_a_text_that_looks_like_the_start_of_a_message_holds_nothing_up(
    rig: McpRig, tmp_path: Path
) -> None:
    reply = '{\nnot a message\n{"jsonrpc": "2.0", "id": $ID, "result": {"content": "on it goes"}}'
    await rig.start_servers(lines_server(tmp_path, tools_call=reply))
    assert await rig.call_text("mcp__odd__go") == "on it goes"
    assert "not a message" in rig.actor("odd").stderr_log.text
