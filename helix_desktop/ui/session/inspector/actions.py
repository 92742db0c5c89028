"""What the user does with a row of the inspector: each is an event, and can be undone."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QApplication

from helix_desktop.agent.conversation import Conversation
from helix_desktop.ui.design.dialogs import Choice, ask
from helix_desktop.ui.inspector.row_actions import price_text
from helix_desktop.ui.inspector.rows import RowAction, WindowRow
from helix_desktop.ui.session.context import ControllerContext
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.words.translation import Translator

tr = Translator("Inspector")

_LINE_TOKENS = 40  # tokens of the line that stands for what is excluded, as counted


class InspectorActions(QObject):
    """Binds the rows of the inspector to the conversation on screen."""

    def __init__(
        self,
        context: ControllerContext,
        session_controller: SessionController,
        show_event: Callable[[int], None],
        show_cache_entry: Callable[[str], None],
    ) -> None:
        super().__init__(context.window)
        self._window, self._session_controller = context.window, session_controller
        self._async_actions = context.async_actions
        self._show_event, self._show_cache_entry = show_event, show_cache_entry
        self._inspector = context.views.inspector
        self._inspector.action_triggered.connect(self._on_action)

    def _on_action(self, action: RowAction, row: WindowRow) -> None:
        conversation = self._session_controller.conversation
        if conversation is None:
            return
        match action:
            case "show":
                self._show_place(row.seq)
            case "open":
                self._show_cache_entry(row.digest)
            case _:
                self._async_actions.start(self._change(conversation, action, row), action)

    def _show_place(self, seq: int) -> None:
        """Show an event's place, and leave the keyboard in the list: a page that is shown takes it."""
        focused = QApplication.focusWidget()
        self._show_event(seq)
        if focused is not None and self._inspector.isAncestorOf(focused):
            focused.setFocus(Qt.FocusReason.OtherFocusReason)

    def _change(
        self, conversation: Conversation, action: RowAction, row: WindowRow
    ) -> Coroutine[Any, Any, None]:
        window = conversation.window
        match action:
            case "cache":
                return self._cache(conversation, row)
            case "exclude":
                return self._exclude(conversation, row)
            case "include":
                return window.undo(row.excluded)
            case "recall":
                return window.choose_form(row.seq, "full")
            case "unpin":
                return window.unpin(row.seq)
        return window.pin(row.seq)

    async def _cache(self, conversation: Conversation, row: WindowRow) -> None:
        what = tr("Cache “{name}” now?", name=row.name)
        why = tr("A marker takes its place, and the agent can recall it. You can undo this.")
        cost = price_text(row.cachable, row.resent)
        if await self._agrees(what, f"{cost}\n\n{why}", Choice("cache", tr("Cache now"), "primary")):
            await conversation.window.cache_now(row.seq)

    async def _exclude(self, conversation: Conversation, row: WindowRow) -> None:
        what = tr("Exclude “{name}” from the requests?", name=row.name)
        why = tr("A line says that you excluded it, and the agent can recall it. You can undo this.")
        cost = price_text(row.tokens - _LINE_TOKENS, row.resent)
        if await self._agrees(what, f"{cost}\n\n{why}", Choice("exclude", tr("Exclude"), "primary")):
            await conversation.window.exclude(row.seq, row.part)

    async def _agrees(self, what: str, why: str, choice: Choice) -> bool:
        cancel = Choice("", tr("Cancel"))
        return await ask(self._window, self._window.theme, what, why, (cancel, choice)) == choice.id
