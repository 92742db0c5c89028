"""Image loading: requests name images by digest, and their bytes come from the store."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec

from helix_desktop.agent.ports.model import Model, wire_request
from helix_desktop.agent.ports.store import Store
from helix_desktop.domain.errors import StoreError
from helix_desktop.domain.messages import ModelInfo, ModelRequest, StreamItem
from helix_desktop.domain.wire_request import WireRequest

log = logging.getLogger(__name__)


class ImageLoadingModel:
    """A model whose requests are sent with the bytes of the images they name."""

    def __init__(self, model: Model, store: Store) -> None:
        self._model, self._store = model, store

    @property
    def info(self) -> ModelInfo:
        """The model's name, window and prices."""
        return self._model.info

    def wire_request(self, request: ModelRequest) -> WireRequest | None:
        """Return a request as it would be sent; None if the model has no server."""
        return wire_request(self._model, request)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """Stream the model's answer. Raises ModelError."""
        async with aclosing(self._model.stream(await self._with_images(request))) as items:
            async for item in items:
                yield item

    async def _with_images(self, request: ModelRequest) -> ModelRequest:
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
