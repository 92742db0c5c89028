"""Screenshots of the window, light and dark."""

from __future__ import annotations

import asyncio
from pathlib import Path

from PySide6.QtWidgets import QWidget

from helix_desktop.app.window_context import WindowContext
from helix_desktop.domain.errors import HelixError
from helix_desktop.ui.design.style.stylesheet import ThemeMode

_SETTLE_S = 0.35  # for what is drawn a moment later: highlighted code, table pages, coalesced numbers
_BOTH_MODES: tuple[ThemeMode, ...] = ("dark", "light")


class ScreenshotWriter:
    """Saves screenshots into one folder."""

    def __init__(self, window_context: WindowContext, folder: Path) -> None:
        self._window_context, self.folder = window_context, folder
        self.saved: list[Path] = []

    async def capture(
        self, name: str, modes: tuple[ThemeMode, ...] = _BOTH_MODES, widget: QWidget | None = None
    ) -> None:
        """Save a screenshot of the window, or of `widget`, in each mode. Raises HelixError."""
        appearance = self._window_context.appearance
        # The mode in force first: to restyle the whole window takes a third of a second.
        for mode in sorted(modes, key=lambda mode: mode != appearance.mode):
            if appearance.mode != mode:
                appearance.set_mode(mode)
            await asyncio.sleep(_SETTLE_S)
            path = self.folder / f"{name}-{mode}.png"
            if not (widget or self._window_context.window).grab().save(str(path)):
                raise HelixError(f"{path} could not be written.", fix="Make room, or choose another folder.")
            self.saved.append(path)
