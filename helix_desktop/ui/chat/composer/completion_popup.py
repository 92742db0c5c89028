"""The popup above the composer: completions of what is being typed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from unicodedata import bidirectional

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QFont, QPainter
from PySide6.QtWidgets import (
    QFrame,
    QGraphicsDropShadowEffect,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from helix_desktop.ui.chat.composer.completion import CompletionItem
from helix_desktop.ui.chat.items.painting import paint_box, paint_icon, paint_line
from helix_desktop.ui.chat.style import REGULAR, SEMIBOLD, SMALL, UI, ChatStyle
from helix_desktop.ui.design.labels import ElidedLabel, IconLabel
from helix_desktop.ui.design.layout.boxes import column, row
from helix_desktop.ui.design.mirror import mirror, turn_back
from helix_desktop.ui.design.themed import set_style_sheet

_LINE_PX, _MAX_LINES = 30, 8
_EDGE_PX, _GAP_PX = 6, 6  # around the lines; between popup and composer
_MIN_WIDTH_PX = 240
_FROM_RIGHT = ("R", "AL")  # directions of letters
_COMPLETION_ROLE = int(Qt.ItemDataRole.UserRole)


class _Rows(QAbstractListModel):
    """The completions in the popup."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.completions: tuple[CompletionItem, ...] = ()

    def show_rows(self, completions: Sequence[CompletionItem]) -> None:
        """Replace all rows."""
        self.beginResetModel()
        self.completions = tuple(completions)
        self.endResetModel()

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex | None = None) -> int:
        """Return the number of completions."""
        return 0 if parent is not None and parent.isValid() else len(self.completions)

    def data(
        self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        """Return a completion's texts."""
        completion = self.completions[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return completion.title
            case Qt.ItemDataRole.AccessibleTextRole | Qt.ItemDataRole.ToolTipRole:
                return completion_text(completion)
            case _ if role == _COMPLETION_ROLE:
                return completion
        return None


class _Delegate(QStyledItemDelegate):
    """A row: icon, title, detail, matched letters strong."""

    def __init__(self, view: QListView) -> None:
        super().__init__(view)
        self.chat_style: ChatStyle | None = None

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        """Return one height for all."""
        return QSize(100, round(self.chat_style.px(_LINE_PX)) if self.chat_style else _LINE_PX)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Paint a row, on a background if it is selected or under the mouse."""
        style, completion = self.chat_style, index.data(_COMPLETION_ROLE)
        if style is None or not isinstance(completion, CompletionItem):
            return
        theme, box = style.theme, QRectF(option.rect).adjusted(0, 1, 0, -1)
        painter.save()
        mirror(painter, option.rect)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if option.state & QStyle.StateFlag.State_Selected:
            paint_box(painter, box, style.color(theme.selection), radius=8)
        elif option.state & QStyle.StateFlag.State_MouseOver:
            paint_box(painter, box, style.color(theme.hover), radius=8)
        side = style.px(15)
        left = box.left() + style.px(9)
        paint_icon(
            painter,
            style,
            completion.icon,
            theme.muted,
            QRectF(left, box.center().y() - side / 2, side, side),
        )
        room = QRectF(left + side + style.px(9), box.top(), 0, box.height())
        room.setRight(box.right() - style.px(9))
        used = _paint_marked(painter, style, room, completion.title, completion.title_matches, UI, theme.text)
        room.setLeft(room.left() + used + style.px(10))
        if room.width() > style.px(30):
            _paint_marked(
                painter, style, room, completion.detail, completion.detail_matches, SMALL, theme.muted
            )
        painter.restore()


class CompletionPopup(QFrame):
    """Rows above the composer; the keyboard stays in the text."""

    accepted = Signal(int)
    """The user clicked a row."""

    def __init__(self, window: QWidget) -> None:
        """Start hidden in a window."""
        super().__init__(window)
        self.setObjectName("completions")
        self.setProperty("role", "popup")
        self._rows = _Rows(self)
        self.list_view = QListView()
        self.list_view.setObjectName("completion_rows")
        self.list_view.setModel(self._rows)
        self.list_view.setFrameShape(QFrame.Shape.NoFrame)
        self.list_view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list_view.setUniformItemSizes(True)
        self.list_view.setMouseTracking(True)
        self.list_view.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.list_view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._delegate = _Delegate(self.list_view)
        self.list_view.setItemDelegate(self._delegate)
        self.list_view.clicked.connect(lambda index: self.accepted.emit(index.row()))
        self._note = ElidedLabel()
        self._note.setObjectName("completion_note")
        self._spinner = IconLabel("loader-circle", px=14, color_token="muted")
        note = row(self._spinner, self._note, margins=(9, 6, 9, 4), gap=7)
        note.setStretch(1, 1)
        self._foot = QWidget()
        self._foot.setLayout(note)
        self.setLayout(column(self.list_view, self._foot, margins=(_EDGE_PX,) * 4, gap=0))
        shadow = QGraphicsDropShadowEffect(self)
        shadow.setBlurRadius(28)
        shadow.setOffset(0, 6)
        shadow.setColor(QColor(0, 0, 0, 60))  # a shadow is black in both themes
        self.setGraphicsEffect(shadow)
        self.hide()

    @property
    def completions(self) -> tuple[CompletionItem, ...]:
        """The rows."""
        return self._rows.completions

    @property
    def row(self) -> int:
        """The selected row; -1 for none."""
        return self.list_view.currentIndex().row()

    def set_style(self, style: ChatStyle) -> None:
        """Take the colors and sizes of the chat."""
        self._delegate.chat_style = style
        self._spinner.tint(style.theme)
        self._note.setFont(style.font(SMALL))
        look = f"color: {style.theme.faint}; font-size: {style.px(SMALL):.0f}px; background: transparent;"
        set_style_sheet(self._note, f"QLabel {{ {look} }}")
        set_style_sheet(self.list_view, "QListView { background: transparent; border: 0; }")
        self.list_view.viewport().update()

    def show_rows(self, name: str, completions: Sequence[CompletionItem]) -> None:
        """Show these rows, the first one selected; `name` is read by screen readers."""
        self._rows.show_rows(completions)
        self.setAccessibleName(name)
        self.list_view.setAccessibleName(name)
        self.list_view.setVisible(bool(completions))
        if completions:
            self.select(0)

    def show_note(self, text: str, is_busy: bool = False) -> None:
        """Show a line below the rows, empty for none; with `is_busy` behind a spinner."""
        self._note.set_full_text(text)
        self._spinner.setVisible(is_busy)
        self._foot.setVisible(bool(text))

    def select(self, number: int) -> None:
        """Select a row, and bring it into sight."""
        self.list_view.setCurrentIndex(self._rows.index(number, 0))

    def rows_in_sight(self) -> int:
        """Return how many rows fit, at least 1."""
        return max(1, self.list_view.viewport().height() // max(1, self._line_height()))

    def place(self, anchor: QWidget) -> None:
        """Stand above a widget, as wide as it is, and as high as the rows need and the window allows."""
        window = self.parentWidget()
        assert window is not None
        corner = anchor.mapTo(window, QPoint(0, 0))
        wide = min(max(anchor.width(), _MIN_WIDTH_PX), window.width() - 2 * _GAP_PX)
        self._note.ensurePolished()  # before it is shown first, it would tell a height without its style
        foot = self._foot.sizeHint().height() if not self._foot.isHidden() else 0
        rest = foot + 2 * _EDGE_PX + 2
        whole_lines = max(1, (corner.y() - 2 * _GAP_PX - rest) // self._line_height())
        high = min(_MAX_LINES, len(self.completions), whole_lines) * self._line_height() + rest
        left = max(_GAP_PX, min(corner.x(), window.width() - wide - _GAP_PX))
        self.setGeometry(left, max(_GAP_PX, corner.y() - high - _GAP_PX), wide, high)

    def _line_height(self) -> int:
        return round(self._delegate.chat_style.px(_LINE_PX)) if self._delegate.chat_style else _LINE_PX


def completion_text(completion: CompletionItem) -> str:
    """Return a row as one text."""
    return ", ".join(part for part in (completion.title, completion.detail) if part)


def _paint_marked(
    painter: QPainter,
    style: ChatStyle,
    room: QRectF,
    text: str,
    matches: Sequence[int],
    size: float,
    color: str,
) -> float:
    """Paint a line with its matched letters strong; return how wide it is, at most the room."""
    marked = set(matches)
    parts: list[tuple[str, QFont, str, float]] = []
    for is_match, group in groupby(range(len(text)), key=marked.__contains__):
        part = "".join(text[at] for at in group)
        font = style.font(size, SEMIBOLD if is_match else REGULAR)
        parts.append((part, font, style.theme.accent_text if is_match else color, style.width(part, font)))
    block = QRectF(room)
    block.setWidth(min(room.width(), sum(width for *_, width in parts)))
    painter.save()
    if not any(bidirectional(letter) in _FROM_RIGHT for letter in text):
        turn_back(painter, block)
    left = block.left()
    for part, font, part_color, width in parts:
        here = QRectF(left, block.top(), block.right() - left, block.height())
        paint_line(painter, style, here, part, font, part_color)
        left += width
        if left >= block.right():
            break
    painter.restore()
    return block.width()
