"""Brings the user back to where they were in a session: chat, message field, cache and timeline."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QTextCursor

from helix_desktop.config.view_states import ViewState, ViewStates
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.work import Work

_PAUSE_MS = 1_000


class ViewMemory(QObject):
    """Keeps where the user is whenever that changed, and when another session is shown."""

    def __init__(self, work: Work, states: ViewStates, intents: Intents) -> None:
        super().__init__(work)
        self._work, self._states, self._intents = work, states, intents
        self._session = ""  # the one whose view is on screen, restored
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(_PAUSE_MS)
        self._pause.timeout.connect(self._keep)
        work.opening.connect(self._leave)
        work.loaded.connect(self._enter)
        screens = work.screens
        for changed in (
            screens.chat.view.board.moved,
            screens.chat.composer.editor.cursorPositionChanged,
            screens.chat.composer.editor.selectionChanged,
            screens.cache.selection_changed,
            screens.timeline.scrolled,
        ):
            changed.connect(self._changed)

    def _changed(self, *_: object) -> None:
        if self._session and not self._pause.isActive():
            self._pause.start()

    def _leave(self) -> None:
        """Keep the former session's view, which the screens still show."""
        if self._session:
            self._keep()
        self._session = ""
        self._pause.stop()

    def _enter(self) -> None:
        conversation = self._work.conversation
        if conversation is None:
            return
        self._session = conversation.session.id
        state = self._states.get(self._session)
        screens = self._work.screens
        index = screens.chat.model.index_of(state.row) if state.row else None
        if index is not None and not conversation.asks:
            screens.chat.view.board.show_row(index, -state.offset)
        if state.cursor >= 0:
            self._select(state)
        if state.entry:
            screens.cache.select(state.entry)
        if state.card:
            self._work.seek_card(state.card)

    def _select(self, state: ViewState) -> None:
        editor = self._work.screens.chat.composer.editor
        length = len(self._work.screens.chat.composer.text())
        cursor = editor.textCursor()
        cursor.setPosition(min(state.mark if state.mark >= 0 else state.cursor, length))
        cursor.setPosition(min(state.cursor, length), QTextCursor.MoveMode.KeepAnchor)
        editor.setTextCursor(cursor)

    def _keep(self) -> None:
        state = self._state()
        if state != self._states.get(self._session):
            self._states.put(self._session, state)
            self._intents.start(asyncio.to_thread(self._states.save), "save view")

    def _state(self) -> ViewState:
        screens = self._work.screens
        known, card = self._states.get(self._session), self._work.first_card
        board, cursor = screens.chat.view.board, screens.chat.composer.editor.textCursor()
        scrolled = not board.following and len(board.model)
        at_end = cursor.atEnd() and not cursor.hasSelection()
        return ViewState(
            row=board.model.shape(board.flow.anchor).key if scrolled else "",
            offset=round(board.flow.offset, 1) if scrolled else 0.0,
            cursor=-1 if at_end else cursor.position(),
            mark=-1 if at_end else cursor.anchor(),
            entry=screens.cache.selected,
            card=known.card if card is None else card,
        )
