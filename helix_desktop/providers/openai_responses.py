"""OpenAI Responses: OpenAI's own, and compatible servers. Nothing is stored there."""

from __future__ import annotations

import re
from http import HTTPStatus

from helix_desktop.context.message import ModelInfo, Request
from helix_desktop.providers.dialect import REFUSES_FORM, NewId
from helix_desktop.providers.openai_responses_answer import Assembly
from helix_desktop.providers.openai_responses_request import has_reasoning, request_body

_NOT_KNOWN = ("not supported", "unsupported")
_INCLUDE = re.compile(r"\binclude\b")
_ABOUT_REASONING = ("reasoning", "encrypted", "rs_")


class ResponsesDialect:
    """OpenAI Responses as one server takes it; `includes`: it can be asked for encrypted reasoning."""

    path = "/responses"

    def __init__(self, info: ModelInfo, new_id: NewId) -> None:
        self.info, self.new_id = info, new_id
        self.includes = True

    def exchange(self, request: Request) -> ResponsesExchange:
        """Prepare one request."""
        return ResponsesExchange(self, request)


class ResponsesExchange:
    """One request in OpenAI Responses."""

    def __init__(self, dialect: ResponsesDialect, request: Request) -> None:
        self._dialect, self._request = dialect, request
        self._includes = dialect.includes
        self._reasoning = True

    def body(self) -> bytes:
        """The request as JSON."""
        return request_body(
            self._dialect.info, self._request, include=self._includes, reasoning=self._reasoning
        )

    def assembly(self) -> Assembly:
        """What takes in the answer."""
        return Assembly(self._dialect.info.provider, self._dialect.info.name, self._dialect.new_id)

    def adapt(self, status: int, words: str) -> bool:
        """Keep back reasoning that is refused, or do not ask for it where the model has none."""
        low = words.lower()
        if status not in REFUSES_FORM | {HTTPStatus.NOT_FOUND}:
            return False
        about_reasoning = any(word in low for word in _ABOUT_REASONING)
        unknown = about_reasoning and any(word in low for word in _NOT_KNOWN)
        if self._includes and (unknown or _INCLUDE.search(low)):
            self._includes = self._dialect.includes = False
            return True
        if about_reasoning and self._reasoning and has_reasoning(self._request, self._dialect.info):
            self._reasoning = False
            return True
        return False
