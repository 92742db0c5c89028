"""A model around another one, which prepares or refuses its requests."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from helix_desktop.agent.ports.model import Model, wire_request
from helix_desktop.domain.messages import ModelInfo, ModelRequest, StreamItem, WireRequest


class ModelWrapper:
    """A model whose requests `prepare` sees before the wrapped one gets them."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def info(self) -> ModelInfo:
        """The model's name, window and prices."""
        return self._model.info

    def wire_request(self, request: ModelRequest) -> WireRequest | None:
        """Return a request as it would be sent; None if the model has no server."""
        return wire_request(self._model, request)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """Stream the model's answer. Raises ModelError, and what `prepare` raises."""
        async with aclosing(self._model.stream(await self.prepare(request))) as items:
            async for item in items:
                yield item

    async def prepare(self, request: ModelRequest) -> ModelRequest:
        """Return the request to send in place of this one."""
        raise NotImplementedError
