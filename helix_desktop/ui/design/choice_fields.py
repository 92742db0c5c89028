"""Fields that a user chooses in."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRectF, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHeaderView,
    QSizePolicy,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionComboBox,
    QStyleOptionViewItem,
    QTreeWidget,
    QTreeWidgetItem,
)

from helix_desktop.ui.design.safe_text import plain_tooltip
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.icons import icon
from helix_desktop.ui.design.style.theme import Themed, current_theme
from helix_desktop.words.translation import Translator, translate

tr = Translator("Controls")

Index = QModelIndex | QPersistentModelIndex
AT_END = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
"""Where numbers stand in a cell."""
SEARCH_ROLE = int(Qt.ItemDataRole.UserRole) + 1
"""What the filter of a list looks in, in lower case, where that is not the first cell."""
_BOX_PX = 16


class ComboBox(Themed, QComboBox):
    """A combo box whose chevron is painted, because a style sheet cannot tint one.

    The wheel scrolls the page around it: a setting must not change because it comes below the mouse.
    """

    def __init__(self, min_px: int = 0, least_chars: int = 0, *, words: str = "") -> None:
        """Be as wide as the longest choice; with `min_px`, at least so wide, and no wider than needed.

        With `least_chars` it takes the room there is, at least that of so many characters. `words` are its
        name for screen readers.
        """
        super().__init__()
        self.setAccessibleName(words)
        self._cut_choice = ""  # that is longer than the box: its tooltip
        self.currentTextChanged.connect(lambda _: self._show_cut())
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        if least_chars:
            self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            self.setMinimumContentsLength(least_chars)
        if min_px:
            self.setMinimumWidth(min_px)
            self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def initStyleOption(self, option: QStyleOptionComboBox) -> None:
        """Elide a choice that is longer than the box: the style cuts it in the middle of a letter."""
        super().initStyleOption(option)
        option.currentText = self.fit(option.currentText, self._room(option))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_cut()

    def _show_cut(self) -> None:
        """Let a tooltip have a choice that is longer than the box, unless it has another one."""
        if self.toolTip() != self._cut_choice:
            return
        option = QStyleOptionComboBox()
        choice = self.currentText()
        super().initStyleOption(option)
        is_cut = self.fit(choice, self._room(option)) != choice
        self._cut_choice = plain_tooltip(choice) if is_cut else ""
        self.setToolTip(self._cut_choice)

    def _room(self, option: QStyleOptionComboBox) -> int:
        parts = QStyle.ComplexControl.CC_ComboBox, option, QStyle.SubControl.SC_ComboBoxEditField, self
        return self.style().subControlRect(*parts).width()

    def fit(self, text: str, room: int) -> str:
        return self.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, room)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        color = self._theme.muted if self.isEnabled() else self._theme.faint
        painter.setPen(QPen(QColor(color), 1.6, c=Qt.PenCapStyle.RoundCap, j=Qt.PenJoinStyle.RoundJoin))
        x = self.width() - 17.0
        y = self.height() / 2 - 1.5
        painter.drawPolyline([QPointF(x - 3.5, y), QPointF(x, y + 3.5), QPointF(x + 3.5, y)])


class _CheckBoxes(QStyledItemDelegate):
    """Paints check boxes of a list in the theme's colors; the style sheet keeps the space for them free."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        cell = QStyleOptionViewItem(option)
        self.initStyleOption(cell, index)
        if not cell.features & QStyleOptionViewItem.ViewItemFeature.HasCheckIndicator:
            return
        part = QStyle.SubElement.SE_ItemViewItemCheckIndicator
        theme = current_theme()
        box = QRectF(0, 0, _BOX_PX, _BOX_PX)
        box.moveCenter(QRectF(cell.widget.style().subElementRect(part, cell, cell.widget)).center())
        fill = theme.accent if cell.state & QStyle.StateFlag.State_Enabled else theme.faint
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if cell.checkState == Qt.CheckState.Checked:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(fill))
            painter.drawRoundedRect(box, 4, 4)
            check = icon("check", theme.on_accent, _BOX_PX - 4)
            check.paint(painter, box.adjusted(2, 2, -2, -2).toRect())
        else:
            painter.setPen(QPen(QColor(theme.faint), 1.5))
            painter.setBrush(QColor(theme.surface))
            painter.drawRoundedRect(box.adjusted(0.75, 0.75, -0.75, -0.75), 4, 4)
        painter.restore()


class CheckList(QTreeWidget):
    """Lines to be checked, those that are enabled and have a box; a filter hides some of them."""

    changed = Signal()
    """Other lines are checked than before."""

    def __init__(
        self, name: str, columns: Sequence[tuple[str, int]] = (), numbers: Collection[int] = ()
    ) -> None:
        """`columns` are titles and least widths in pixels (0: the rest); `numbers` are the places of some."""
        super().__init__()
        self.setAccessibleName(name)
        self.setProperty("kind", "checklist")
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self._boxes = _CheckBoxes(self)
        self.setItemDelegate(self._boxes)
        self.itemChanged.connect(lambda *_: self.changed.emit())
        self.itemActivated.connect(self._toggle)
        self.setHeaderHidden(not columns)
        head = self.header()
        head.setStretchLastSection(not columns)
        if columns:
            self.setHeaderLabels([translate(title) for title, _ in columns])
        for place, (_, width) in enumerate(columns):
            mode = QHeaderView.ResizeMode.Fixed if width else QHeaderView.ResizeMode.Stretch
            head.setSectionResizeMode(place, mode)
            if width:
                self.setColumnWidth(place, max(scaled(width), head.sectionSizeHint(place)))
            if place in numbers:
                self.headerItem().setTextAlignment(place, AT_END)

    def items(self) -> list[QTreeWidgetItem]:
        """Return all lines, also those that the filter hides."""
        items = (self.topLevelItem(place) for place in range(self.topLevelItemCount()))
        return [item for item in items if item is not None]

    def open_items(self) -> list[QTreeWidgetItem]:
        return [item for item in self.items() if not item.isHidden() and _can_check(item)]

    def checked(self) -> list[QTreeWidgetItem]:
        """Return the checked lines that can be unchecked, also those that the filter hides."""
        return [item for item in self.items() if _can_check(item) and _is_checked(item)]

    @property
    def is_all_checked(self) -> bool:
        items = self.open_items()
        return bool(items) and all(map(_is_checked, items))

    def filter(self, typed: str) -> bool:
        """Show the lines that have all the typed words; return False if there is none."""
        words = typed.casefold().split()
        is_any = False
        for item in self.items():
            text = item.data(0, SEARCH_ROLE) or item.text(0).casefold()
            item.setHidden(not all(word in text for word in words))
            is_any = is_any or not item.isHidden()
        return is_any

    def check_all(self) -> None:
        state = Qt.CheckState.Unchecked if self.is_all_checked else Qt.CheckState.Checked
        with QSignalBlocker(self):
            for item in self.open_items():
                item.setCheckState(0, state)
        self.viewport().update()
        self.changed.emit()

    def _toggle(self, item: QTreeWidgetItem) -> None:
        if _can_check(item):
            item.setCheckState(0, Qt.CheckState.Unchecked if _is_checked(item) else Qt.CheckState.Checked)


def _can_check(item: QTreeWidgetItem) -> bool:
    is_enabled = bool(item.flags() & Qt.ItemFlag.ItemIsEnabled)
    return is_enabled and item.data(0, Qt.ItemDataRole.CheckStateRole) is not None


def _is_checked(item: QTreeWidgetItem) -> bool:
    return item.checkState(0) == Qt.CheckState.Checked
