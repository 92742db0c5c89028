"""Finds texts on screen that do not fit where they stand."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QLabel, QLineEdit, QWidget

from helix_desktop.ui.design.labels import ElidedLabel

_TOLERANCE_PX = 2  # rounding of fractional text sizes


def cut_texts(root: QWidget) -> list[str]:
    """Return each visible text below `root` that is cut, with the pixels it has and those it needs."""
    found = []
    for widget in root.findChildren(QWidget):
        if not widget.isVisibleTo(root) or widget.visibleRegion().isEmpty():
            continue
        needed, room, text = _size_of_text(widget)
        if needed > room + _TOLERANCE_PX:
            found.append(
                f"{type(widget).__name__} {widget.objectName()}: {text!r} needs {needed} px, has {room}"
            )
    return found


def _size_of_text(widget: QWidget) -> tuple[int, int, str]:
    match widget:
        case ElidedLabel():
            return 0, 0, ""  # it shortens its text on purpose, and has the whole as tooltip
        case QLabel() if widget.wordWrap():
            return widget.heightForWidth(widget.width()), widget.height(), widget.text()
        case QLabel() if widget.text() and widget.textFormat() != Qt.TextFormat.RichText:
            return widget.sizeHint().width(), widget.width(), widget.text()
        case QAbstractButton() if widget.text():
            return widget.minimumSizeHint().width(), widget.width(), widget.text()
        case QLineEdit() if not widget.text():
            text = widget.placeholderText()
            return widget.fontMetrics().horizontalAdvance(text), widget.width() - 8, text
    return 0, 0, ""
