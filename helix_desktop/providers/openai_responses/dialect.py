"""The OpenAI Responses dialect: OpenAI's own server and compatible ones. Nothing is stored there."""

from __future__ import annotations

import re
from http import HTTPStatus

from helix_desktop.domain.messages import ModelInfo, ModelRequest
from helix_desktop.providers.cache_fields import CacheFields
from helix_desktop.providers.dialect import VARIANT_ERROR_STATUSES, NewId
from helix_desktop.providers.openai_responses.request import has_reasoning, request_body
from helix_desktop.providers.openai_responses.response import ResponsesAssembler
from helix_desktop.providers.request_effort import RequestEffort

_UNSUPPORTED_WORDS = ("not supported", "unsupported")
_INCLUDE = re.compile(r"\binclude\b")
_REASONING_WORDS = ("reasoning", "encrypted", "rs_")
_EFFORT_REFUSED = re.compile(r"reasoning[ _.]?effort|(unknown|unsupported)[^.]*\breasoning['\"`]")


class ResponsesDialect:
    """OpenAI Responses as one server accepts it; `supports_encrypted_reasoning`: it can be requested.

    `refused_cache_fields` are fields for its cache that it does not know, `effort_refusals` what it said
    against levels of effort.
    """

    path = "/responses"

    def __init__(self, info: ModelInfo, new_id: NewId) -> None:
        self.info, self.new_id = info, new_id
        self.supports_encrypted_reasoning = True
        self.refused_cache_fields: set[str] = set()
        self.effort_refusals: dict[str, str] = {}

    def exchange(self, request: ModelRequest) -> ResponsesExchange:
        """Prepare one request."""
        return ResponsesExchange(self, request)


class ResponsesExchange:
    """One request in OpenAI Responses."""

    def __init__(self, dialect: ResponsesDialect, request: ModelRequest) -> None:
        self._dialect, self._request = dialect, request
        self._include_encrypted = dialect.supports_encrypted_reasoning
        self._send_reasoning = True
        self._cache = CacheFields(dialect.info, request.cache, dialect.refused_cache_fields)
        self.effort = RequestEffort(request.effort, dialect.effort_refusals)

    def body(self) -> bytes:
        """Return the request as JSON."""
        return request_body(
            self._dialect.info,
            self._request,
            include_encrypted=self._include_encrypted,
            send_reasoning=self._send_reasoning,
            cache=self._cache,
            effort=self.effort.level,
        )

    def new_assembler(self) -> ResponsesAssembler:
        """Return an assembler for the answer."""
        info = self._dialect.info
        return ResponsesAssembler(info.provider, info.name, self._dialect.new_id, self._cache.lifetime_s)

    def adapt_to_error(self, status: int, error_text: str) -> bool:
        """Leave out refused fields or reasoning, or stop requesting it if there is none; True if changed."""
        low = error_text.lower()
        if status not in VARIANT_ERROR_STATUSES | {HTTPStatus.NOT_FOUND}:
            return False
        if self._cache.learn(low) or self.effort.learn(error_text, _EFFORT_REFUSED):
            return True
        about_reasoning = any(word in low for word in _REASONING_WORDS)
        unknown = about_reasoning and any(word in low for word in _UNSUPPORTED_WORDS)
        if self._include_encrypted and (unknown or _INCLUDE.search(low)):
            self._include_encrypted = self._dialect.supports_encrypted_reasoning = False
            return True
        if about_reasoning and self._send_reasoning and has_reasoning(self._request, self._dialect.info):
            self._send_reasoning = False
            return True
        return False
