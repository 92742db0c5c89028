"""The list of a workspace's sessions, by mouse and by keyboard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QRectF,
    QSize,
    Qt,
)
from PySide6.QtGui import QColor, QKeyEvent, QKeySequence, QPainter, QPen
from PySide6.QtWidgets import (
    QFrame,
    QLineEdit,
    QListView,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from helix_desktop.ui.design.key_names import pressed_key
from helix_desktop.ui.design.labels import elide_title
from helix_desktop.ui.design.mirror import mirror
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.theme import Themed, current_theme
from helix_desktop.ui.kit.boxes import Box, Column, Dot, Icon, Pill, Row, Text, paint_box
from helix_desktop.ui.kit.commands import PageKeys
from helix_desktop.ui.kit.intents import (
    ArchiveSession,
    CopyLink,
    Export,
    Intent,
    OpenInNewWindow,
    OpenListedSession,
    PinSession,
    RestoreSession,
    TrashSession,
    perform,
)
from helix_desktop.ui.kit.window_commands import SessionCommands
from helix_desktop.ui.window.sidebar.session_rows import (
    FOLDED_ROLE,
    ITEM_ROLE,
    RUNNING_ROLE,
    WHEN_ROLE,
    FoundMessage,
    SessionItem,
    SessionModel,
    row_end,
)
from helix_desktop.words.translation import Translator

tr = Translator("Window")

_RENAME_KEY = "F2"

_Index = QModelIndex | QPersistentModelIndex
_HEADING_PX, _LINE_PX, _NESTED_PX, _FOUND_PX = 34, 36, 30, 54  # heights of rows
_INDENT_PX, _MAX_DEPTH = 16, 4
_MARK_PX = 13  # an icon before the title: archived, branch, subagent, version


class SessionDelegate(QStyledItemDelegate):
    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        """Return a fixed height per kind of row, so that thousands cost nothing."""
        entry = index.data(ITEM_ROLE)
        return QSize(120, fonts.scaled(_HEADING_PX if isinstance(entry, str) else _height(entry)))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        entry = index.data(ITEM_ROLE)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        bounds = QRectF(option.rect)
        mirror(painter, bounds)
        if isinstance(entry, str):
            if index.data(FOLDED_ROLE) is not None:
                self._paint_background(painter, bounds.adjusted(8, 8, -8, -1), option.state)
            paint_box(painter, bounds.adjusted(20, 8, -20, 0), current_theme(), _heading(index))
        elif isinstance(entry, SessionItem):
            box = bounds.adjusted(8 + _indent(entry), 1, -8, -1)
            self._paint_background(painter, box, option.state, entry.active)
            content = _title(entry, str(index.data(WHEN_ROLE)))
            if entry.found_line:
                color = "muted" if entry.active else "faint"
                content = Column([content, Text(entry.found_line, 12, color)], 4)
            paint_box(painter, box.adjusted(12, 0, -12, 0), current_theme(), content)
        painter.restore()

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: _Index) -> QWidget:
        field = QLineEdit(parent)
        field.setMaxLength(1_000)
        field.setAccessibleName(tr("Session title"))
        return field

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, index: _Index) -> None:
        area: QRect = option.rect
        entry = index.data(ITEM_ROLE)
        indent = _indent(entry) if isinstance(entry, SessionItem) else 0
        place = area.adjusted(12 + indent, 1, -12, -1)
        editor.setGeometry(QStyle.visualRect(editor.layoutDirection(), area, place))

    def _paint_background(
        self, painter: QPainter, box: QRectF, state: QStyle.StateFlag, is_active: bool = False
    ) -> None:
        background = ""
        if is_active:
            background = current_theme().selection
        elif state & (QStyle.StateFlag.State_MouseOver | QStyle.StateFlag.State_Selected):
            background = current_theme().hover
        focused = (
            state & QStyle.StateFlag.State_HasFocus and state & QStyle.StateFlag.State_KeyboardFocusChange
        )
        painter.setPen(QPen(QColor(current_theme().accent), 2) if focused else Qt.PenStyle.NoPen)
        painter.setBrush(QColor(background) if background else Qt.BrushStyle.NoBrush)
        if background or focused:
            painter.drawRoundedRect(box.adjusted(1, 1, -1, -1) if focused else box, 9, 9)


def _heading(index: _Index) -> Box:
    is_folded = index.data(FOLDED_ROLE)
    words = Text(str(index.data()), 11, "faint", 600, grow=True, shrink=True)
    if is_folded is None:
        return words
    runs = [Dot("seg_assistant", 7)] if is_folded and index.data(RUNNING_ROLE) else []
    return Row([words, *runs, Icon("chevron-right" if is_folded else "chevron-down", "muted", 13)])


def _title(item: SessionItem, when: str) -> Box:
    """Return marks, title, and the row's last word, in a pill if it is urgent."""
    marks = {
        "archive": item.place.archived and not item.parent,
        "history": bool(item.version),
        "bot": bool(item.parent) and not item.version,
        "git-branch": bool(item.branch_of) and not item.parent,
    }
    icons = [Icon(name, "muted", _MARK_PX) for name, is_shown in marks.items() if is_shown]
    is_muted = bool(item.parent) and not item.active
    look = (12 if item.parent else 13, "muted" if is_muted else "text", 400 if is_muted else 500)
    title = Text(item.title, *look, cut=elide_title, grow=True, shrink=True)
    words, tone = row_end(item, when)
    if tone is not None:
        # A soft ground would not stand out from that of the row on screen.
        end: list[Box] = [Pill(words, tone, high=18, fill="surface" if item.active else "")]
    else:
        end = [Text(words, 11, "muted" if item.active else "faint")] if words else []
    return Row([*icons, title, *end])


def _height(item: SessionItem) -> int:
    """Return the height of a session's row, in pixels at 100 %."""
    return _FOUND_PX if item.found_line else _NESTED_PX if item.parent else _LINE_PX


def _indent(item: SessionItem) -> int:
    return _INDENT_PX * min(item.depth, _MAX_DEPTH)


class SessionList(Themed, QListView):
    """Click or Enter opens a session, F2 renames it, `keys` have the others.

    Ctrl+Z restores the one that was deleted last. What is typed while a
    session is being opened is for it: see `take_typed_text`.

    Click, Enter, Space, Left and Right on the heading of the archive fold and unfold it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.keys = PageKeys(SessionCommands, self)
        self._open_id = ""
        self._typed_text: str | None = None  # since a session was chosen, until it takes the keyboard
        self._sessions_model = SessionModel(self)
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
        if any(session_id in item.all_ids for item in self._sessions_model.items):
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
        """Make the menu of a session's row."""
        item: SessionItem = index.data(ITEM_ROLE)
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)

        def add(words: str, intent: Intent, name: str = "") -> None:
            action = menu.addAction(words, lambda: perform(self, intent))
            action.setObjectName(name)

        menu.addAction(tr("Open", "verb"), lambda: self._select(index))
        add(tr("Open in new window"), OpenInNewWindow(item.id), "open_in_window")
        if self._sessions_model.flags(index) & Qt.ItemFlag.ItemIsEditable:
            menu.addAction(f"{tr('Rename…')}\t{_RENAME_KEY}", lambda: self.edit(index))
        add(tr("Copy link"), CopyLink(session_id=item.id), "copy_link")
        add(tr("Export…"), Export(session_id=item.id), "export")
        if not item.parent:  # a subagent's place goes with the one that it works for
            intents = _intents(item)
            menu.addSeparator()
            pin = tr("Unpin") if item.place.pinned else tr("Pin")
            archive = tr("Unarchive") if item.place.archived else tr("Archive")
            add(self._with_key(pin, "session_pin"), intents["session_pin"], "pin")
            add(self._with_key(archive, "session_archive"), intents["session_archive"], "archive")
            menu.addSeparator()
            add(self._with_key(tr("Move to trash"), "session_trash"), intents["session_trash"])
        return menu

    def _with_key(self, words: str, command: str) -> str:
        return "\t".join(filter(None, (words, self.keys.shown_key(command))))

    def event(self, event: QEvent) -> bool:
        """Keep the key that renames the current row from the window, where it renames the open session."""
        is_rename = isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_F2
        if is_rename and event.type() == QEvent.Type.ShortcutOverride and self.currentIndex().isValid():
            event.accept()
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self._typed_text is not None and self._hold(event):
            return
        index = self.currentIndex()
        is_renaming = self.state() is QListView.State.EditingState  # its field passes Enter on
        if event.matches(QKeySequence.StandardKey.Undo) and not is_renaming:
            perform(self, RestoreSession())
            return
        if is_renaming or not index.isValid() or not self._do(event, index):
            super().keyPressEvent(event)

    def _do(self, event: QKeyEvent, index: QModelIndex) -> bool:
        """Do what a key says with a row; return False if it says nothing."""
        item = index.data(ITEM_ROLE)
        is_heading = isinstance(item, str)
        command, pressed = self.keys.command_of(event), pressed_key(event)
        if is_heading and pressed in ("Left", "Right"):
            self._fold(is_folded=pressed == "Left")
        elif pressed == "Return" or (is_heading and pressed == "Space"):
            self._select(index)
        elif command and isinstance(item, SessionItem):
            if not item.parent:
                perform(self, _intents(item)[command])
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

    def apply_theme(self) -> None:
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
            perform(self, OpenListedSession(item.id))
        else:
            found = item.found
            perform(self, OpenListedSession(found.session_id or item.id, found.seq, found.mark))

    def _fold(self, *, is_folded: bool) -> None:
        """Fold or unfold the archive, and stay on its heading."""
        self._sessions_model.fold_archive(is_folded)
        self.setCurrentIndex(self._sessions_model.index_of_archive())

    def _open_menu(self, position: QPoint) -> None:
        index = self.indexAt(position)
        if isinstance(index.data(ITEM_ROLE), SessionItem):
            self.menu_for(index).popup(self.viewport().mapToGlobal(position))


def _is_session(index: QModelIndex) -> bool:
    return isinstance(index.data(ITEM_ROLE), SessionItem)


def _intents(item: SessionItem) -> dict[str, Intent]:
    """Return what each command of the list wants with a session."""
    return {
        "session_pin": PinSession(item.id, not item.place.pinned),
        "session_archive": ArchiveSession(item.id, not item.place.archived),
        "session_trash": TrashSession(item.id),
    }
