"""A server that refuses the schema of a tool of an MCP server: that tool leaves alone, and is named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from helix_desktop.domain.errors import ModelRequestRejected
from helix_desktop.domain.messages import Message, ModelInfo, ModelRequest, ToolRefusal, ToolSpec
from helix_desktop.providers.http import HttpClient
from helix_desktop.providers.plain_form import PlainForm
from helix_desktop.providers.retry import RetryPolicy
from tests.support.model_contract import final_response
from tests.support.model_servers.chat_server import ChatServer, Reply, api_error, text_reply
from tests.support.model_servers.connect import connect_model
from tests.support.model_servers.dialects import DIALECTS, DialectCase

PLAIN = {"type": "object", "properties": {"q": {"type": "string"}}}
CIRCULAR = {"type": "object", "properties": {"n": {"$ref": "#/properties/n"}}}
TOOLS = (
    ToolSpec("read_file", "Reads.", PLAIN),
    ToolSpec("mcp__odd__find", "Finds.", PLAIN),
    ToolSpec("mcp__odd__find_all", "Finds all.", CIRCULAR),
    ToolSpec("mcp__odd__list", "Lists.", PLAIN),
)
WORDS = [
    "Invalid schema for function 'mcp__odd__find_all': circular references are not supported.",
    "tools.2.custom.input_schema: JSON schema is invalid",
    "Invalid 'tools[2].function.parameters': '$ref' is not allowed",
    "GenerateContentRequest.tools[0].function_declarations[2].parameters: unknown keyword",
    "Failed to compile the grammar of mcp__odd__find_all: recursion in its JSON schema",
]


def tool_names(body: Any) -> list[str]:
    return [tool["name"] if "name" in tool else tool["function"]["name"] for tool in body["tools"]]


class Rig:
    def __init__(self, dialect: DialectCase, http: HttpClient, words: str, refused: str = "$ref") -> None:
        self._dialect = dialect
        self._http = http
        self._words = words
        self._refused = refused
        self.form = PlainForm()
        self.server = ChatServer(self._reply, wire_format=dialect.wire_format)

    def _reply(self, body: dict[str, Any]) -> Reply:
        is_refused = self._refused in json.dumps(body["tools"])
        return api_error(400, self._words) if is_refused else text_reply("Fine.")

    async def ask(self, *tools: ToolSpec) -> tuple[ToolRefusal, ...]:
        model = connect_model(
            self._dialect.name,
            ModelInfo("here", "m"),
            self.server.base_url,
            http=self._http,
            retry_policy=RetryPolicy(patience_s=0.0),
            plain_form=self.form,
        )
        answer = await final_response(model, ModelRequest((Message("user", "Hello"),), tools or TOOLS))
        assert answer.text == "Fine."
        return answer.tool_refusals


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_the_tool_that_is_refused_leaves_alone(
    http: HttpClient, dialect: DialectCase, words: str
) -> None:
    rig = Rig(dialect, http, words)
    others = [tool.name for tool in TOOLS if tool.parameters is PLAIN]
    async with rig.server:
        assert await rig.ask() == (ToolRefusal("mcp__odd__find_all", words),)
        assert await rig.ask() == ()
        sent = [tool_names(body) for body in rig.server.bodies]
        assert sent == [[tool.name for tool in TOOLS], others, others]
    assert rig.form.left_out == frozenset()


async def test_a_tool_whose_schema_was_corrected_is_sent_again(http: HttpClient) -> None:
    rig = Rig(DIALECTS[0], http, WORDS[0])
    async with rig.server:
        await rig.ask()
        corrected = ToolSpec("mcp__odd__find_all", "Finds all.", PLAIN)
        await rig.ask(TOOLS[0], corrected)
        assert tool_names(rig.server.bodies[-1]) == ["read_file", "mcp__odd__find_all"]


async def test_several_tools_are_found_one_after_the_other(http: HttpClient) -> None:
    tools = [ToolSpec(f"mcp__odd__t{number}", "Does it.", CIRCULAR) for number in range(12)]
    rig = Rig(DIALECTS[0], http, "Invalid 'tools[1].function.parameters': '$ref' is not allowed")
    async with rig.server:
        refusals = await rig.ask(TOOLS[0], *tools)
        assert [refusal.tool for refusal in refusals] == [tool.name for tool in tools]
        assert tool_names(rig.server.bodies[-1]) == ["read_file"]


@pytest.mark.parametrize(
    "words",
    [
        "Invalid schema for function 'read_file': no type",
        "tools.0.custom.input_schema: JSON schema is invalid",
        "Unexpected schema in the request",
        "Call of mcp__odd__find is out of order",
    ],
)
async def test_no_tool_leaves_for_other_words(http: HttpClient, words: str) -> None:
    rig = Rig(DIALECTS[0], http, words, refused="")
    async with rig.server:
        with pytest.raises(ModelRequestRejected, match="rejected"):
            await rig.ask()
        assert all(len(body["tools"]) == len(TOOLS) for body in rig.server.bodies)


async def test_nothing_is_kept_if_the_request_is_refused_without_the_tool(http: HttpClient) -> None:
    rig = Rig(DIALECTS[0], http, WORDS[0], refused="")
    async with rig.server:
        with pytest.raises(ModelRequestRejected, match="circular"):
            await rig.ask()
    assert rig.form.refused_tools == ()
