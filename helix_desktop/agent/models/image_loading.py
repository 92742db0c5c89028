"""Image loading: requests name images by digest, and their bytes come from the store."""

from __future__ import annotations

import logging

import msgspec

from helix_desktop.agent.models.model_wrapper import ModelWrapper
from helix_desktop.agent.ports.model import Model
from helix_desktop.agent.ports.store import Store
from helix_desktop.domain.errors import StoreError
from helix_desktop.domain.messages import ModelRequest

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
