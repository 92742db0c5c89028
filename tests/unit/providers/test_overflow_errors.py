"""Errors that say that a request was too large, in wordings that no list has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.providers.server_errors import (
    Overflow,
    extract_error_text,
    is_quota_used_up,
    read_overflow,
)


def read(
    status: int, error: Any, headers: Mapping[str, str] = MappingProxyType({}), request_bytes: int = 0
) -> Overflow | None:
    body = json.dumps({"error": {"message": error} if isinstance(error, str) else error}, ensure_ascii=False)
    return read_overflow(status, body, extract_error_text(body), headers, request_bytes)


WINDOWS = [
    (400, "n_ctx 2800 is smaller than the 6211 tokens of the prompt", 6211, 2800),
    (0, "the cache is full: n_ctx = 2800, the prompt has 7190 tokens, too many", 7190, 2800),
    (400, "Your messages come to 9,412 tokens; the context of this deployment holds 8,192.", 9412, 8192),
    (400, "You passed 1015 input tokens. However, the model's context length is only 1024", 0, 1024),
    (422, "inputs length 9412 must be less than 8192", 9412, 8192),
    (422, "`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens", 9000, 8193),
    (413, "This endpoint takes 40960 tokens of context and got 52110.", 52110, 40960),
    (400, "Range of input length should be [1, 40960]", 0, 40960),
    (400, "The conversation is too big for this model (limit: 40,960 tokens).", 0, 40960),
    (429, "prompt too large for the context length of 40960", 0, 40960),
    (400, "max context 40k exceeded", 0, 40000),
    (400, "输入内容过长，模型最大上下文为 8192 个词元", 0, 8192),
    (400, "Die Anfrage hat 45.000 Token, das Kontextfenster fasst nur 32.768.", 45000, 32768),
    (400, "La requête compte 45 000 jetons, le modèle en accepte 32 000.", 45000, 32000),
    (400, "コンテキストの上限は8192トークンですが、45000トークンが送信されました", 45000, 8192),
    (400, "Zapytanie ma 45000 tokenów, model przyjmuje 32000.", 45000, 32000),
    (400, "input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000", 211333, 200000),
    (400, "Konteksti ylittyi: malli hyväksyy enintään 8192 tokenia, pyynnössä oli 9500.", 9500, 8192),
    (400, "अनुरोध बहुत लंबा है: अधिकतम 8192 टोकन, आपने 9500 भेजे", 9500, 8192),
    (400, "الطلب طويل جدا: 9500 رمزًا، الحد الأقصى 8192", 9500, 8192),
    (400, "คำขอยาวเกินไป: 9500 โทเค็น สูงสุด 8192 โทเค็น", 9500, 8192),
]


@pytest.mark.parametrize(("status", "message", "request_tokens", "window"), WINDOWS)
def test_a_window_is_read_from_any_wording(
    status: int, message: str, request_tokens: int, window: int
) -> None:
    assert read(status, message) == Overflow(request_tokens, window)


def test_counts_in_fields_of_their_own_are_read() -> None:
    error = {
        "code": 400,
        "message": "the prompt does not fit the context",
        "n_prompt_tokens": 9010,
        "n_ctx": 8192,
    }
    assert read(400, error) == Overflow(9010, 8192)


def test_counts_in_fields_may_be_texts() -> None:
    error = {"message": "Too many tokens", "limits": {"max_input_tokens": "8192", "actual": "9500"}}
    assert read(400, error) == Overflow(9500, 8192)


def test_counts_are_read_from_headers_where_the_text_has_none() -> None:
    headers = {
        "x-max-context-tokens": "8192",
        "x-prompt-tokens": "9500",
        "x-max-output-tokens": "4096",
        "x-ratelimit-limit-tokens": "1000",
        "content-length": "7000",
    }
    assert read(400, "prompt too long", headers) == Overflow(9500, 8192)
    assert read(413, "", {"x-ratelimit-limit-tokens": "30000"}) == Overflow()
    rate = read(429, "Request too large for the tokens per minute", {"x-ratelimit-limit-tokens": "30000"})
    assert rate == Overflow(0, 30000, is_rate=True)
    assert read(400, "The temperature is wrong", headers) is None


@pytest.mark.parametrize(
    ("message", "request_tokens", "limit"),
    [
        ("tokens per minute limit of 6,000 is lower than the 9,500 of this request; reduce it", 9500, 6000),
        ("Input token limit per minute is 8,000; this request has 9,500 input tokens.", 9500, 8000),
        ("单次请求的 token 数 9500 超过每分钟限额 6000", 9500, 6000),
    ],
)
def test_a_request_above_a_rate_is_too_large(message: str, request_tokens: int, limit: int) -> None:
    assert read(429, message) == Overflow(request_tokens, limit, is_rate=True)


def test_a_rate_alone_is_compared_with_the_length_of_the_request() -> None:
    message = "This request would exceed your rate limit of 8,000 input tokens per minute."
    assert read(429, message, request_bytes=30_000) is None
    assert read(429, message, request_bytes=90_000) == Overflow(0, 8000, is_rate=True)


@pytest.mark.parametrize(
    "message",
    [
        "Limit 30000 tokens per minute, used 35000, requested 9000",
        "Too many requests: 1200 requests, limit 1000 per minute",
        "Too many tokens, please wait before trying again.",
        "Rate limit of 30,000 tokens per minute reached, 31,000 used. Try again in 8s.",
    ],
)
def test_a_rate_that_other_requests_used_up_is_waited_for(message: str) -> None:
    assert read(429, message) is None


@pytest.mark.parametrize(
    "message",
    [
        "failed to find a KV cache slot for batch of size 512",
        "failed to decode: the KV cache is full, n_batch = 2048, ret = 1",
    ],
)
def test_a_full_cache_of_a_local_server_is_no_failure_to_wait_for(message: str) -> None:
    assert read(500, message) == Overflow()


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "提示词长度超过模型最大上下文限制"),
        (400, "max_prompt_tokens exceeded"),
        (400, "Your prompt has 45000 tokens, more than the context window of this model takes."),
        (400, "Please shorten the conversation: it exceeds what the model can read."),
        (400, "The prompt is 91234 characters long, the limit of this gateway is 64000 characters."),
    ],
    ids=["Chinese without a number", "a field", "the request alone", "no number", "characters"],
)
def test_a_request_is_too_large_without_a_window_to_learn(status: int, message: str) -> None:
    overflow = read(status, message)
    assert overflow is not None
    assert overflow.limit == 0


ANSWER_LENGTHS = [
    "max_tokens is too large: 32768. This model supports at most 16384 completion tokens.",
    "Range of max_tokens should be [1, 8192]",
    "Invalid max_output_tokens: must be less than or equal to 8192",
    "The longest output of this model is 4096 tokens, 9000 were requested.",
    "Die Antwort darf höchstens 4096 Token lang sein.",
    "输出长度超过限制：最大 4096 个令牌",
    "The context window is fine, but max_tokens 9000 exceeds the limit of 8192 output tokens",
    "thinking.budget_tokens must be at most 8192",
]


@pytest.mark.parametrize("message", ANSWER_LENGTHS)
def test_the_length_of_an_answer_is_no_window(message: str) -> None:
    assert read(400, message) is None


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (
            429,
            "Rate limit reached on tokens per min (TPM): Limit 10000, Used 9500, Requested 2000. Wait 9 s.",
        ),
        (429, "This request would exceed your rate limit of 30,000 input tokens per minute."),
        (429, "每分钟令牌数超过限制 30000"),
        (429, "You have used 100000 of 100000 tokens per day"),
        (504, "context deadline exceeded"),
        (503, "the model's context pool exceeded its queue"),
        (400, "Invalid 'messages[5].tool_calls[0].id': string too long. Expected at most 40, got 50."),
        (400, "Invalid 'tools': array too long. Expected an array with maximum length 128, got 130."),
        (400, "Unexpected token } in JSON at position 1532"),
        (401, "the key may read a context of 8192 tokens at most"),
    ],
)
def test_what_only_looks_like_it_is_something_else(status: int, message: str) -> None:
    assert read(status, message) is None


@pytest.mark.parametrize(
    ("status", "message", "expected"),
    [
        (413, "Request too large on tokens per minute (TPM): Limit 6000, Requested 12000", (12000, 6000)),
        (429, "Limit of 6000 tokens/min; the request alone has 12000: reduce your prompt", (12000, 6000)),
        (413, "Too large for your tier: tokens per day", (0, 0)),
    ],
)
def test_a_request_above_a_rate_is_made_smaller_and_teaches_nothing(
    status: int, message: str, expected: tuple[int, int]
) -> None:
    overflow = read(status, message)
    assert overflow is not None
    assert overflow == Overflow(*expected, is_rate=True)


@given(st.integers(0, 599), st.text(max_size=300), st.text(max_size=300))
def test_any_text_is_read_without_an_exception(status: int, body: str, message: str) -> None:
    overflow = read_overflow(status, body, message)
    assert overflow is None or overflow.limit >= 0


@pytest.mark.parametrize(
    ("message", "is_over"),
    [
        ("quota exceeded for this month", True),
        ("you have exhausted your monthly quota", True),
        ("you have hit your spending limit. raise it in the console.", True),
        ("monthly token allowance has been exhausted", True),
        ("free tier of the model has been exhausted", True),
        ("thinking budget exceeded", False),
        ("quota exceeded: requests per minute", False),
        ("quota exceeded, please try again in 20 s", False),
    ],
)
def test_a_quota_for_longer_than_a_wait_is_used_up(message: str, is_over: bool) -> None:
    assert is_quota_used_up(message) is is_over
