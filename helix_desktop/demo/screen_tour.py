"""Screenshots of the screens that the guided demo itself does not show."""

from __future__ import annotations

import asyncio
from pathlib import Path

from helix_desktop.app.window_context import WindowContext
from helix_desktop.demo.screenshots import ScreenshotWriter
from helix_desktop.ui.settings.dialog import SettingsPage
from helix_desktop.ui.workspaces.window_controllers import WindowControllers

_SETTINGS_PAGES: tuple[SettingsPage, ...] = (
    "providers",
    "appearance",
    "policy",
    "permissions",
    "data",
    "about",
)
_NARROW, _LARGE = (720, 640), (1920, 1200)


class ScreenTour:
    """Goes through switcher, settings, sizes and a folder that vanished."""

    def __init__(
        self, window_context: WindowContext, controllers: WindowControllers, screenshots: ScreenshotWriter
    ) -> None:
        self._window_context, self._controllers, self._screenshots = window_context, controllers, screenshots

    async def capture_all(self, workspace_folder: str) -> None:
        """Capture them all; `workspace_folder`, that of the workspace on screen, is moved away at the end."""
        window = self._window_context.window
        window.switcher.open()
        await self._screenshots.capture("switcher")
        window.switcher.hide()
        self._controllers.navigation.show_request()
        await self._screenshots.capture("request")
        await self._capture_settings()
        original_size = window.size()
        for name, size in (("narrow", _NARROW), ("large", _LARGE)):
            window.resize(*size)
            await self._screenshots.capture(name)
        window.resize(original_size)
        await self._capture_missing_folder(Path(workspace_folder))

    async def _capture_settings(self) -> None:
        settings = self._controllers.settings
        for page in _SETTINGS_PAGES:
            await settings.show(page)
            await self._screenshots.capture(f"settings-{page}", widget=settings.dialog)
        settings.dialog.hide()

    async def _capture_missing_folder(self, folder: Path) -> None:
        workspace_id = self._controllers.active_workspace.id
        await asyncio.to_thread(folder.rename, folder.with_name("moved-away"))
        await self._controllers.workspace_controller.reopen(workspace_id)
        await self._screenshots.capture("missing-folder")
