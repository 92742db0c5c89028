"""What a dialect has to say so that `streaming.StreamedModel` can speak it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Literal, Protocol

from helix_desktop.domain.messages import ModelRequest, ModelResponse, ReasoningDelta, TextDelta

DialectName = Literal["openai-chat", "openai-responses", "anthropic"]

VARIANT_ERROR_STATUSES = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY})
"""Statuses by which servers refuse what a request is made of, where another form of it may do."""

NewId = Callable[[], str]
"""Makes the id of a tool call whose server gave none."""

AnswerDelta = TextDelta | ReasoningDelta
"""What a reader is shown while an answer arrives."""


class StreamedError(Exception):
    """A server sent an error where a piece of the answer should be; `body` holds its words."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(body)
        self.status, self.body = status, body


class AnswerAssembler(Protocol):
    """Folds the pieces of one answer.

    `progress` grows with every piece that carries something, not when a server only keeps the line open.
    `done` is set when the server has sent its end marker.
    """

    progress: int
    done: bool

    @property
    def is_complete(self) -> bool:
        """Whether the server has said that the answer is at its end."""
        ...

    @property
    def is_settled(self) -> bool:
        """Whether nothing of interest is still to come."""
        ...

    def add(self, chunk: Mapping[str, Any]) -> list[AnswerDelta]:
        """Take one piece in; gives what it adds for a reader. Raises ErrorSent."""
        ...

    def add_full_response(self, response: Mapping[str, Any]) -> list[AnswerDelta]:
        """Take in an answer that was not streamed. Raises ErrorSent."""
        ...

    def answer(self) -> ModelResponse:
        """The whole answer. Raises ModelNonsense when it is none, ModelRefused, ModelOverflow."""
        ...


class Exchange(Protocol):
    """One request in a dialect's words, for as many attempts as it takes."""

    def body(self) -> bytes:
        """The request as JSON, as it is to be sent now."""
        ...

    def new_assembler(self) -> AnswerAssembler:
        """What takes in the answer to the body made last."""
        ...

    def adapt_to_error(self, status: int, error_text: str) -> bool:
        """Learn from a refusal; whether the body is another one now, worth sending at once."""
        ...


class Dialect(Protocol):
    """One way of speaking to a model; what it learns of its server holds for all later requests."""

    @property
    def path(self) -> str:
        """Where requests go, below the base URL."""
        ...

    def exchange(self, request: ModelRequest) -> Exchange:
        """Prepare one request."""
        ...


def new_call_id() -> str:
    """An id for a tool call whose server gave none."""
    return f"call_{uuid.uuid4().hex[:24]}"
