"""The OpenAI Chat Completions dialect, with any base URL: what most servers offer."""

from __future__ import annotations

import re

from helix_desktop.domain.messages import ModelInfo, ModelRequest
from helix_desktop.providers.cache_fields import CacheFields
from helix_desktop.providers.dialect import VARIANT_ERROR_STATUSES, NewId
from helix_desktop.providers.openai_chat.request import request_body
from helix_desktop.providers.openai_chat.response import ChatAssembler
from helix_desktop.providers.openai_chat.variants import DEFAULT_VARIANT, variant_for_error
from helix_desktop.providers.request_effort import RequestEffort

_EFFORT_REFUSED = re.compile(
    r"reasoning[ _.]?effort|thinking[ _](level|budget|mode)|not support (thinking|reasoning)|thinking is not"
    r"|reasoning (value|is (mandatory|required|not))|level \S+ not supported"
)
"""How errors name it: OpenAI, Mistral, Groq; xAI ("reasoningEffort"); Gemini; Ollama; OpenRouter."""


class ChatDialect:
    """Chat Completions as one server accepts it: `variant` is the one it has accepted.

    That is learned from refusals, never from the server's name. `refused_cache_fields` are fields for its
    cache that it does not know, `effort_refusals` what it said against levels of effort.
    """

    path = "/chat/completions"

    def __init__(self, info: ModelInfo, new_id: NewId) -> None:
        self.info, self.new_id = info, new_id
        self.variant = DEFAULT_VARIANT
        self.refused_cache_fields: set[str] = set()
        self.effort_refusals: dict[str, str] = {}

    def exchange(self, request: ModelRequest) -> ChatExchange:
        """Prepare one request."""
        return ChatExchange(self, request)


class ChatExchange:
    """One request in Chat Completions."""

    def __init__(self, dialect: ChatDialect, request: ModelRequest) -> None:
        self._dialect, self._request = dialect, request
        self._variant = dialect.variant
        self._cache = CacheFields(dialect.info, request.cache, dialect.refused_cache_fields)
        self.effort = RequestEffort(request.effort, dialect.effort_refusals)

    def body(self) -> bytes:
        """Return the request as JSON."""
        return request_body(self._dialect.info, self._request, self._variant, self._cache, self.effort.level)

    def new_assembler(self) -> ChatAssembler:
        """Return an assembler for the answer."""
        info = self._dialect.info
        tools = frozenset(tool.name for tool in self._request.tools)
        return ChatAssembler(info.provider, self._dialect.new_id, info.name, self._cache.lifetime_s, tools)

    def adapt_to_error(self, status: int, error_text: str) -> bool:
        """Leave out a refused field, or switch to the variant that an error asks for; True if changed."""
        if status not in VARIANT_ERROR_STATUSES:
            return False
        if self._cache.learn(error_text.lower()) or self.effort.learn(error_text, _EFFORT_REFUSED):
            return True
        variant = variant_for_error(self._variant, error_text)
        if variant is None:
            return False
        self._variant = self._dialect.variant = variant
        return True
