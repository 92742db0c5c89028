"""Requests in every dialect, and ids of calls."""

from __future__ import annotations

import json
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.dialects import DialectName
from helix_desktop.domain.messages import Message, ModelInfo, ModelRequest
from helix_desktop.providers.anthropic import ThinkingScope, encode_request
from helix_desktop.providers.dialect import ToolCallIds
from helix_desktop.providers.openai_chat import request_body as chat_body
from helix_desktop.providers.openai_responses import request_body as responses_body
from tests.support.histories import SessionSimulator, histories
from tests.support.model_servers.request_rules import anthropic_problems, responses_problems
from tests.support.model_servers.signed_thinking import strip_cache_breakpoints
from tests.support.verbatim_messages import sampled_requests

PLAIN = re.compile(r"[a-zA-Z0-9_-]{1,64}")
IDS = st.one_of(st.text(max_size=80), st.sampled_from(["call_0", "call_1", "functions.f:0", ""]))
STEPS = st.lists(st.lists(IDS, max_size=4, unique=True), max_size=5)


def converted_ids(steps: list[list[str]], unique: bool) -> list[list[str]]:
    """Return the ids of the calls of each step; those of their answers have to be the same."""
    ids = ToolCallIds(PLAIN, unique=unique)
    ids_by_step = []
    for calls in steps:
        ids.register(calls)
        ids_by_step.append([ids.wire_id(call) for call in calls])
        assert [ids.wire_id(call) for call in calls] == ids_by_step[-1]
    return ids_by_step


@given(STEPS)
def test_every_id_is_valid_and_unique(steps: list[list[str]]) -> None:
    all_ids = [call_id for ids in converted_ids(steps, unique=True) for call_id in ids]
    assert all(PLAIN.fullmatch(call_id) for call_id in all_ids)
    assert len(set(all_ids)) == len(all_ids)


@given(STEPS, st.booleans())
def test_the_same_calls_get_the_same_ids_whatever_follows(steps: list[list[str]], unique: bool) -> None:
    ids_by_step = converted_ids(steps, unique)
    assert ids_by_step == converted_ids(steps, unique)
    for end in range(len(steps)):
        assert converted_ids(steps[:end], unique) == ids_by_step[:end]


def test_a_valid_id_stays() -> None:
    assert converted_ids([["toolu_01AbC", "call-1"], ["call_2"]], unique=True) == [
        ["toolu_01AbC", "call-1"],
        ["call_2"],
    ]


INFO = ModelInfo("here", "m", output=1_000)
NAMES: tuple[DialectName, ...] = ("openai-chat", "openai-responses", "anthropic")


def body_of(name: DialectName, request: ModelRequest) -> bytes:
    if name == "anthropic":
        return encode_request(INFO, request, max_output_tokens=1_000).body
    return chat_body(INFO, request) if name == "openai-chat" else responses_body(INFO, request)


@given(histories(), st.sampled_from(("all", "bound", "none")))
def test_requests_to_anthropic_are_valid(simulator: SessionSimulator, thoughts: ThinkingScope) -> None:
    for request in sampled_requests(simulator, "anthropic", INFO):
        body = json.loads(
            encode_request(INFO, request, max_output_tokens=1_000, thinking_scope=thoughts).body
        )
        assert anthropic_problems(body) == []
        if thoughts != "all":
            assert "thinking" not in str([m for m in body["messages"] if m["role"] == "assistant"])


@given(histories(), st.booleans())
def test_requests_to_the_responses_api_are_valid(simulator: SessionSimulator, reasoning: bool) -> None:
    for request in sampled_requests(simulator, "openai-responses", INFO):
        body = json.loads(responses_body(INFO, request, send_reasoning=reasoning))
        assert responses_problems(body) == []
        assert any(item.get("type") == "reasoning" for item in body["input"]) <= reasoning


@pytest.mark.parametrize("name", NAMES)
@given(histories(), st.sampled_from(("And now?", "☃")))
def test_earlier_messages_keep_their_bytes_when_more_follow(
    name: DialectName, simulator: SessionSimulator, more: str
) -> None:
    """A provider's cache depends on it; breakpoints move, and are not part of it."""
    for request in sampled_requests(simulator, name, INFO):
        longer = msgspec.structs.replace(
            request, messages=(*request.messages, Message("assistant", "So."), Message("user", more))
        )
        assert body_of(name, request) == body_of(name, request)
        short, long = (strip_cache_breakpoints(json.loads(body_of(name, body))) for body in (request, longer))
        before, after = (
            body.pop("input" if name == "openai-responses" else "messages") for body in (short, long)
        )
        assert short == long
        assert after[: len(before)] == before
