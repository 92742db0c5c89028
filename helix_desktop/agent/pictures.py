"""Images on their way to a model: a request names them by digest, their bytes come from the store."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec

from helix_desktop.agent.ports import Model, Store
from helix_desktop.context.errors import StoreError
from helix_desktop.context.message import Arrival, ModelInfo, Request

log = logging.getLogger(__name__)


class Pictured:
    """A model that is sent the bytes of the images its requests name."""

    def __init__(self, model: Model, store: Store) -> None:
        self._model, self._store = model, store

    @property
    def info(self) -> ModelInfo:
        """The model's name and room."""
        return self._model.info

    async def stream(self, request: Request) -> AsyncGenerator[Arrival, None]:
        """What the model streams. Raises ModelError."""
        async with aclosing(self._model.stream(await self._filled(request))) as arrivals:
            async for arrival in arrivals:
                yield arrival

    async def _filled(self, request: Request) -> Request:
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
        return msgspec.structs.replace(request, pictures=pictures)
