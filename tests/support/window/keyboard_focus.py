"""Where the keyboard is."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication, QWidget


def focused_widget() -> QWidget:
    focused = QApplication.focusWidget()
    assert focused is not None
    return focused
