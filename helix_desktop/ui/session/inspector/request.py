"""The window with the whole request: the next one, or that of the step that is looked at."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QObject

from helix_desktop.config.settings import key_variable
from helix_desktop.context.window.window import Window
from helix_desktop.context.window.window_breakdown import WindowItem
from helix_desktop.domain.messages import API_KEY, WireRequest
from helix_desktop.ui.design.themed import retint
from helix_desktop.ui.design.viewer.paged_content import PagedContent
from helix_desktop.ui.inspector.request.document import request_document
from helix_desktop.ui.inspector.request.window import RequestTexts, RequestWindow
from helix_desktop.ui.inspector.request.wire_text import curl_command, indented_json, window_json
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.words.steps import sent_at_text
from helix_desktop.words.translation import Translator

tr = Translator("Inspector")


class RequestPresenter(QObject):
    """Opens the window, and closes it with its session."""

    def __init__(self, context: ControllerContext, session_controller: SessionController) -> None:
        super().__init__(context.window)
        self._window, self._async_actions = context.window, context.async_actions
        self._session_controller = session_controller
        self.dialog: RequestWindow | None = None
        context.views.inspector.request_requested.connect(self.show)
        context.window.commands.show_request.triggered.connect(self.show)
        session_controller.session_changing.connect(self._close)

    def show(self) -> None:
        """Show the request that the inspector lists now."""
        if self._session_controller.conversation is not None:
            self._async_actions.start(self._show(), "show request")

    async def _show(self) -> None:
        conversation = self._session_controller.conversation
        request = self._session_controller.request_on_screen()
        if conversation is None or request is None:
            return
        past, step = self._session_controller.past.window, self._session_controller.past.step
        wire = await conversation.window.wire_request(past)
        title, notes = tr("Next request"), []
        if past is not None and step is not None:
            title = sent_at_text(step)
            if wire is not None:
                notes.append(tr("In today's format. What was asked of the prompt cache isn't recorded."))
        elif conversation.window.policy.enabled and not conversation.session.transcript.on_hold:
            notes.append(tr("Caching or compaction that is due when you send comes first."))
        if wire is None:
            notes.append(tr("This model has no server, so the JSON is Helix's own."))
        texts = await asyncio.to_thread(_texts, title, " ".join(notes), *request, wire)
        if conversation is not self._session_controller.conversation:
            return
        if self.dialog is None:
            self.dialog = RequestWindow(self._window)
            self.dialog.refresh_requested.connect(self.show)
        dialog = self.dialog
        retint(dialog, self._window.theme)
        steps: tuple[Callable[[], None], ...] = (partial(dialog.show_texts, texts), dialog.bring_up)
        for show in steps:
            await asyncio.sleep(0)  # a turn of the loop each: together they take longer than a frame
            if dialog is not self.dialog:
                return  # its session is not on screen any more
            show()

    def _close(self) -> None:
        if self.dialog is not None:
            self.dialog.close()
            self.dialog.deleteLater()
            self.dialog = None


def _texts(
    title: str, note: str, window: Window, items: Sequence[WindowItem], wire: WireRequest | None
) -> RequestTexts:
    """Return a request in all its forms; its time grows with the request, so call it in a thread."""
    body = wire.body if wire is not None else window_json(window)
    document = request_document(window, items)
    curl = ""
    if wire is not None:
        provider = wire.provider
        curl = curl_command(
            wire, lambda name: key_variable(provider if name == API_KEY else f"{provider}/{name}")
        )
    pages = (_pages(document.text), _pages(indented_json(body)))
    return RequestTexts(title, note, document, *pages, body.decode(), curl)


def _pages(text: str) -> PagedContent:
    return PagedContent(text.encode("utf-8", "replace"))
