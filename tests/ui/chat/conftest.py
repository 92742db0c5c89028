"""A conversation on screen."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from pytestqt.qtbot import QtBot

from helix_desktop.ui.chat.rows.row_types import ChatModel
from helix_desktop.ui.chat.viewport.view import ChatView
from helix_desktop.ui.design.style.theme import LIGHT


@pytest.fixture
def clock() -> Callable[[], float]:
    """Return the clock of `view`, in seconds; tests that need another one define it anew."""
    return time.monotonic


@pytest.fixture
def slice_s() -> float | None:
    """Return for how long `view` builds rows at once: all of them, however busy the machine."""
    return float("inf")


@pytest.fixture
def view(qtbot: QtBot, clock: Callable[[], float], slice_s: float | None) -> Iterator[ChatView]:
    """Return a conversation without its page."""
    chat_view = ChatView(ChatModel(), LIGHT, clock=clock)
    qtbot.addWidget(chat_view)
    if slice_s is not None:
        chat_view.chat_viewport.slice_s = slice_s
    chat_view.resize(800, 600)
    with qtbot.waitExposed(chat_view):
        chat_view.show()
    yield chat_view
    chat_view.highlighter.finish()
    chat_view.close()
