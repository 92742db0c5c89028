"""Images on their way to a model: a request names them by digest, their bytes come from the store."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec

from helix_desktop.agent.ports import Model, Store
from helix_desktop.domain.errors import StoreError
from helix_desktop.domain.messages import ModelInfo, ModelRequest, StreamItem

log = logging.getLogger(__name__)


class ImageLoadingModel:
    """A model that is sent the bytes of the images its requests name."""

    def __init__(self, model: Model, store: Store) -> None:
        self._model, self._store = model, store

    @property
    def info(self) -> ModelInfo:
        """The model's name and room."""
        return self._model.info

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """What the model streams. Raises ModelError."""
        async with aclosing(self._model.stream(await self._with_images(request))) as arrivals:
            async for arrival in arrivals:
                yield arrival

    async def _with_images(self, request: ModelRequest) -> ModelRequest:
        """The request with its images' bytes; one that cannot be read is left to the text that names it."""
        wanted = {one.digest: one for message in request.messages for one in message.images}
        if not wanted:
            return request
        pictures: dict[str, bytes] = {}
        for digest in wanted:
            try:
                pictures[digest] = await self._store.get(digest)
            except StoreError as error:
                log.warning("An image is not sent: %s", error)
        return msgspec.structs.replace(request, image_data=pictures)
