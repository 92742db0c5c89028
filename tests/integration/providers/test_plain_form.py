"""A server that refuses a part of requests: one retry in the plainest form, and the search for that part."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.dialects import DialectName
from helix_desktop.domain.errors import ModelError, ModelRequestRejected
from helix_desktop.domain.messages import CacheHints, Message, ModelInfo, ModelRequest, ToolCall, ToolSpec
from helix_desktop.providers.http import HttpClient
from helix_desktop.providers.plain_form import MAX_TRIALS, PlainForm, legal_name, plain_request
from helix_desktop.providers.retry import RetryPolicy
from tests.support.model_contract import final_response
from tests.support.model_servers.chat_server import (
    ChatServer,
    Raw,
    Reply,
    StreamedReply,
    Text,
    api_error,
    replies_in_order,
    text_reply,
)
from tests.support.model_servers.connect import connect_model
from tests.support.model_servers.dialects import DIALECTS

Body = Mapping[str, Any]
Refuses = Callable[[Body], bool]

TOOLS = (ToolSpec("read_file", "Reads.", {"type": "object", "properties": {}}),)


def refuses_null(body: Body) -> bool:
    return any(message.get("content", "") is None for message in body["messages"])


def refuses_usage(body: Body) -> bool:
    return "stream_options" in body


def refuses_cache(body: Body) -> bool:
    return "cache" in json.dumps(body)


def refuses_names(body: Body) -> bool:
    return "odd name" in json.dumps(body)


def refuses_equal_roles(body: Body) -> bool:
    roles = [message.get("role") for message in body.get("messages") or body["input"]]
    return any(first == second == "user" for first, second in pairwise(roles))


def refuses_user_after_tool(body: Body) -> bool:
    roles = [message.get("role") for message in body["messages"]]
    return ("tool", "user") in pairwise(roles)


def refuses_ids(body: Body) -> bool:
    return any("id" in item or "status" in item for item in body["input"])


def refuses_reasoning(body: Body) -> bool:
    text = json.dumps(body)
    return any(word in text for word in ("thought of it", "ENC", "signature"))


WIRES = {case.name: case for case in DIALECTS}

VERBATIM: dict[DialectName, dict[str, Any]] = {
    "openai-chat": {"message": {"role": "assistant", "content": None, "reasoning": "thought of it"}},
    "anthropic": {
        "content": [{"type": "thinking", "thinking": "thought of it", "signature": "S"}],
        "bound": False,
        "prefix": "",
    },
    "openai-responses": {
        "items": [
            {"type": "reasoning", "id": "item_1", "summary": [], "encrypted_content": "ENC"},
            {
                "type": "function_call",
                "id": "item_2",
                "call_id": "c1",
                "name": "read_file",
                "arguments": "{}",
                "status": "completed",
            },
        ]
    },
}


def request_in(dialect: DialectName) -> ModelRequest:
    verbatim = {"dialect": dialect, "provider": "here", "model": "m", **VERBATIM[dialect]}
    messages = (
        Message("system", "You are an agent."),
        Message("user", "One."),
        Message("user", "Two."),
        Message("assistant", "", (ToolCall("c1", "read_file", "{}"),), verbatim=verbatim),
        Message("tool", "alpha", call_id="c1", name="read_file"),
        Message("assistant", "", (ToolCall("c2", "odd name", "{}"),)),
        Message("tool", "There is no such tool.", call_id="c2", name="odd name"),
        Message("user", "Go on."),
    )
    return ModelRequest(messages, TOOLS, cache=CacheHints(key="k", ends=(2,)))


KINDS: list[tuple[DialectName, str, Refuses]] = [
    ("openai-chat", "usage", refuses_usage),
    ("openai-chat", "cache", refuses_cache),
    ("openai-chat", "reasoning", refuses_reasoning),
    ("openai-chat", "names", refuses_names),
    ("openai-chat", "null", refuses_null),
    ("openai-chat", "roles", refuses_equal_roles),
    ("openai-chat", "roles", refuses_user_after_tool),
    ("anthropic", "cache", refuses_cache),
    ("anthropic", "reasoning", refuses_reasoning),
    ("anthropic", "names", refuses_names),
    ("openai-responses", "cache", refuses_cache),
    ("openai-responses", "reasoning", refuses_reasoning),
    ("openai-responses", "ids", refuses_ids),
    ("openai-responses", "names", refuses_names),
    ("openai-responses", "roles", refuses_equal_roles),
]
WORDS = "value error at $.9: this is not accepted"
STATUSES: dict[int, str] = {
    400: WORDS,
    422: WORDS,
    403: "invalid message in the request",
    404: "unexpected content",
    500: "unsupported content in messages",
}


class Rig:
    """A server that refuses some requests; its models share what they learned."""

    def __init__(self, dialect: DialectName, http: HttpClient, refuses: Refuses, status: int = 400) -> None:
        self._dialect = dialect
        self._http = http
        self._refuses = refuses
        self._status = status
        self.saved: list[Mapping[str, str]] = []
        self.form = PlainForm(save=self._save)
        self.refused = 0
        self.server = ChatServer(self._reply, wire_format=WIRES[dialect].wire_format)

    async def _save(self, refused: Mapping[str, str]) -> None:
        self.saved.append(refused)

    def _reply(self, body: dict[str, Any]) -> Reply:
        if self._refuses(body):
            self.refused += 1
            return api_error(self._status, STATUSES[self._status])
        return text_reply("Fine.")

    async def ask(self, request: ModelRequest | None = None) -> str:
        """Return the answer of a model that is new, as after a change of settings."""
        model = connect_model(
            self._dialect,
            ModelInfo("here", "m"),
            self.server.base_url,
            http=self._http,
            retry_policy=RetryPolicy(patience_s=0.0),
            plain_form=self.form,
        )
        return (await final_response(model, request or request_in(self._dialect))).text


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize(("dialect", "part", "refuses"), KINDS)
async def test_the_refused_part_is_found_and_remembered_alone(
    http: HttpClient, dialect: DialectName, part: str, refuses: Refuses, status: int
) -> None:
    rig = Rig(dialect, http, refuses, status)
    async with rig.server:
        for _ in range(1 + MAX_TRIALS):
            assert await rig.ask() == "Fine."
        assert rig.form.left_out == {part}
        assert list(rig.form.refused) == [part]
        assert rig.saved == [{part: STATUSES[status]}]
        assert rig.refused <= (3 if part in ("usage", "cache") else 2), "first, with both, and alone"
        sent = len(rig.server.bodies)
        assert await rig.ask() == "Fine."
        assert len(rig.server.bodies) == sent + 1


async def test_what_was_not_refused_is_sent_again(http: HttpClient) -> None:
    """Behind a server that refuses a name, requests have hints, reasoning and usage as before."""
    rig = Rig("openai-chat", http, refuses_names)
    async with rig.server:
        for _ in range(1 + MAX_TRIALS):
            await rig.ask()
        newest = rig.server.bodies[-1]
    usual = await usual_body("openai-chat", http)
    assert newest["messages"][5]["content"] == "[Called odd_name with {}]"
    assert {**newest, "messages": []} == {**usual, "messages": []}
    assert newest["messages"][:5] == usual["messages"][:5]


async def usual_body(dialect: DialectName, http: HttpClient) -> Body:
    rig = Rig(dialect, http, lambda _: False)
    async with rig.server:
        await rig.ask()
        body: Body = rig.server.bodies[0]
        return body


@pytest.mark.parametrize("dialect", WIRES)
async def test_a_server_that_refuses_nothing_gets_one_request(http: HttpClient, dialect: DialectName) -> None:
    rig = Rig(dialect, http, lambda _: False)
    async with rig.server:
        await rig.ask()
        assert len(rig.server.bodies) == 1
    assert rig.form.left_out == frozenset()


@pytest.mark.parametrize("dialect", WIRES)
async def test_if_the_plainest_form_is_refused_the_first_refusal_is_told(
    http: HttpClient, dialect: DialectName
) -> None:
    refusals = iter(["the first words", "other words"])
    rig = Rig(dialect, http, lambda _: True)
    async with ChatServer(
        lambda _: api_error(400, next(refusals)), wire_format=WIRES[dialect].wire_format
    ) as rig.server:
        with pytest.raises(ModelRequestRejected) as caught:
            await rig.ask()
        assert len(rig.server.bodies) == 2
        assert rig.server.bodies[0] == await usual_body(dialect, http)
    assert "the first words" in caught.value.why
    assert rig.form.left_out == frozenset()
    assert rig.saved == []


EFFORT_FIELDS: dict[DialectName, tuple[str, ...]] = {
    "openai-chat": ("reasoning_effort",),
    "anthropic": ("thinking", "output_config"),
    "openai-responses": ("reasoning", "include"),
}


@pytest.mark.parametrize("dialect", WIRES)
async def test_thinking_is_off_in_the_plainest_form(http: HttpClient, dialect: DialectName) -> None:
    rig = Rig(dialect, http, refuses_reasoning)
    request = msgspec.structs.replace(request_in(dialect), effort="high")
    async with rig.server:
        await rig.ask(request)
        first, plain = rig.server.bodies
    fields = EFFORT_FIELDS[dialect]
    assert [field for field in fields if field in first] == list(fields)
    assert [field for field in fields if field in plain] == []


REQUIRED: dict[str, tuple[str, str]] = {
    "DeepSeek": ('"reasoning_content"', "Missing `reasoning_content` field in the assistant message"),
    "Gemini": ('"thought_signature"', "Function call is missing a thought_signature in functionCall parts."),
}


@pytest.mark.parametrize("kind", REQUIRED)
async def test_what_a_dialect_requires_stays_in_the_plainest_form(http: HttpClient, kind: str) -> None:
    field, words = REQUIRED[kind]
    rig = Rig("openai-chat", http, refuses_null)

    def reply(body: dict[str, Any]) -> Reply:
        if field not in json.dumps(body):
            return api_error(400, words)
        return api_error(400, WORDS) if refuses_null(body) else text_reply("Fine.")

    async with ChatServer(reply) as rig.server:
        assert await rig.ask() == "Fine."
        assert field in json.dumps(rig.server.bodies[-1])


MARKS: dict[str, Refuses] = {
    "usage": refuses_usage,
    "cache": refuses_cache,
    "reasoning": refuses_reasoning,
    "ids": lambda body: "item_2" in json.dumps(body),
    "names": refuses_names,
    "null": lambda body: any(message.get("content", "") is None for message in body.get("messages", ())),
}
ORDERS: list[tuple[DialectName, Refuses, list[str]]] = [
    ("openai-chat", refuses_equal_roles, ["usage cache", "reasoning", "names", "null"]),
    ("openai-responses", refuses_equal_roles, ["cache", "reasoning", "ids", "names"]),
    ("anthropic", refuses_names, ["cache", "reasoning"]),
]


@pytest.mark.parametrize(("dialect", "refuses", "order"), ORDERS)
async def test_the_parts_come_back_one_at_a_time_hints_and_usage_first(
    http: HttpClient, dialect: DialectName, refuses: Refuses, order: list[str]
) -> None:
    rig = Rig(dialect, http, refuses)
    async with rig.server:
        for _ in range(1 + len(order)):
            await rig.ask()
        bodies = [body for body in rig.server.bodies if not refuses(body)]
    returned: set[str] = set()
    for body, parts in zip(bodies, ["", *order], strict=True):
        returned.update(parts.split())
        assert {part for part, has in MARKS.items() if has(body)} == returned


NAMED: list[tuple[DialectName, str, Refuses]] = [
    ("openai-chat", "invalid field stream_options", refuses_usage),
    ("openai-chat", "invalid field prompt_cache_key", refuses_cache),
    ("openai-chat", "unexpected field reasoning", refuses_reasoning),
    ("anthropic", "invalid field cache_control", refuses_cache),
    ("openai-responses", "invalid field prompt_cache_key", refuses_cache),
    ("openai-responses", "unexpected encrypted reasoning", refuses_reasoning),
]


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize(("dialect", "words", "refuses"), NAMED)
async def test_what_a_refusal_names_leaves_alone(
    http: HttpClient, dialect: DialectName, words: str, refuses: Refuses, status: int
) -> None:
    rig = Rig(dialect, http, refuses)

    def reply(body: dict[str, Any]) -> Reply:
        return api_error(status, words) if refuses(body) else text_reply("Fine.")

    async with ChatServer(reply, wire_format=WIRES[dialect].wire_format) as rig.server:
        assert await rig.ask() == "Fine."
        first, second = rig.server.bodies
    others = {part for part, has in MARKS.items() if has(first) and has is not refuses}
    assert {part for part, has in MARKS.items() if has(second)} >= others - {"ids"}
    assert rig.form.left_out == frozenset()


@pytest.mark.parametrize("dialect", WIRES)
async def test_a_refusal_inside_a_stream_counts_until_text_has_come(
    http: HttpClient, dialect: DialectName
) -> None:
    wire = WIRES[dialect].wire_format
    refusal = Raw(wire.stream_error("invalid_request_error", WORDS))
    for parts, count in (((refusal,), 2), ((Text("Half of"), refusal), 1)):
        replies = StreamedReply(*parts), text_reply("Fine.")
        rig = Rig(dialect, http, refuses_names)
        async with ChatServer(replies_in_order(*replies), wire_format=wire) as rig.server:
            if count == 1:
                with pytest.raises(ModelError):
                    await rig.ask()
            else:
                assert await rig.ask() == "Fine."
            assert len(rig.server.bodies) == count


OTHERS: list[tuple[int, str]] = [
    (401, "invalid message"),
    (402, "invalid message"),
    (408, "invalid message"),
    (413, "invalid message"),
    (429, "invalid message"),
    (403, "the key has no permission for this message"),
    (400, "prompt is too long: 215000 tokens > 200000 maximum"),
    (404, "The model `m` does not exist"),
    (400, "m is not a valid model ID"),
    (400, "API key not valid"),
    (400, "max_tokens is too large"),
    (400, "insufficient_quota: unknown field"),
    (400, "The response was filtered due to the prompt triggering content management policy"),
    (500, "Internal server error"),
]


@pytest.mark.parametrize("dialect", WIRES)
@pytest.mark.parametrize(("status", "words"), OTHERS)
async def test_refusals_for_other_reasons_are_told_at_once(
    http: HttpClient, dialect: DialectName, status: int, words: str
) -> None:
    rig = Rig(dialect, http, lambda _: True)
    async with ChatServer(
        lambda _: api_error(status, words), wire_format=WIRES[dialect].wire_format
    ) as rig.server:
        with pytest.raises(ModelError):
            await rig.ask()
        assert len({json.dumps(body) for body in rig.server.bodies}) == 1


async def test_a_refusal_that_does_not_return_leaves_nothing_behind(http: HttpClient) -> None:
    """A server that refuses one request for no reason of the form is not blamed for a part."""
    first = iter([True])
    rig = Rig("openai-chat", http, lambda _: next(first, False))
    async with rig.server:
        for _ in range(2 + MAX_TRIALS):
            await rig.ask()
        assert rig.server.bodies[-1] == await usual_body("openai-chat", http)
    assert rig.form.refused == {}


async def test_two_refused_parts_are_found_one_after_the_other(http: HttpClient) -> None:
    rig = Rig("openai-chat", http, lambda body: refuses_null(body) or refuses_usage(body))
    async with rig.server:
        for _ in range(2 + 2 * MAX_TRIALS):
            assert await rig.ask() == "Fine."
    assert set(rig.form.refused) == {"null", "usage"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("read_file", "read_file"),
        ("read_file<|channel|>commentary", "read_file"),
        ('read_file" path="a.txt"', "read_file"),
        ("file system.read (all)", "file_system_read__all_"),
        ("x" * 90, "x" * 64),
        ("", "_"),
    ],
)
def test_legal_names_of_calls(name: str, expected: str) -> None:
    assert legal_name(name, ["read_file"]) == expected


ROLES = st.lists(st.sampled_from(["system", "user", "assistant", "call"]), max_size=14)


@given(roles=ROLES)
def test_joined_roles_take_turns_and_lose_no_text(roles: list[str]) -> None:
    messages: list[Message] = []
    for number, role in enumerate(roles):
        if role == "call":
            call = ToolCall(f"c{number}", "read_file", "{}")
            messages.append(Message("assistant", f"text {number}.", (call,)))
            messages.append(Message("tool", f"result {number}.", call_id=call.id, name="read_file"))
        else:
            messages.append(msgspec.convert({"role": role, "text": f"text {number}."}, Message))

    joined = plain_request(ModelRequest(tuple(messages)), {"roles"}).messages
    text = "\n".join(message.text for message in joined)
    assert all(message.text in text for message in messages)
    order = [message.role for message in joined]
    assert "system" not in order[1:]
    for former, later in pairwise(order):
        assert (former, later) not in {("user", "user"), ("tool", "user"), ("assistant", "assistant")}
        assert later != "tool" or former == "assistant"
