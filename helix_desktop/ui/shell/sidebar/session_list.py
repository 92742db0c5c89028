"""The list of a workspace's sessions, by mouse and by keyboard."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from PySide6.QtCore import QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QListView, QMenu

from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import Themed
from helix_desktop.ui.shell.sidebar.rows import SessionItem
from helix_desktop.ui.shell.sidebar.session_delegate import SessionDelegate
from helix_desktop.ui.shell.sidebar.session_model import ITEM_ROLE, SessionModel
from helix_desktop.words.translation import Translator

tr = Translator("Window")

_RENAME_KEY, _DELETE_KEY = "F2", "Del"


class SessionList(Themed, QListView):
    """Click or Enter opens a session, F2 renames it, Del deletes it."""

    session_selected = Signal(str)
    renamed = Signal(str, str)
    """Session id and new title."""
    deleted = Signal(str)
    link_requested = Signal(str)

    def __init__(self) -> None:
        """Start empty."""
        super().__init__()
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

    def show_sessions(self, items: Sequence[SessionItem], now: datetime) -> None:
        """Show these sessions, grouped by day as seen from a local `now`."""
        self._sessions_model.show_sessions(items, now)

    def set_filter(self, needle: str) -> None:
        """Show only sessions that match a search."""
        self._sessions_model.set_filter(needle)

    def sessions(self) -> list[SessionItem]:
        """Return the sessions that are shown, in order."""
        return self._sessions_model.sessions()

    def session_count(self) -> int:
        """Return how many sessions there are, shown or not."""
        return self._sessions_model.session_count()

    def index_of(self, session_id: str) -> QModelIndex:
        """Return the index of a session; invalid when it is not shown."""
        return self._sessions_model.index_of(session_id)

    def focus_first(self) -> None:
        """Take the focus, at the current or the first session."""
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)
        if not self.currentIndex().isValid() and self.sessions():
            self.setCurrentIndex(self.index_of(self.sessions()[0].id))

    def menu_for(self, index: QModelIndex) -> QMenu:
        """Return the context menu of a session."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(tr("Open", "verb"), lambda: self._select(index))
        menu.addAction(f"{tr('Rename…')}\t{_RENAME_KEY}", lambda: self.edit(index))
        menu.addAction(tr("Copy link"), lambda: self._request_link(index)).setObjectName("copy_link")
        item = index.data(ITEM_ROLE)
        if isinstance(item, SessionItem) and not item.parent:  # a subagent's goes with the one it works for
            menu.addSeparator()
            menu.addAction(f"{tr('Move to trash')}\t{_DELETE_KEY}", lambda: self._delete(index))
        return menu

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Open with Enter, delete with Del, leave the rest to Qt."""
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter} and self.currentIndex().isValid():
            self._select(self.currentIndex())
            return
        if event.key() == Qt.Key.Key_Delete and self.currentIndex().isValid():
            self._delete(self.currentIndex())
            return
        super().keyPressEvent(event)

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme."""
        self._delegate.theme = theme
        self.viewport().update()

    def _select(self, index: QModelIndex) -> None:
        item = index.data(ITEM_ROLE)
        if isinstance(item, SessionItem):
            self.session_selected.emit(item.id)

    def _request_link(self, index: QModelIndex) -> None:
        item = index.data(ITEM_ROLE)
        if isinstance(item, SessionItem):
            self.link_requested.emit(item.id)

    def _delete(self, index: QModelIndex) -> None:
        item = index.data(ITEM_ROLE)
        if isinstance(item, SessionItem) and not item.parent:
            self.deleted.emit(item.id)

    def _open_menu(self, position: QPoint) -> None:
        index = self.indexAt(position)
        if isinstance(index.data(ITEM_ROLE), SessionItem):
            self.menu_for(index).popup(self.viewport().mapToGlobal(position))
