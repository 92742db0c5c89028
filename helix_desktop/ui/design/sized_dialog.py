"""Dialogs whose smallest size is what stands in them, and windows no larger than their screen."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QDialog, QWidget

from helix_desktop.ui.design.focus import BY_KEYBOARD, TabsInReadingOrder

_TITLE_PX = 36  # the system's bar above a window, which nobody knows the height of before it is shown


def fit_screen(window: QWidget) -> None:
    if window.isMaximized() or window.isFullScreen():
        return
    place = fitted_rect(window.geometry(), free_rect(window))
    # Where a hidden one comes up is up to the system, unless it would be too large.
    if place.size() != window.size() or (window.isVisible() and place != window.geometry()):
        window.setGeometry(place)


def free_rect(window: QWidget) -> QRect:
    return window.screen().availableGeometry().adjusted(0, _TITLE_PX, 0, 0)


def fitted_rect(rect: QRect, available: QRect) -> QRect:
    """Return a place no larger than what is free, moved as little as needed to lie within."""
    result = QRect(rect.topLeft(), rect.size().boundedTo(available.size()))
    result.moveLeft(max(available.left(), min(result.left(), available.right() + 1 - result.width())))
    result.moveTop(max(available.top(), min(result.top(), available.bottom() + 1 - result.height())))
    return result


def bring_to_front(window: QWidget) -> None:
    window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
    window.show()
    window.raise_()
    window.activateWindow()


class FittedDialog(TabsInReadingOrder, QDialog):
    """Modal, of one width, and as high as what stands in it needs and the screen allows."""

    def __init__(self, parent: QWidget | None, title: str, width: int) -> None:
        """`width` is in pixels; what cannot be as narrow makes it wider."""
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setModal(True)
        self._width = width
        self.setFixedWidth(width)

    def event(self, event: QEvent) -> bool:
        result = super().event(event)
        if event.type() in {QEvent.Type.Show, QEvent.Type.LayoutRequest}:
            self.fit()
        return result

    def fit(self) -> None:
        """Take the size of what is shown now, and stay on the screen."""
        layout = self.layout()
        if layout is None:
            return
        least = layout.minimumSize()
        width = max(self._width, least.width())
        height = max(layout.heightForWidth(width), least.height())
        self.setFixedSize(width, min(height, free_rect(self).height()))
        place = fitted_rect(self.frameGeometry(), self.screen().availableGeometry()).topLeft()
        if self.isVisible() and place != self.pos():
            self.move(place)


class SizedDialog(TabsInReadingOrder, QDialog):
    def __init__(
        self,
        parent: QWidget,
        title: str,
        size: tuple[int, int],
        least: tuple[int, int],
        *,
        modal: bool = True,
    ) -> None:
        """`size` is its first in pixels; it is never smaller than `least`."""
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setModal(modal)
        self._opener = parent
        self._least = QSize(*least)
        self._own_height = size[1]  # unlike one that the user chose
        self.resize(*size)
        self.setMinimumSize(self._least)

    def setVisible(self, visible: bool) -> None:
        """Show it no larger than its screen: its buttons stand at the bottom.

        Who came with the keyboard sees at once where it is: Qt knows of a window's own keys only.
        """
        is_opened = visible and self.isHidden()
        if is_opened:
            # Left to Qt it comes lower from the second time on, by the title bar that it knows of then.
            place = QRect(QPoint(), self.size())
            place.moveCenter(self._opener.window().geometry().center())
            self.setGeometry(fitted_rect(place, free_rect(self._opener)))
            self._own_height = self.height()
        super().setVisible(visible)
        if is_opened and self.is_by_keyboard:
            self.setAttribute(BY_KEYBOARD)

    @property
    def is_by_keyboard(self) -> bool:
        return self._opener.window().testAttribute(BY_KEYBOARD)

    def fit_height(self, height: int) -> None:
        """Take the height that suits what is shown now, in pixels; one that the user chose only grows.

        One on screen keeps its middle: from its top alone it would grow toward the end of the screen.
        """
        if self.height() > height and self.height() not in {self._own_height, self.minimumHeight()}:
            return
        self._keep_room()  # less than before, where something has left the dialog
        if self.isVisible() and not (self.isMaximized() or self.isFullScreen()):
            place = self.geometry()
            middle = self.geometry().center()
            place.setHeight(max(height, self.minimumHeight()))
            place.moveCenter(middle)
            self.setGeometry(fitted_rect(place, free_rect(self)))
        else:
            self.resize(self.width(), height)
            fit_screen(self)
        self._own_height = self.height()

    def event(self, event: QEvent) -> bool:
        result = super().event(event)
        if event.type() in {QEvent.Type.Show, QEvent.Type.LayoutRequest}:
            self._keep_room()
        return result

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._keep_room()

    def _keep_room(self) -> None:
        layout = self.layout()
        if layout is None or not self.isVisible():
            return
        least = layout.totalMinimumSize().expandedTo(self._least)
        if layout.hasHeightForWidth():
            width = max(self.width(), least.width())
            least.setHeight(max(self._least.height(), layout.totalMinimumHeightForWidth(width)))
        least.setHeight(min(least.height(), self.screen().availableSize().height()))
        before = self.height()
        self.setMinimumSize(least)
        if self.height() > before:  # from its top on, perhaps beyond the end of the screen
            self.setGeometry(fitted_rect(self.geometry(), free_rect(self)))
