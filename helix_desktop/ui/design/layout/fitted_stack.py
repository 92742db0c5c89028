"""Pages one of which is on screen."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from helix_desktop.ui.design.layout.boxes import column


class FittedStack(QWidget):
    """Takes the room of the page on screen; Qt's own takes that of the largest one."""

    def __init__(self, *pages: QWidget) -> None:
        super().__init__()
        self._pages = pages
        self.setLayout(column(*pages, gap=0))
        self.setCurrentIndex(0)

    def currentIndex(self) -> int:
        return self._current

    def setCurrentIndex(self, number: int) -> None:
        self._current = number
        for other in self._pages[:number] + self._pages[number + 1 :]:
            other.hide()
        self._pages[number].show()
