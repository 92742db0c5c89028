"""The newest list of what is to be done, kept in sight above the composer until all of it is done."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QAccessible, QColor, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from helix_desktop.domain.todo import TodoItem, current_item
from helix_desktop.ui.chat.items.todo import ITEM_ICONS, done_ratio, item_color, item_text
from helix_desktop.ui.chat.rows.model import ChatModel
from helix_desktop.ui.chat.rows.row_types import ToolRow, TurnFooterRow, UserRow
from helix_desktop.ui.design.buttons import IconButton
from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.design.layout.boxes import clear_layout, column, row
from helix_desktop.ui.design.safe_text import escape_invisible
from helix_desktop.ui.design.style.icons import pixmap
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import TextRole, Themed, retint, set_style_sheet
from helix_desktop.words.translation import Translator

tr = Translator("Composer")

_MAX_WIDTH = 760  # pixels, as the conversation above
_MAX_HEIGHT = 190  # pixels
_MAX_LOOKBACK_ROWS = 400  # rows; an older list says nothing of the work under way
_ICON_SIZE = 15  # pixels


class _StatusIcon(Themed, QWidget):
    """A circle that fills as the list is done, or the sign of one item; pixels."""

    def __init__(self, item: TodoItem | None = None) -> None:
        super().__init__()
        self._item, self._share = item, 0.0
        self.setFixedSize(_ICON_SIZE + 1, _ICON_SIZE + 1)

    def set_share(self, share: float) -> None:
        """Show another share, from 0 to 1."""
        self._share = share
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw it."""
        painter, theme = QPainter(self), self._theme
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._item is not None:
            name, color = ITEM_ICONS[self._item.status], item_color(self._item, theme)
            painter.drawPixmap(0, 0, pixmap(name, color, _ICON_SIZE, self.devicePixelRatioF()))
            return
        ring = QRectF(1.5, 1.5, _ICON_SIZE - 3, _ICON_SIZE - 3)
        pen = painter.pen()
        pen.setWidthF(2.5)
        for color, share in ((theme.seg_free, 1.0), (theme.ok, self._share)):
            pen.setColor(QColor(color))
            painter.setPen(pen)
            painter.drawArc(ring, 90 * 16, round(-360 * 16 * share))


class _Head(QFrame):
    """The line that is always there; a click anywhere opens or closes the list."""

    pressed = Signal()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Open or close."""
        if event.button() == Qt.MouseButton.LeftButton:
            self.pressed.emit()


class _ItemList(QScrollArea):
    """The whole list; it takes the keyboard when there is something to scroll."""

    accessible_role = QAccessible.Role.Grouping

    def __init__(self, inside: QWidget) -> None:
        super().__init__()
        self.setObjectName("todo_items")
        self.setAccessibleName(tr("To do"))
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidget(inside)

    def fit_height(self, content: int) -> None:
        """Be as tall as its content, up to a limit; pixels."""
        overflows = content > _MAX_HEIGHT
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if overflows else Qt.FocusPolicy.NoFocus)
        self.setFixedHeight(min(content, _MAX_HEIGHT) + 2 * self.frameWidth())


class TodoPanel(Themed, QWidget):
    """One line: how much is done and what comes now; opened, the whole list. Hidden when all is done."""

    def __init__(self, model: ChatModel) -> None:
        super().__init__()
        self._model, self._running, self._open = model, False, False
        self.items: tuple[TodoItem, ...] = ()
        self._ring, self._done, self._current = (
            _StatusIcon(),
            TextLine("", 12, 600),
            TextLine("", 12, role="muted"),
        )
        self._arrow = IconButton("chevron-up", tr("Show full list"))
        self._arrow.clicked.connect(self._toggle)
        self._list = QVBoxLayout()
        self._list.setSpacing(5)
        self._list.setContentsMargins(12, 3, 10, 9)
        inside = QWidget()
        inside.setLayout(self._list)
        self._scroll = _ItemList(inside)
        self._scroll.hide()
        self.setLayout(self._build_layout())
        for changed in (model.rows_reset, model.row_added, model.rows_changed):
            changed.connect(self._update_list)
        self.hide()

    def set_running(self, running: bool) -> None:
        """Whether the agent works."""
        self._running = running
        self._update_list()

    def tint(self, theme: Theme) -> None:
        """Paint with these tokens from now on."""
        super().tint(theme)
        set_style_sheet(
            self.frame,
            f"QFrame#todo {{ background: {theme.raised}; border: 1px solid {theme.border};"
            " border-radius: 10px; }"
            "QScrollArea, QScrollArea > QWidget > QWidget { background: transparent; }"
            "QScrollArea#todo_items { border: 2px solid transparent; border-radius: 9px; }"
            f"QScrollArea#todo_items:focus {{ border-color: {theme.accent}; }}",
        )

    def _build_layout(self) -> QVBoxLayout:
        head = _Head()
        head.pressed.connect(self._toggle)
        head.setCursor(Qt.CursorShape.PointingHandCursor)
        line = row(self._ring, self._done, self._current, self._arrow, margins=(13, 3, 5, 3), gap=9)
        line.setStretch(2, 1)
        head.setLayout(line)
        self.frame = QFrame()
        self.frame.setObjectName("todo")
        self.frame.setLayout(column(head, self._scroll, gap=0))
        self.frame.setMaximumWidth(_MAX_WIDTH)
        outer = row(None, self.frame, None, margins=(14, 5, 14, 6), gap=0)
        outer.setStretch(1, 1000)
        layout = QVBoxLayout()
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(outer)
        return layout

    def _update_list(self) -> None:
        """Show the newest list, if one is there: one that is all done only while the agent works."""
        items = self._newest_items()
        if not self._running and not current_item(items):
            items = ()
        if items != self.items:
            self.items = items
            self._show_items()
        self.setVisible(bool(items))

    def _newest_items(self) -> tuple[TodoItem, ...]:
        """Return the newest list; nothing if a later turn ended without it: it is about something else."""
        rows, has_ended = self._model.raw_rows(), False
        for at in range(len(rows) - 1, max(-1, len(rows) - _MAX_LOOKBACK_ROWS), -1):
            row = rows[at]
            has_ended = has_ended or isinstance(row, TurnFooterRow)
            if has_ended and isinstance(row, UserRow):
                return ()
            if isinstance(row, ToolRow) and row.todo and row.state not in ("failed", "denied"):
                return row.todo
        return ()

    def _show_items(self) -> None:
        self._ring.set_share(done_ratio(self.items))
        done = sum(item.status == "done" for item in self.items)
        self._done.set_text(
            tr("{done} of {total} done", done=done, total=len(self.items)) if self.items else ""
        )
        self._current.set_text(escape_invisible(current_item(self.items)))
        clear_layout(self._list)
        for item in self.items:
            role: TextRole = "muted" if item.status == "done" else "text"
            words = TextLine(
                escape_invisible(item.content), 13, 500 if item.status == "in_progress" else 400, role=role
            )
            words.setAccessibleName(item_text(item))
            sign = _StatusIcon(item)
            line = row(sign, words, gap=9)
            line.setStretch(1, 1)
            content = QWidget()
            content.setLayout(line)
            retint(content, self._theme)
            self._list.addWidget(content)
        self._fit_height()

    def _toggle(self) -> None:
        self._open = not self._open
        self._arrow.set_tip(tr("Show only the current item") if self._open else tr("Show full list"))
        self._arrow.set_icon("chevron-down" if self._open else "chevron-up")
        self._fit_height()

    def _fit_height(self) -> None:
        self._scroll.setVisible(self._open)
        self._scroll.fit_height(self._list.sizeHint().height())
