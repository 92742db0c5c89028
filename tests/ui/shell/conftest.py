"""A shown window with placeholders, and what it remembers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QTextEdit, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.ui.main_window import LayoutMemory, MainWindow, Pages


@pytest.fixture
def kept() -> dict[str, bytes]:
    """What the layout memory holds."""
    return {}


@pytest.fixture
def window(qtbot: QtBot, kept: dict[str, bytes]) -> Iterator[MainWindow]:
    """A wide window on screen, with a text field as its chat."""
    made = make_window(kept)
    qtbot.addWidget(made)
    made.show()
    qtbot.waitExposed(made)
    yield made
    made.allow_close()


def make_window(kept: dict[str, bytes]) -> MainWindow:
    """A window over a dictionary as its memory."""
    pages = Pages(QTextEdit(), QWidget(), QWidget(), QWidget())
    window = MainWindow(LayoutMemory(lambda key: kept.get(key, b""), kept.__setitem__))
    window.furnish(pages)
    return window
