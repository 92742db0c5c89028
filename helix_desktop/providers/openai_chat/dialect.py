"""The OpenAI Chat Completions dialect, with any base URL: what most servers offer."""

from __future__ import annotations

from helix_desktop.domain.messages import ModelInfo, ModelRequest
from helix_desktop.providers.cache_fields import CacheFields
from helix_desktop.providers.dialect import VARIANT_ERROR_STATUSES, NewId
from helix_desktop.providers.openai_chat.request import request_body
from helix_desktop.providers.openai_chat.response import ChatAssembler
from helix_desktop.providers.openai_chat.variants import DEFAULT_VARIANT, variant_for_error


class ChatDialect:
    """Chat Completions as one server accepts it: `variant` is the one it has accepted.

    `refused_cache_fields` are fields for its cache that it does not know.
    """

    path = "/chat/completions"

    def __init__(self, info: ModelInfo, new_id: NewId) -> None:
        self.info, self.new_id = info, new_id
        self.variant = DEFAULT_VARIANT
        self.refused_cache_fields: set[str] = set()

    def exchange(self, request: ModelRequest) -> ChatExchange:
        """Prepare one request."""
        return ChatExchange(self, request)


class ChatExchange:
    """One request in Chat Completions."""

    def __init__(self, dialect: ChatDialect, request: ModelRequest) -> None:
        self._dialect, self._request = dialect, request
        self._variant = dialect.variant
        self._cache = CacheFields(dialect.info, request.cache, dialect.refused_cache_fields)

    def body(self) -> bytes:
        """Return the request as JSON."""
        return request_body(self._dialect.info, self._request, self._variant, self._cache)

    def new_assembler(self) -> ChatAssembler:
        """Return an assembler for the answer."""
        info = self._dialect.info
        return ChatAssembler(info.provider, self._dialect.new_id, info.name, self._cache.lifetime_s)

    def adapt_to_error(self, status: int, error_text: str) -> bool:
        """Leave out a refused field, or switch to the variant that an error asks for; True if changed."""
        if status in VARIANT_ERROR_STATUSES and self._cache.learn(error_text.lower()):
            return True
        variant = variant_for_error(self._variant, error_text) if status in VARIANT_ERROR_STATUSES else None
        if variant is None:
            return False
        self._variant = self._dialect.variant = variant
        return True
