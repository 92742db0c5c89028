"""What a server's refusals mean, whatever form they have."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.errors import ModelError, ModelOverflow, ModelRefused, ModelUnreachable
from helix_desktop.providers.endpoint import Endpoint
from helix_desktop.providers.http import Http
from helix_desktop.providers.refusal import LONGEST_QUOTE
from helix_desktop.providers.retry import Transient

KEY = "sk-0123456789"
HERE = Endpoint("here", "https://here.test/v1/", KEY, Http())


def refusal(status: int, body: Any, **headers: str) -> ModelError | Transient:
    text = body if isinstance(body, str) else json.dumps(body)
    return HERE.refusal(status, text, headers, model="m", now=0.0)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "bad  thing\n", "type": "x"}}, "bad thing"),
        ({"error": "bad thing"}, "bad thing"),
        ({"message": "bad thing", "code": 400}, "bad thing"),
        ({"detail": [{"loc": ["body"], "msg": "bad thing"}]}, "bad thing"),
        ([{"error": {"message": "bad thing"}}], "bad thing"),
        ({"error": {"message": "bad", "metadata": {"raw": "thing"}}}, "bad thing"),
        ("bad thing", "bad thing"),
        ("<!DOCTYPE html><p>bad", "The server sent a web page."),
        ("", ""),
    ],
)
def test_the_servers_own_words_are_found(body: Any, words: str) -> None:
    failure = refusal(400, body)
    assert isinstance(failure, ModelRefused)
    assert failure.why == words


@given(
    st.integers(201, 599),
    st.text() | st.dictionaries(st.text(max_size=5), st.text(max_size=9)),
    st.booleans(),
)
def test_every_refusal_is_explained_and_keeps_the_key_to_itself(status: int, body: Any, leak: bool) -> None:
    text = (body if isinstance(body, str) else json.dumps(body)) + (f" {KEY} " * 50 if leak else "")
    failure = HERE.refusal(status, text, {"location": f"https://x/{KEY}", "retry-after": "5"}, model="m")
    error = failure.error if isinstance(failure, Transient) else failure
    assert error.what
    assert error.fix
    assert len(error.why) <= LONGEST_QUOTE + 100
    assert KEY not in f"{failure} {error}"


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, "This model's maximum context length is 8192 tokens", ModelOverflow),
        (
            400,
            "You passed 1015 input tokens. However, the model's context length is only 1024",
            ModelOverflow,
        ),
        (400, "the request exceeds the available context size, try increasing it", ModelOverflow),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", ModelOverflow),
        (400, "The input token count (9) exceeds the maximum number of tokens allowed (8)", ModelOverflow),
        (400, "This model's maximum prompt length is 131072", ModelOverflow),
        (413, "Please reduce the length of the messages", ModelOverflow),
        (500, "Context size has been exceeded.", ModelOverflow),
        (400, "messages.1: tool call without an answer", ModelRefused),
        (402, "pay first", ModelRefused),
        (429, "credit balance is too low", ModelRefused),
        (429, "context window of requests per minute", Transient),
        (413, "Request too large: tokens per minute limit; reduce the length of the prompt", ModelRefused),
        (404, "no model with that context window", ModelRefused),
        (529, "overloaded", Transient),
    ],
)
def test_kinds_of_refusal(status: int, message: str, kind: type[Exception]) -> None:
    assert type(refusal(status, {"error": {"message": message}})) is kind


def test_a_failure_that_may_pass_knows_how_long_to_wait() -> None:
    failure = refusal(429, "slow down", **{"retry-after": "5"})
    assert isinstance(failure, Transient)
    assert failure.retry_after_s == 5.0
    assert isinstance(failure.error, ModelUnreachable)
    assert failure.reason == "HTTP 429 Too Many Requests: slow down"


@pytest.mark.parametrize("url", ["https://x/v1", " https://x/v1/ ", "https://x/v1/chat/completions"])
def test_a_pasted_address_is_put_right(url: str) -> None:
    assert Endpoint("x", url, "", Http()).base_url == "https://x/v1"


@pytest.mark.parametrize("login", ["me:pa55word", "me:p@55word", "token"])
def test_a_login_in_the_address_is_used_and_never_shown(login: str) -> None:
    here = Endpoint("here", f"https://{login}@here.test:8443/v1/", "", Http())
    assert here.base_url == "https://here.test:8443/v1"
    assert here.redact(f"no route to {login}@here.test") == "no route to [login]@here.test"
    told = here.refusal(404, f"nothing for {login}", {}, model="m")
    assert login not in str(told)
