"""Pages of which one is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from PySide6.QtWidgets import QStackedWidget, QWidget

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


P = TypeVar("P", bound=QWidget)


class LazyPage(Generic[P]):
    """A page that is built when it is first asked for, which is when the user goes there."""

    def __init__(self, build: Callable[[], P]) -> None:
        self._build = build
        self._page: P | None = None
        self._handlers: list[Callable[[P], object]] = []

    def get(self) -> P:
        if self._page is None:
            self._page = self._build()
            for handler in self._handlers:
                handler(self._page)
        return self._page

    def find(self) -> P | None:
        """Return the page; None while it is not built."""
        return self._page

    def when_built(self, handler: Callable[[P], object]) -> None:
        """Call `handler` with the page once it is built, after those before it; now if it is."""
        self._handlers.append(handler)
        if self._page is not None:
            handler(self._page)


class PageArea(QStackedWidget):
    """Pages in the room that is left for them, whatever they contain."""

    def hasHeightForWidth(self) -> bool:
        """Return False: else Qt measures all pages, also hidden ones, with each change around them."""
        return False
