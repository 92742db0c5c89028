"""Brings the user back to where they were in a session, and to the last filter of the cache."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QTextCursor

from helix_desktop.config.view_states import ViewState
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.store import SavedFilter
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.session.past import PastController
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.timeline.presenter import TimelinePresenter

_PAUSE_MS = 1_000


class ViewStateController(QObject):
    """Keeps where the user is whenever that changed, and when another session is shown."""

    def __init__(
        self,
        window: MainWindow,
        session: Session,
        past: PastController,
        timeline: TimelinePresenter,
    ) -> None:
        super().__init__(window)
        self._session, self._pages, self._past = session, window.pages, past
        self._timeline = timeline
        self._states, self._registry = session.app.view_states, session.app.registry
        self._session_id = ""  # of the session whose view is on screen, restored
        self._workspace_id = ""  # the one whose filter is in the cache browser
        self._save_timer = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._save_timer.timeout.connect(self._save)
        session.changing.connect(self._save_previous)
        session.loaded.connect(self._restore)
        screens = self._pages
        for changed in (
            screens.chat.view.chat_viewport.layout_changed,
            screens.chat.composer.editor.cursorPositionChanged,
            screens.chat.composer.editor.selectionChanged,
            screens.cache.selection_changed,
            screens.cache.filter_bar.changed,
            screens.timeline.scrolled,
            screens.changes.list.entry_selected,
        ):
            changed.connect(self._schedule_save)

    def _schedule_save(self, *_: object) -> None:
        if self._session_id and not self._save_timer.isActive():
            self._save_timer.start()

    def _save_previous(self) -> None:
        """Keep the former session's view, which the screens still show."""
        if self._session_id:
            self._save()
        self._session_id = ""
        self._save_timer.stop()

    def _restore(self) -> None:
        conversation, screens = self._session.conversation, self._pages
        if self._session.workspace.id != self._workspace_id:
            self._workspace_id = self._session.workspace.id
            screens.cache.filter_bar.apply_saved(self._last_filter())
        self._session_id = self._session.id
        state = self._states.get(self._session_id)
        key = RowKey.parse(state.row)
        index = screens.chat.model.index_of(key) if key else None
        if index is not None and not conversation.asks:
            screens.chat.view.chat_viewport.show_row(index, -state.offset)
        if state.cursor >= 0:
            self._restore_cursor(state)
        if state.entry and not screens.cache.filter_bar.current_filter.is_narrowing:  # it would clear that
            screens.cache.select(state.entry)
        if state.card:
            self._timeline.set_first_card(state.card)
        if state.change:
            screens.changes.select_soon(state.change)

    def _restore_cursor(self, state: ViewState) -> None:
        editor = self._pages.chat.composer.editor
        length = editor.document().characterCount() - 1
        cursor = editor.textCursor()
        cursor.setPosition(min(state.mark if state.mark >= 0 else state.cursor, length))
        cursor.setPosition(min(state.cursor, length), QTextCursor.MoveMode.KeepAnchor)
        editor.setTextCursor(cursor)

    def _save(self) -> None:
        if self._past.step is not None:
            return  # what is on screen is not where the user was
        self._save_filter()
        state = self._current_state()
        if state != self._states.get(self._session_id):
            self._states.put(self._session_id, state)
            self._session.start(asyncio.to_thread(self._states.save), "save view")

    def _last_filter(self) -> SavedFilter:
        filters = self._registry.get(self._workspace_id).cache_filters
        return next((saved for saved in filters if not saved.name), SavedFilter(""))

    def _save_filter(self) -> None:
        """Keep the cache's filter; a record that is gone or can't be written loses it."""
        with suppress(HelixError):
            current = self._pages.cache.filter_bar.saved_filter
            if current != self._last_filter():
                filters = self._registry.get(self._workspace_id).cache_filters
                named = (saved for saved in filters if saved.name)
                self._registry.change(self._workspace_id, cache_filters=(*named, current))

    def _current_state(self) -> ViewState:
        screens = self._pages
        state, card = self._states.get(self._session_id), self._timeline.first_card
        change = screens.changes.entry
        viewport, cursor = screens.chat.view.chat_viewport, screens.chat.composer.editor.textCursor()
        scrolled = not viewport.is_following and len(viewport.model)
        at_end = cursor.atEnd() and not cursor.hasSelection()
        return ViewState(
            row=str(viewport.model.raw_row(viewport.scroll_layout.anchor).key) if scrolled else "",
            offset=round(viewport.scroll_layout.offset, 1) if scrolled else 0.0,
            cursor=-1 if at_end else cursor.position(),
            mark=-1 if at_end else cursor.anchor(),
            entry=screens.cache.selected,
            card=state.card if card is None else card,
            change=change.key if change is not None else state.change,
        )
