"""Menus that open below, or above, what asked for them, in line with where it begins."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QMenu, QWidget

_GAP = 4  # pixels


def popup_below(menu: QMenu, anchor: QWidget, place: QRect | None = None) -> None:
    """Open a menu below the widget that asked for it, or a place in it, without a nested event loop."""
    place = anchor.rect() if place is None else place
    menu.popup(anchor.mapToGlobal(QPoint(_left(menu, place), place.y() + place.height() + _GAP)))


def popup_above(menu: QMenu, anchor: QWidget) -> None:
    """Open a menu above the widget that asked for it, without a nested event loop."""
    menu.popup(anchor.mapToGlobal(QPoint(_left(menu, anchor.rect()), -menu.sizeHint().height() - _GAP)))


def _left(menu: QMenu, place: QRect) -> int:
    """Return where a menu begins; Qt opens one at a point to its right in every language."""
    return place.x() + place.width() - menu.sizeHint().width() if menu.isRightToLeft() else place.x()
