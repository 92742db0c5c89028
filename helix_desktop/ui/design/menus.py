"""Menus that open below what asked for them."""

from __future__ import annotations

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QMenu, QWidget


def popup_below(menu: QMenu, anchor: QWidget) -> None:
    """Open a menu below the widget that asked for it, without a nested event loop."""
    menu.popup(anchor.mapToGlobal(QPoint(0, anchor.height() + 4)))
