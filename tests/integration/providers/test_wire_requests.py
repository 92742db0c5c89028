"""What is asked for on the wire: effort, extra fields, the provider's cache; and what servers refuse."""

from __future__ import annotations

from base64 import b64encode
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from helix_desktop.domain.choices import SentEffort
from helix_desktop.domain.dialects import DialectName
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ModelError
from helix_desktop.domain.image import Image
from helix_desktop.domain.messages import (
    CacheHints,
    EffortRefusal,
    Message,
    ModelInfo,
    ModelRequest,
    ToolCall,
    ToolSpec,
    Usage,
)
from helix_desktop.domain.request_extras import RequestExtras
from helix_desktop.providers.anthropic import MessagesDialect
from helix_desktop.providers.endpoint import Endpoint
from helix_desktop.providers.http import HttpClient
from helix_desktop.providers.model_factory import create_model
from helix_desktop.providers.model_list import list_models
from tests.support.image_bytes import png
from tests.support.model_contract import final_response
from tests.support.model_servers.chat_server import (
    ChatServer,
    Reply,
    StreamedReply,
    Text,
    TokenCounts,
    api_error,
    replies_in_order,
    text_reply,
)
from tests.support.model_servers.dialects import DIALECTS, DialectCase, SleepRecorder

SMALL = ModelInfo("local", "small", output=10_256)
QUESTION = ModelRequest((Message("user", "How many?"),))
FIELDS: dict[str, dict[str, Any]] = {
    "openai-chat": {"reasoning_effort": "high"},
    "openai-responses": {"reasoning": {"effort": "high"}},
    "anthropic": {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}},
}
REFUSALS = {
    "openai-chat": "Unsupported parameter: 'reasoning_effort' is not supported with this model.",
    "openai-responses": "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
    "anthropic": "output_config: Extra inputs are not permitted",
}


def asking(effort: SentEffort) -> ModelRequest:
    return msgspec.structs.replace(QUESTION, effort=effort)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_a_level_adds_its_field_and_changes_nothing_else(
    dialect: DialectCase, http: HttpClient
) -> None:
    async with ChatServer(lambda _: text_reply("Two."), wire_format=dialect.wire_format) as server:
        model = dialect.model(server, http, SleepRecorder().retry_policy, SMALL)
        plain = await final_response(model, QUESTION)
        answer = await final_response(model, asking("high"))
    before, after = server.bodies
    assert after == before | FIELDS[dialect.name]
    assert (plain.effort, answer.effort, answer.effort_refusal) == ("", "high", None)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_a_refused_level_is_left_out_from_then_on(dialect: DialectCase, http: HttpClient) -> None:
    def script(request: dict[str, Any]) -> Reply:
        is_accepted = not set(FIELDS[dialect.name]) & set(request)
        return text_reply("Two.") if is_accepted else api_error(400, REFUSALS[dialect.name])

    async with ChatServer(script, wire_format=dialect.wire_format) as server:
        model = dialect.model(server, http, SleepRecorder().retry_policy, SMALL)
        answers = [await final_response(model, asking("high")) for _ in range(2)]
        await final_response(model, QUESTION)
    refusal = EffortRefusal("high", REFUSALS[dialect.name])
    assert [(answer.effort, answer.effort_refusal) for answer in answers] == [("", refusal)] * 2
    assert len(server.bodies) == 4, "one refusal, two answers, one without effort"
    assert server.bodies[1] == server.bodies[2] == server.bodies[3]


@pytest.mark.parametrize(
    "error_text",
    [
        '"low" does not support thinking',  # Ollama
        "Model grok does not support parameter reasoningEffort.",
        "Thinking level is not supported for this model.",
        'invalid reasoning value: \'low\' (must be "high", "medium" or "none")',  # Ollama
        "Reasoning is mandatory for this endpoint and cannot be disabled.",  # OpenRouter
        'level "low" not supported, valid levels: medium, high',
        "[{'loc': ['body', 'reasoning_effort'], 'msg': 'Extra inputs are not permitted'}]",
    ],
)
async def test_what_servers_of_chat_completions_say(error_text: str, http: HttpClient) -> None:
    def script(request: dict[str, Any]) -> Reply:
        return api_error(422, error_text) if "reasoning_effort" in request else text_reply("Two.")

    async with ChatServer(script) as server:
        model = DIALECTS[0].model(server, http, SleepRecorder().retry_policy, SMALL)
        answer = await final_response(model, asking("low"))
    assert answer.effort_refusal is not None


async def anthropic_bodies(http: HttpClient, effort: SentEffort, *errors: str) -> list[dict[str, Any]]:
    """Return the requests that a level leads to at a server that sends these errors first."""
    replies: list[Reply] = [
        *(api_error(400, error) for error in errors),
        text_reply("Two."),
        text_reply("Two."),
    ]
    dialect = DIALECTS[2]
    async with ChatServer(lambda _: replies.pop(0), wire_format=dialect.wire_format) as server:
        model = dialect.model(server, http, SleepRecorder().retry_policy, SMALL)
        await final_response(model, asking(effort))
        await final_response(model, asking(effort))
    return server.bodies


async def test_older_models_of_anthropic_get_a_budget_within_the_answer(http: HttpClient) -> None:
    refusal = "adaptive thinking is not supported on this model"
    _, *bodies = await anthropic_bodies(http, "medium", "This model does not support the effort parameter.")
    assert [body["thinking"] for body in bodies] == [{"type": "enabled", "budget_tokens": 5_000}] * 2
    assert all("output_config" not in body and body["max_tokens"] == 10_256 for body in bodies)
    smaller = "max_tokens: 10256 > 2256, which is the maximum allowed number of output tokens"
    *_, body = await anthropic_bodies(http, "max", refusal, smaller)
    assert (body["max_tokens"], body["thinking"]["budget_tokens"]) == (2_256, 1_900)


async def test_a_level_that_neither_form_takes_is_left_out_and_others_keep_the_newer_form(
    http: HttpClient,
) -> None:
    errors = (
        "output_config.effort: adaptive thinking takes 'low' or 'high'",
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".',
    )
    *refused, answered, again = await anthropic_bodies(http, "max", *errors)
    assert [body["thinking"]["type"] for body in refused] == ["adaptive", "enabled"]
    assert answered == again
    assert "thinking" not in answered
    dialect = MessagesDialect(SMALL, lambda: "id")
    exchange = dialect.exchange(asking("max"))
    assert [exchange.adapt_to_error(400, error) for error in errors] == [True, True]
    assert b'"adaptive"' in dialect.exchange(asking("low")).body()


async def test_no_thinking_is_switched_off(http: HttpClient) -> None:
    body, _ = await anthropic_bodies(http, "none")
    assert body["thinking"] == {"type": "disabled"}
    assert "output_config" not in body


async def test_thinking_that_cannot_begin_inside_a_turn_waits_for_the_next(http: HttpClient) -> None:
    """Older models refuse it between a call and its result; nothing is wrong with the level."""
    error = "messages.1: Expected `thinking` or `redacted_thinking`, but found `tool_use`."
    first, again, later = await anthropic_bodies(http, "high", error)
    assert first == later
    assert "thinking" not in again


SECRET = "s3cret-of-the-gateway"
EXTRAS = RequestExtras(
    {"X-Title": "Helix"},
    ("X-Gateway",),
    {"service_tier": "flex", "reasoning": {"summary": "auto"}, "output_config": {"format": "text"}},
)


async def ask(
    server: ChatServer, dialect: DialectCase, http: HttpClient, extras: RequestExtras, secret: str = SECRET
) -> None:
    secrets = dict.fromkeys(extras.secret_headers, secret)
    endpoint = Endpoint(
        *("local", server.base_url, "the-key", http, dialect.name),
        headers=extras.headers,
        secret_headers=secrets,
    )
    await final_response(create_model(endpoint, msgspec.structs.replace(SMALL, extras=extras)), asking("low"))


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_they_go_along_and_change_nothing_else(dialect: DialectCase, http: HttpClient) -> None:
    async with ChatServer(lambda _: text_reply("Two."), wire_format=dialect.wire_format) as server:
        await ask(server, dialect, http, RequestExtras())
        await ask(server, dialect, http, EXTRAS)
    plain, extended = server.bodies
    expected: dict[str, Any] = {**plain, "service_tier": "flex"}
    for name in ("reasoning", "output_config"):
        expected[name] = {**plain.get(name, {}), **EXTRAS.body[name]}
    assert extended == expected
    before, after = (dict(request.headers) for request in server.requests)
    assert after.pop("x-title") == "Helix"
    assert after.pop("x-gateway") == SECRET
    after["content-length"] = before["content-length"]
    assert after == before


async def test_a_secret_stands_in_no_error(http: HttpClient) -> None:
    def script(_request: dict[str, Any]) -> Reply:
        return api_error(403, f"the header X-Gateway: {SECRET} is not allowed here")

    async with ChatServer(script) as server:
        with pytest.raises(ModelError) as refused:
            await ask(server, DIALECTS[0], http, EXTRAS)
        with pytest.raises(ModelError, match="X-Gateway of local has no value"):
            await ask(server, DIALECTS[0], http, EXTRAS, secret="")
        with pytest.raises(ModelError, match="is invalid") as invalid:
            await ask(server, DIALECTS[0], http, EXTRAS, secret="one\ntwo-secret")
    assert SECRET not in f"{refused.value} {refused.value!r} {refused.value.why}"
    assert "[X-Gateway]" in refused.value.why
    assert "two-secret" not in str(invalid.value)
    assert len(server.requests) == 1, "without its secret a request is not sent"


KEY = "sk-very-secret"
TEAM = "team-secret"
PICTURE = png(3, 2)
PICTURES_INFO = ModelInfo("box", "small", images=True, output=1_000, extras=RequestExtras(body={"top_k": 3}))
REQUEST = ModelRequest(
    (
        Message("system", "You help."),
        Message("user", f"It's \"$HOME\" `here`\nmy key: {KEY}, {TEAM}", images=(
            Image(digest_of(PICTURE), "image/png", 3, 2, len(PICTURE)),
        )),
        Message("assistant", "", (ToolCall("c1", "look", '{"at": "ü"}'),)),
        Message("tool", "Done.", call_id="c1", name="look"),
        Message("user", "And now?"),
    ),
    (ToolSpec("look", "Looks.", {"type": "object"}),),
    image_data={digest_of(PICTURE): PICTURE},
    cache=CacheHints("k", (2,)),
)  # fmt: skip


def endpoint(name: DialectName, base_url: str, http: HttpClient) -> Endpoint:
    """A server that wants a key, a header of the user's, and a secret one."""
    secrets = {"X-Team": TEAM}
    return Endpoint("box", base_url, KEY, http, name, headers={"X-Trace": "it's on"}, secret_headers=secrets)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_it_is_what_is_sent(dialect: DialectCase, http: HttpClient) -> None:
    async with ChatServer(lambda _: text_reply("Done."), wire_format=dialect.wire_format) as server:
        model = create_model(endpoint(dialect.name, server.base_url, http), PICTURES_INFO)
        body = model.wire_body(REQUEST)
        await final_response(model, REQUEST)
        (sent,) = server.requests
    assert KEY not in body.decode()
    assert TEAM not in body.decode()
    whole = body.replace(digest_of(PICTURE).encode(), b64encode(PICTURE))
    whole = whole.replace(b"[key]", KEY.encode()).replace(b"[X-Team]", TEAM.encode())
    assert whole == sent.body
    assert sent.headers["x-trace"] == "it's on"
    assert sent.headers["x-team"] == TEAM
    assert KEY in "".join(sent.headers.values())


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_a_query_of_the_address_goes_along(dialect: DialectCase, http: HttpClient) -> None:
    """As Azure wants it, with each request and for the list of models, behind the path."""
    async with ChatServer(lambda _: text_reply("Done."), wire_format=dialect.wire_format) as server:
        at = endpoint(dialect.name, f"{server.base_url}?api-version=2024-10-21&x=1", http)
        await final_response(create_model(at, PICTURES_INFO), REQUEST)
        assert list(await list_models(at))
        asked, listed = (urlsplit(request.path) for request in server.requests)
    assert asked.path == f"/v1{dialect.wire_format.path}"
    assert parse_qs(asked.query) == {"api-version": ["2024-10-21"], "x": ["1"]}
    assert listed.path == "/v1/models"
    assert parse_qs(asked.query).items() <= parse_qs(listed.query).items()


CHAT, RESPONSES, ANTHROPIC = DIALECTS
VENDOR = ModelInfo("vendor", "m", window=200_000, output=8_000)
PAID_WRITES = msgspec.structs.replace(VENDOR, price_in=2.0, price_cache_write=2.5)
READ = ToolSpec("read_file", "Reads a file.", {"type": "object"})
MESSAGES = (
    Message("system", "You help."),
    Message("user", "[Folded steps] what was done"),
    Message("user", "Read it."),
    Message("assistant", "", (ToolCall("call_1", "read_file", "{}"),)),
    Message("tool", "text of a file", call_id="call_1", name="read_file"),
)
HINTS = CacheHints("5e55104", (2, 3))
LONG = msgspec.structs.replace(HINTS, keep_long=True)


def request(hints: CacheHints | None) -> ModelRequest:
    return ModelRequest(MESSAGES, (READ,), cache=hints)


async def exchange(
    case: DialectCase,
    http: HttpClient,
    replies: list[Reply],
    hints: list[CacheHints | None],
    info: ModelInfo = VENDOR,
) -> tuple[list[Any], list[int]]:
    """Send a request for each of the hints; return all bodies, and the lifetime of each answer."""
    async with ChatServer(replies_in_order(*replies), wire_format=case.wire_format) as server:
        model = case.model(server, http, SleepRecorder().retry_policy, info)
        answers = [await final_response(model, request(one)) for one in hints]
        return server.bodies, [answer.cache_lifetime_s for answer in answers]


def marked(value: Any, path: str = "") -> dict[str, Any]:
    """Return the breakpoints of a body by their place."""
    found: dict[str, Any] = {}
    if isinstance(value, dict):
        for name, child in value.items():
            if name in ("cache_control", "prompt_cache_breakpoint"):
                found[path] = child
            found |= marked(child, f"{path}/{name}")
    for at, child in enumerate(value if isinstance(value, list) else ()):
        found |= marked(child, f"{path}/{at}")
    return found


async def test_anthropic_gets_breakpoints_at_the_ends_of_layers(http: HttpClient) -> None:
    """After the system prompt, the notes, what the request before had, and all; then for an hour."""
    bodies, lifetimes = await exchange(ANTHROPIC, http, [text_reply("ok"), text_reply("ok")], [HINTS, LONG])
    places = [
        "/system/0",
        "/messages/0/content/0",
        "/messages/0/content/1",
        "/messages/2/content/0",
    ]
    assert marked(bodies[0]) == {place: {"type": "ephemeral"} for place in places}
    assert marked(bodies[1]) == {place: {"type": "ephemeral", "ttl": "1h"} for place in places}
    assert lifetimes == [0, 3_600]


async def test_a_server_that_stores_for_less_than_was_asked_says_so(http: HttpClient) -> None:
    hour = reporting(TokenCounts(10_000, 50, 7_000, cache_writes=2_500, cache_writes_1h=2_500))
    minutes = reporting(TokenCounts(10_000, 50, 7_000, cache_writes=2_500))
    assert (await exchange(ANTHROPIC, http, [hour, minutes], [LONG, LONG]))[1] == [3_600, 0]


async def test_anthropic_servers_without_the_hour_or_any_breakpoint_are_learned(http: HttpClient) -> None:
    no_hour = api_error(400, "system.0.cache_control.ephemeral.ttl: Extra inputs are not permitted")
    none = api_error(400, "system.0.cache_control: Extra inputs are not permitted")
    bodies, lifetimes = await exchange(
        ANTHROPIC, http, [no_hour, none, text_reply("ok"), text_reply("ok")], [LONG, LONG]
    )
    assert [sorted({str(mark) for mark in marked(body).values()}) for body in bodies] == [
        ["{'type': 'ephemeral', 'ttl': '1h'}"],
        ["{'type': 'ephemeral'}"],
        [],
        [],
    ]
    assert lifetimes == [0, 0]


@pytest.mark.parametrize("case", [CHAT, RESPONSES], ids=lambda case: case.name)
async def test_openai_gets_a_key_and_its_longer_retention(case: DialectCase, http: HttpClient) -> None:
    """Without hints nothing; a model whose writes are paid has breakpoints instead of a retention."""
    replies: list[Reply] = [text_reply("ok")] * 3
    bodies, lifetimes = await exchange(case, http, replies, [None, HINTS, LONG])
    plain, keyed, long_lived = bodies
    assert keyed == {**plain, "prompt_cache_key": "5e55104"}
    assert long_lived == {**keyed, "prompt_cache_retention": "24h"}
    assert lifetimes == [0, 0, 86_400]
    assert not marked(bodies)


async def test_gateways_are_asked_for_anthropics_cache(http: HttpClient) -> None:
    """Anthropic's models store nothing unasked; a gateway that knows no such field is not asked again."""
    claude = msgspec.structs.replace(VENDOR, name="anthropic/claude-x", price_in=2.0, price_cache_write=2.5)
    refusal = api_error(400, "cache_control: Extra inputs are not permitted")
    replies: list[Reply] = [text_reply("ok"), text_reply("ok"), refusal, text_reply("ok")]
    bodies, lifetimes = await exchange(CHAT, http, replies, [HINTS, LONG, LONG], claude)
    controls = [body.get("cache_control") for body in bodies]
    assert controls == [{"type": "ephemeral"}, *[{"type": "ephemeral", "ttl": "1h"}] * 2, None]
    assert lifetimes == [0, 3_600, 0]


async def test_responses_gets_breakpoints_where_writes_are_paid(http: HttpClient) -> None:
    bodies, lifetimes = await exchange(RESPONSES, http, [text_reply("ok")], [LONG], PAID_WRITES)
    assert "prompt_cache_retention" not in bodies[0]
    places = ["/input/0/content/0", "/input/1/content/0"]
    assert marked(bodies[0]) == {place: {"mode": "explicit"} for place in places}
    assert lifetimes == [1_800]


@pytest.mark.parametrize("case", [CHAT, RESPONSES], ids=lambda case: case.name)
async def test_what_a_server_refuses_is_not_sent_again(case: DialectCase, http: HttpClient) -> None:
    """As Groq, Cerebras and OpenAI itself say it; then requests are as they would be without hints."""
    refusals: list[Reply] = [
        api_error(400, "property 'prompt_cache_key' is unsupported"),
        api_error(422, "prompt_cache_retention is not supported on this model"),
    ]
    replies: list[Reply] = [text_reply("ok"), *refusals, text_reply("ok"), text_reply("ok")]
    bodies, lifetimes = await exchange(case, http, replies, [None, LONG, LONG])
    plain, both, retention, *after = bodies
    assert both == {**plain, "prompt_cache_key": "5e55104", "prompt_cache_retention": "24h"}
    assert retention == {**plain, "prompt_cache_retention": "24h"}
    assert after == [plain, plain]
    assert lifetimes == [0, 0, 0]


def reporting(usage: TokenCounts) -> StreamedReply:
    return StreamedReply(Text("ok"), usage=usage)


@pytest.mark.parametrize("case", DIALECTS, ids=lambda case: case.name)
async def test_reported_reads_and_writes_are_on_record(case: DialectCase, http: HttpClient) -> None:
    reply = reporting(TokenCounts(10_000, 50, 7_000, cache_writes=2_500, cache_writes_1h=500))
    async with ChatServer(replies_in_order(reply), wire_format=case.wire_format) as server:
        model = case.model(server, http, SleepRecorder().retry_policy, VENDOR)
        usage = (await final_response(model, request(None))).usage
    hour = 500 if case is ANTHROPIC else 0
    assert usage == Usage(10_000, 50, 7_000, 2_500, hour, reports_cache=True, reports_writes=True)
    assert usage.fresh == 500
