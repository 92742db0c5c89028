"""A provider's server: its address, its key, and what its refusals mean."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from http import HTTPStatus
from typing import Any

import msgspec

from helix_desktop import __version__
from helix_desktop.context.errors import (
    KeyRefused,
    ModelError,
    ModelOverflow,
    ModelRefused,
    ModelUnreachable,
)
from helix_desktop.providers.http import Http, HttpFault, HttpReply
from helix_desktop.providers.retry import Transient, is_transient, retry_after_s

LONGEST_QUOTE = 400
"""Characters of a server's own words that are shown."""

_OVERFLOW = (
    "context_length_exceeded",
    "context length",
    "maximum context",
    "context window",
    "context_window",
    "exceed_context_size",
    "available context size",
    "context size has been exceeded",
    "when context the overflows",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "input token count",
    "too many input tokens",
    "input tokens exceed",
    "maximum prompt length",
    "maximum model length",
    "exceeds the maximum number of tokens",
    "exceeded model token limit",
    "reduce the length of the",
    "prompt exceeds",
    "too large for model with",
)
"""How servers say that a request is larger than the window, in lower case."""

_RATE = ("per minute", "per day", "rate limit", "rate_limit")
"""Words of a limit over time: what they are about is not too large for the window."""

_NEVER_OVERFLOW = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND})

_NO_CREDIT = ("insufficient_quota", "insufficient balance", "billing_hard_limit", "credit balance")


class Endpoint:
    """One provider's server. `send` and `read` raise HttpFault.

    `base_url` is for people: without the name and password that an address may carry.
    """

    def __init__(self, provider: str, base_url: str, key: str, http: Http) -> None:
        self.provider = provider
        self._target = base_url.strip().rstrip("/").removesuffix("/chat/completions")
        host = self._target.partition("://")[2].partition("/")[0]
        self._login, at, _ = host.rpartition("@")
        self.base_url = self._target.replace(self._login + at, "", 1) if at else self._target
        self._key = key.strip()
        self._http = http

    @property
    def has_key(self) -> bool:
        """Whether a key goes along."""
        return bool(self._key)

    def send(
        self, method: str, path: str, body: bytes | None = None
    ) -> AbstractAsyncContextManager[HttpReply]:
        """Call a path below the base URL. Raises ModelRefused when the key cannot be a key."""
        headers = {"user-agent": f"helix-desktop/{__version__}", "content-type": "application/json"}
        if self._key:
            if not (self._key.isascii() and self._key.isprintable()):
                raise ModelRefused(
                    f"The key for {self.provider} cannot be right.",
                    "It contains characters that no key has.",
                    "Paste the key again in Settings, Providers.",
                )
            headers["authorization"] = f"Bearer {self._key}"
        return self._http.send(method, self._target + path, headers, body)

    def redact(self, text: str) -> str:
        """A text without the key, and without an address's name and password."""
        for secret, mark in ((self._key, "[key]"), (self._login, "[login]")):
            text = text.replace(secret, mark) if secret else text
        return text

    def unreachable(self, fault: HttpFault) -> ModelUnreachable | Transient:
        """What a failure of the network means: an error at once, or one that may pass."""
        detail = self.redact(fault.detail)
        what = f"{self.provider} cannot be reached at {self.base_url}."
        if fault.kind == "address":
            fix = fault.fix or "Write the base URL as https://host/v1 in Settings, Providers."
            return ModelUnreachable(what, detail, fix)
        if fault.kind == "tls":
            fix = fault.fix or "Check http:// or https:// in the base URL."
            return ModelUnreachable(what, f"No secure connection could be made: {detail}.", fix)
        if fault.kind == "connect":
            fix = fault.fix or "Check that the server is running, the base URL, and the network."
            return Transient(f"no connection ({detail})", ModelUnreachable(what, f"{detail}.", fix))
        reason = "the answer broke off" if fault.kind == "cut" else "the server went silent"
        error = ModelUnreachable(
            f"{self.provider} did not finish its answer.",
            f"{reason[0].upper()}{reason[1:]} ({detail}).",
            "Nothing of it was used. Try again, or choose another model.",
        )
        return Transient(reason, error)

    def refusal(
        self, status: int, body: str, headers: Mapping[str, str], *, model: str = "", now: float = 0.0
    ) -> ModelError | Transient:
        """What a reply that is no answer means. `now` is seconds since 1970."""
        words = self.redact(_words(body))
        low = body.lower()
        limited = status == HTTPStatus.TOO_MANY_REQUESTS or any(word in low for word in _RATE)
        if any(word in low for word in _NO_CREDIT) or status == HTTPStatus.PAYMENT_REQUIRED:
            return ModelRefused(
                f"{self.provider} says that the account has no credit left.",
                words,
                "Add credit there, or choose another model.",
            )
        if not limited and status not in _NEVER_OVERFLOW and any(phrase in low for phrase in _OVERFLOW):
            return ModelOverflow(
                f"The request is larger than the window of {model or 'the model'}.",
                words,
                "Compact the session, or correct the model's window in Settings, Providers.",
            )
        if is_transient(status):
            name = _name(status)
            error = ModelUnreachable(
                f"{self.provider} could not answer ({name}).",
                words,
                "Try again later, or choose another model.",
            )
            return Transient(f"{name}: {words}" if words else name, error, retry_after_s(headers, now))
        return self._refused(status, words, headers, model)

    def _refused(self, status: int, words: str, headers: Mapping[str, str], model: str) -> ModelRefused:
        if status == HTTPStatus.UNAUTHORIZED:
            what = f"{self.provider} refused the key." if self._key else f"{self.provider} wants a key."
            return KeyRefused(what, words, "Enter the right key in Settings, Providers.")
        if status == HTTPStatus.FORBIDDEN:
            fix = "Check what the key may be used for, and the model's name."
            return ModelRefused(f"{self.provider} does not allow this.", words, fix)
        if status == HTTPStatus.NOT_FOUND:
            what = (
                f"{self.provider} knows no model {model} at {self.base_url}."
                if model
                else (f"{self.provider} has nothing at {self.base_url}.")
            )
            return ModelRefused(what, words, "Check the model's name, and the base URL: most end in /v1.")
        if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
            place = self.redact(headers.get("location", "elsewhere"))
            why = f"The server sends callers on to {place}; a key is never sent on."
            return ModelRefused(
                f"{self.base_url} is not the right base URL.", why, "Enter the new one in Settings."
            )
        fix = "If the message does not help, try another model."
        return ModelRefused(f"{self.provider} refused the request ({_name(status)}).", words, fix)


def _name(status: int) -> str:
    try:
        return f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP {status}"


def _words(body: str) -> str:
    """What a server says in a body of unknown form, as one short line."""
    try:
        found = _message_in(msgspec.json.decode(body))
    except (msgspec.DecodeError, UnicodeEncodeError):
        found = "The server sent a web page." if is_page(body) else body
    line = " ".join(found.split())
    return line if len(line) <= LONGEST_QUOTE else line[: LONGEST_QUOTE - 1] + "…"


def is_page(body: str) -> bool:
    """Whether a body is a web page."""
    return body.lstrip()[:15].lower().startswith(("<!doctype", "<html", "<head"))


def _message_in(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return " ".join(_message_in(item) for item in value[:3])
    if isinstance(value, dict):
        known = [value[key] for key in ("error", "message", "detail", "msg") if value.get(key)]
        metadata = value.get("metadata")
        quoted = metadata.get("raw") if isinstance(metadata, dict) else None
        if known:
            return " ".join(_message_in(part) for part in (known[0], quoted) if part)
    return "" if value is None else msgspec.json.encode(value).decode()
