"""A provider's server: its address, its key, and the mapping of its errors."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from http import HTTPStatus
from types import MappingProxyType
from urllib.parse import urlsplit

from helix_desktop import __version__
from helix_desktop.domain.choices import Remedy
from helix_desktop.domain.dialects import DIALECTS, DialectName
from helix_desktop.domain.errors import (
    AuthenticationFailed,
    ContextWindowExceeded,
    ImagesRejected,
    ModelError,
    ModelRequestRejected,
    ModelUnreachable,
)
from helix_desktop.domain.messages import API_KEY, WireHeader, WireRequest
from helix_desktop.domain.private_details import MIN_SECRET_LENGTH
from helix_desktop.domain.request_extras import header_fault
from helix_desktop.domain.translatable_text import OptionalText, TextContext, TranslatableText, verbatim
from helix_desktop.providers.http import HttpClient, HttpError, HttpErrorKind, HttpResponse
from helix_desktop.providers.retry import TransientError, is_transient, retry_after_s
from helix_desktop.providers.server_errors import (
    Overflow,
    extract_error_text,
    http_status_text,
    is_about_billing,
    is_about_key,
    is_image_refused,
    is_out_of_credit,
    is_quota_used_up,
    is_without_tools,
    read_overflow,
)

_text = TextContext("Providers")

_BROKEN_OFF_TEXTS: Mapping[HttpErrorKind, TranslatableText] = {
    "cut": _text("The response stopped early"),
    "stalled": _text("The server stopped responding"),
    "idle": _text("The server kept the connection open but sent nothing"),
}

KEY_ADVICE = _text("Enter a valid API key in Settings → Providers.")
"""Default advice for a key that is rejected or missing."""

HEADER_ADVICE = _text("Enter its value in Settings → Providers, under Extra headers and fields.")
"""Default advice for a secret header whose value is missing or invalid."""

_ADDRESS_REMEDIES: tuple[Remedy, ...] = ("provider_settings",)

_KEY_PLACE = "\0"  # stands for the key where its headers are put together to be read

_PATHS = ("/chat/completions", "/responses", "/messages")
_ENDS_IN_VERSION = re.compile(r"/v\d+(beta\d*)?$")


class Endpoint:
    """One provider's server with one dialect. `send` raises HttpError.

    `base_url` is for display: without the name and password that an address may contain. `key_advice` says
    where to enter the right key. `headers` go along with every request, and so do `secret_headers`, whose
    values no text contains; one without a value is missing, and `header_advice` says of a name where to enter
    it.
    """

    def __init__(
        self,
        provider: str,
        base_url: str,
        key: str,
        http: HttpClient,
        dialect: DialectName = "openai-chat",
        key_advice: TranslatableText = KEY_ADVICE,
        headers: Mapping[str, str] = MappingProxyType({}),
        secret_headers: Mapping[str, str] = MappingProxyType({}),
        header_advice: Callable[[str], TranslatableText] = lambda _: HEADER_ADVICE,
    ) -> None:
        self.provider, self._key_advice = provider, key_advice
        self.dialect: DialectName = dialect
        self._url_prefix = _normalize_url(base_url, dialect)
        host = self._url_prefix.partition("://")[2].partition("/")[0]
        self._login, at, _ = host.rpartition("@")
        self.base_url = self._url_prefix.replace(self._login + at, "", 1) if at else self._url_prefix
        self._key = key.strip()
        self._http = http
        self._headers = {name.lower(): value.strip() for name, value in headers.items()}
        self._secret_headers = {name: value.strip() for name, value in secret_headers.items()}
        self._header_advice = header_advice

    @property
    def has_key(self) -> bool:
        return bool(self._key)

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        on_sent: Callable[[], Awaitable[None]] | None = None,
    ) -> AbstractAsyncContextManager[HttpResponse]:
        """Call a path below the base URL. Raises ModelRequestRejected for an invalid key or secret header.

        `on_sent` is awaited once the server has the whole request.
        """
        if self._key and not (self._key.isascii() and self._key.isprintable()):
            raise ModelRequestRejected(
                _text("The API key for {provider} is invalid.", provider=self.provider),
                _text("It contains characters that API keys don't have."),
                self._key_advice,
            )
        for name, value in self._secret_headers.items():
            self._require_header(name, value)
        secrets = {name.lower(): value for name, value in self._secret_headers.items()}
        headers = self._own_headers() | self._headers | secrets | self._credentials(self._key)
        return self._http.send(method, self._url_prefix + path, headers, body, on_sent)

    def wire_request(self, path: str, body: bytes) -> WireRequest:
        """Return what `send` would post below the base URL, with names where secrets stand."""
        plain = {**self._own_headers(), **self._headers}
        secret = set(map(str.lower, self._secret_headers))
        headers = [WireHeader(name, value) for name, value in plain.items() if name not in secret]
        headers += [WireHeader(name.lower(), "", name) for name in self._secret_headers]
        for name, value in self._credentials(_KEY_PLACE if self._key else "").items():
            text, is_key, _ = value.partition(_KEY_PLACE)
            headers.append(WireHeader(name, text, API_KEY if is_key else ""))
        text = self.redact(body.decode())
        return WireRequest(self.provider, self.base_url + path, tuple(headers), text.encode())

    def _own_headers(self) -> dict[str, str]:
        return {"user-agent": f"helix-desktop/{__version__}", "content-type": "application/json"}

    def _require_header(self, name: str, value: str) -> None:
        if not value:
            raise ModelRequestRejected(
                _text(
                    "The secret header {name} of {provider} has no value.", name=name, provider=self.provider
                ),
                _text("No value is saved for this address."),
                self._header_advice(name),
                remedies=_ADDRESS_REMEDIES,
            )
        if header_fault(name, value):
            raise ModelRequestRejected(
                _text(
                    "The secret header {name} of {provider} is invalid.", name=name, provider=self.provider
                ),
                _text("Its value has characters that headers can't have."),
                self._header_advice(name),
                remedies=_ADDRESS_REMEDIES,
            )

    def _credentials(self, key: str) -> dict[str, str]:
        """Return the headers with the key, and the version of the dialect if it has one."""
        bearer = {"authorization": f"Bearer {key}"} if key else {}
        traits = DIALECTS[self.dialect]
        if not (key and traits.key_header):
            return {**traits.headers, **bearer}
        is_maker = _is_host(self._url_prefix, traits.host)  # which accepts only one header with a key
        return {**traits.headers, traits.key_header: key, **({} if is_maker else bearer)}

    def redact(self, text: str) -> str:
        """Remove the key, secret headers, and an address's name and password, from a text."""
        headers = [(value, f"[{name}]") for name, value in self._secret_headers.items()]
        for secret, mark in ((self._key, "[key]"), (self._login, "[login]"), *headers):
            text = text.replace(secret, mark) if len(secret) >= MIN_SECRET_LENGTH else text
        return text

    def redact_text(self, text: TranslatableText) -> TranslatableText:
        redacted = self.redact(text)
        return text if redacted == text else verbatim(redacted)

    def network_error(self, http_error: HttpError) -> ModelUnreachable | TransientError:
        detail = self.redact(http_error.detail)
        why: OptionalText = self.redact_text(http_error.why) if http_error.why else ""
        what = _text("Can't reach {provider} at {url}.", provider=self.provider, url=self.base_url)
        if http_error.kind == "address":
            fix = http_error.fix or _text("Enter the base URL as https://host/v1 in Settings → Providers.")
            return ModelUnreachable(what, why or verbatim(detail), fix, remedies=_ADDRESS_REMEDIES)
        if http_error.kind == "tls":
            fix = http_error.fix or _text("Check http:// or https:// in the base URL.")
            why = why or _text("No secure connection ({detail}).", detail=detail)
            return ModelUnreachable(what, why, fix, remedies=_ADDRESS_REMEDIES)
        if http_error.kind == "connect":
            fix = http_error.fix or _text(
                "Check that the server is running, and check the base URL and the network."
            )
            error = ModelUnreachable(what, why or verbatim(f"{detail}."), fix, remedies=_ADDRESS_REMEDIES)
            address = urlsplit(self.base_url).netloc
            reason = _text(
                "No connection to {provider} at {address} ({detail})",
                provider=self.provider,
                address=address,
                detail=detail,
            )
            return TransientError(reason, error)
        reason = _BROKEN_OFF_TEXTS[http_error.kind]
        error = ModelUnreachable(
            _text("No complete answer came from {provider}.", provider=self.provider),
            _text("{reason} ({detail}).", reason=reason, detail=detail),
            _text("No tools ran. Try again, or choose another model."),
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
        is_streamed: bool = False,
        request_bytes: int = 0,
    ) -> ModelError | TransientError:
        """Map an error reply to an error. `now_s` is seconds since 1970.

        `has_images` says that the request contained images, `is_streamed` that the error came inside an
        answer: `status` is then what it stands for, which no server has sent, or 0. `request_bytes` is the
        length of the request.
        """
        message = self.redact_text(extract_error_text(body))
        lowered = f"{body} {message}".lower()  # which JSON may hold in codes
        if is_out_of_credit(status, lowered):
            return ModelRequestRejected(
                _text("The account at {provider} has no credit left.", provider=self.provider),
                message,
                _text("Add credit there, or choose another model."),
            )
        is_about_image = has_images and is_image_refused(status, lowered)
        text_bytes = 0 if has_images else request_bytes
        overflow = read_overflow(status, body, message, headers, text_bytes)
        if overflow and not (is_about_image and not overflow.limit):
            return self._overflow_error(overflow, message, model)
        if is_about_image:
            return ImagesRejected(_text("{provider} rejected an image.", provider=self.provider), message)
        if is_quota_used_up(lowered) and retry_after_s(headers, now_s) is None:
            return ModelRequestRejected(
                _text("The quota at {provider} is used up.", provider=self.provider),
                message,
                _text("Raise it there, wait until it is renewed, or choose another model."),
            )
        if is_about_billing(status, lowered):
            return ModelRequestRejected(
                _text("The account at {provider} has a billing problem.", provider=self.provider),
                message,
                _text("Solve it there, or choose another model."),
            )
        if is_without_tools(status, lowered):
            return ModelRequestRejected(
                _text("{model} can't call tools.", model=model or self.provider),
                message,
                _text("Choose a model that can, or turn tool calling on at its server."),
            )
        if is_transient(status) or (is_streamed and not status):
            status_name = "" if is_streamed else http_status_text(status)
            error = ModelUnreachable(
                _text("{provider} couldn't answer ({status}).", provider=self.provider, status=status_name)
                if status_name
                else _text("{provider} reports an error in its answer.", provider=self.provider),
                message,
                _text("Try again later, or choose another model."),
            )
            reason = (
                _text("{status}: {message}", status=status_name, message=message)
                if message and status_name
                else message or verbatim(status_name) or error.what
            )
            return TransientError(reason, error, retry_after_s(headers, now_s, body))
        return self._refused_error(status, message, headers, model, is_streamed=is_streamed)

    def _overflow_error(
        self, overflow: Overflow, message: TranslatableText, model: str
    ) -> ContextWindowExceeded:
        if overflow.is_rate:
            return ContextWindowExceeded(
                _text("The request exceeds a rate limit of {provider}.", provider=self.provider),
                message,
                _text("Compact the conversation, raise the limit there, or choose another model."),
                request_tokens=overflow.request,
                window_size=overflow.limit,
                is_rate=True,
                remedies=("compact", "choose_model"),
            )
        return ContextWindowExceeded(
            _text("The request exceeds the context window of {model}.", model=model)
            if model
            else _text("The request exceeds the model's context window."),
            message,
            _text("Compact the conversation, or correct the context window in Settings → Providers."),
            request_tokens=overflow.request,
            window_size=overflow.limit,
        )

    def _refused_error(
        self,
        status: int,
        message: TranslatableText,
        headers: Mapping[str, str],
        model: str,
        *,
        is_streamed: bool = False,
    ) -> ModelRequestRejected:
        if status == HTTPStatus.UNAUTHORIZED:
            if self._key:
                what = _text("{provider} rejected the API key.", provider=self.provider)
                why = _text("The key is wrong, has expired, or was revoked.")
            else:
                what = _text("{provider} requires an API key.", provider=self.provider)
                why = _text("No key is saved for it.")
            return AuthenticationFailed(what, why, self._key_advice, details=message)
        if status == HTTPStatus.FORBIDDEN:
            what = _text("{provider} denied access.", provider=self.provider)
            if not is_about_key(message):
                fix = _text(
                    "Check your account with {provider}, the base URL and the network, "
                    "or choose another model.",
                    provider=self.provider,
                )
                return ModelRequestRejected(what, message, fix)
            why = message or _text("The API key may lack permission for this request.")
            fix = _text("Check the key's permissions, enter another key, or choose another model.")
            return ModelRequestRejected(what, why, fix, remedies=("enter_key", "choose_model"))
        if status == HTTPStatus.NOT_FOUND:
            what = (
                _text("Model {model} not found on {provider}.", model=model, provider=self.provider)
                if model
                else _text("{url} returned 404 (Not Found).", url=self.base_url)
            )
            fix = _text("Check the model's name and the base URL {url}: most end in /v1.", url=self.base_url)
            return ModelRequestRejected(what, message, fix, remedies=("choose_model", *_ADDRESS_REMEDIES))
        if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
            place = self.redact(headers.get("location", ""))
            return ModelRequestRejected(
                _text("{url} redirects to {place}.", url=self.base_url, place=place)
                if place
                else _text("{url} redirects to another address.", url=self.base_url),
                _text("API keys are never sent on to another address."),
                _text("Enter the new base URL in Settings → Providers."),
                remedies=_ADDRESS_REMEDIES,
            )
        what = (
            _text("{provider} rejected the request.", provider=self.provider)
            if is_streamed
            else _text(
                "{provider} rejected the request ({status}).",
                provider=self.provider,
                status=http_status_text(status),
            )
        )
        return ModelRequestRejected(
            what,
            message,
            _text("Correct what the server names, or choose another model.")
            if message
            else _text("Choose another model."),
        )


def _normalize_url(base_url: str, dialect: DialectName) -> str:
    """Normalize a base URL: users paste complete paths, or omit the version."""
    target = base_url.strip().rstrip("/")
    for path in _PATHS:
        target = target.removesuffix(path)
    version = DIALECTS[dialect].version
    return target + version if "://" in target and not _ENDS_IN_VERSION.search(target) else target


def _is_host(url: str, domain: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return host == domain or host.endswith(f".{domain}")
