"""Pictures of the screens that the guided demo itself does not pass by."""

from __future__ import annotations

import asyncio
from pathlib import Path

from helix_desktop.app.album import Album
from helix_desktop.app.front import Front
from helix_desktop.app.running import Opened
from helix_desktop.ui.settings.dialog import SettingsPage

_PAGES: tuple[SettingsPage, ...] = ("providers", "appearance", "policy", "permissions", "data", "about")
_NARROW, _LARGE = (720, 640), (1920, 1200)


class Sights:
    """Goes through switcher, settings, sizes and a folder that vanished."""

    def __init__(self, front: Front, opened: Opened, album: Album) -> None:
        self._front, self._opened, self._album = front, opened, album

    async def take_all(self, workspace: str) -> None:
        """Take them all; the folder of `workspace`, the one on screen, is moved away at the end."""
        window = self._front.window
        window.switcher.open()
        await self._album.take("switcher")
        window.switcher.hide()
        self._opened.shell.history.show_request()
        await self._album.take("request")
        await self._settings()
        first = window.size()
        for name, size in (("narrow", _NARROW), ("large", _LARGE)):
            window.resize(*size)
            await self._album.take(name)
        window.resize(first)
        await self._missing(Path(workspace))

    async def _settings(self) -> None:
        settings = self._opened.settings
        for page in _PAGES:
            await settings.show(page)
            await self._album.take(f"settings-{page}", of=settings.dialog)
        settings.dialog.hide()

    async def _missing(self, folder: Path) -> None:
        identity = self._opened.shell.active
        await asyncio.to_thread(folder.rename, folder.with_name("moved-away"))
        await self._opened.shell.reopen(identity)
        await self._album.take("missing-folder")
