"""A key that does something in one widget, or in all that is in it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget


def add_shortcut(
    widget: QWidget, key: str, callback: Callable[[], object], context: Qt.ShortcutContext
) -> None:
    """Let a key call something where `context` says, as an action of the widget."""
    action = QAction(widget)
    action.setShortcut(QKeySequence(key))
    action.setShortcutContext(context)
    action.triggered.connect(lambda _: callback())
    widget.addAction(action)


def move_keys(action: QAction, window: QWidget, page: QWidget) -> None:
    """Let the keys of a window's action work only where the focus is in a page of it."""
    window.removeAction(action)
    page.addAction(action)
    action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
