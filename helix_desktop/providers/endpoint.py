"""A provider's server: its address, its key, and the mapping of its errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from http import HTTPStatus
from urllib.parse import urlsplit

from helix_desktop import __version__
from helix_desktop.domain.error_remedies import Remedy
from helix_desktop.domain.errors import (
    AuthenticationFailed,
    ContextWindowExceeded,
    ImagesRejected,
    ModelError,
    ModelRequestRejected,
    ModelUnreachable,
)
from helix_desktop.domain.model_spec import DialectName
from helix_desktop.providers.error_classification import (
    extract_error_text,
    is_image_refused,
    is_out_of_credit,
    is_overflow,
    overflow_token_counts,
    status_text,
)
from helix_desktop.providers.http import HttpClient, HttpError, HttpErrorKind, HttpResponse
from helix_desktop.providers.retry import TransientError, is_transient, retry_after_s

ANTHROPIC_VERSION = "2023-06-01"
"""The version of the Messages API, as sent in its header."""

_BROKEN_OFF_TEXTS: Mapping[HttpErrorKind, str] = {
    "cut": "the answer broke off",
    "stalled": "the server went silent",
    "idle": "the server kept the line open and sent nothing",
}

KEY_ADVICE = "Enter the right key in Settings, Providers."
"""Default advice for a key that is rejected or missing."""

_ADDRESS_REMEDIES: tuple[Remedy, ...] = ("provider_settings",)

_PATHS = ("/chat/completions", "/responses", "/messages")
_ENDS_IN_VERSION = re.compile(r"/v\d+(beta\d*)?$")


class Endpoint:
    """One provider's server with one dialect. `send` raises HttpError.

    `base_url` is for display: without the name and password that an address may contain. `key_advice` says
    where to enter the right key.
    """

    def __init__(
        self,
        provider: str,
        base_url: str,
        key: str,
        http: HttpClient,
        dialect: DialectName = "openai-chat",
        key_advice: str = KEY_ADVICE,
    ) -> None:
        self.provider, self._key_advice = provider, key_advice
        self.dialect: DialectName = dialect
        self._url_prefix = _normalize_url(base_url, dialect)
        host = self._url_prefix.partition("://")[2].partition("/")[0]
        self._login, at, _ = host.rpartition("@")
        self.base_url = self._url_prefix.replace(self._login + at, "", 1) if at else self._url_prefix
        self._key = key.strip()
        self._http = http

    @property
    def has_key(self) -> bool:
        """True if a key is sent."""
        return bool(self._key)

    def send(
        self, method: str, path: str, body: bytes | None = None
    ) -> AbstractAsyncContextManager[HttpResponse]:
        """Call a path below the base URL. Raises ModelRequestRejected if the key has invalid characters."""
        headers = {"user-agent": f"helix-desktop/{__version__}", "content-type": "application/json"}
        if self._key and not (self._key.isascii() and self._key.isprintable()):
            raise ModelRequestRejected(
                f"The key for {self.provider} cannot be right.",
                "It contains characters that no key has.",
                self._key_advice,
            )
        return self._http.send(method, self._url_prefix + path, {**headers, **self._credentials()}, body)

    def _credentials(self) -> dict[str, str]:
        """Return the headers with the key, and the version of the dialect if it has one."""
        bearer = {"authorization": f"Bearer {self._key}"} if self._key else {}
        if self.dialect != "anthropic":
            return bearer
        # Anthropic-compatible servers expect a bearer token; Anthropic's own accepts only one key header.
        own = _is_anthropic(self._url_prefix)
        keys = {"x-api-key": self._key, **({} if own else bearer)} if self._key else {}
        return {"anthropic-version": ANTHROPIC_VERSION, **keys}

    def redact(self, text: str) -> str:
        """Remove the key, and an address's name and password, from a text."""
        for secret, mark in ((self._key, "[key]"), (self._login, "[login]")):
            text = text.replace(secret, mark) if secret else text
        return text

    def network_error(self, http_error: HttpError) -> ModelUnreachable | TransientError:
        """Map a network failure to a final or a transient error."""
        detail = self.redact(http_error.detail)
        what = f"{self.provider} cannot be reached at {self.base_url}."
        if http_error.kind == "address":
            fix = http_error.fix or "Write the base URL as https://host/v1 in Settings, Providers."
            return ModelUnreachable(what, detail, fix, remedies=_ADDRESS_REMEDIES)
        if http_error.kind == "tls":
            fix = http_error.fix or "Check http:// or https:// in the base URL."
            why = f"No secure connection could be made: {detail}."
            return ModelUnreachable(what, why, fix, remedies=_ADDRESS_REMEDIES)
        if http_error.kind == "connect":
            fix = http_error.fix or "Check that the server is running, the base URL, and the network."
            error = ModelUnreachable(what, f"{detail}.", fix, remedies=_ADDRESS_REMEDIES)
            return TransientError(f"no connection ({detail})", error)
        reason = _BROKEN_OFF_TEXTS[http_error.kind]
        error = ModelUnreachable(
            f"{self.provider} did not finish its answer.",
            f"{reason[0].upper()}{reason[1:]} ({detail}).",
            "No tool was run for it. Try again, or choose another model.",
        )
        return TransientError(reason, error)

    def error_for_status(
        self,
        status: int,
        body: str,
        headers: Mapping[str, str],
        *,
        model: str = "",
        now_s: float = 0.0,
        has_images: bool = False,
    ) -> ModelError | TransientError:
        """Map an error reply to an error. `now_s` is seconds since 1970.

        `has_images` says that the request contained images.
        """
        text = self.redact(extract_error_text(body))
        lowered = body.lower()
        if is_out_of_credit(status, lowered):
            return ModelRequestRejected(
                f"{self.provider} says that the account has no credit left.",
                text,
                "Add credit there, or choose another model.",
            )
        if is_overflow(status, lowered):
            tokens, window = overflow_token_counts(text)
            return ContextWindowExceeded(
                f"The request is larger than the window of {model or 'the model'}.",
                text,
                "Compact the session, or correct the model's window in Settings, Providers.",
                request_tokens=tokens,
                window=window,
            )
        if has_images and is_image_refused(status, lowered):
            return ImagesRejected(f"{self.provider} refused an image.", text)
        if is_transient(status):
            status_name = status_text(status)
            error = ModelUnreachable(
                f"{self.provider} could not answer ({status_name}).",
                text,
                "Try again later, or choose another model.",
            )
            return TransientError(
                f"{status_name}: {text}" if text else status_name, error, retry_after_s(headers, now_s)
            )
        return self._refused_error(status, text, headers, model)

    def _refused_error(
        self, status: int, text: str, headers: Mapping[str, str], model: str
    ) -> ModelRequestRejected:
        if status == HTTPStatus.UNAUTHORIZED:
            what = f"{self.provider} refused the key." if self._key else f"{self.provider} wants a key."
            return AuthenticationFailed(what, text, self._key_advice)
        if status == HTTPStatus.FORBIDDEN:
            fix = f"Check what the key may be used for, and the model's name. {self._key_advice}"
            return ModelRequestRejected(f"{self.provider} does not allow this.", text, fix)
        if status == HTTPStatus.NOT_FOUND:
            what = (
                f"{self.provider} knows no model {model} at {self.base_url}."
                if model
                else (f"{self.provider} has nothing at {self.base_url}.")
            )
            fix = "Check the model's name, and the base URL: most end in /v1."
            return ModelRequestRejected(what, text, fix, remedies=("choose_model", *_ADDRESS_REMEDIES))
        if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
            place = self.redact(headers.get("location", "elsewhere"))
            why = f"The server sends callers on to {place}; a key is never sent on."
            return ModelRequestRejected(
                f"{self.base_url} is not the right base URL.",
                why,
                "Enter the new one in Settings.",
                remedies=_ADDRESS_REMEDIES,
            )
        fix = "If the message does not help, try another model."
        return ModelRequestRejected(
            f"{self.provider} refused the request ({status_text(status)}).", text, fix
        )


def _normalize_url(base_url: str, dialect: DialectName) -> str:
    """Normalize a base URL: users paste complete paths, or omit the version."""
    target = base_url.strip().rstrip("/")
    for path in _PATHS:
        target = target.removesuffix(path)
    if dialect == "anthropic" and "://" in target and not _ENDS_IN_VERSION.search(target):
        return target + "/v1"
    return target


def _is_anthropic(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return host == "anthropic.com" or host.endswith(".anthropic.com")
