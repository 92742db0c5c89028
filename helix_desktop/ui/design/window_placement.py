"""Windows on the screen: no larger than it, and in front of others."""

from __future__ import annotations

from PySide6.QtCore import QRect, Qt
from PySide6.QtWidgets import QWidget

_TITLE_PX = 36  # the system's bar above a window, which nobody knows the height of before it is shown


def fit_screen(window: QWidget) -> None:
    """Shrink a window to what its screen leaves free, and bring it into sight."""
    if window.isMaximized() or window.isFullScreen():
        return
    place = fitted_rect(window.geometry(), free_rect(window))
    # Where a hidden one comes up is up to the system, unless it would be too large.
    if place.size() != window.size() or (window.isVisible() and place != window.geometry()):
        window.setGeometry(place)


def free_rect(window: QWidget) -> QRect:
    """Return what a window's screen leaves free below its title bar."""
    return window.screen().availableGeometry().adjusted(0, _TITLE_PX, 0, 0)


def fitted_rect(rect: QRect, available: QRect) -> QRect:
    """Return a place no larger than what is free, moved as little as needed to lie within."""
    result = QRect(rect.topLeft(), rect.size().boundedTo(available.size()))
    result.moveLeft(max(available.left(), min(result.left(), available.right() + 1 - result.width())))
    result.moveTop(max(available.top(), min(result.top(), available.bottom() + 1 - result.height())))
    return result


def bring_to_front(window: QWidget) -> None:
    """Show a window in front of others, also one that is minimized or hidden."""
    window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
    window.show()
    window.raise_()
    window.activateWindow()
