"""The provider's cache on the wire: what is asked for, what is refused once, what is reported."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from helix_desktop.domain.messages import (
    CacheHints,
    Message,
    ModelInfo,
    ModelRequest,
    ToolCall,
    ToolSpec,
    Usage,
)
from helix_desktop.providers.http import HttpClient
from tests.support.model_contract import final_response
from tests.support.model_servers.chat_server import (
    ChatServer,
    PlainReply,
    Reply,
    StreamedReply,
    Text,
    TokenCounts,
    api_error,
    replies_in_order,
    text_reply,
)
from tests.support.model_servers.dialects import DIALECTS, DialectCase, SleepRecorder

CHAT, RESPONSES, ANTHROPIC = DIALECTS
INFO = ModelInfo("vendor", "m", window=200_000, output=8_000)
PAID_WRITES = msgspec.structs.replace(INFO, price_in=2.0, price_cache_write=2.5)
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
    info: ModelInfo = INFO,
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
    claude = msgspec.structs.replace(INFO, name="anthropic/claude-x", price_in=2.0, price_cache_write=2.5)
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


async def usage_of(case: DialectCase, http: HttpClient, reply: Reply) -> Usage | None:
    async with ChatServer(replies_in_order(reply), wire_format=case.wire_format) as server:
        model = case.model(server, http, SleepRecorder().retry_policy, INFO)
        return (await final_response(model, request(None))).usage


@pytest.mark.parametrize("case", DIALECTS, ids=lambda case: case.name)
async def test_reported_reads_and_writes_are_on_record(case: DialectCase, http: HttpClient) -> None:
    usage = await usage_of(
        case, http, reporting(TokenCounts(10_000, 50, 7_000, cache_writes=2_500, cache_writes_1h=500))
    )
    hour = 500 if case is ANTHROPIC else 0
    assert usage == Usage(10_000, 50, 7_000, 2_500, hour, reports_cache=True, reports_writes=True)
    assert usage.fresh == 500


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36},
            Usage(100, 5, 64, reports_cache=True),
        ),
        ({"cached_tokens": 80}, Usage(100, 5, 80, reports_cache=True)),
        ({"prompt_tokens_details": {"cached_tokens": 0}}, Usage(100, 5, reports_cache=True)),
        (
            {"prompt_tokens_details": {"cached_tokens": 60}, "cache_creation_input_tokens": 30},
            Usage(100, 5, 60, 30, reports_cache=True, reports_writes=True),
        ),
        ({"prompt_tokens_details": {"cached_tokens": 900}}, Usage(100, 5, 100, reports_cache=True)),
        ({"prompt_tokens_details": None}, Usage(100, 5)),
        ({"timings": {"cache_n": 90, "prompt_n": 10}}, Usage(100, 5, 90, reports_cache=True)),
    ],
    ids=["deepseek", "moonshot", "nothing-read", "gateway", "more-than-sent", "none", "llama.cpp"],
)
async def test_compatible_servers_report_in_their_own_fields(
    fields: dict[str, Any], expected: Usage, http: HttpClient
) -> None:
    message = {"role": "assistant", "content": "ok"}
    counts = {name: value for name, value in fields.items() if name != "timings"}
    body = {
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 5, **counts},
        "timings": fields.get("timings"),
    }
    assert await usage_of(CHAT, http, PlainReply(200, body)) == expected
