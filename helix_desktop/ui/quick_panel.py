"""A panel over the window in which a few typed letters find a thing: arrows move, Enter goes, Esc leaves."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QGraphicsDropShadowEffect,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from helix_desktop.ui import fonts
from helix_desktop.ui.theme import LIGHT, Theme
from helix_desktop.ui.widgets import PushButton, SearchField, column, label, row

_WIDTH_PX = 560
_TOP_PX, _FRAME_PX = 64, 106  # below the window's edge; what stands around the lines
_ELSEWHERE = {
    True: {QEvent.Type.FocusOut},
    False: {QEvent.Type.MouseButtonPress, QEvent.Type.WindowDeactivate},
}
"""Events that end the panel: of its search field, and of the window behind it."""


class LineDelegate(QStyledItemDelegate):
    """Lines of one height, the chosen one marked; what stands in them is painted by those built on it."""

    def __init__(self, view: QListView, line_px: int) -> None:
        """`line_px` is the height of a line at 100 %."""
        super().__init__(view)
        self.view, self.line_px = view, line_px
        self.theme: Theme = LIGHT

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        """One height for all."""
        return QSize(100, round(self.line_px * fonts.scale(self.view.font())))

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Paint the mark of the chosen line, then the line."""
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(option.rect).adjusted(0, 1, 0, -1)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(self.theme.selection))
            painter.drawRoundedRect(box, 9, 9)
        self.paint_line(painter, box, index)
        painter.restore()

    def paint_line(self, painter: QPainter, box: QRectF, index: QModelIndex | QPersistentModelIndex) -> None:
        """Paint what stands in a line."""
        raise NotImplementedError


class QuickPanel(QFrame):
    """The panel itself; what it offers, and where Enter goes, is said by those that are built on it."""

    def __init__(
        self, window: QWidget, name: str, placeholder: str, nothing: str, enter: str, most_lines: int
    ) -> None:
        """Belong to a window; start hidden. `nothing` is said when a search finds nothing.

        `enter` says in a word what Enter does; `most_lines` are in sight at once.
        """
        super().__init__(window)
        self._window, self._most = window, most_lines
        self._before: QWidget | None = None
        self.setProperty("role", "popup")
        self.setAccessibleName(name)
        self.search = SearchField(placeholder)
        self.search.textChanged.connect(self._fill)
        self.items = QStandardItemModel(self)
        self.list = QListView()
        self.list.setModel(self.items)
        self.list.setAccessibleName(name)
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.list.clicked.connect(self.go)
        self._empty = label(nothing, "muted", wrap=True)
        self.foot = row(gap=6)
        for key, meaning in (("↑ ↓", "move"), ("Enter", enter), ("Esc", "close")):
            for part in (label(key, "key"), label(meaning, "faint")):
                self.foot.addWidget(part)
            self.foot.addSpacing(6)
        self.foot.addStretch(1)
        self.setLayout(
            column(self.search, self.list, self._empty, self.foot, margins=(12, 12, 12, 10), gap=8)
        )
        shadow = QGraphicsDropShadowEffect(self)
        shadow.setBlurRadius(36)
        shadow.setOffset(0, 10)
        shadow.setColor(QColor(0, 0, 0, 70))  # a shadow is black in both themes
        self.setGraphicsEffect(shadow)
        self.hide()
        window.installEventFilter(self)
        self.search.installEventFilter(self)

    def look(self, delegate: LineDelegate) -> None:
        """Paint the lines with a delegate."""
        self._look = delegate
        self.list.setItemDelegate(delegate)

    def tint(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self._look.theme = theme
        self.list.viewport().update()

    def offered(self, needle: str) -> Iterable[QStandardItem]:
        """What matches a search, in the order to list it."""
        raise NotImplementedError

    def start(self, needle: str) -> int:
        """The line that is chosen first."""
        return 0

    def go(self, at: QModelIndex) -> None:
        """Do what a line stands for."""
        raise NotImplementedError

    def open(self) -> None:
        """Appear over the window with an empty search."""
        if not self.isVisible():
            self._before = QApplication.focusWidget()
        self.search.clear()
        self._fill("")
        self._place()
        self.show()
        self.raise_()
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def leave(self) -> None:
        """Disappear, and give the keyboard back to whoever had it."""
        before, self._before = self._before, None
        self.hide()
        try:
            if before is not None and before.isVisible():
                before.setFocus(Qt.FocusReason.PopupFocusReason)
        except RuntimeError:
            return  # it was closed meanwhile, and Qt has deleted it

    def refill(self) -> None:
        """Show anew what is offered."""
        if self.isVisible():
            self._fill(self.search.text())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Leave when the user goes elsewhere; stay in the middle when the window changes its size."""
        kind = event.type()
        if not self.isVisible():
            return False
        if watched is self._window and kind == QEvent.Type.Resize:
            self._place()
        elif kind in _ELSEWHERE[watched is self.search] and (
            watched is self._window or not self._has_keyboard()
        ):
            self.hide()
        return False

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Keep Tab among the controls of the panel."""
        controls = [self.search, *(button for button in self.findChildren(PushButton) if button.isVisible())]
        now = QApplication.focusWidget()
        at = next((at for at, control in enumerate(controls) if control is now), 0)
        reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
        controls[(at + (1 if forward else -1)) % len(controls)].setFocus(reason)
        return True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move, go or leave."""
        key = event.key()
        if key == Qt.Key.Key_Escape:
            self.leave()
        elif key in {Qt.Key.Key_Down, Qt.Key.Key_Up}:
            self._move(1 if key == Qt.Key.Key_Down else -1)
        elif key in {Qt.Key.Key_Return, Qt.Key.Key_Enter} and self.list.currentIndex().isValid():
            self.go(self.list.currentIndex())

    def _has_keyboard(self) -> bool:
        focused = QApplication.focusWidget()
        return self.window().isActiveWindow() and focused is not None and self.isAncestorOf(focused)

    def _place(self) -> None:
        window = self._window
        wide = min(_WIDTH_PX, window.width() - 40)
        lines = max(1, min(self._most, self.items.rowCount()))
        high = min(
            window.height() - 140, round(_FRAME_PX + self._look.line_px * fonts.scale(self.font()) * lines)
        )
        self.setGeometry((window.width() - wide) // 2, _TOP_PX, wide, high)

    def _fill(self, needle: str) -> None:
        self.items.clear()
        for item in self.offered(needle):
            self.items.appendRow(item)
        some = self.items.rowCount() > 0
        self.list.setVisible(some)
        self._empty.setVisible(not some)
        if some:
            self.list.setCurrentIndex(self.items.index(self.start(needle), 0))

    def _move(self, step: int) -> None:
        count = self.items.rowCount()
        if count:
            place = (self.list.currentIndex().row() + step) % count
            self.list.setCurrentIndex(self.items.index(place, 0))
