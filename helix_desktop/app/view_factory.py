"""Build the screens that fill the window, once its frame is on screen."""

from __future__ import annotations

from helix_desktop.app.window_context import WindowContext
from helix_desktop.ui.cache.view import CacheBrowser
from helix_desktop.ui.chat.page import ChatPage
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.inspector.view import Inspector
from helix_desktop.ui.session.controller import SessionViews
from helix_desktop.ui.shell.main_window import WindowPages
from helix_desktop.ui.timeline.view import Timeline


def build_views(window_context: WindowContext) -> SessionViews:
    """Build the screens and add them to the window."""
    chat, cache = ChatPage(), CacheBrowser(window_context.actions.start)
    timeline, inspector = Timeline(), Inspector()
    appearance = window_context.appearance

    def zoom(theme: Theme) -> None:
        chat.set_theme(theme, appearance.text_px / fonts.BASE_PX)

    window_context.window.add_pages(WindowPages(chat, cache, timeline, inspector))
    appearance.changed.connect(zoom)
    zoom(appearance.theme)
    return SessionViews(chat, cache, timeline, inspector)
