"""After any session, each dialect gets a request that its reference allows."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.messages import Message, ModelInfo, ModelRequest
from helix_desktop.domain.model_spec import DialectName
from helix_desktop.providers.anthropic.request import ThinkingScope, encode_request
from helix_desktop.providers.openai_chat.request import request_body as chat_body
from helix_desktop.providers.openai_responses.request import request_body as responses_body
from tests.support.histories import SessionSimulator, histories
from tests.support.model_servers.request_rules import anthropic_problems, responses_problems
from tests.support.model_servers.signed_thinking import strip_cache_breakpoints
from tests.support.verbatim_messages import with_verbatim_messages

INFO = ModelInfo("here", "m", output=1_000)
NAMES: tuple[DialectName, ...] = ("openai-chat", "openai-responses", "anthropic")


def body_of(name: DialectName, request: ModelRequest) -> bytes:
    if name == "anthropic":
        return encode_request(INFO, request, max_output_tokens=1_000).body
    return chat_body(INFO, request) if name == "openai-chat" else responses_body(INFO, request)


def requests_of(simulator: SessionSimulator, name: DialectName) -> list[ModelRequest]:
    """Return some of the sent requests, the newest among them, with their images."""
    sent = [sent_request.request for sent_request in simulator.sent_requests]
    selected = [*sent[:1], *sent[len(sent) // 2 : len(sent) // 2 + 1], *sent[-1:]]
    return [
        with_verbatim_messages(msgspec.structs.replace(request, image_data=simulator.contents), name, INFO)
        for request in selected
        if request
    ]


@given(histories(), st.sampled_from(("all", "bound", "none")))
def test_requests_to_anthropic_are_valid(simulator: SessionSimulator, thoughts: ThinkingScope) -> None:
    for request in requests_of(simulator, "anthropic"):
        body = json.loads(
            encode_request(INFO, request, max_output_tokens=1_000, thinking_scope=thoughts).body
        )
        assert anthropic_problems(body) == []
        if thoughts != "all":
            assert "thinking" not in str([m for m in body["messages"] if m["role"] == "assistant"])


@given(histories(), st.booleans())
def test_requests_to_the_responses_api_are_valid(simulator: SessionSimulator, reasoning: bool) -> None:
    for request in requests_of(simulator, "openai-responses"):
        body = json.loads(responses_body(INFO, request, send_reasoning=reasoning))
        assert responses_problems(body) == []
        assert any(item.get("type") == "reasoning" for item in body["input"]) <= reasoning


@pytest.mark.parametrize("name", NAMES)
@given(histories(), st.sampled_from(("And now?", "☃")))
def test_earlier_messages_keep_their_bytes_when_more_follow(
    name: DialectName, simulator: SessionSimulator, more: str
) -> None:
    """A provider's cache depends on it; breakpoints move, and are not part of it."""
    for request in requests_of(simulator, name):
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
