"""Thumbnails of stored images, decoded off the UI thread."""

from __future__ import annotations

import asyncio

from PySide6.QtGui import QImage

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.errors import HelixError
from helix_desktop.ui.design.viewer.picture import read_thumbnail


async def stored_thumbnail(workspace: OpenWorkspace, digest: str) -> QImage | None:
    """Return the thumbnail of an image in a workspace's cache; None if it is missing or damaged."""
    try:
        data = await workspace.store.get(digest)
    except HelixError:
        return None
    return await asyncio.to_thread(read_thumbnail, data)
