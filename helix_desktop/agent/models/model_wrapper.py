"""A model around another one, which prepares or refuses its requests; one loads images from the store."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec

from helix_desktop.agent.ports.model import Model, wire_request
from helix_desktop.agent.ports.store import Store
from helix_desktop.domain.errors import StoreError
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


log = logging.getLogger(__name__)


class ImageLoadingModel(ModelWrapper):
    """A model whose requests are sent with the bytes of the images they name."""

    def __init__(self, model: Model, store: Store) -> None:
        super().__init__(model)
        self._store = store

    async def prepare(self, request: ModelRequest) -> ModelRequest:
        """Return the request with its images' bytes; for an unreadable one, its text marker has to do."""
        digests = {image.digest: image for message in request.messages for image in message.images}
        if not digests:
            return request
        image_data: dict[str, bytes] = {}
        for digest in digests:
            try:
                image_data[digest] = await self._store.get(digest)
            except StoreError as error:
                log.warning("An image is not sent: %s", error)
        return msgspec.structs.replace(request, image_data=image_data)
