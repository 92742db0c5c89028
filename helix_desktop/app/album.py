"""Pictures of the window, light and dark."""

from __future__ import annotations

import asyncio
from pathlib import Path

from PySide6.QtWidgets import QWidget

from helix_desktop.app.front import Front
from helix_desktop.context.errors import HelixError
from helix_desktop.ui.style import Mode

_SETTLE_S = 0.35  # for what is drawn a moment later: highlighted code, table pages, coalesced numbers
_BOTH: tuple[Mode, ...] = ("dark", "light")


class Album:
    """Saves pictures into one folder."""

    def __init__(self, front: Front, folder: Path) -> None:
        self._front, self.folder = front, folder
        self.saved: list[Path] = []

    async def take(self, name: str, modes: tuple[Mode, ...] = _BOTH, of: QWidget | None = None) -> None:
        """Save a picture of the window, or of another one, in each mode. Raises HelixError."""
        for mode in modes:
            if self._front.appearance.mode != mode:
                self._front.appearance.set_mode(mode)
            await asyncio.sleep(_SETTLE_S)
            place = self.folder / f"{name}-{mode}.png"
            if not (of or self._front.window).grab().save(str(place)):
                raise HelixError(f"{place} could not be written.", fix="Make room, or choose another folder.")
            self.saved.append(place)
