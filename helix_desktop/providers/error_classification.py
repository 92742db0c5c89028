"""Classify the errors of servers: images, no credit, retry later; and extract their texts."""

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

_NO_CREDIT = re.compile(
    r"insufficient[ _](quota|balance|credit|fund)|billing_hard_limit|credit balance"
    r"|(out of|no|not enough) credits?\b|payment required|余额不足|欠费"
)
_QUOTA = re.compile(
    r"quota\b.{0,40}(exceed|exhaust|used up|reached)|(exceed|exhaust|reached)\w*\b.{0,40}\bquota"
    r"|(monthly|weekly|daily|spending|usage) (usage )?(limit|cap)\b.{0,20}(exceed|reached)|配额|额度"
)
_SHORT_RATE = re.compile(r"per ?(min|sec)|perminute|retry.?delay|try again in \d|retry in \d|每分|每秒")
"""A quota that is renewed within minutes: waiting helps."""

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


def is_image_refused(status: int, error_text: str) -> bool:
    """Return True if the error of a request with images is about one of them; `error_text` in lower case."""
    if status in _IMAGE_STATUSES:
        return any(word in error_text for word in _IMAGE)
    return status >= HTTPStatus.INTERNAL_SERVER_ERROR and any(word in error_text for word in _NO_IMAGES)


def is_out_of_credit(status: int, error_text: str) -> bool:
    """Return True if an error says that the account has no credit; `error_text` in lower case."""
    return status == HTTPStatus.PAYMENT_REQUIRED or _NO_CREDIT.search(error_text) is not None


def is_quota_used_up(error_text: str) -> bool:
    """Return True if an error says that a quota is used up, for longer than one waits.

    `error_text` in lower case.
    """
    return _QUOTA.search(error_text) is not None and _SHORT_RATE.search(error_text) is None


def status_of_error(error: Any) -> int:
    """Return the status that an error in a stream stands for, by its `code`, `status` or `type`; else 0."""
    codes = [str(error.get(key)) for key in ("code", "status", "type")] if isinstance(error, dict) else []
    for code in codes:
        if code.isdigit() and int(code) >= HTTPStatus.BAD_REQUEST:
            return int(code)
        if code in _STATUS_OF:
            return int(_STATUS_OF[code])
    is_client_error = any(part in code for code in codes for part in _CLIENT_ERROR_WORDS)
    return int(HTTPStatus.BAD_REQUEST) if is_client_error else 0


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
