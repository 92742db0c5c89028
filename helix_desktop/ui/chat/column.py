"""The column of text in the middle of the viewport."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from helix_desktop.ui.chat.look import COLUMN, MARGIN
from helix_desktop.ui.chat.sheets import Sheets


class Column:
    """At most 760 px wide (at zoom 1), centred; all measures in pixels of the viewport."""

    def __init__(self, viewport: QWidget, sheets: Sheets) -> None:
        self._viewport = viewport
        self._sheets = sheets

    @property
    def width(self) -> float:
        """Width of a row."""
        margin = MARGIN if self._viewport.width() > COLUMN else MARGIN / 2
        widest = self._sheets.look.px(COLUMN)
        return max(120.0, min(widest, self._viewport.width() - 2 * margin))

    @property
    def left(self) -> float:
        """Left edge of the rows."""
        return float(round((self._viewport.width() - self.width) / 2))

    @property
    def height(self) -> int:
        """Height of what is in sight."""
        return self._viewport.height()
