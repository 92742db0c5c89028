"""Pages that scroll up and down, and are never narrower than what stands on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QShowEvent, QWindow
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from helix_desktop.ui.design.focus import FocusableScrollArea

_RING_PX = 6  # pixels that the ring of the keyboard needs around the rows

if TYPE_CHECKING:
    _ScrollArea = QScrollArea
else:
    _ScrollArea = object  # a mixin: the class that it is mixed into brings Qt's part


class KeepsPageWidth(_ScrollArea):
    """Lets a scroll area ask for the least width of its page."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest and watched is self.widget():
            self.updateGeometry()
        return super().eventFilter(watched, event)

    def minimumSizeHint(self) -> QSize:
        page, hint = self.widget(), super().minimumSizeHint()
        if page is None:
            return hint
        margins = self.viewportMargins()
        width = page.minimumSizeHint().width() + self.verticalScrollBar().sizeHint().width()
        return QSize(width + margins.left() + margins.right(), hint.height())


class VerticalScrollArea(KeepsPageWidth, QScrollArea):
    """Scrolls a page up and down; sideways there is always room for it."""

    def __init__(self, page: QWidget) -> None:
        super().__init__()
        self.setWidget(page)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self._handle: QWindow | None = None  # of the window that it was shown in last
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        handle = self.window().windowHandle()
        if handle is not None and handle is not self._handle:
            self._handle = handle
            handle.focusObjectChanged.connect(self._reveal)

    def _reveal(self, focused: QObject | None) -> None:
        """Bring into sight where the keyboard has come to: Qt does that for moves inside the page only."""
        page = self.widget()
        if not isinstance(focused, QWidget) or page is None or not self.isVisible():
            return
        if page.isAncestorOf(focused) and focused.visibleRegion().isEmpty():
            self.ensureWidgetVisible(focused)


class ListScrollArea(KeepsPageWidth, FocusableScrollArea):
    """Scrolls a list of rows up and down, by keyboard too: a stop only where there is something to scroll."""

    def __init__(self, page: QWidget, name: str) -> None:
        """Take a page, which follows the width; `name` is what screen readers call it."""
        super().__init__()
        self.setWidget(page)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(name)
        self.setViewportMargins(_RING_PX, _RING_PX, _RING_PX, _RING_PX)  # the ring cuts through no row
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._is_stop = True
        self.verticalScrollBar().rangeChanged.connect(self._update_stop)

    def set_stop(self, is_stop: bool) -> None:
        """Say whether the keyboard may stop here: not where the rows take it themselves."""
        self._is_stop = is_stop
        self._update_stop()

    def _update_stop(self) -> None:
        bar = self.verticalScrollBar()
        is_stop = self._is_stop and bar.maximum() > bar.minimum()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if is_stop else Qt.FocusPolicy.NoFocus)
