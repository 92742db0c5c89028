"""The OpenAI Chat Completions dialect, with any base URL: what most servers offer."""

from __future__ import annotations

from helix_desktop.domain.messages import ModelInfo, ModelRequest
from helix_desktop.providers.dialect import VARIANT_ERROR_STATUSES, NewId
from helix_desktop.providers.openai_chat.request import request_body
from helix_desktop.providers.openai_chat.response import ChatAssembler
from helix_desktop.providers.openai_chat.variants import DEFAULT_VARIANT, variant_for_error


class ChatDialect:
    """Chat Completions as one server accepts it: `variant` is the one it has accepted."""

    path = "/chat/completions"

    def __init__(self, info: ModelInfo, new_id: NewId) -> None:
        self.info, self.new_id = info, new_id
        self.variant = DEFAULT_VARIANT

    def exchange(self, request: ModelRequest) -> ChatExchange:
        """Prepare one request."""
        return ChatExchange(self, request)


class ChatExchange:
    """One request in Chat Completions."""

    def __init__(self, dialect: ChatDialect, request: ModelRequest) -> None:
        self._dialect, self._request = dialect, request
        self._variant = dialect.variant

    def body(self) -> bytes:
        """Return the request as JSON."""
        return request_body(self._dialect.info, self._request, self._variant)

    def new_assembler(self) -> ChatAssembler:
        """Return an assembler for the answer."""
        return ChatAssembler(self._dialect.info.provider, self._dialect.new_id, self._dialect.info.name)

    def adapt_to_error(self, status: int, error_text: str) -> bool:
        """Switch to the variant that an error text asks for; return True if there is one."""
        variant = variant_for_error(self._variant, error_text) if status in VARIANT_ERROR_STATUSES else None
        if variant is None:
            return False
        self._variant = self._dialect.variant = variant
        return True
