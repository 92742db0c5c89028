"""Screenshots of the window, light and dark."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QWidget

from helix_desktop.app.window_context import WindowContext
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.cache.view import CacheBrowser
from helix_desktop.ui.design.style.stylesheet import ThemeMode
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.workspaces.window_controllers import WindowControllers

text = TextContext("Demo")

SETTLE_S = 0.35  # for what is drawn a moment later: highlighted code, table pages, coalesced numbers
_BOTH_MODES: tuple[ThemeMode, ...] = ("dark", "light")
ATTEMPTS = 40  # to see what is waited for


class PictureOptions(NamedTuple):
    """The window's size in pixels (None as it is at first), the modes, and the density of the screen."""

    size: tuple[int, int] | None = None
    modes: tuple[ThemeMode, ...] = _BOTH_MODES
    scale: int = 1


class ScreenshotWriter:
    """Saves screenshots into one folder; between them the window paints nothing, because nobody sees it."""

    def __init__(self, window_context: WindowContext, folder: Path, options: PictureOptions) -> None:
        self._window_context, self.folder, self.options = window_context, folder, options
        self.saved: list[Path] = []
        window_context.window.setUpdatesEnabled(False)

    async def capture(
        self, name: str, modes: tuple[ThemeMode, ...] = _BOTH_MODES, widget: QWidget | None = None
    ) -> None:
        """Save a screenshot of the window, or of `widget`, in each mode that is wanted. Raises HelixError."""
        appearance = self._window_context.appearance
        modes_in_use = tuple(mode for mode in modes if mode in self.options.modes)
        # The mode in force first: the other one has to restyle the whole window.
        for mode in sorted(modes_in_use, key=lambda mode: mode != appearance.mode):
            if appearance.mode != mode:
                appearance.set_mode(mode)
            self._paint(widget)
            await asyncio.sleep(SETTLE_S)
            path = self.folder / f"{name}-{mode}.png"
            if not self._paint(widget).save(str(path)):
                path.unlink(missing_ok=True)  # a picture that was cut off
                raise HelixError(
                    text("{path} can't be written.", path=path),
                    fix=text("Free up disk space, or choose another folder."),
                )
            self.saved.append(path)

    async def wait_until(self, is_true: Callable[[], bool]) -> None:
        """Wait as `wait_until` does, for what the window asks for when it is painted: rows of the cache."""

        def is_painted() -> bool:
            self._paint()
            return is_true()

        await wait_until(is_painted)

    def _paint(self, widget: QWidget | None = None) -> QPixmap:
        """Return a picture of the window, or of `widget`."""
        window = self._window_context.window
        window.setUpdatesEnabled(True)
        try:
            return (widget or window).grab()
        finally:
            window.setUpdatesEnabled(False)


async def wait_until(is_true: Callable[[], bool]) -> None:
    """Wait until `is_true` returns True, but not for ever: a picture of less is better than none."""
    for _ in range(ATTEMPTS):
        if is_true():
            return
        await asyncio.sleep(SETTLE_S)


def is_page_read(controllers: WindowControllers, page: str) -> bool:
    """Return whether a page shows what it reads: the cache's rows, the selected file's diff, the timeline."""
    session, views = controllers.session_controller, controllers.session_controller.views
    match page:
        case "cache":
            return _are_rows_read(views.cache)
        case "changes":
            return views.changes.detail.has_diff
        case "timeline":
            return not session.timeline.is_reading
    return True


def _are_rows_read(cache: CacheBrowser) -> bool:
    """Return whether every row in sight has arrived."""
    pages, table = cache.model.pages, cache.table
    bottom = table.rowAt(table.viewport().height() - 1)
    rows = range(max(0, table.rowAt(0)), bottom + 1 if bottom >= 0 else len(pages))
    return len(pages) > 0 and all(map(pages.is_loaded, rows))


async def show_timeline(window: MainWindow, controllers: WindowControllers) -> None:
    """Show the timeline, and wait until it has read what happened last."""
    window.show_page("timeline")
    await asyncio.sleep(SETTLE_S)
    await wait_until(lambda: is_page_read(controllers, "timeline"))
