"""A browser that opens nothing, and says what it was asked to open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from PySide6.QtCore import QObject, QUrl, Slot
from PySide6.QtGui import QDesktopServices


class Browser(QObject):
    """Opens nothing; keeps the addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    @Slot(QUrl)
    def visit(self, url: QUrl) -> None:
        self.addresses.append(bytes(url.toEncoded().data()).decode())


@contextmanager
def use_browser(schemes: Sequence[str] = ("http", "https")) -> Iterator[Browser]:
    browser = Browser()
    for scheme in schemes:
        QDesktopServices.setUrlHandler(scheme, browser, "visit")  # type: ignore[arg-type]  # takes str only
    try:
        yield browser
    finally:
        for scheme in schemes:
            QDesktopServices.unsetUrlHandler(scheme)
