"""The workspace switcher: type a few letters, Enter."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPointF,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QKeyEvent, QPainter, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import (
    QFrame,
    QGraphicsDropShadowEffect,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from helix_desktop.ui import fonts
from helix_desktop.ui.sidebar.rows import BADGE_WORDS, WorkspaceRow, matches
from helix_desktop.ui.sidebar.square import BADGE_TOKENS, paint_square
from helix_desktop.ui.theme import LIGHT, Theme
from helix_desktop.ui.widgets import PushButton, SearchField, column, label, row

_ROW_ROLE = int(Qt.ItemDataRole.UserRole)
_ROW_PX = 50
_WIDTH_PX = 560
_ELSEWHERE = {
    True: {QEvent.Type.FocusOut},
    False: {QEvent.Type.MouseButtonPress, QEvent.Type.WindowDeactivate},
}
"""Events that end the switcher: of its search field, and of the window behind it."""


class _Delegate(QStyledItemDelegate):
    """Square, name, path; cache size and badge at the right."""

    def __init__(self, parent: QListView) -> None:
        super().__init__(parent)
        self._view = parent
        self.theme: Theme = LIGHT

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(100, round(_ROW_PX * fonts.scale(self._view.font())))

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        workspace = index.data(_ROW_ROLE)
        if not isinstance(workspace, WorkspaceRow):
            return
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(option.rect).adjusted(0, 1, 0, -1)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(self.theme.selection))
            painter.drawRoundedRect(box, 9, 9)
        square = QRectF(box.x() + 9, box.center().y() - 16, 32, 32)
        paint_square(painter, square, workspace, self.theme, self._view.font())
        right = self._paint_state(painter, box, workspace)
        self._paint_words(painter, box, workspace, right)
        painter.restore()

    def _paint_state(self, painter: QPainter, box: QRectF, workspace: WorkspaceRow) -> float:
        """Paint cache size and badge; returns their left edge."""
        small = fonts.sized(self._view.font(), 12)
        words = " · ".join(part for part in (BADGE_WORDS[workspace.badge], workspace.cache) if part)
        if not words and workspace.active:
            words = "open"
        width = QFontMetricsF(small).horizontalAdvance(words)
        painter.setFont(small)
        painter.setPen(QColor(self.theme.muted))
        left = box.right() - 12 - width
        painter.drawText(QRectF(left, box.y(), width + 1, box.height()), Qt.AlignmentFlag.AlignVCenter, words)
        if workspace.badge:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(getattr(self.theme, BADGE_TOKENS[workspace.badge])))
            painter.drawEllipse(QPointF(left - 10, box.center().y()), 3.5, 3.5)
            left -= 16
        return left

    def _paint_words(self, painter: QPainter, box: QRectF, workspace: WorkspaceRow, right: float) -> None:
        x = box.x() + 53
        room = right - x - 12
        right_end, middle = Qt.TextElideMode.ElideRight, Qt.TextElideMode.ElideMiddle
        for text, px, weight, ink, top, side in (
            (workspace.name, 13, QFont.Weight.DemiBold, self.theme.text, 0.14, right_end),
            (workspace.path, 12, QFont.Weight.Normal, self.theme.muted, 0.5, middle),
        ):
            font = fonts.sized(self._view.font(), px, weight)
            painter.setFont(font)
            painter.setPen(QColor(ink))
            place = QRectF(x, box.y() + box.height() * top, room, box.height() * 0.36)
            shown = QFontMetricsF(font).elidedText(text, side, room)
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, shown)


class Switcher(QFrame):
    """A panel over the window; arrows move, Enter goes, Esc leaves."""

    chosen = Signal(str)
    add_requested = Signal()

    def __init__(self, parent: QWidget) -> None:
        """Belong to a window; start hidden."""
        super().__init__(parent)
        self._window = parent
        self.setProperty("role", "popup")
        self.setAccessibleName("Switch workspace")
        self._workspaces: tuple[WorkspaceRow, ...] = ()
        self.search = SearchField("Go to workspace")
        self.search.textChanged.connect(self._fill)
        self._found = QStandardItemModel(self)
        self.list = QListView()
        self.list.setModel(self._found)
        self.list.setAccessibleName("Workspaces")
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self._look = _Delegate(self.list)
        self.list.setItemDelegate(self._look)
        self.list.clicked.connect(lambda _: self._go())
        self._empty = label("No workspace has these words in its name or path.", "muted", wrap=True)
        keys = row(gap=6)
        for key, meaning in (("↑ ↓", "move"), ("Enter", "open"), ("Esc", "close")):
            for part in (label(key, "key"), label(meaning, "faint")):
                keys.addWidget(part)
            keys.addSpacing(6)
        keys.addStretch(1)
        add = PushButton("Add a folder…", "link")
        add.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        add.clicked.connect(self._add)
        keys.addWidget(add)
        self.setLayout(column(self.search, self.list, self._empty, keys, margins=(12, 12, 12, 10), gap=8))
        shadow = QGraphicsDropShadowEffect(self)
        shadow.setBlurRadius(36)
        shadow.setOffset(0, 10)
        shadow.setColor(QColor(0, 0, 0, 70))  # a shadow is black in both themes
        self.setGraphicsEffect(shadow)
        self.hide()
        parent.installEventFilter(self)
        self.search.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Leave when the user goes elsewhere; stay in the middle when the window changes its size."""
        kind = event.type()
        if not self.isVisible():
            return False
        if watched is self._window and kind == QEvent.Type.Resize:
            self._place()
        elif kind in _ELSEWHERE[watched is self.search]:
            self.hide()
        return False

    def show_workspaces(self, workspaces: Sequence[WorkspaceRow]) -> None:
        """Know these workspaces, in the order to list them."""
        self._workspaces = tuple(workspaces)
        if self.isVisible():
            self._fill(self.search.text())

    def open(self) -> None:
        """Appear over the window with an empty search."""
        self.search.clear()
        self._fill("")
        self._place()
        self.show()
        self.raise_()
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def found(self) -> list[WorkspaceRow]:
        """The workspaces that match the search, in order."""
        rows = (self._found.item(place).data(_ROW_ROLE) for place in range(self._found.rowCount()))
        return [workspace for workspace in rows if isinstance(workspace, WorkspaceRow)]

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move, go or leave."""
        key = event.key()
        if key == Qt.Key.Key_Escape:
            self.hide()
        elif key in {Qt.Key.Key_Down, Qt.Key.Key_Up}:
            self._move(1 if key == Qt.Key.Key_Down else -1)
        elif key in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self._go()

    def tint(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self._look.theme = theme
        self.list.viewport().update()

    def _place(self) -> None:
        window = self._window
        wide = min(_WIDTH_PX, window.width() - 40)
        line = _ROW_PX * fonts.scale(self.font())
        high = min(window.height() - 140, round(106 + line * max(1, min(8, len(self._workspaces)))))
        self.setGeometry((window.width() - wide) // 2, 64, wide, high)

    def _fill(self, needle: str) -> None:
        self._found.clear()
        for workspace in self._workspaces:
            if matches(needle, workspace.name, workspace.path):
                item = QStandardItem(workspace.name)
                item.setData(workspace, _ROW_ROLE)
                state = BADGE_WORDS[workspace.badge]
                item.setData(
                    f"{workspace.name}, {workspace.path} {state}", Qt.ItemDataRole.AccessibleTextRole
                )
                self._found.appendRow(item)
        some = self._found.rowCount() > 0
        self.list.setVisible(some)
        self._empty.setVisible(not some)
        if some:
            # With nothing typed, Enter goes to another workspace than the one that is open.
            start = 1 if not needle and self.found()[0].active and self._found.rowCount() > 1 else 0
            self.list.setCurrentIndex(self._found.index(start, 0))

    def _move(self, step: int) -> None:
        count = self._found.rowCount()
        if count:
            place = (self.list.currentIndex().row() + step) % count
            self.list.setCurrentIndex(self._found.index(place, 0))

    def _add(self) -> None:
        self.hide()
        self.add_requested.emit()

    def _go(self) -> None:
        workspace = self.list.currentIndex().data(_ROW_ROLE)
        if isinstance(workspace, WorkspaceRow):
            self.hide()
            self.chosen.emit(workspace.id)
