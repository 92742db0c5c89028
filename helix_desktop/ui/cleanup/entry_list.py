"""The list of what is in the trash or may go there: a name, and its size and date in columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import (
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
)

from helix_desktop.ui.design.mirror import draw_text, mirror
from helix_desktop.ui.design.safe_text import plain_tooltip
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import Themed
from helix_desktop.words.direction import dotted

KEY_ROLE = int(Qt.ItemDataRole.UserRole)
_CELLS_ROLE = KEY_ROLE + 1
_GAP_PX = 16  # between columns
_PADDING_PX = 8  # before and behind a line's words, as in the style sheet


class EntryList(Themed, QListWidget):
    """Lines as wide as the list: the name is elided, the columns behind it are as wide as their values."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setProperty("kind", "cards")
        self.setAccessibleName(name)
        self.widest: list[str] = []  # value of each column
        self.setItemDelegate(_CellDelegate(self))

    @property
    def theme(self) -> Theme:
        return self._theme

    def clear(self) -> None:
        super().clear()
        self.widest = []

    def add(self, name: str, values: Sequence[str] = (), key: object = None) -> None:
        """Add a line; a value may be empty. `key` is its KEY_ROLE."""
        text = dotted((name, *filter(None, values)))
        item = QListWidgetItem(text, self)
        item.setToolTip(plain_tooltip(text))
        item.setData(KEY_ROLE, key)
        item.setData(_CELLS_ROLE, (name, *values))
        pairs = zip_longest(self.widest, values, fillvalue="")
        self.widest = [max(pair, key=self.fontMetrics().horizontalAdvance) for pair in pairs]


class _CellDelegate(QStyledItemDelegate):
    def __init__(self, view: EntryList) -> None:
        super().__init__(view)
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(0, super().sizeHint(option, index).height())

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        name, *values = index.data(_CELLS_ROLE)
        line = QStyleOptionViewItem(option)
        self.initStyleOption(line, index)
        line.text = ""
        view = self._view
        view.style().drawControl(QStyle.ControlElement.CE_ItemViewItem, line, painter, view)
        painter.save()
        mirror(painter, option.rect)
        painter.setFont(option.font)
        metrics, room = option.fontMetrics, option.rect.adjusted(_PADDING_PX, 0, -_PADDING_PX, 0)
        painter.setPen(QColor(view.theme.muted))
        for value, widest in zip(reversed(values), reversed(view.widest), strict=False):
            width = metrics.horizontalAdvance(widest)
            cell = QRect(room.right() + 1 - width, room.top(), width, room.height())
            draw_text(painter, cell, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, value)
            room.setRight(cell.left() - _GAP_PX)
        painter.setPen(QColor(view.theme.text))
        text = metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, room.width())
        draw_text(painter, room, Qt.AlignmentFlag.AlignVCenter, text)
        painter.restore()
