"""The window's frame with placeholders in it, over a dictionary as its memory."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QTextEdit, QWidget

from helix_desktop.ui.window.main_window import LayoutStore, MainWindow, WindowPages


def make_window(saved_state: dict[str, bytes]) -> MainWindow:
    """Return a window with a dictionary as its layout store, not yet shown."""
    placeholders: Any = (QTextEdit(), QWidget(), *[QWidget] * 4)
    pages = WindowPages(*placeholders)
    window = MainWindow(LayoutStore(lambda key: saved_state.get(key, b""), saved_state.__setitem__))
    window.add_pages(pages)
    window.show_center_page("welcome")
    return window
