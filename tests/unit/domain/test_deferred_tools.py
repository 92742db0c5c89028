"""Above 40 tools a request only names those of MCP servers; found and called, they are what they are."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from helix_desktop.domain.deferred_tools import (
    MAX_LIST_CHARS,
    MAX_WHOLE_TOOLS,
    argument_fault,
    near_names,
    request_tools,
    search_tools,
    unwrap_call,
    wrap_calls,
)
from helix_desktop.domain.messages import (
    CALL_TOOL,
    FIND_TOOLS,
    Message,
    ModelInfo,
    ModelRequest,
    ToolCall,
    ToolSpec,
)
from helix_desktop.providers.anthropic import encode_request
from helix_desktop.providers.openai_chat import request_body
from helix_desktop.tools.find_tools import CallTool, FindTools
from helix_desktop.tools.tool import spec_of
from tests.support.tables import for_each
from tests.support.tool_rig import DESCRIPTIONS_DIR

OPEN: dict[str, Any] = {"type": "object", "properties": {}}
TOOL_SEARCH = tuple(spec_of(tool, DESCRIPTIONS_DIR) for tool in (FindTools, CallTool))
PAIRS = [
    (verb, noun)
    for verb in ("create", "list", "get", "update", "delete")
    for noun in ("issue", "pull_request", "comment", "label", "branch", "release", "workflow", "secret")
]


def server_tool(server: str, name: str, text: str = "", schema: dict[str, Any] = OPEN) -> ToolSpec:
    return ToolSpec(f"mcp__{server}__{name}", f"[MCP server {server}] {text or name}", schema)


def server_tools(server: str) -> list[ToolSpec]:
    """Return 40 tools of one server."""
    return [
        server_tool(server, f"{verb}_{noun}", f"{verb.title()} a {noun.replace('_', ' ')}. It needs rights.")
        for verb, noun in PAIRS
    ]


def own(count: int) -> list[ToolSpec]:
    return [ToolSpec(f"own_{number}", "Ours.", OPEN) for number in range(count)]


@pytest.mark.parametrize("count", [0, 20, MAX_WHOLE_TOOLS - 1])
def test_up_to_40_tools_are_sent_whole(count: int) -> None:
    specs = (*own(count), *server_tools("hub")[: MAX_WHOLE_TOOLS - count])
    assert request_tools((*specs, *TOOL_SEARCH)) == specs


def test_with_41_tools_those_of_servers_are_deferred() -> None:
    ours, servers = own(20), server_tools("hub")[:21]
    sent = request_tools((*ours, *servers, *TOOL_SEARCH))
    assert [spec.name for spec in sent] == [*(spec.name for spec in ours), FIND_TOOLS, CALL_TOOL]
    assert list(sent[:20]) == ours
    listed = sent[20].parameters["properties"]["names"]["description"]
    assert "mcp__hub__ and:\ncreate_issue: Create a issue.\n" in listed
    assert "rights" not in listed
    assert len(sent[20].description) < 1_024, "the API of OpenAI refuses a longer one"


def test_the_list_is_bounded_and_says_what_it_leaves_out() -> None:
    """First lines go, then names."""
    many = [server_tool(f"s{n}", f"tool_{n}_{k}", "Does it " * 9) for n in range(20) for k in range(300)]
    (found,) = (spec for spec in request_tools((*many, *TOOL_SEARCH)) if spec.name == FIND_TOOLS)
    listed = found.parameters["properties"]["names"]["description"]
    assert "\ntool_0_0\n" in listed
    few = request_tools((*many[:2_000], *TOOL_SEARCH))[0].parameters["properties"]["names"]["description"]
    assert "\ntool_0_0: Does it" in few
    assert "\ntool_6_199" in few
    assert len(listed) <= MAX_LIST_CHARS + 200
    named = sum(line.startswith("tool_") for line in listed.splitlines())
    more = int(listed.rpartition("and ")[2].partition(" more")[0])
    assert named + more == len(many)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("create an issue in forge", "mcp__forge__create_issue"),
        ("deleting branches, hub", "mcp__hub__delete_branch"),
        ("pullRequest update hub", "mcp__hub__update_pull_request"),
        ("WORKFLOWS get forge", "mcp__forge__get_workflow"),
    ],
)
def test_words_find_a_tool_by_what_few_others_have(query: str, first: str) -> None:
    specs = [*server_tools("hub"), *server_tools("forge")]
    assert search_tools(specs, query)[0].name == first
    assert search_tools(specs[::-1], query)[0].name == first, "in any order"


def test_words_that_nothing_has_find_nothing() -> None:
    assert search_tools(server_tools("hub"), "zebra ÄÖ 東京") == []


def test_near_names() -> None:
    names = [spec.name for spec in (*server_tools("hub"), *server_tools("forge"))]
    assert near_names("mcp__hub__issue_create", names)[0] == "mcp__hub__create_issue"
    assert near_names("creat_isue", names)[0].endswith("create_issue")
    assert near_names("zebra", names) == []


NAME = "mcp__hub__create_issue"


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ({"name": NAME, "arguments": {"a": 1}}, '{"a": 1}'),
        ({"arguments": {"a": 1}, "name": NAME, "why": "so"}, '{"a": 1}'),
        ({"name": NAME, "arguments": '{"a": 1}'}, '{"a": 1}'),
        ({"name": NAME, "arguments": None}, "{}"),
        ({"name": NAME}, "{}"),
    ],
)
def test_call_tool_becomes_the_call_of_the_tool(written: dict[str, Any], arguments: str) -> None:
    call = unwrap_call(ToolCall("c1", CALL_TOOL, json.dumps(written)), ())
    assert call == ToolCall("c1", NAME, arguments)


@pytest.mark.parametrize(
    "written", ["", "[]", '{"name": 3}', '{"name": "call_tool"}', '{"name": "mcp__a', '{"n']
)
def test_a_call_of_no_known_tool_stays_as_it_is(written: str) -> None:
    call = ToolCall("c1", CALL_TOOL, written)
    assert unwrap_call(call, {CALL_TOOL, "own_1"}) == call


def test_our_own_tools_may_be_called_so_too() -> None:
    call = ToolCall("c1", CALL_TOOL, '{"name": "own_1", "arguments": {}}')
    assert unwrap_call(call, {"own_1"}).name == "own_1"


@pytest.mark.parametrize("arguments", ['{"a": "\\u00e9 \\" b", "c": [1.50]}', "", "cut off {", '"text"'])
def test_a_call_is_sent_as_the_model_has_to_make_it(arguments: str) -> None:
    calls = (ToolCall("c1", NAME, arguments), ToolCall("c2", "own_1", "{}"))
    request = ModelRequest((Message("user", "Go."), Message("assistant", "", calls)), TOOL_SEARCH)
    sent = wrap_calls(request).messages[1].calls
    assert sent[1] == calls[1]
    written = json.loads(sent[0].arguments)
    assert (sent[0].id, sent[0].name, written["name"]) == ("c1", CALL_TOOL, NAME)
    assert unwrap_call(sent[0], ()).arguments == (arguments or "{}")
    assert wrap_calls(ModelRequest(request.messages)) == ModelRequest(request.messages), (
        "without the tool: as is"
    )


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "state": {"enum": ["open", "closed"]},
        "labels": {"type": "array", "items": {"type": "object", "required": ["name"]}},
        "any": {"anyOf": [{"type": "string"}]},
        "note": {"type": ["string", "null"], "pattern": "(a+)+$"},
    },
    "required": ["id"],
    "additionalProperties": False,
}


@for_each(
    ("arguments", "fault"),
    [
        ({"id": 1, "state": "open", "labels": [{"name": "x"}], "any": 3, "note": None}, ""),
        ({"id": "12", "state": None, "note": "a" * 40 + "b"}, ""),
        ({}, "id is missing."),
        ({"id": None}, "id must be integer, not null."),
        ({"id": 1.5}, "id must be integer, not number."),
        ({"id": True}, "id must be integer, not boolean."),
        ({"id": 1, "state": "opened"}, 'state must be one of ["open", "closed"].'),
        ({"id": 1, "labels": "x"}, "labels must be array, not string."),
        ({"id": 1, "labels": [{"name": 1}, {}]}, "labels[1].name is missing."),
        ({"id": 1, "label": []}, "There is no label; did you mean labels?"),
        ([1], "It must be object, not array."),
    ],
)
def test_what_is_surely_wrong_with_arguments(arguments: Any, fault: str) -> None:
    assert argument_fault(SCHEMA, arguments) == fault


@pytest.mark.parametrize("schema", [{}, {"properties": {"a": True}}, {"type": "list"}, {"$ref": "#/x"}, True])
def test_what_a_schema_does_not_say_is_not_wrong(schema: Any) -> None:
    assert argument_fault(schema, {"a": [1], "b": None}) == ""


def test_what_is_sent_back_is_what_the_model_wrote() -> None:
    """With what its provider keeps of the answer: thinking is valid only before the same call."""
    written = {"name": NAME, "arguments": {"b": [1.5, "é"], "a": None}}
    call = unwrap_call(ToolCall("c1", CALL_TOOL, json.dumps(written)), ())
    block = {"type": "tool_use", "id": "c1", "name": CALL_TOOL, "input": written}
    thinking = {"type": "thinking", "thinking": "So.", "signature": "s"}
    verbatim: dict[str, Any] = {
        "dialect": "anthropic",
        "provider": "p",
        "model": "m",
        "content": [thinking, block],
    }
    messages = (Message("user", "Go."), Message("assistant", "", (call,), verbatim=verbatim))
    request = wrap_calls(ModelRequest(messages, TOOL_SEARCH))
    body = json.loads(encode_request(ModelInfo("p", "m"), request, max_output_tokens=100).body)
    assert body["messages"][1]["content"] == [thinking, block]
    verbatim = {"dialect": "openai", "provider": "p", "message": {"role": "assistant", "content": None}}
    chat = msgspec.structs.replace(request.messages[1], verbatim=verbatim)
    (sent,) = json.loads(request_body(ModelInfo("p", "m"), ModelRequest((chat,))))["messages"][0][
        "tool_calls"
    ]
    assert sent["function"]["name"] == CALL_TOOL
    assert json.loads(sent["function"]["arguments"]) == written
