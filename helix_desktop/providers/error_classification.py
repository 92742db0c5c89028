"""Classify the errors of servers: too large, no credit, retry later; and extract their texts."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any

import msgspec

from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.translatable_text import TextContext, TranslatableText, verbatim

text = TextContext("Providers")

MAX_QUOTE_CHARS = 400
"""Maximum number of characters of a server's text that are displayed."""

_OVERFLOW = (
    "context_length_exceeded",
    "context length",
    "maximum context",
    "context window",
    "context_window",
    "context limit",
    "exceed_context_size",
    "available context size",
    "context size has been exceeded",
    "when context the overflows",
    "prompt is too long",
    "prompt too long",
    "prompt is longer than",
    "input is too long",
    "input length exceeds",
    "input token count",
    "too many input tokens",
    "input tokens exceed",
    "maximum input length",
    "maximum prompt length",
    "maximum model length",
    "max_model_len",
    "max_seq_len",
    "maximum sequence length",
    "exceeds the maximum number of tokens",
    "maximum allowed number of input tokens",
    "exceeded model token limit",
    "exceeds the limit of tokens",
    "reduce the length of the",
    "please shorten your",
    "prompt exceeds",
    "request_too_large",
    "string_above_max_length",
    "too large for model with",
)
"""Phrases for a request that is larger than the window, in lower case."""

_IMAGE = ("image", "multimodal", "multi-modal", "vision")
_NO_IMAGES = ("image input", "multimodal", "mmproj")
"""Phrases for rejected images, in lower case; the second tuple also with server error statuses."""

_IMAGE_STATUSES = frozenset(
    {
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.NOT_FOUND,  # OpenRouter: no endpoint of the model takes images
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        HTTPStatus.UNPROCESSABLE_ENTITY,
    }
)

_TOKENS = re.compile(r"(?<![\w.-])\d{3,7}(?![\w.-]*\d)")
_REQUESTED_TOKENS = re.compile(r"(?:requested(?: about)?|resulted in) (\d{3,7})")
_MAX_TOKENS = re.compile(r"maximum context length is (\d{3,7})")
_MIN_WINDOW, _MAX_WINDOW = 512, 4_000_000
"""Plausible window sizes in tokens: other numbers in an error are something else."""

_RATE = ("per minute", "per day", "rate limit", "rate_limit", "(tpm)")
"""Phrases of a rate limit: such a request is not too large for the window."""

_NEVER_OVERFLOW = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND})

_NO_CREDIT = ("insufficient_quota", "insufficient balance", "billing_hard_limit", "credit balance")

_STATUS_OF: dict[str, int] = {
    "overloaded_error": 529,
    "overloaded": 529,
    "timeout_error": HTTPStatus.GATEWAY_TIMEOUT,
    "rate_limit_error": HTTPStatus.TOO_MANY_REQUESTS,
    "rate_limit_exceeded": HTTPStatus.TOO_MANY_REQUESTS,
    "billing_error": HTTPStatus.PAYMENT_REQUIRED,
    "authentication_error": HTTPStatus.UNAUTHORIZED,
    "permission_error": HTTPStatus.FORBIDDEN,
    "not_found_error": HTTPStatus.NOT_FOUND,
    "model_not_found": HTTPStatus.NOT_FOUND,
    "request_too_large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "invalid_prompt": HTTPStatus.BAD_REQUEST,
}
"""The HTTP status for an error's type or code inside a stream (Anthropic, OpenAI)."""

_CLIENT_ERROR_WORDS = ("invalid_", "image_", "_policy")
"""Parts of codes that blame the request."""


def _is_rate_limited(status: int, error_text: str) -> bool:
    """Return True if an error is a rate limit; `error_text` in lower case."""
    return status == HTTPStatus.TOO_MANY_REQUESTS or any(word in error_text for word in _RATE)


def is_overflow(status: int, error_text: str) -> bool:
    """Return True if an error says that the request exceeds the window; `error_text` in lower case."""
    if _is_rate_limited(status, error_text) or status in _NEVER_OVERFLOW:
        return False
    return status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or any(phrase in error_text for phrase in _OVERFLOW)


def is_image_refused(status: int, error_text: str) -> bool:
    """Return True if the error of a request with images is about one of them; `error_text` in lower case."""
    if status in _IMAGE_STATUSES:
        return any(word in error_text for word in _IMAGE)
    return status >= HTTPStatus.INTERNAL_SERVER_ERROR and any(word in error_text for word in _NO_IMAGES)


def overflow_token_counts(error_text: str) -> tuple[int, int]:
    """Return the tokens of the request and of the window as an error names them; 0 where it does not.

    Of two numbers the smaller is the window's: the request was too large for it. More than two are used
    only if the text around them identifies them.
    """
    labeled = [_match_number(pattern.search(error_text)) for pattern in (_REQUESTED_TOKENS, _MAX_TOKENS)]
    if all(labeled):
        return labeled[0], labeled[1]
    numbers = sorted(
        {int(number) for number in _TOKENS.findall(error_text) if _MIN_WINDOW <= int(number) <= _MAX_WINDOW}
    )
    match numbers:
        case [window]:
            return 0, window
        case [window, tokens]:
            return tokens, window
    return 0, 0


def _match_number(match: re.Match[str] | None) -> int:
    return int(match.group(1)) if match else 0


def is_out_of_credit(status: int, error_text: str) -> bool:
    """Return True if an error says that the account has no credit; `error_text` in lower case."""
    return status == HTTPStatus.PAYMENT_REQUIRED or any(word in error_text for word in _NO_CREDIT)


def status_of_error(error: Any) -> int:
    """Return the status of an error in a stream, from its `code`, `status` or `type`; else 500."""
    codes = [str(error.get(key)) for key in ("code", "status", "type")] if isinstance(error, dict) else []
    for code in codes:
        if code.isdigit() and int(code) >= HTTPStatus.BAD_REQUEST:
            return int(code)
        if code in _STATUS_OF:
            return int(_STATUS_OF[code])
    is_client_error = any(part in code for code in codes for part in _CLIENT_ERROR_WORDS)
    return int(HTTPStatus.BAD_REQUEST if is_client_error else HTTPStatus.INTERNAL_SERVER_ERROR)


def http_status_text(status: int) -> str:
    """Format a status for display."""
    try:
        return f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP {status}"


def extract_error_text(body: str) -> TranslatableText:
    """Extract the message from a body of unknown form, as one short line."""
    try:
        message = _find_message(msgspec.json.decode(body))
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        if _is_html(body):
            return text("The server sent a web page.")
        message = body
    return verbatim(ellipsize(" ".join(message.split()), MAX_QUOTE_CHARS))


def _is_html(body: str) -> bool:
    """Return True if a body is a web page."""
    return body.lstrip()[:15].lower().startswith(("<!doctype", "<html", "<head"))


def body_excerpt(body: str) -> TranslatableText:
    """Quote the beginning of what a server sent instead of an answer, as a sentence."""
    if _is_html(body):
        return text("The server sent a web page.")
    line = " ".join(body[:200].split())
    return text("The server sent: {line}", line=line) if line else text("The server sent nothing.")


def _find_message(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return " ".join(_find_message(item) for item in value[:3])
    if isinstance(value, dict):
        messages = [value[key] for key in ("error", "message", "detail", "msg") if value.get(key)]
        metadata = value.get("metadata")
        quoted = metadata.get("raw") if isinstance(metadata, dict) else None
        if messages:
            return " ".join(_find_message(part) for part in (messages[0], quoted) if part)
    return "" if value is None else msgspec.json.encode(value).decode()
