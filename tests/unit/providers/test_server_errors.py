"""The errors of servers, and requests that were too large."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.dialects import DialectName
from helix_desktop.domain.errors import (
    AuthenticationFailed,
    ContextWindowExceeded,
    ImagesRejected,
    ModelError,
    ModelRequestRejected,
    ModelUnreachable,
)
from helix_desktop.providers.context_overflow import Overflow, read_overflow
from helix_desktop.providers.endpoint import Endpoint
from helix_desktop.providers.http import HttpClient, HttpResponse
from helix_desktop.providers.retry import TransientError
from helix_desktop.providers.server_errors import (
    MAX_QUOTE_CHARS,
    error_for_status,
    extract_error_text,
    is_form_refused,
    is_quota_used_up,
)
from tests.support.model_servers.canned_http import CannedResponse
from tests.support.tables import for_each

KEY = "sk-0123456789"
ENDPOINT = Endpoint("here", "https://here.test/v1/", KEY, HttpClient())


def refusal(status: int, body: Any, **headers: str) -> ModelError | TransientError:
    text = body if isinstance(body, str) else json.dumps(body)
    return error_for_status(ENDPOINT, status, text, headers, model="m", now_s=0.0)


@for_each(
    ("body", "message"),
    [
        ({"error": {"message": "bad  thing\n", "type": "x"}}, "bad thing"),
        ({"error": "bad thing"}, "bad thing"),
        ({"message": "bad thing", "code": 400}, "bad thing"),
        ({"detail": [{"loc": ["body"], "msg": "bad thing"}]}, "bad thing"),
        ([{"error": {"message": "bad thing"}}], "bad thing"),
        ({"errors": [{"message": "bad thing", "extensions": {"code": 7}}]}, "bad thing"),
        ({"error_code": 336103, "error_msg": "bad thing"}, "bad thing"),
        ({"__type": "ValidationException", "Message": "bad thing"}, "bad thing"),
        ({"error": {"message": "bad", "metadata": {"raw": "thing"}}}, "bad thing"),
        ("bad thing", "bad thing"),
        ("<!DOCTYPE html><p>bad", "The server sent a web page."),
        ("", ""),
    ],
)
def test_the_server_s_own_message_is_found(body: Any, message: str) -> None:
    failure = refusal(400, body)
    assert isinstance(failure, ModelRequestRejected)
    assert failure.why == message


@given(
    st.integers(201, 599),
    st.text() | st.dictionaries(st.text(max_size=5), st.text(max_size=9)),
    st.booleans(),
)
def test_every_error_is_explained_without_the_key(status: int, body: Any, leak: bool) -> None:
    text = (body if isinstance(body, str) else json.dumps(body)) + (f" {KEY} " * 50 if leak else "")
    failure = error_for_status(
        ENDPOINT, status, text, {"location": f"https://x/{KEY}", "retry-after": "5"}, model="m"
    )
    error = failure.error if isinstance(failure, TransientError) else failure
    assert error.what
    assert error.fix
    assert len(error.why) <= MAX_QUOTE_CHARS + 100
    assert KEY not in f"{failure} {error}"


@for_each(
    ("status", "message"),
    [
        (400, "Your input exceeds the context window of this model. Please adjust your input and try again."),
        (413, "Request exceeds the maximum size"),
        (400, "the request exceeds the available context size, try increasing it"),
        (400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096"),
        (
            400,
            "Trying to keep the first 9000 tokens when context the overflows. The model is loaded with 4096",
        ),
        (400, "tokens to keep from initial prompt is greater than the context length"),
        (400, "input length exceeds the context length"),
        (400, "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000"),
        (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
        (
            400,
            "Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 at most",
        ),
        (400, "This model's maximum prompt length is 131072 but the request contains 140000 tokens."),
        (413, "Please reduce the length of the messages or completion."),
        (
            422,
            "Input validation error: `inputs` must have less than 4096 tokens: maximum input length is 4096",
        ),
        (413, "<html><head><title>413 Request Entity Too Large</title></head></html>"),
    ],
)
def test_messages_about_a_request_that_is_too_large(status: int, message: str) -> None:
    assert type(refusal(status, {"error": {"message": message}})) is ContextWindowExceeded
    assert type(refusal(status, message)) is ContextWindowExceeded


@for_each(
    ("message", "requested", "window"),
    [
        (
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000",
            9000,
            8192,
        ),
        (
            "This model's maximum context length is 8192 tokens. However, you requested 9100 tokens (8000 in "
            "the messages, 1100 in the completion). Please reduce the length of the messages.",
            9100,
            8192,
        ),
        ("prompt is too long: 210000 tokens > 200000 maximum", 210_000, 200_000),
        ("request (9010 tokens) exceeds the available context size (8192 tokens)", 9010, 8192),
        ("Invalid request: Your request exceeded model token limit: 131072", 0, 131_072),
        ("Range of input length should be [1, 98304]: prompt too long", 0, 98_304),
        ("Context size has been exceeded. Request 17-2026-11 at 10:24:31, id 99123456789", 0, 0),
        ("Input is too long for requested model.", 0, 0),
    ],
)
def test_the_window_in_an_error_message(message: str, requested: int, window: int) -> None:
    """In the server's own tokens, where the message is unambiguous."""
    error = refusal(400, {"error": {"message": message}})
    assert isinstance(error, ContextWindowExceeded)
    assert (error.request_tokens, error.window_size) == (requested, window)


@for_each(
    ("status", "message", "kind"),
    [
        (400, "This model's maximum context length is 8192 tokens", ContextWindowExceeded),
        (400, "messages.1: tool call without an answer", ModelRequestRejected),
        (402, "pay first", ModelRequestRejected),
        (429, "credit balance is too low", ModelRequestRejected),
        (429, "context window of requests per minute", TransientError),
        (
            413,
            "Request too large: tokens per minute limit; reduce the length of the prompt",
            ContextWindowExceeded,
        ),
        (404, "no model with that context window", ModelRequestRejected),
        (529, "overloaded", TransientError),
        (
            429,
            "Request too large: limit 30000 tokens, requested 45000; maximum context",
            ContextWindowExceeded,
        ),
        (429, "You exceeded your current quota, please check your plan", ModelRequestRejected),
        (429, "quota exceeded, check your plan and billing details; retryDelay: 24s", TransientError),
        (429, "Requests per min: limit 3. Add a payment method to raise it.", TransientError),
        (400, "registry/tiny:1b does not support tools", ModelRequestRejected),
        (401, "no key for a model with that context length", AuthenticationFailed),
    ],
)
def test_kinds_of_errors(status: int, message: str, kind: type[Exception]) -> None:
    assert type(refusal(status, {"error": {"message": message}})) is kind


def test_a_temporary_failure_has_its_wait() -> None:
    failure = refusal(429, "slow down", **{"retry-after": "5"})
    assert isinstance(failure, TransientError)
    assert failure.retry_after_s == 5.0
    assert isinstance(failure.error, ModelUnreachable)
    assert failure.reason == "HTTP 429 Too Many Requests: slow down"


@pytest.mark.parametrize(
    "url",
    [
        "https://x/v1",
        " https://x/v1/ ",
        *(f"https://x/v1/{end}" for end in ("chat/completions", "responses", "messages")),
    ],
)
def test_a_pasted_url_is_normalized(url: str) -> None:
    assert Endpoint("x", url, "", HttpClient()).base_url == "https://x/v1"


@pytest.mark.parametrize("end", ["", "/", "/chat/completions"])
def test_the_query_of_a_pasted_url_is_not_shown(end: str) -> None:
    """It may have a key."""
    url = f"https://x/openai/deployments/m{end}?api-version=2024-10-21&key=s3cret"
    assert Endpoint("x", url, "", HttpClient()).base_url == "https://x/openai/deployments/m"


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("https://api.anthropic.com", "https://api.anthropic.com/v1"),
        ("https://api.anthropic.com/v1/messages", "https://api.anthropic.com/v1"),
        ("https://x/anthropic/", "https://x/anthropic/v1"),
        ("https://x/v1beta", "https://x/v1beta"),
        ("no address", "no address"),
    ],
)
def test_anthropic_s_url_may_lack_its_version(url: str, base: str) -> None:
    assert Endpoint("x", url, "", HttpClient(), "anthropic").base_url == base


@for_each(
    ("status", "error", "what"),
    [
        (403, "Your account is not active, please check your billing details.", "has a billing problem"),
        (403, "This method requires billing to be enabled.", "has a billing problem"),
        (429, "Your account is not active: billing_not_active", "has a billing problem"),
        (400, "Invalid schema for function 'billing_required'", "rejected the request"),
        (401, "Your subscription has expired", "has a billing problem"),
        (
            401,
            "Invalid subscription key or wrong endpoint for an active subscription",
            "rejected the API key",
        ),
        (403, "Key limit exceeded (total limit)", "quota at here is used up"),
        (403, "Your credit balance is too low. Go to Plans & Billing", "no credit left"),
        (429, "Your prepaid balance is exhausted", "no credit left"),
        (403, "This country is not supported", "denied access"),
    ],
)
def test_an_account_s_problem_is_named(status: int, error: str, what: str) -> None:
    failure = refusal(status, {"error": {"message": error}})
    assert isinstance(failure, ModelRequestRejected | AuthenticationFailed)
    assert what in failure.what


@pytest.mark.parametrize(
    ("words", "is_key"),
    [
        ("", True),
        ("Your API key does not have permission to use model m", True),
        ("Country, region, or territory not supported", False),
        ("Terms of use of the model have to be accepted first", False),
        ("<html><title>Attention Required! | Cloudflare</title></html>", False),
        ("El acceso desde esta red no está permitido", False),
    ],
)
def test_denied_access_is_explained_by_the_server_itself(words: str, is_key: bool) -> None:
    is_page = words.startswith("<")
    failure = refusal(403, words if is_page or not words else {"error": {"message": words}})
    assert isinstance(failure, ModelRequestRejected)
    assert ("key" in failure.fix) is is_key
    if words and not is_page:
        assert failure.why == words


class _RecordingTransport(HttpClient):
    def __init__(self) -> None:
        super().__init__()
        self.headers: Mapping[str, str] = {}

    @asynccontextmanager
    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        on_sent: Callable[[], Awaitable[None]] | None = None,
    ) -> AsyncIterator[HttpResponse]:
        self.headers = headers or {}
        yield CannedResponse(())


@pytest.mark.parametrize(
    ("url", "dialect", "names"),
    [
        ("https://api.anthropic.com", "anthropic", {"x-api-key"}),
        ("https://anthropic.com.evil.test", "anthropic", {"x-api-key", "authorization"}),
        ("http://127.0.0.1:8000", "anthropic", {"x-api-key", "authorization"}),
        ("https://api.openai.com/v1", "openai-chat", {"authorization"}),
        ("https://api.openai.com/v1", "openai-responses", {"authorization"}),
        ("https://n.openai.azure.com/openai/deployments/m?api-version=1", "openai-chat", {"api-key"}),
        ("https://azure.com.evil.test/v1", "openai-chat", {"authorization"}),
    ],
)
async def test_the_key_is_in_the_dialect_s_header(url: str, dialect: DialectName, names: set[str]) -> None:
    http = _RecordingTransport()
    async with Endpoint("x", url, KEY, http, dialect).send("POST", "/messages"):
        pass
    assert {name for name, value in http.headers.items() if KEY in value} == names
    assert ("anthropic-version" in http.headers) == (dialect == "anthropic")


@pytest.mark.parametrize("login", ["me:pa55word", "me:p@55word", "token"])
def test_a_login_in_the_url_is_used_and_never_shown(login: str) -> None:
    endpoint = Endpoint("here", f"https://{login}@here.test:8443/v1/", "", HttpClient())
    assert endpoint.base_url == "https://here.test:8443/v1"
    assert endpoint.redact(f"no route to {login}@here.test") == "no route to [login]@here.test"
    error = error_for_status(endpoint, 404, f"nothing for {login}", {}, model="m")
    assert login not in str(error)


def test_a_key_that_is_a_part_of_words_stays_in_them() -> None:
    """Servers on one's own machine take any key: "k", "x"."""
    assert Endpoint("here", "http://here.test/v1", "k", HttpClient()).redact("8,192 tokens") == "8,192 tokens"
    assert Endpoint("here", "http://here.test/v1", "key1", HttpClient()).redact("not key1") == "not [key]"


@for_each(
    ("status", "message"),
    [
        (400, "messages.3.content.1.image.source.base64.data: Could not process image"),
        (400, "You uploaded an unsupported image. Please make sure your image is valid."),
        (400, "At most 1 image(s) may be provided in one prompt."),
        (400, "small is not a multimodal model"),
        (404, "No endpoints found that support image input"),
        (500, "image input is not supported - hint: you may need to provide the mmproj"),
        (422, "messages[1].content[1]: only text parts are allowed, this is a text-only model"),
        (400, "messages[1].content must be a string"),
        (400, "messages[1]: invalid type: sequence, expected a string at line 1 column 90"),
        (413, "image too large: 9 MB"),
        (501, "vision is not implemented"),
    ],
)
def test_a_refused_image_is_distinguished_from_other_errors(status: int, message: str) -> None:
    """Only where the request had images at all."""
    body = json.dumps({"error": {"message": message}})
    endpoint = Endpoint("box", "http://host/v1", "", HttpClient())
    assert isinstance(error_for_status(endpoint, status, body, {}, has_images=True), ImagesRejected)
    assert not isinstance(error_for_status(endpoint, status, body, {}), ImagesRejected)
    assert not isinstance(
        error_for_status(endpoint, 503, "busy with images", {}, has_images=True), ImagesRejected
    )
    assert not isinstance(
        error_for_status(endpoint, 429, "too many images per minute", {}, has_images=True), ImagesRejected
    )


@for_each(
    ("status", "message"),
    [
        (501, "Function calling is not implemented"),
        (400, "template has no slot for functions; remove `tools`"),
        (400, "tiny:1b does not support tools"),
        (400, "`tools` is not supported with this model"),
        (400, "the reasoner does not support Function Calling"),
        (500, "tools param requires --jinja flag"),
        (500, "Unsupported param: tools"),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
        (404, 'No endpoints found that support tool use. Try disabling "bash".'),
        (405, "Tool calling is not supported for model: some/model-70B"),
        (400, "model features function calling not support"),
        (400, "Function calling is not enabled for models/small-it"),
        (400, "This model doesn't support tool use in streaming mode."),
        (400, "Unrecognized request argument supplied: functions"),
        (400, "\u8be5\u6a21\u578b\u4e0d\u652f\u6301\u5de5\u5177\u8c03\u7528"),
        (0, "Tool calls are disabled on this server"),
    ],
)
def test_a_model_without_tools_is_named_and_not_asked_again(status: int, message: str) -> None:
    body = json.dumps({"error": {"message": message}})
    error = error_for_status(ENDPOINT, status, body, {}, model="m", is_streamed=not status)
    assert isinstance(error, ModelRequestRejected)
    assert error.what == "m can't call tools."


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "An assistant message with 'tool_calls' must be followed by tool messages"),
        (400, "Invalid 'tools[0].function.name': string does not match pattern."),
        (400, "tools.3.custom.input_schema: unsupported keyword"),
        (400, "Parallel tool calls are not supported"),
        (400, "No tool output found for function call call_abc."),
        (503, "tool calling service is not available"),
    ],
)
def test_an_error_about_one_tool_is_not_about_all(status: int, message: str) -> None:
    failure = refusal(status, {"error": {"message": message}})
    error = failure.error if isinstance(failure, TransientError) else failure
    assert "can't call tools" not in error.what


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
    # exllamav3, and servers on it.
    (
        500,
        "Job requires 141 pages (only 128 available) and cannot be enqueued. "
        "Total cache allocated is 128 * 256 = 32768 tokens",
        141 * 256,
        32768,
    ),
    (503, "ValueError: Prompt length 40211 is greater than max_seq_len 32768", 40211, 32768),
    (0, "Request length 71599 + 2048 is greater than max_seq_len 65536", 73647, 65536),
    (400, "Prompt length 40211 exceeds the available context size of 32768 tokens", 40211, 32768),
    (400, "Konteksti ylittyi: malli hyväksyy enintään 8192 tokenia, pyynnössä oli 9500.", 9500, 8192),
    (400, "अनुरोध बहुत लंबा है: अधिकतम 8192 टोकन, आपने 9500 भेजे", 9500, 8192),
    (400, "الطلب طويل جدا: 9500 رمزًا، الحد الأقصى 8192", 9500, 8192),
    (400, "คำขอยาวเกินไป: 9500 โทเค็น สูงสุด 8192 โทเค็น", 9500, 8192),
]


@for_each(("status", "message", "request_tokens", "window"), WINDOWS)
def test_a_window_is_read_from_any_wording(
    status: int, message: str, request_tokens: int, window: int
) -> None:
    assert read(status, message) == Overflow(request_tokens, window)


def test_counts_in_fields_of_their_own_are_read() -> None:
    error: dict[str, Any] = {"message": "the prompt does not fit the context", "n_prompt_tokens": 9010}
    assert read(400, {**error, "n_ctx": 8192, "code": 400}) == Overflow(9010, 8192)
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


def test_a_rate_alone_is_compared_with_the_length_of_the_request() -> None:
    message = "This request would exceed your rate limit of 8,000 input tokens per minute."
    assert read(429, message, request_bytes=30_000) is None
    assert read(429, message, request_bytes=90_000) == Overflow(0, 8000, is_rate=True)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (500, "failed to find a KV cache slot for batch of size 512"),
        (500, "failed to decode: the KV cache is full, n_batch = 2048, ret = 1"),
        (400, "提示词长度超过模型最大上下文限制"),
        (400, "max_prompt_tokens exceeded"),
        (400, "Your prompt has 45000 tokens, more than the context window of this model takes."),
        (400, "Please shorten the conversation: it exceeds what the model can read."),
        (400, "The prompt is 91234 characters long, the limit of this gateway is 64000 characters."),
    ],
)
def test_a_request_is_too_large_without_a_window_to_learn(status: int, message: str) -> None:
    overflow = read(status, message)
    assert overflow is not None
    assert overflow.limit == 0


ANSWER_LENGTHS = (
    "max_tokens is too large: 32768. This model supports at most 16384 completion tokens.",
    "Range of max_tokens should be [1, 8192]",
    "Invalid max_output_tokens: must be less than or equal to 8192",
    "The longest output of this model is 4096 tokens, 9000 were requested.",
    "Die Antwort darf höchstens 4096 Token lang sein.",
    "输出长度超过限制：最大 4096 个令牌",
    "The context window is fine, but max_tokens 9000 exceeds the limit of 8192 output tokens",
    "thinking.budget_tokens must be at most 8192",
)
USED_UP_BY_OTHERS = (
    "Limit 30000 tokens per minute, used 35000, requested 9000",
    "Too many requests: 1200 requests, limit 1000 per minute",
    "Too many tokens, please wait before trying again.",
    "Rate limit of 30,000 tokens per minute reached, 31,000 used. Try again in 8s.",
)


@for_each(
    ("status", "message"),
    [
        *((400, message) for message in ANSWER_LENGTHS),
        *((429, message) for message in USED_UP_BY_OTHERS),
        (
            429,
            "Rate limit reached on tokens per min (TPM): Limit 10000, Used 9500, Requested 2000. Wait 9 s.",
        ),
        (429, "This request would exceed your rate limit of 30,000 input tokens per minute."),
        (429, "每分钟令牌数超过限制 30000"),
        (429, "You have used 100000 of 100000 tokens per day"),
        (504, "context deadline exceeded"),
        (503, "the model's context pool exceeded its queue"),
        (500, "Job requires a minimum batch size of 2048. Max supported batch size is 1024."),
        (400, "Invalid 'messages[5].tool_calls[0].id': string too long. Expected at most 40, got 50."),
        (400, "Invalid 'tools': array too long. Expected an array with maximum length 128, got 130."),
        (400, "Unexpected token } in JSON at position 1532"),
        (401, "the key may read a context of 8192 tokens at most"),
    ],
)
def test_what_only_looks_like_it_is_something_else(status: int, message: str) -> None:
    assert read(status, message) is None


@for_each(
    ("status", "message", "expected"),
    [
        (
            429,
            "tokens per minute limit of 6,000 is lower than the 9,500 of this request; reduce",
            (9500, 6000),
        ),
        (429, "Input token limit per minute is 8,000; this request has 9,500 input tokens.", (9500, 8000)),
        (429, "单次请求的 token 数 9500 超过每分钟限额 6000", (9500, 6000)),
        (413, "Request too large on tokens per minute (TPM): Limit 6000, Requested 12000", (12000, 6000)),
        (429, "Limit of 6000 tokens/min; the request alone has 12000: reduce your prompt", (12000, 6000)),
        (413, "Too large for your tier: tokens per day", (0, 0)),
    ],
)
def test_a_request_above_a_rate_is_made_smaller_and_teaches_nothing(
    status: int, message: str, expected: tuple[int, int]
) -> None:
    assert read(status, message) == Overflow(*expected, is_rate=True)


@given(st.integers(0, 599), st.text(max_size=300), st.text(max_size=300))
def test_any_text_is_read_without_an_exception(status: int, body: str, message: str) -> None:
    overflow = read_overflow(status, body, message)
    assert overflow is None or overflow.limit >= 0


@for_each(
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


def is_about_form(status: int, message: str, code: str | None = None) -> bool:
    body = {"error": {"message": message, "type": "invalid_request_error", "code": code}}
    return is_form_refused(status, json.dumps(body), refusal(status, body))


@for_each(
    ("status", "message"),
    [
        (400, "Invalid model name passed in model=m. Call `/v1/models` to view available models"),
        (400, "m is not a valid model ID"),
        (400, "The requested model is not supported."),
        (400, "The model `m` has been decommissioned and is no longer supported."),
        (400, "No models loaded. Please load a model."),
        (422, "Model m is not available"),
        (400, "API key not valid. Please pass a valid API key."),
        (400, "Incorrect API key provided"),
        (400, "Invalid token"),
        (400, "You have reached your specified API usage limits."),
        (400, "Your credit balance is too low"),
        (400, "max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens"),
        (400, "maxOutputTokens must be below 8192"),
        (400, "max_new_tokens must be <= 4096"),
        (400, "max tokens must be less than 8192"),
        (400, "Output blocked by content filtering policy"),
        (400, "Content Exists Risk"),
        (400, "Input data may contain inappropriate content."),
        (400, "The request was rejected because it was considered high risk"),
        (400, "系统检测到输入或生成内容可能包含不安全或敏感内容"),
        (403, "Your message was blocked by a guardrail"),
        *(
            (status, "invalid message")
            for status in (401, 402, 405, 408, 409, 413, 415, 429, 502, 503, 504, 529)
        ),
    ],
)
def test_refusals_that_no_other_form_prevents(status: int, message: str) -> None:
    assert not is_about_form(status, message)


@for_each("code", ["model_not_found", "insufficient_quota", "content_filter", "data_inspection_failed"])
def test_a_code_says_why_whatever_the_message(code: str) -> None:
    assert not is_about_form(400, "Bad request", code)


@for_each(
    ("status", "message"),
    [
        (400, ""),
        (400, "Bad request"),
        (422, "body.messages.2.content: Input should be a valid string"),
        (400, "Conversation roles must alternate user/assistant/user/assistant/..."),
        (500, "Only user and assistant roles are supported"),
        (500, "'NoneType' object has no attribute 'strip'"),
        (500, 'can only concatenate str (not "NoneType") to str'),
        (500, "Jinja: unknown filter 'tojson'"),
        (403, "invalid field: extra"),
        (404, "Item with id 'rs_1' not found."),
        (400, "For this model, content arrays are not supported"),
        (400, "Unexpected token id in message"),
    ],
)
def test_refusals_that_a_plainer_form_may_prevent(status: int, message: str) -> None:
    assert is_about_form(status, message)
