"""What the user does with a row of the inspector, or with one from the cache: an event that can be undone."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QApplication

from helix_desktop.agent.conversation import Conversation
from helix_desktop.context.window.usage_gauge import output_tokens
from helix_desktop.domain.errors import OutputFormUnavailable
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.chat.actions import CacheNow
from helix_desktop.ui.design.dialogs import DialogChoice, ask
from helix_desktop.ui.inspector.from_window import window_rows
from helix_desktop.ui.inspector.inspector_data import RowAction, WindowRow
from helix_desktop.ui.inspector.row_actions import change_price_text, recall_price_text
from helix_desktop.ui.kit.intents import Undo, handles
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.ui.session.last_change import CONTEXT_CHANGE
from helix_desktop.words.action_labels import action_label
from helix_desktop.words.translation import Translator

tr = Translator("Inspector")
_text = TextContext("Inspector")

_RECALLS = frozenset[RowAction]({"recall", "include"})
_NAME_CHARS = 40  # of a row, in the title of a question


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
        context.views.cache.entry_actions.context_requested.connect(
            lambda digest: context.async_actions.start(self._recall_entry(digest), "recall into context")
        )
        context.window.intents.add(self)

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
        is_by_keyboard = self._window.testAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange)
        self._show_event(seq)
        if focused is not None and self._inspector.isAncestorOf(focused):
            reason = Qt.FocusReason.ShortcutFocusReason if is_by_keyboard else Qt.FocusReason.OtherFocusReason
            focused.setFocus(reason)

    async def _recall_entry(self, digest: str) -> None:
        """Ask, with the cost, whether to send a cached content in full again where it stands, and do it.

        Raises HelixError.
        """
        conversation, workspace = self._session_controller.conversation, self._session_controller.workspace
        if conversation is None or workspace is None:
            return
        rows = _rows(conversation)
        row = next((row for row in rows if row.digest == digest and _RECALLS & {*row.actions}), None)
        if row is None:
            raise OutputFormUnavailable(
                _text("This can't be recalled into the context."),
                _text("It isn't part of this session, or all of it is sent."),
                _text("Recall it into the message instead."),
            )
        entry = await workspace.store.entry(digest)
        what = tr("Recall “{name}” into the context?", name=ellipsize(row.name, _NAME_CHARS))
        why = tr("All of it is sent again where it was. You can undo this.")
        cost = recall_price_text(output_tokens(entry.tokens) - row.tokens, row.resent)
        if await self._agrees(what, f"{cost}\n\n{why}", DialogChoice("recall", tr("Recall"), "primary")):
            await self._change(conversation, "include" if "include" in row.actions else "recall", row)

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

    @handles(CacheNow)
    async def _cache_output(self, seq: int) -> None:
        """Ask, with the cost, whether to replace the output of an event by a marker, and do it.

        Raises OutputFormUnavailable.
        """
        conversation = self._session_controller.conversation
        if conversation is None:
            return
        row = next((row for row in _rows(conversation) if row.seq == seq and "cache" in row.actions), None)
        if row is None:
            raise OutputFormUnavailable(
                _text("This output can't be cached now."),
                _text("Its marker would take as many tokens."),
                _text("To take it out of the requests, leave it out in the context panel."),
            )
        await self._cache(conversation, row)

    async def _cache(self, conversation: Conversation, row: WindowRow) -> None:
        what = tr("Cache “{name}” now?", name=ellipsize(row.name, _NAME_CHARS))
        why = tr("A marker takes its place, and the agent can recall it. You can undo this.")
        saved = await conversation.window.caching_savings(row.seq)
        cost = change_price_text(saved, row.resent)
        if await self._agrees(what, f"{cost}\n\n{why}", DialogChoice("cache", tr("Cache now"), "primary")):
            await conversation.window.cache_now(row.seq)
            self._offer_undo(conversation, tr("Cached “{name}”.", name=ellipsize(row.name, _NAME_CHARS)))

    async def _exclude(self, conversation: Conversation, row: WindowRow) -> None:
        what = tr("Leave “{name}” out of the requests?", name=ellipsize(row.name, _NAME_CHARS))
        why = tr("A line says that you left it out, and the agent can recall it. You can undo this.")
        saved = await conversation.window.exclusion_savings(row.seq, row.part)
        cost = change_price_text(saved, row.resent)
        if await self._agrees(what, f"{cost}\n\n{why}", DialogChoice("exclude", tr("Leave out"), "primary")):
            await conversation.window.exclude(row.seq, row.part)
            self._offer_undo(conversation, tr("Left out “{name}”.", name=ellipsize(row.name, _NAME_CHARS)))

    def _offer_undo(self, conversation: Conversation, what: str) -> None:
        """Say what was changed, with its undo: its row may be out of sight by now."""
        seq = conversation.session.transcript.window.last_rewrite_seq
        undo = Answer(action_label("undo"), lambda: self._window.perform(Undo((seq,))), "undo", ends=True)
        session_id = conversation.session.id
        self._window.notices.notify(
            Notice(CONTEXT_CHANGE, what, answers=(undo,), session_id=session_id, is_brief=True)
        )

    async def _agrees(self, what: str, why: str, choice: DialogChoice) -> bool:
        cancel = DialogChoice("", tr("Cancel"))
        return await ask(self._window, self._window.theme, what, why, (cancel, choice)) == choice.id


def _rows(conversation: Conversation) -> list[WindowRow]:
    """Return the rows of the next request, the newest first."""
    window = conversation.window
    fresh = round(window.cost().fresh / window.measure()[1].ratio)
    return [*reversed(window_rows(window.items(), fresh))]
