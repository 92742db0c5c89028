"""The whole request, in the panel: the next one, or that of the step that is looked at."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from PySide6.QtCore import QObject

from helix_desktop.config.settings import key_variable
from helix_desktop.context.window.window import Window
from helix_desktop.context.window.window_breakdown import WindowItem
from helix_desktop.domain.messages import API_KEY, WireRequest
from helix_desktop.ui.design.viewer.paged_content import PagedContent
from helix_desktop.ui.inspector.inspector_data import RequestTexts
from helix_desktop.ui.inspector.request_text import curl_command, indented_json, request_text, window_json
from helix_desktop.ui.kit.intents import ShowRequest, ToggleContextPanel, WidenPanel, handles
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.words.steps import sent_at_text
from helix_desktop.words.translation import Translator

tr = Translator("Inspector")


class RequestPresenter(QObject):
    """Shows it, and leaves it with its session."""

    def __init__(self, context: ControllerContext, session_controller: SessionController) -> None:
        super().__init__(context.window)
        self._window, self._async_actions = context.window, context.async_actions
        self._session_controller = session_controller
        self._inspector = context.views.inspector
        context.window.intents.add(self)
        session_controller.session_changing.connect(self._inspector.close_page)
        self._inspector.text_shown.connect(lambda is_shown: context.window.perform(WidenPanel(is_shown)))

    @handles(ShowRequest)
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
        if not self._window.commands.toggle_inspector.isChecked():
            self._window.perform(ToggleContextPanel())
        self._inspector.show_request(texts)


def _texts(
    title: str, note: str, window: Window, items: Sequence[WindowItem], wire: WireRequest | None
) -> RequestTexts:
    """Return a request in all its forms; its time grows with the request, so call it in a thread."""
    body = wire.body if wire is not None else window_json(window)
    curl = ""
    if wire is not None:
        provider = wire.provider
        curl = curl_command(
            wire, lambda name: key_variable(provider if name == API_KEY else f"{provider}/{name}")
        )
    return RequestTexts(title, note, _pages(request_text(window, items)), _pages(indented_json(body)), curl)


def _pages(text: str) -> PagedContent:
    return PagedContent(text.encode("utf-8", "replace"))
