"""The conversation: a virtual list that keeps only the visible messages alive."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QContextMenuEvent,
    QFocusEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QMenu, QWidget

from helix_desktop.ui import accessibility
from helix_desktop.ui.chat.accessible import RowArea
from helix_desktop.ui.chat.answer_guard import AnswerGuard
from helix_desktop.ui.chat.arrivals import Arrivals
from helix_desktop.ui.chat.board import Board, Spinner
from helix_desktop.ui.chat.finder import Finder
from helix_desktop.ui.chat.highlight import Highlighter
from helix_desktop.ui.chat.look import Look
from helix_desktop.ui.chat.model import ChatModel
from helix_desktop.ui.chat.pill import NewRowsPill
from helix_desktop.ui.chat.pointer import Pointer
from helix_desktop.ui.chat.rows import ToolRow, source_text
from helix_desktop.ui.chat.selection import Selection
from helix_desktop.ui.chat.sheets import Sheets
from helix_desktop.ui.chat.stage import Stage
from helix_desktop.ui.chat.tool_menu import ToolMenu
from helix_desktop.ui.chat.tool_sheet import has_menu
from helix_desktop.ui.focus import FocusRing
from helix_desktop.ui.theme import Theme

_LINE = 44.0  # pixels an arrow key scrolls
_PAGE_OVERLAP = 48.0


class ChatView(QAbstractScrollArea):
    """Shows a ChatModel; reading, selecting, finding and answering happen here."""

    link_activated = Signal(str)
    link_hovered = Signal(str)
    open_in_cache = Signal(str)
    approval_decided = Signal(str, str, int)
    action_triggered = Signal(str, str)
    card_chosen = Signal(str, str)  # key of a tool's card, and what to do with it
    content_wanted = Signal(str, bool)  # key of a tool's card; whether all lines are wanted
    follow_changed = Signal(bool)
    find_finished = Signal(bool)
    typed = Signal(str)  # signs that are meant for the composer
    accessible_role = QAccessible.Role.Pane

    def __init__(
        self,
        model: ChatModel,
        theme: Theme,
        parent: QWidget | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`now` gives seconds."""
        super().__init__(parent)
        rows = RowArea()
        self.setViewport(rows)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Conversation")
        self.viewport().setMouseTracking(True)
        self.highlighter = Highlighter(self)
        sheets = Sheets(model, Look(theme, 1.0, self.devicePixelRatioF()), self.highlighter)
        self.board = Board(model, sheets, rows, self.verticalScrollBar())
        self.arrivals = Arrivals(self.board)
        self._selection = Selection(model, sheets)
        self.finder = Finder(self.board)
        guard = AnswerGuard(model, now)
        self._pointer = Pointer(self.board, self._selection, self.viewport(), guard)
        self._stage = Stage(self.board, self._pointer, self._selection, self.finder, guard)
        self._tools = ToolMenu(self.board, self.viewport())
        self._pill = NewRowsPill(self)
        self._ring = FocusRing(self)
        Spinner(self.board)
        self._zoom = 1.0
        self._connect()
        self.set_theme(theme)
        self.board.open(self._stage, self)

    def set_theme(self, theme: Theme, zoom: float | None = None) -> None:
        """Show everything in another theme, or at another zoom (1.0 is 15 px text), at the same place."""
        self._zoom = zoom if zoom is not None else self._zoom
        look = Look(theme, self._zoom, self.devicePixelRatioF())
        self.board.sheets.use(look)
        self._pill.use(look)
        self._ring.tint(theme)
        self.setStyleSheet(_style(theme))
        if self.board.deck is not None:
            self.board.refresh()
            self.board.repaint()

    def tint(self, theme: Theme) -> None:
        """The same as set_theme, as the window tells all its panes."""
        self.set_theme(theme)

    @property
    def following(self) -> bool:
        """Whether the view stays at the end when rows come."""
        return self.board.following

    def follow(self) -> None:
        """Go to the end and stay there."""
        self.board.go_to_end()

    def jump_to(self, key: str) -> bool:
        """Bring the row of a key to the top; False when there is no such row."""
        index = self.board.model.index_of(key)
        if index is not None:
            self.board.show_row(index)
        return index is not None

    def find_text(self, text: str, direction: int = 1) -> None:
        """Go to the next (1) or former (-1) row text that holds some words; `find_finished` tells the end.

        An empty text ends finding and takes the marks away.
        """
        self.finder.find(text, direction)
        self.board.repaint()

    def selected_text(self) -> str:
        """The selected words, messages apart by an empty line."""
        return self._selection.text()

    def announce(self, words: str) -> None:
        """Tell screen readers something, for example "Reply finished" or "Approval needed: ..."."""
        accessibility.announce(self, words)

    def copy(self) -> None:
        """Put the selected words on the clipboard."""
        text = self._selection.text()
        if text:
            QGuiApplication.clipboard().setText(text)

    def select_all(self) -> None:
        """Select the message that was clicked last; asked again, or without one, everything."""
        index = self._pointer.last_index
        if 0 <= index < len(self.board.model) and not self._selection.covers_row(index):
            self._selection.select_row(index)
        else:
            self._selection.select_all()
        self.board.repaint()

    def viewportEvent(self, event: QEvent) -> bool:
        """Hand mouse events of the viewport to the pointer."""
        kind = event.type()
        if isinstance(event, QMouseEvent):
            if kind in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonDblClick):
                self.setFocus(Qt.FocusReason.MouseFocusReason)
                double = kind == QEvent.Type.MouseButtonDblClick
                if not (double and self._pointer.open_subagent(event)):
                    self._pointer.press(event)
                return True
            if kind == QEvent.Type.MouseMove:
                self._pointer.move(event)
                return True
            if kind == QEvent.Type.MouseButtonRelease:
                self._pointer.release(event)
                return True
        elif kind == QEvent.Type.Leave:
            self._pointer.leave()
        return super().viewportEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the first visible row where it is, or stay at the end."""
        super().resizeEvent(event)
        self._ring.setGeometry(self.viewport().geometry())
        self.board.refresh()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """The scroll bar has moved."""
        self.board.bar_moved()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Scroll, copy, select; what is typed here goes where messages are written."""
        height = self.viewport().height()
        steps = {
            Qt.Key.Key_Up: -_LINE,
            Qt.Key.Key_Down: _LINE,
            Qt.Key.Key_PageUp: _PAGE_OVERLAP - height,
            Qt.Key.Key_PageDown: height - _PAGE_OVERLAP,
        }
        key = Qt.Key(event.key())
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.matches(QKeySequence.StandardKey.SelectAll):
            self.select_all()
        elif key in steps and not event.modifiers() & Qt.KeyboardModifier.AltModifier:
            self.board.scroll_by(steps[key])
        elif key == Qt.Key.Key_Home and len(self.board.model):
            self.board.show_row(0, 0.0)
        elif key == Qt.Key.Key_End:
            self.board.go_to_end()
        elif key == Qt.Key.Key_Escape and self._selection:
            self._selection.clear()
            self.board.repaint()
        elif _is_typed(event):
            self.typed.emit(event.text())
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Coming back with Shift+Tab begins at the last button in sight."""
        super().focusInEvent(event)
        self._ring.show_for(event)
        if event.reason() == Qt.FocusReason.BacktabFocusReason:
            self._stage.focus.enter(forward=False)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Take the ring away."""
        super().focusOutEvent(event)
        self._ring.hide()

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Tab goes through the buttons of the rows before it leaves."""
        if forward and self.hasFocus() and self._stage.focus.enter(forward=True):
            return True
        return super().focusNextPrevChild(forward)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Copy the selection, the message or the link under the mouse."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if self._selection:
            menu.addAction("Copy", self.copy)
        link = self._pointer.link_at(QPointF(event.pos()))
        clipboard = QGuiApplication.clipboard()
        if link:
            menu.addAction("Copy link", lambda: clipboard.setText(link))
        located = self.board.locate(QPointF(event.pos()))
        row = self.board.model.row(located.row) if located is not None else None
        if row is not None:
            menu.addAction("Copy message", lambda: clipboard.setText(source_text(row)))
        menu.addAction("Select all", self.select_all)
        if isinstance(row, ToolRow) and has_menu(row):
            menu.addSeparator()
            self._tools.fill(menu, row)
        menu.popup(event.globalPos())

    def _connect(self) -> None:
        board, pointer, stage = self.board, self._pointer, self._stage
        board.model.rows_reset.connect(stage.reset)
        board.model.row_removed.connect(self._selection.clear)
        board.moved.connect(pointer.refresh)
        board.follow_changed.connect(self.follow_changed)
        pointer.link_activated.connect(self.link_activated)
        pointer.link_hovered.connect(self.link_hovered)
        pointer.changed.connect(board.repaint)
        stage.open_in_cache.connect(self.open_in_cache)
        stage.approval_decided.connect(self.approval_decided)
        stage.action_triggered.connect(self.action_triggered)
        stage.content_wanted.connect(self.content_wanted)
        stage.menu_wanted.connect(self._tools.open)
        for chosen in (self._tools.chosen, stage.card_chosen):
            chosen.connect(self.card_chosen)
        stage.leave_requested.connect(self._leave)
        self.finder.finished.connect(self.find_finished)
        self.finder.finished.connect(board.repaint)
        self.highlighter.highlighted.connect(board.repaint)
        self._pill.watch(board, self.viewport())
        bar = self.verticalScrollBar()
        bar.rangeChanged.connect(lambda low, high: bar.setEnabled(high > low))  # else its handle is shown
        bar.setEnabled(False)

    def _leave(self, forward: bool) -> None:
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)  # to be seen, and to stay here
        if forward:
            super().focusNextPrevChild(True)


def _is_typed(event: QKeyEvent) -> bool:
    """Whether a key writes a sign; Space presses buttons."""
    keys = Qt.KeyboardModifier
    held = event.modifiers() & (keys.ControlModifier | keys.AltModifier | keys.MetaModifier)
    # AltGr is Control and Alt at once on some systems, and writes.
    writes = held in (keys.NoModifier, keys.ControlModifier | keys.AltModifier)
    return writes and event.text().isprintable() and bool(event.text().strip())


def _style(theme: Theme) -> str:
    return (
        f"ChatView {{ background: {theme.canvas}; border: 0; }}"
        "QScrollBar:vertical { background: transparent; width: 12px; margin: 0; border: 0; }"
        f"QScrollBar::handle:vertical {{ background: {theme.scrollbar}; border-radius: 4px; min-height: 36px;"
        " margin: 2px; }"
        f"QScrollBar::handle:vertical:hover {{ background: {theme.faint}; }}"
        "QScrollBar::handle:vertical:disabled { background: transparent; }"
        "QScrollBar::add-line:vertical, QScrollBar::sub-line:vertical { height: 0; width: 0; border: 0; }"
        "QScrollBar::add-page:vertical, QScrollBar::sub-page:vertical { background: transparent; }"
    )
