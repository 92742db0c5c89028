"""The window's frame with placeholders in it, over a dictionary as its memory."""

from __future__ import annotations

from PySide6.QtWidgets import QTextEdit, QWidget

from helix_desktop.ui.main_window import LayoutMemory, MainWindow, Pages


def make_window(kept: dict[str, bytes]) -> MainWindow:
    """A window over a dictionary as its memory, not yet shown."""
    pages = Pages(QTextEdit(), QWidget(), QWidget(), QWidget())
    window = MainWindow(LayoutMemory(lambda key: kept.get(key, b""), kept.__setitem__))
    window.furnish(pages)
    return window
