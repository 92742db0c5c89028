"""A provider's server: its address, its key, its headers, and what must be redacted of them."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from types import MappingProxyType
from urllib.parse import urlsplit

from helix_desktop import __version__
from helix_desktop.domain.choices import Remedy
from helix_desktop.domain.dialects import DIALECTS, DialectName
from helix_desktop.domain.errors import ModelRequestRejected
from helix_desktop.domain.private_details import MIN_SECRET_LENGTH
from helix_desktop.domain.request_extras import header_fault
from helix_desktop.domain.translatable_text import TextContext, TranslatableText, verbatim
from helix_desktop.providers.http import HttpClient, HttpResponse

_text = TextContext("Providers")

KEY_ADVICE = _text("Enter a valid API key in Settings → Providers.")
"""Default advice for a key that is rejected or missing."""

HEADER_ADVICE = _text("Set the environment variable that holds its value.")
"""Default advice for a secret header whose value is missing or invalid."""

ADDRESS_REMEDIES: tuple[Remedy, ...] = ("provider_settings",)

_AZURE = "azure.com"
_AZURE_KEY_HEADER = "api-key"  # a bearer token is something else there
_PATHS = ("/chat/completions", "/responses", "/messages")
_ENDS_IN_VERSION = re.compile(r"/v\d+(beta\d*)?$")


class Endpoint:
    """One provider's server with one dialect. `send` raises HttpError.

    `base_url` is for display: without the name, password and query that an address may contain. The query
    is sent with every request. `key_advice` says where to enter the right key. `headers` go along with every
    request, and so do `secret_headers`, whose values no text contains; one without a value is missing, and
    `header_advice` says of a name where to enter it.
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
        self.provider = provider
        self.key_advice = key_advice
        self.dialect: DialectName = dialect
        address, _, self._query = base_url.strip().partition("?")
        self._url_prefix = _normalize_url(address, dialect)
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
                self.key_advice,
            )
        for name, value in self._secret_headers.items():
            self._require_header(name, value)
        secrets = {name.lower(): value for name, value in self._secret_headers.items()}
        headers = self._own_headers() | self._headers | secrets | self._credentials()
        return self._http.send(method, self._url_prefix + self._with_query(path), headers, body, on_sent)

    def _with_query(self, path: str) -> str:
        """Return a path with the query of the base URL, as `?api-version=…` of Azure, beside its own."""
        if not self._query:
            return path
        separator = "&" if "?" in path else "?"
        return f"{path}{separator}{self._query}"

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
                remedies=ADDRESS_REMEDIES,
            )
        if header_fault(name, value):
            raise ModelRequestRejected(
                _text(
                    "The secret header {name} of {provider} is invalid.", name=name, provider=self.provider
                ),
                _text("Its value has characters that headers can't have."),
                self._header_advice(name),
                remedies=ADDRESS_REMEDIES,
            )

    def _credentials(self) -> dict[str, str]:
        """Return the headers with the key, and the version of the dialect if it has one."""
        bearer = {"authorization": f"Bearer {self._key}"} if self._key else {}
        traits = DIALECTS[self.dialect]
        if self._key and not traits.key_header and _is_host(self._url_prefix, _AZURE):
            return {**traits.headers, _AZURE_KEY_HEADER: self._key}
        if not (self._key and traits.key_header):
            return {**traits.headers, **bearer}
        is_maker = _is_host(self._url_prefix, traits.host)  # which accepts only one header with a key
        return {**traits.headers, traits.key_header: self._key, **({} if is_maker else bearer)}

    def redact(self, text: str) -> str:
        """Remove the key, secret headers, and an address's name and password, from a text."""
        headers = [(value, f"[{name}]") for name, value in self._secret_headers.items()]
        for secret, mark in ((self._key, "[key]"), (self._login, "[login]"), *headers):
            text = text.replace(secret, mark) if len(secret) >= MIN_SECRET_LENGTH else text
        return text

    def redact_text(self, text: TranslatableText) -> TranslatableText:
        redacted = self.redact(text)
        return text if redacted == text else verbatim(redacted)


def _normalize_url(address: str, dialect: DialectName) -> str:
    """Normalize a base URL without its query: users paste complete paths, or omit the version."""
    target = address.rstrip("/")
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
