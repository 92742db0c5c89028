"""Reasoning effort on the wire of each dialect, against a real local server; and servers that refuse it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from helix_desktop.domain.choices import SentEffort
from helix_desktop.domain.messages import EffortRefusal, Message, ModelInfo, ModelRequest
from helix_desktop.providers.anthropic import MessagesDialect
from helix_desktop.providers.http import HttpClient
from tests.support.model_contract import final_response
from tests.support.model_servers.chat_server import ChatServer, Reply, api_error, text_reply
from tests.support.model_servers.dialects import DIALECTS, DialectCase, SleepRecorder

INFO = ModelInfo("local", "small", output=10_256)
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
        model = dialect.model(server, http, SleepRecorder().retry_policy, INFO)
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
        model = dialect.model(server, http, SleepRecorder().retry_policy, INFO)
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
        model = DIALECTS[0].model(server, http, SleepRecorder().retry_policy, INFO)
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
        model = dialect.model(server, http, SleepRecorder().retry_policy, INFO)
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
    dialect = MessagesDialect(INFO, lambda: "id")
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
