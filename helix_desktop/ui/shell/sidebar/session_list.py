"""The list of a workspace's sessions, by mouse and by keyboard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime

from PySide6.QtCore import QEvent, QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QFrame, QListView, QMenu

from helix_desktop.ui.design.page_keys import PageKeys, pressed_key
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import Themed
from helix_desktop.ui.shell.sidebar.commands import SESSION_COMMANDS
from helix_desktop.ui.shell.sidebar.session_delegate import SessionDelegate
from helix_desktop.ui.shell.sidebar.session_model import FOLDED_ROLE, ITEM_ROLE, SessionModel
from helix_desktop.ui.shell.sidebar.session_rows import FoundMessage, SessionItem
from helix_desktop.words.translation import Translator

tr = Translator("Window")

_RENAME_KEY = "F2"


class SessionList(Themed, QListView):
    """Click or Enter opens a session, F2 renames it, `keys` have the others.

    Ctrl+Z restores the one that was deleted last. What is typed while a
    session is being opened is for it: see `take_typed_text`.

    Click, Enter, Space, Left and Right on the heading of the archive fold and unfold it.
    """

    session_selected = Signal(str)
    message_selected = Signal(str, int)
    """Session and event."""
    renamed = Signal(str, str)
    """Session id and new title."""
    pin_requested = Signal(str, bool)
    """Session id, and False to unpin."""
    archive_requested = Signal(str, bool)
    """Session id, and False to unarchive."""
    deleted = Signal(str)
    undo_requested = Signal()
    link_requested = Signal(str)
    export_requested = Signal(str)
    window_requested = Signal(str)
    """The user wants a session in a window of its own."""

    def __init__(self) -> None:
        """Start empty."""
        super().__init__()
        self.keys = PageKeys(SESSION_COMMANDS, self)
        self._open_id = ""
        self._typed_text: str | None = None  # since a session was chosen, until it takes the keyboard
        self._sessions_model = SessionModel(self)
        self._sessions_model.renamed.connect(self.renamed)
        self._delegate = SessionDelegate(self)
        self.setModel(self._sessions_model)
        self.setItemDelegate(self._delegate)
        self.setAccessibleName(tr("Sessions"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setEditTriggers(QListView.EditTrigger.EditKeyPressed)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._open_menu)
        self.clicked.connect(self._select)

    def update_time(self, now: datetime) -> None:
        """Update when each session changed, and on which day, as seen from a local `now`."""
        self.show_sessions(self._sessions_model.items, now)

    def show_sessions(self, items: Sequence[SessionItem], now: datetime) -> None:
        """Show these sessions, grouped as seen from a local `now`; one that was just opened is current."""
        with self._keeping_current():
            self._sessions_model.show_sessions(items, now)
        self.viewport().update()  # times and counts change also where no row does
        open_id = next((session.id for session in items if session.active), "")
        if open_id != self._open_id:
            self._open_id = open_id
            self.setCurrentIndex(self.index_of(open_id))

    def mark_open(self, session_id: str) -> None:
        """Show a session of the list, which is being opened, as the one on screen."""
        if any(item.id == session_id for item in self._sessions_model.items):
            with self._keeping_current():
                self._sessions_model.mark_open(session_id)

    @contextmanager
    def _keeping_current(self) -> Iterator[None]:
        """Keep the current row while others come and go, if it is in sight."""
        current = self.currentIndex()
        item, row = current.data(ITEM_ROLE), current.row()
        was_visible = self.viewport().rect().intersects(self.visualRect(current))
        yield
        if isinstance(item, SessionItem) and was_visible and not self.currentIndex().isValid():
            self.setCurrentIndex(self._index_near(item.id, row))

    def _index_near(self, session_id: str, row: int) -> QModelIndex:
        """Return the index of a session, else of the one that is now where it was."""
        index = self.index_of(session_id)
        places = range(min(row, self._sessions_model.rowCount() - 1), -1, -1)
        rows = (self._sessions_model.index(place) for place in places)
        return index if index.isValid() else next(filter(_is_session, rows), index)

    def set_filter(self, needle: str, found: Mapping[str, FoundMessage]) -> None:
        """Show only sessions that match a search, or have a message that it `found`."""
        with self._keeping_current():
            self._sessions_model.set_filter(needle, found)

    def take_typed_text(self) -> str | None:
        """Return what was typed since a session was chosen, and let keys be commands; None: none was."""
        typed, self._typed_text = self._typed_text, None
        return typed

    def open_first(self) -> None:
        """Open the first session that is shown, if any."""
        for item in self.sessions()[:1]:
            self._open(item)

    def sessions(self) -> list[SessionItem]:
        """Return the sessions that are shown, in order."""
        return self._sessions_model.sessions()

    def is_empty(self) -> bool:
        """Return True if nothing is shown, not even the heading of the archive."""
        return not self._sessions_model.rowCount()

    def session_count(self) -> int:
        """Return how many sessions there are, shown or not."""
        return self._sessions_model.session_count()

    def index_of(self, session_id: str) -> QModelIndex:
        """Return the index of a session; invalid when it is not shown."""
        return self._sessions_model.index_of(session_id)

    def focus_first(self) -> None:
        """Take the focus, at the current or the first session; not where no session is shown."""
        if not self.isVisible():
            return  # else Qt gives it the focus once it appears, away from who types
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)
        if not self.currentIndex().isValid():
            sessions = self.sessions()
            archive = self._sessions_model.index_of_archive()
            self.setCurrentIndex(self.index_of(sessions[0].id) if sessions else archive)

    def menu_for(self, index: QModelIndex) -> QMenu:
        """Return the context menu of a session."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(tr("Open", "verb"), lambda: self._select(index))
        menu.addAction(tr("Open in new window"), lambda: self._request_window(index)).setObjectName(
            "open_in_window"
        )
        menu.addAction(f"{tr('Rename…')}\t{_RENAME_KEY}", lambda: self.edit(index))
        menu.addAction(tr("Copy link"), lambda: self._request_link(index)).setObjectName("copy_link")
        menu.addAction(tr("Export…"), lambda: self._request_export(index)).setObjectName("export")
        item = index.data(ITEM_ROLE)
        if isinstance(item, SessionItem) and not item.parent:  # a subagent's goes with the one it works for
            menu.addSeparator()
            pin = tr("Unpin") if item.place.pinned else tr("Pin")
            archive = tr("Unarchive") if item.place.archived else tr("Archive")
            trash = tr("Move to trash")
            menu.addAction(self._with_key(pin, "session_pin"), lambda: self._pin(index)).setObjectName("pin")
            menu.addAction(
                self._with_key(archive, "session_archive"), lambda: self._archive(index)
            ).setObjectName("archive")
            menu.addSeparator()
            menu.addAction(self._with_key(trash, "session_trash"), lambda: self._delete(index))
        return menu

    def _with_key(self, words: str, command: str) -> str:
        """Return the words of a menu entry with its key, if it has one."""
        return "\t".join(filter(None, (words, self.keys.shown_key(command))))

    def event(self, event: QEvent) -> bool:
        """Keep the key that renames the current row from the window, where it renames the open session."""
        is_rename = isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_F2
        if is_rename and event.type() == QEvent.Type.ShortcutOverride and self.currentIndex().isValid():
            event.accept()
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Do what a key says with the current row, leave the rest to Qt."""
        if self._typed_text is not None and self._hold(event):
            return
        index = self.currentIndex()
        is_renaming = self.state() is QListView.State.EditingState  # its field passes Enter on
        if event.matches(QKeySequence.StandardKey.Undo) and not is_renaming:
            self.undo_requested.emit()
            return
        if is_renaming or not index.isValid() or not self._do(event, index):
            super().keyPressEvent(event)

    def _do(self, event: QKeyEvent, index: QModelIndex) -> bool:
        """Do what a key says with a row; return False if it says nothing."""
        is_heading = isinstance(index.data(ITEM_ROLE), str)
        command, pressed = self.keys.command_of(event), pressed_key(event)
        actions = {"session_pin": self._pin, "session_archive": self._archive, "session_trash": self._delete}
        if is_heading and pressed in ("Left", "Right"):
            self._fold(is_folded=pressed == "Left")
        elif pressed == "Return" or (is_heading and pressed == "Space"):
            self._select(index)
        elif command and not is_heading:
            actions[command](index)
        else:
            return False
        return True

    def _hold(self, event: QKeyEvent) -> bool:
        """Keep what is typed for the session that is being opened; False for keys that type nothing."""
        text = event.text()
        if event.key() == Qt.Key.Key_Backspace:
            self._typed_text = (self._typed_text or "")[:-1]
        elif text.isprintable():
            self._typed_text = (self._typed_text or "") + text
        return bool(text) or event.key() == Qt.Key.Key_Delete

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme, and the text size in force."""
        self._delegate.tint(theme)
        self.scheduleDelayedItemsLayout()  # Qt laid the rows out before, with the heights of the last size
        self.viewport().update()

    def _select(self, index: QModelIndex) -> None:
        item = index.data(ITEM_ROLE)
        if isinstance(item, SessionItem):
            self._typed_text = ""
            self._open(item)
        elif index.data(FOLDED_ROLE) is not None:
            self._fold(is_folded=not index.data(FOLDED_ROLE))

    def _open(self, item: SessionItem) -> None:
        """Open a session, at the message that a search found in it."""
        if item.found is None:
            self.session_selected.emit(item.id)
        else:
            self.message_selected.emit(item.id, item.found.seq)

    def _fold(self, *, is_folded: bool) -> None:
        """Fold or unfold the archive, and stay on its heading."""
        self._sessions_model.fold_archive(is_folded)
        self.setCurrentIndex(self._sessions_model.index_of_archive())

    def _request_link(self, index: QModelIndex) -> None:
        item = index.data(ITEM_ROLE)
        if isinstance(item, SessionItem):
            self.link_requested.emit(item.id)

    def _request_window(self, index: QModelIndex) -> None:
        item = index.data(ITEM_ROLE)
        if isinstance(item, SessionItem):
            self.window_requested.emit(item.id)

    def _request_export(self, index: QModelIndex) -> None:
        item = index.data(ITEM_ROLE)
        if isinstance(item, SessionItem):
            self.export_requested.emit(item.id)

    def _delete(self, index: QModelIndex) -> None:
        item = index.data(ITEM_ROLE)
        if isinstance(item, SessionItem) and not item.parent:
            self.deleted.emit(item.id)

    def _pin(self, index: QModelIndex) -> None:
        item = index.data(ITEM_ROLE)
        if isinstance(item, SessionItem) and not item.parent:
            self.pin_requested.emit(item.id, not item.place.pinned)

    def _archive(self, index: QModelIndex) -> None:
        item = index.data(ITEM_ROLE)
        if isinstance(item, SessionItem) and not item.parent:
            self.archive_requested.emit(item.id, not item.place.archived)

    def _open_menu(self, position: QPoint) -> None:
        index = self.indexAt(position)
        if isinstance(index.data(ITEM_ROLE), SessionItem):
            self.menu_for(index).popup(self.viewport().mapToGlobal(position))


def _is_session(index: QModelIndex) -> bool:
    return isinstance(index.data(ITEM_ROLE), SessionItem)
