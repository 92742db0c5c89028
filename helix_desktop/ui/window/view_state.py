"""Where the user is in each session: kept, and shown again."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QTextCursor

from helix_desktop.config.view_states import ViewState
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.store import SavedFilter
from helix_desktop.ui.cache.view import CacheBrowser
from helix_desktop.ui.changes.view import ChangesPage
from helix_desktop.ui.chat.actions import RowKey
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.timeline.view import Timeline
from helix_desktop.ui.window.inspector import PastController
from helix_desktop.ui.window.main_window import MainWindow

_PAUSE_MS = 1_000


class ViewStateController(QObject):
    """Keeps where the user is whenever that changed, and when another session is shown."""

    def __init__(self, window: MainWindow, session: Session, past: PastController) -> None:
        super().__init__(window)
        self._session, self._pages, self._past = session, window.pages, past
        self._states, self._registry = session.app.view_states, session.app.registry
        self._session_id = ""  # of the session whose view is on screen, restored
        self._workspace_id = ""  # the one whose filter is in the cache browser
        self._save_timer = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._save_timer.timeout.connect(self._save)
        session.changing.connect(self._save_previous)
        session.loaded.connect(self._restore)
        viewport, editor = window.pages.chat.view.chat_viewport, window.pages.chat.composer.editor
        for changed in (viewport.layout_changed, editor.cursorPositionChanged, editor.selectionChanged):
            changed.connect(self._schedule_save)
        window.pages.cache.when_built(self._follow_cache)
        window.pages.timeline.when_built(self._follow_timeline)
        window.pages.changes.when_built(self._follow_changes)

    def _follow_cache(self, cache: CacheBrowser) -> None:
        cache.table.entry_selected.connect(self._schedule_save)
        cache.filter_bar.changed.connect(self._schedule_save)
        if self._session_id:
            self._restore_cache(cache)

    def _follow_timeline(self, timeline: Timeline) -> None:
        timeline.scrolled.connect(self._schedule_save)
        timeline.set_first_card(self._states.get(self._session_id).card)

    def _follow_changes(self, changes: ChangesPage) -> None:
        changes.list.entry_selected.connect(self._schedule_save)
        changes.select_soon(self._states.get(self._session_id).change)

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
        self._session_id = self._session.id
        state = self._states.get(self._session_id)
        key = RowKey.parse(state.row)
        index = screens.chat.model.index_of(key) if key else None
        if index is not None and not conversation.asks:
            screens.chat.view.chat_viewport.show_row(index, -state.offset)
        if state.cursor >= 0:
            self._restore_cursor(state)
        if (cache := screens.cache.find()) is not None:
            self._restore_cache(cache)
        if (timeline := screens.timeline.find()) is not None:
            timeline.set_first_card(state.card)
        if (changes := screens.changes.find()) is not None:
            changes.select_soon(state.change)

    def _restore_cache(self, cache: CacheBrowser) -> None:
        if self._session.workspace.id != self._workspace_id:
            self._workspace_id = self._session.workspace.id
            cache.filter_bar.apply_saved(self._last_filter())
        entry = self._states.get(self._session_id).entry
        if entry and not cache.filter_bar.current_filter.is_narrowing:  # it would clear that
            cache.select(entry)

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
        cache = self._pages.cache.find()
        if cache is None:
            return
        with suppress(HelixError):
            current = cache.filter_bar.saved_filter
            if current != self._last_filter():
                filters = self._registry.get(self._workspace_id).cache_filters
                named = (saved for saved in filters if saved.name)
                self._registry.change(self._workspace_id, cache_filters=(*named, current))

    def _current_state(self) -> ViewState:
        screens = self._pages
        state, cache = self._states.get(self._session_id), screens.cache.find()
        timeline, changes = screens.timeline.find(), screens.changes.find()
        card = timeline.first_card if timeline is not None else None
        change = changes.entry if changes is not None else None
        viewport, cursor = screens.chat.view.chat_viewport, screens.chat.composer.editor.textCursor()
        scrolled = not viewport.is_following and len(viewport.model)
        at_end = cursor.atEnd() and not cursor.hasSelection()
        return ViewState(
            row=str(viewport.model.raw_row(viewport.scroll_layout.anchor).key) if scrolled else "",
            offset=round(viewport.scroll_layout.offset, 1) if scrolled else 0.0,
            cursor=-1 if at_end else cursor.position(),
            mark=-1 if at_end else cursor.anchor(),
            entry=state.entry if cache is None else cache.selected,
            card=state.card if card is None else card,
            change=change.key if change is not None else state.change,
        )
