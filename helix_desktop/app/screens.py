"""Builds the screens that fill the window, once its frame is on screen."""

from __future__ import annotations

from helix_desktop.app.front import Front
from helix_desktop.ui import fonts
from helix_desktop.ui.cache_browser.view import CacheBrowser
from helix_desktop.ui.chat.page import ChatPage
from helix_desktop.ui.inspector.view import Inspector
from helix_desktop.ui.main_window import Pages
from helix_desktop.ui.theme import Theme
from helix_desktop.ui.timeline.view import Timeline
from helix_desktop.ui.work import Screens


def build_screens(front: Front) -> Screens:
    """Build the screens and furnish the window with them."""
    chat, cache = ChatPage(), CacheBrowser(front.intents.start)
    timeline, inspector = Timeline(), Inspector()
    appearance = front.appearance

    def zoom(theme: Theme) -> None:
        chat.set_theme(theme, appearance.text_px / fonts.BASE_PX)

    front.window.furnish(Pages(chat, cache, timeline, inspector))
    appearance.changed.connect(zoom)
    zoom(appearance.theme)
    return Screens(chat, cache, timeline, inspector)
