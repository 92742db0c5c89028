"""The interface of a dialect, as `streaming.StreamedModel` uses it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Protocol

from helix_desktop.domain.messages import ModelRequest, ModelResponse, ReasoningDelta, TextDelta
from helix_desktop.providers.request_effort import RequestEffort

VARIANT_ERROR_STATUSES = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY})
"""Statuses by which servers refuse the form of a request; another variant may succeed."""

NewId = Callable[[], str]
"""Creates the id of a tool call whose server sent none."""

AnswerDelta = TextDelta | ReasoningDelta
"""A part of an answer, displayed while it arrives."""


class StreamedError(Exception):
    """A server sent an error inside a stream; `body` holds its text."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(body)
        self.status, self.body = status, body


class AnswerAssembler(Protocol):
    """Assembles the chunks of one answer.

    `progress` grows with every chunk that has content, not when a server only keeps the connection open.
    `done` is set when the server has sent its end marker.
    """

    progress: int
    done: bool

    @property
    def is_complete(self) -> bool:
        """True once the server has reported the end of the answer."""
        ...

    @property
    def is_settled(self) -> bool:
        """True once nothing of interest is still to come."""
        ...

    def add(self, chunk: Mapping[str, Any]) -> list[AnswerDelta]:
        """Add one chunk; return the deltas to display. Raises StreamedError, or HttpError if it broke off."""
        ...

    def add_full_response(self, response: Mapping[str, Any]) -> list[AnswerDelta]:
        """Add a response that was not streamed. Raises StreamedError."""
        ...

    def answer(self) -> ModelResponse:
        """Return the answer. Raises InvalidModelResponse, ModelRequestRejected, ContextWindowExceeded."""
        ...


class Exchange(Protocol):
    """One request in a dialect, for all its attempts; `effort` is the level that it asks for."""

    effort: RequestEffort

    def body(self) -> bytes:
        """Return the request as JSON, in its current variant."""
        ...

    def new_assembler(self) -> AnswerAssembler:
        """Return an assembler for the answer to the last body."""
        ...

    def adapt_to_error(self, status: int, error_text: str) -> bool:
        """Adapt to an error; return True if the body has changed and is worth sending at once."""
        ...


class Dialect(Protocol):
    """One API of model servers; what it learns about its server applies to all later requests."""

    @property
    def path(self) -> str:
        """The path of requests below the base URL."""
        ...

    def exchange(self, request: ModelRequest) -> Exchange:
        """Prepare one request."""
        ...


def new_call_id() -> str:
    """Create an id for a tool call whose server sent none."""
    return f"call_{uuid.uuid4().hex[:24]}"
