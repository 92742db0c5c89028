"""A shown window with placeholders, and what it remembers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from helix_desktop.config.paths import resources_dir
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.shell.main_window import MainWindow
from tests.support.window.bare_window import make_window


@pytest.fixture
def kept() -> dict[str, bytes]:
    """What the layout memory holds."""
    return {}


@pytest.fixture
def window(qtbot: QtBot, kept: dict[str, bytes]) -> Iterator[MainWindow]:
    """A wide window on screen, with a text field as its chat."""
    fonts.load(resources_dir() / "fonts")  # as app.window does first: widths depend on it
    made = make_window(kept)
    qtbot.addWidget(made)
    with qtbot.waitExposed(made):
        made.show()
    yield made
    made.allow_close()
