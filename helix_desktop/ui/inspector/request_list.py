"""The ordered list of what the next request contains: model, painting, and the list itself."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QPointF,
    QRect,
    QRectF,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QCursor,
    QFocusEvent,
    QFontMetricsF,
    QKeyEvent,
    QPainter,
    QPen,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QListView,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
)

from helix_desktop.context.window.window_breakdown import WindowItemState
from helix_desktop.ui.design.mirror import draw_pixmap, draw_text, mirror
from helix_desktop.ui.design.page_keys import PageKeys, pressed_key
from helix_desktop.ui.design.pill import Tone, paint_pill, tone_colors
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.style.icons import pixmap
from helix_desktop.ui.design.style.theme import LIGHT, Theme
from helix_desktop.ui.design.themed import Themed, retint, set_style_sheet
from helix_desktop.ui.design.tool_icons import tool_icon
from helix_desktop.ui.inspector.charts import SEGMENT_COLORS
from helix_desktop.ui.inspector.inspector_data import RowAction, RowKind, WindowRow
from helix_desktop.ui.inspector.row_actions import COMMAND_ACTIONS, RowButtons, action_key, action_text
from helix_desktop.words.translation import Translator

tr = Translator("Inspector")

ROW_HEIGHT = 46  # pixels at 100 %
ROW_ROLE = Qt.ItemDataRole.UserRole.value

Index = QModelIndex | QPersistentModelIndex

_GLYPHS: dict[RowKind, str] = {
    "system": "settings",
    "tools": "wrench",
    "mcp": "server",
    "fields": "circle-plus",
    "environment": "monitor",
    "instructions": "book-open",
    "handover": "history",
    "user": "user",
    "assistant": "sparkles",
    "output": tool_icon(""),
    "recalled": "corner-down-left",
    "observations": "eye",
    "fold": "list-tree",
    "pinned": "pin",
    "arguments": "braces",
}
_TONES: dict[WindowItemState, Tone] = {
    "cached": "accent",
    "arguments_cached": "accent",
    "images_cached": "accent",
    "recalled": "accent",
    "pinned": "ok",
    "cut": "warn",
    "not_read": "warn",
    "excluded": "warn",
}
_PAD, _ICON_PX = 14, 15
_VCENTER = Qt.AlignmentFlag.AlignVCenter


class RequestModel(QAbstractListModel):
    """A list model of the given rows; it signals only what changed."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[WindowRow, ...] = ()

    def show_rows(self, rows: Sequence[WindowRow]) -> None:
        """Show other rows; a common beginning stays as it is, and so do selection and place."""
        new, old = tuple(rows), self._rows
        same = 0
        while same < min(len(new), len(old)) and new[same] == old[same]:
            same += 1
        shared = min(len(new), len(old))
        if len(old) > shared:
            self.beginRemoveRows(QModelIndex(), shared, len(old) - 1)
            self._rows = old[:shared]
            self.endRemoveRows()
        if len(new) > shared:
            self.beginInsertRows(QModelIndex(), shared, len(new) - 1)
            self._rows = new
            self.endInsertRows()
        self._rows = new
        if same < shared:
            self.dataChanged.emit(self.index(same), self.index(shared - 1))

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        """Return all rows."""
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = 0) -> Any:
        """Return a row under ROW_ROLE, and its words for screen readers and tooltips."""
        row = self._rows[index.row()]
        if role == ROW_ROLE:
            return row
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return " · ".join(
                filter(
                    None,
                    (row.name, row.exact_tokens_text, row.state_text, row.reason_text),
                )
            )
        if role == Qt.ItemDataRole.ToolTipRole:
            return row.tooltip
        return None


class RequestDelegate(QStyledItemDelegate):
    """Two lines: what it is and its tokens; why it is there and its state."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.covered_row, self.covered_px = -1, 0  # the row with buttons on its second line
        self.tint(LIGHT)

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme and the text size in force."""
        self._theme = theme
        self._name, self._small, self._pill = ui_font(12, 500), ui_font(11), ui_font(10, 500)
        self._name_metrics, self._small_metrics = QFontMetricsF(self._name), QFontMetricsF(self._small)
        self._pill_metrics = QFontMetricsF(self._pill)
        self._height, self._text_x = scaled(ROW_HEIGHT), _PAD + scaled(_ICON_PX) + 11

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """Return the same height for all rows."""
        return QSize(120, self._height)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw a row."""
        row = index.data(ROW_ROLE)
        if not isinstance(row, WindowRow):
            return
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        rect: QRect = option.rect
        mirror(painter, rect)
        self._paint_background(painter, rect, option.state)
        if index.row():
            painter.setPen(QPen(QColor(self._theme.border), 1))
            painter.drawLine(
                QPointF(rect.left() + _PAD, rect.top()), QPointF(rect.right() - _PAD, rect.top())
            )
        self._paint_icon(painter, rect, row)
        middle = rect.top() + rect.height() / 2
        covered = self.covered_px if index.row() == self.covered_row else 0
        self._paint_first_line(painter, rect, middle, row)
        self._paint_second_line(painter, rect, middle, row, covered)
        painter.restore()

    def _paint_background(self, painter: QPainter, rect: QRect, state: QStyle.StateFlag) -> None:
        color = ""
        if state & QStyle.StateFlag.State_Selected:
            color = self._theme.selection
        elif state & QStyle.StateFlag.State_MouseOver:
            color = self._theme.row_hover
        if color:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(color))
            painter.drawRoundedRect(QRectF(rect).adjusted(5, 2, -5, -2), 8, 8)
        if state & QStyle.StateFlag.State_HasFocus and state & QStyle.StateFlag.State_KeyboardFocusChange:
            painter.setPen(QPen(QColor(self._theme.accent), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(rect).adjusted(5, 2, -5, -2), 8, 8)

    def _paint_icon(self, painter: QPainter, rect: QRect, row: WindowRow) -> None:
        device = painter.device()
        ratio = device.devicePixelRatioF() if device is not None else 1.0
        side = scaled(_ICON_PX)
        glyph = tool_icon(row.tool) if row.tool else _GLYPHS[row.kind]
        picture = pixmap(glyph, SEGMENT_COLORS[row.kind](self._theme), side, ratio)
        draw_pixmap(painter, rect.left() + _PAD, rect.top() + (rect.height() - side) // 2, picture)

    def _paint_first_line(self, painter: QPainter, rect: QRect, middle: float, row: WindowRow) -> None:
        tokens = row.tokens_text
        width = self._small_metrics.horizontalAdvance(tokens)
        painter.setFont(self._small)
        painter.setPen(QColor(self._theme.muted))
        right = rect.right() - _PAD
        line = QRectF(
            right - width, middle - self._name_metrics.height(), width + 1, self._name_metrics.height()
        )
        draw_text(painter, line, _VCENTER, tokens)
        room = right - width - 8 - rect.left() - self._text_x
        painter.setFont(self._name)
        painter.setPen(QColor(self._theme.text))
        is_message = row.kind in ("user", "assistant")
        elide = Qt.TextElideMode.ElideRight if is_message else Qt.TextElideMode.ElideMiddle
        name = self._name_metrics.elidedText(row.label, elide, room)
        draw_text(
            painter, QRectF(rect.left() + self._text_x, line.top(), room, line.height()), _VCENTER, name
        )

    def _paint_second_line(
        self, painter: QPainter, rect: QRect, middle: float, row: WindowRow, covered: int
    ) -> None:
        right, top = rect.right() - _PAD - covered, middle + 1
        if row.state is not None and not covered:
            width = self._pill_metrics.horizontalAdvance(row.state_text) + 14
            height = self._pill_metrics.height() + 3
            box = QRectF(right - width, top + 0.5, width, height)
            colors = tone_colors(self._theme, _TONES.get(row.state, "neutral"))
            paint_pill(painter, box, row.state_text, colors, self._pill, 7)
            right = round(box.left() - 6)
        line = QRectF(
            rect.left() + self._text_x,
            top,
            right - rect.left() - self._text_x,
            self._small_metrics.height() + 3,
        )
        painter.setFont(self._small)
        painter.setPen(QColor(self._theme.muted))
        why = self._small_metrics.elidedText(row.reason_text, Qt.TextElideMode.ElideRight, line.width())
        draw_text(painter, line, _VCENTER, why)


class RequestList(Themed, QListView):
    """The list at its full height: the inspector around it scrolls, so Qt paints only what is in sight.

    While `is_read_only` nothing in it changes the session: it is a request of the past.
    """

    row_opened = Signal(object)  # WindowRow: double click, or a key
    action_triggered = Signal(str, object)  # RowAction, WindowRow

    def __init__(self, keys: PageKeys) -> None:
        super().__init__()
        self.is_read_only, self._keys = False, keys
        self.entries = RequestModel(self)
        self._delegate = RequestDelegate(self)
        self.setModel(self.entries)
        self.setItemDelegate(self._delegate)
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setAccessibleName(tr("Next request"))
        self.buttons = RowButtons(self.viewport())
        self.buttons.triggered.connect(self.action_triggered)
        self.buttons.left.connect(self._show_buttons)
        self.entered.connect(self._show_buttons)
        self.selectionModel().currentChanged.connect(self._show_buttons)
        self.clicked.connect(lambda index: self._trigger(("show",), index.data(ROW_ROLE)))
        self.doubleClicked.connect(lambda index: self.row_opened.emit(index.data(ROW_ROLE)))

    def show_rows(self, rows: Sequence[WindowRow]) -> None:
        """Show other rows; without the keyboard, another row does not become current for one that is gone."""
        is_gone = self.currentIndex().row() >= len(rows) and not self.hasFocus()
        self.entries.show_rows(rows)
        if is_gone:
            self.setCurrentIndex(QModelIndex())
        self._show_buttons()
        self.setFixedHeight(len(rows) * scaled(ROW_HEIGHT))

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme and the text size in force."""
        self._delegate.tint(theme)
        retint(self.buttons, theme)
        set_style_sheet(self, "QListView { background: transparent; border: 0; }")
        self.setFixedHeight(self.entries.rowCount() * scaled(ROW_HEIGHT))
        self.scheduleDelayedItemsLayout()  # else rows keep the height of the text size before
        self.viewport().update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Show the row in the chat on Enter; do what the user's keys say."""
        row = self.currentIndex().data(ROW_ROLE)
        command = self._keys.command_of(event)
        if row is None:
            super().keyPressEvent(event)
        elif event.key() == Qt.Key.Key_Menu:
            self._open_menu(row, self.viewport().mapToGlobal(self.visualRect(self.currentIndex()).center()))
        elif pressed_key(event) == "Return":
            self._trigger(("show",), row)
        elif command == "context_text":
            self.row_opened.emit(row)
        elif command:
            self._trigger(COMMAND_ACTIONS[command], row)
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Open the menu of the row under the mouse."""
        row = self.indexAt(event.pos()).data(ROW_ROLE)
        if row is not None:
            self._open_menu(row, event.globalPos())

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the buttons of the row that has the keyboard."""
        super().focusInEvent(event)
        self._show_buttons()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Hide the buttons, unless they have the keyboard now."""
        super().focusOutEvent(event)
        QTimer.singleShot(0, self, self._show_buttons)

    def leaveEvent(self, event: QEvent) -> None:
        """Leave the buttons to the row that has the keyboard."""
        super().leaveEvent(event)
        self._show_buttons()

    def _trigger(self, actions: tuple[RowAction, ...], row: WindowRow) -> None:
        possible = self._actions_of(row)
        action = next((action for action in actions if action in possible), None)
        if action is not None:
            self.action_triggered.emit(action, row)

    def _actions_of(self, row: WindowRow) -> tuple[RowAction, ...]:
        return tuple(action for action in row.actions if action == "show" or not self.is_read_only)

    def _show_buttons(self, *_: object) -> None:
        """Show the buttons on the row under the mouse, else on the one that has the keyboard."""
        at = self.viewport().mapFromGlobal(QCursor.pos())
        index = self.indexAt(at) if self.viewport().rect().contains(at) and self.underMouse() else None
        has_keyboard = self.hasFocus() or self.buttons.isAncestorOf(self.focusWidget() or self)
        if index is None or not index.isValid():
            index = self.currentIndex() if has_keyboard else QModelIndex()
        row = index.data(ROW_ROLE)
        self.buttons.show_on(None if self.is_read_only else row, self.visualRect(index))
        covered = -1 if self.buttons.isHidden() else index.row()
        if (covered, self.buttons.width()) != (self._delegate.covered_row, self._delegate.covered_px):
            self._delegate.covered_row, self._delegate.covered_px = covered, self.buttons.width()
            self.viewport().update()

    def _open_menu(self, row: WindowRow, at: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        show_text = "\t".join(filter(None, (tr("Show sent text"), self._keys.shown_key("context_text"))))
        menu.addAction(show_text, lambda: self.row_opened.emit(row))
        for action in self._actions_of(row):
            words = "\t".join(filter(None, (action_text(action, row), action_key(action, self._keys))))
            menu.addAction(words, partial(self.action_triggered.emit, action, row))
        menu.popup(at)
