"""Tools: each is described once, those above 40 are deferred, and the to-do list."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from helix_desktop.agent.subagents import DELEGATE
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.builtin_tools import BUILTIN_TOOLS
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
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.files.file_use import file_use
from helix_desktop.domain.messages import (
    CALL_TOOL,
    FIND_TOOLS,
    Message,
    ModelInfo,
    ModelRequest,
    ToolCall,
    ToolSpec,
)
from helix_desktop.domain.todo import (
    TodoItem,
    TodoStatus,
    changes_text,
    current_item,
    parse_items,
    progress_text,
)
from helix_desktop.domain.tool_arguments import Arguments, schema
from helix_desktop.providers.anthropic import encode_request
from helix_desktop.providers.openai_chat import request_body
from helix_desktop.tools.find_tools import CallTool, FindTools
from helix_desktop.tools.tool import Tool, ToolRegistry, UnguardedTool, spec_of
from helix_desktop.tools.workspace_tools import Todo
from tests.support.tables import for_each
from tests.support.tool_rig import DESCRIPTIONS_DIR, make_call, make_tools


def _tools(kind: Any) -> dict[str, type[Tool[Any]]]:
    own = {kind.name: kind} if "name" in kind.__dict__ else {}
    return own | {name: tool for below in kind.__subclasses__() for name, tool in _tools(below).items()}


def _arguments(of: dict[str, Any]) -> Any:
    """Return arguments that a schema allows, the path of a file wherever a text may be."""
    match of.get("type"):
        case "object":
            return {name: _arguments(part) for name, part in of.get("properties", {}).items()}
        case "array":
            return [_arguments(of["items"])]
        case "integer":
            return of.get("minimum", 1)
        case "boolean":
            return False
    return of.get("enum", ["src/a.py"])[0]


def test_every_tool_is_described_offered_and_has_its_text(tmp_path: Path) -> None:
    offered = {spec.name for spec in make_tools(tmp_path).specs}
    assert _tools(Tool).keys() | {DELEGATE} == BUILTIN_TOOLS.keys()
    others = {DELEGATE, FindTools.name, CallTool.name, "fetch_url"}  # with subagents, many tools, the web
    assert offered | others == BUILTIN_TOOLS.keys()
    assert {
        path.stem.removesuffix("-windows") for path in DESCRIPTIONS_DIR.glob("*.md")
    } == BUILTIN_TOOLS.keys()


def test_a_tool_without_a_description_is_named() -> None:
    with pytest.raises(TypeError, match=r"count_words is not described in domain/builtin_tools\.py"):

        class _CountWords(UnguardedTool[Arguments]):
            name = "count_words"
            arguments_type = Arguments


@for_each("name", [name for name in BUILTIN_TOOLS if name not in (DELEGATE, "run_command")])
def test_what_a_call_does_with_files_is_as_described(name: str) -> None:
    """By the arguments that the tool has: a new one whose file `file_use` would not see is named."""
    builtin = BUILTIN_TOOLS[name]
    tool = _tools(Tool)[name]
    use = file_use(ToolCall("c1", name, json.dumps(_arguments(schema(tool.arguments_type, {})))))
    if builtin.kind in ("write", "edit") or builtin.shows_lines:
        assert use is not None, f"{name}: no argument of it is one that file_use.py takes for a file's path"
        assert (use.action, use.paths) == (builtin.kind, ("src/a.py",))
    else:
        assert use is None


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
    ours = own(20)
    servers = server_tools("hub")[:21]
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


@pytest.mark.parametrize("word", ["SQL", "pdf", "AWS", "ci"])
def test_words_of_two_and_three_letters_find_what_only_a_description_has(word: str) -> None:
    described = {"SQL": "Run a SQL query", "pdf": "Make a PDF of it", "AWS": "Ask AWS", "ci": "Wait for CI"}
    specs = [
        ToolSpec(f"mcp__x__tool_{number}", text, {"properties": {}})
        for number, text in enumerate(described.values())
    ]
    (found,) = search_tools([*specs, *server_tools("hub")], word)
    assert found.description == described[word]
    assert search_tools(specs, "for the use of it") == []


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


ITEMS = [
    {"content": "read\nit", "status": "done"},
    {"content": "write it", "status": "in_progress"},
    {"content": "run it"},
]


async def test_a_new_list_is_answered_whole(tmp_path: Path) -> None:
    box = make_tools(tmp_path)
    call = make_call("todo", items=ITEMS)
    assert await box.approval(call) is None
    result = await box.run(call)
    assert result.content.decode() == "Todo list, 1 of 3 done:\n[x] read it\n[>] write it\n[ ] run it\n"
    assert result.target == "1 of 3 done"


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([], "wrong arguments"),
        ([{"content": " "}], "empty"),
        ([{"content": "x" * 301}], "over 300"),
        ([{"content": "x", "status": "began"}], "wrong arguments"),
        ([{"content": "x"}] * 51, "wrong arguments"),
        ([{"content": "x", "status": "in_progress"}] * 2, "More than one"),
    ],
)
async def test_an_invalid_list_is_refused(tmp_path: Path, items: list[object], message: str) -> None:
    with pytest.raises(ToolError, match=message):
        await make_tools(tmp_path).run(make_call("todo", items=items))


def test_the_user_sees_what_the_call_wrote() -> None:
    items = parse_items(make_call("todo", items=ITEMS).arguments)
    assert items[2] == TodoItem("run it")
    assert (progress_text(items), current_item(items)) == ("1 of 3", "write it")
    assert current_item(items[2:]) == "run it"
    assert current_item(items[:1]) == ""


@pytest.mark.parametrize("arguments", ["", "{", "[]", '{"items": 3}', '{"items": [{"text": "x"}]}', "\udcff"])
def test_invalid_arguments_give_no_list(arguments: str) -> None:
    assert parse_items(arguments) == ()


def listed(*statuses: TodoStatus) -> tuple[TodoItem, ...]:
    """A list of items `a`, `b` and so on with these statuses."""
    return tuple(TodoItem(name, status) for name, status in zip("abcdefgh", statuses, strict=False))


@pytest.mark.parametrize(
    ("previous", "items", "line"),
    [
        (
            listed("done", "in_progress", "pending"),
            listed("done", "done", "in_progress"),
            "Todo: 2 of 3 done; done: b; now: c",
        ),
        (listed("done", "in_progress"), listed("done", "done"), "Todo: 2 of 2 done; done: b"),
        (listed("done", "pending"), listed("done", "in_progress"), "Todo: 1 of 2 done; now: b"),
        (listed("done", "done"), listed("done", "pending"), "Todo: 1 of 2 done; again open: b; now: b"),
        (
            (TodoItem("x"), TodoItem("y")),
            (TodoItem("y"), TodoItem("z")),
            "Todo: 0 of 2 done; new: z; dropped: x; now: y",
        ),
        (tuple(map(TodoItem, "abcd")), tuple(TodoItem(name, "done") for name in "abcd"), ""),
    ],
)
def test_a_change_takes_one_line_and_many_changes_the_list(
    previous: tuple[TodoItem, ...], items: tuple[TodoItem, ...], line: str
) -> None:
    assert changes_text(previous, items) == line


async def test_a_list_of_before_makes_the_answer_one_line() -> None:
    """The newest that was taken: not one that was refused, and not the call itself."""
    transcript = Transcript()

    def record(event: Event) -> None:
        transcript.apply(RecordedEvent(transcript.last_seq + 1, 1, event))

    def call(number: int, items: list[dict[str, str]]) -> ToolCall:
        return ToolCall(f"c{number}", "todo", json.dumps({"items": items}))

    @dataclass
    class Caller:
        id: str
        transcript: Transcript

    record(SessionStarted("Tides"))
    record(AssistantSpoke("", "m", 1, (call(1, ITEMS),)))
    record(ToolAnswered("c1", "todo", "", "", 0, 1, 1))
    record(AssistantSpoke("", "m", 1, (call(2, [{"content": ""}]),)))
    record(ToolAnswered("c2", "todo", "", "", 0, 1, 1, ok=False))
    done = [*ITEMS[:1], {"content": "write it", "status": "done"}, {"content": "run it"}]
    record(AssistantSpoke("", "m", 1, (call(3, done),)))
    result = await ToolRegistry([Todo(Caller("s", transcript))], DESCRIPTIONS_DIR).run(call(3, done))
    assert result.content.decode() == "Todo: 2 of 3 done; done: write it; now: run it\n"
    assert result.target == "2 of 3 done"
