"""Models behind OpenAI Chat Completions, with any base URL: what most servers speak."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from helix_desktop.context.message import ModelInfo, Request
from helix_desktop.providers.dialect import new_call_id
from helix_desktop.providers.endpoint import Endpoint
from helix_desktop.providers.http import Http
from helix_desktop.providers.openai_chat_answer import Assembly
from helix_desktop.providers.openai_chat_form import USUAL, another_form
from helix_desktop.providers.openai_chat_request import request_body
from helix_desktop.providers.retry import Retries
from helix_desktop.providers.streaming import STALL_S, StreamedModel

_REFUSES_FORM = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY})


class OpenAIChat(StreamedModel):
    """A model behind OpenAI Chat Completions; implements the agent's `Model`.

    `key` may be empty: local servers want none. `http` is closed by who made it.
    """

    def __init__(
        self,
        info: ModelInfo,
        base_url: str,
        key: str = "",
        *,
        http: Http,
        retries: Retries | None = None,
        new_id: Callable[[], str] = new_call_id,
        stall_s: float = STALL_S,
    ) -> None:
        endpoint = Endpoint(info.provider, base_url, key, http)
        super().__init__(info, endpoint, ChatDialect(info, new_id), retries, stall_s)


class ChatDialect:
    """Chat Completions as one server takes it: `form` is what it was found to take."""

    path = "/chat/completions"

    def __init__(self, info: ModelInfo, new_id: Callable[[], str]) -> None:
        self.info, self.new_id = info, new_id
        self.form = USUAL

    def exchange(self, request: Request) -> ChatExchange:
        """Prepare one request."""
        return ChatExchange(self, request)


class ChatExchange:
    """One request in Chat Completions."""

    def __init__(self, dialect: ChatDialect, request: Request) -> None:
        self._dialect, self._request = dialect, request
        self._form = dialect.form

    def body(self) -> bytes:
        """The request as JSON."""
        return request_body(self._dialect.info, self._request, self._form)

    def assembly(self) -> Assembly:
        """What takes in the answer."""
        return Assembly(self._dialect.info.provider, self._dialect.new_id, self._dialect.info.name)

    def adapt(self, status: int, words: str) -> bool:
        """Take the form that the server's words ask for, if there is one."""
        found = another_form(self._form, words) if status in _REFUSES_FORM else None
        if found is None:
            return False
        self._form = self._dialect.form = found
        return True
