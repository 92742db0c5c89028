"""OpenAI Chat Completions, with any base URL: what most servers speak."""

from __future__ import annotations

from helix_desktop.context.message import ModelInfo, Request
from helix_desktop.providers.dialect import REFUSES_FORM, NewId
from helix_desktop.providers.openai_chat_answer import Assembly
from helix_desktop.providers.openai_chat_form import USUAL, another_form
from helix_desktop.providers.openai_chat_request import request_body


class ChatDialect:
    """Chat Completions as one server takes it: `form` is what it was found to take."""

    path = "/chat/completions"

    def __init__(self, info: ModelInfo, new_id: NewId) -> None:
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
        found = another_form(self._form, words) if status in REFUSES_FORM else None
        if found is None:
            return False
        self._form = self._dialect.form = found
        return True
