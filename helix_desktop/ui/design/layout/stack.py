"""Pages of which one is shown."""

from __future__ import annotations

from PySide6.QtWidgets import QStackedWidget


class PageArea(QStackedWidget):
    """Pages in the room that is left for them, whatever they contain."""

    def hasHeightForWidth(self) -> bool:
        """Return False: else Qt measures all pages, also hidden ones, with each change around them."""
        return False
