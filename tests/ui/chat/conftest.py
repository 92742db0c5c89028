"""A conversation on screen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from helix_desktop.config.paths import resources_dir
from helix_desktop.ui.chat.rows.model import ChatModel
from helix_desktop.ui.chat.viewport.view import ChatView
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.theme import LIGHT


@pytest.fixture
def view(qtbot: QtBot) -> Iterator[ChatView]:
    """Return a conversation without its page, all of it built at once."""
    fonts.load(resources_dir() / "fonts")  # as app.window does first: widths depend on it
    chat_view = ChatView(ChatModel(), LIGHT)
    qtbot.addWidget(chat_view)
    chat_view.chat_viewport.slice_s = float("inf")
    chat_view.resize(800, 600)
    with qtbot.waitExposed(chat_view):
        chat_view.show()
    yield chat_view
    chat_view.highlighter.finish()
