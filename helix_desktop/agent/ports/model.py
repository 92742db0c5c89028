"""Ports: a language model, and the counting of tokens."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol, runtime_checkable

from helix_desktop.domain.messages import ModelInfo, ModelRequest, StreamItem, WireRequest


class Model(Protocol):
    """A language model."""

    @property
    def info(self) -> ModelInfo:
        """The model's name, window and prices."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """Call the model; yield deltas as they arrive and a `ModelResponse` last.

        Raises ModelError. Closing the generator or canceling the task ends the call.
        """
        ...


@runtime_checkable
class WireEncoder(Protocol):
    """A model behind a server, whose requests can be read before they are sent."""

    def wire_request(self, request: ModelRequest) -> WireRequest | None:
        """Return a request as it would be sent; None if this model has no server."""
        ...


def wire_request(model: Model, request: ModelRequest) -> WireRequest | None:
    """Return a request as a model would send it; None if it has no server."""
    return model.wire_request(request) if isinstance(model, WireEncoder) else None


class TokenCounter(Protocol):
    """A token counter."""

    async def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, counted off the calling thread."""
        ...
