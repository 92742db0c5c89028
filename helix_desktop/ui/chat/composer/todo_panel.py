"""The agent's to-do list, above the message field while its turn runs."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QAccessible,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from helix_desktop.domain.todo import TODO, TodoItem, parse_items
from helix_desktop.ui.chat.rows.row_types import ChatModel, ToolRow, UserRow
from helix_desktop.ui.chat.style import MAX_COLUMN_WIDTH
from helix_desktop.ui.design.dynamic_style import TextRole, set_style_sheet
from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.design.layout.boxes import clear_layout, row
from helix_desktop.ui.design.safe_text import escape_invisible
from helix_desktop.ui.design.style.icons import pixmap
from helix_desktop.ui.design.style.theme import Themed
from helix_desktop.words.translation import Translator

tr = Translator("Composer")

_MAX_WIDTH = MAX_COLUMN_WIDTH - 32  # pixels; between the round corners of the message field
_MAX_HEIGHT = 136  # pixels
_MAX_LOOKBACK_ROWS = 400  # rows; an older list says nothing of the work under way
_ICON_SIZE = 15  # pixels
_ICONS = {"done": "check", "in_progress": "circle-dot", "pending": "circle"}


class _StatusIcon(Themed, QWidget):
    def __init__(self, item: TodoItem) -> None:
        super().__init__()
        self._item = item
        self.setFixedSize(_ICON_SIZE + 1, _ICON_SIZE + 1)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._theme
        color = {"done": theme.ok, "in_progress": theme.accent, "pending": theme.faint}[self._item.status]
        picture = pixmap(_ICONS[self._item.status], color, _ICON_SIZE, self.devicePixelRatioF())
        QPainter(self).drawPixmap(0, 0, picture)


class _ItemList(QScrollArea):
    """The list; it takes the keyboard when there is something to scroll."""

    accessible_role = QAccessible.Role.Grouping


class TodoPanel(Themed, QWidget):
    """The newest list of the turn that runs; hidden when that ends."""

    def __init__(self, model: ChatModel) -> None:
        super().__init__()
        self._model, self._running = model, False
        self.items: tuple[TodoItem, ...] = ()
        self._list = QVBoxLayout()
        self._list.setSpacing(4)
        self._list.setContentsMargins(16, 10, 14, 8)
        inside = QWidget()
        inside.setLayout(self._list)
        self.frame = _ItemList()
        self.frame.setObjectName("todo")
        self.frame.setAccessibleName(tr("To-do list"))
        self.frame.setWidgetResizable(True)
        self.frame.setFrameShape(QFrame.Shape.NoFrame)
        self.frame.setWidget(inside)
        self.frame.setMaximumWidth(_MAX_WIDTH)
        outer = row(None, self.frame, None, margins=(26, 5, 26, 0), gap=0)
        outer.setStretch(1, 1000)
        self.setLayout(outer)
        for changed in (model.rows_reset, model.row_added, model.rows_changed):
            changed.connect(self._update_list)
        self.hide()
        self.apply_theme()

    def set_running(self, running: bool) -> None:
        self._running = running
        self._update_list()

    def apply_theme(self) -> None:
        super().apply_theme()
        theme = self._theme
        set_style_sheet(
            self.frame,
            f"QScrollArea#todo {{ background: {theme.raised}; border: 1px solid {theme.border};"
            " border-bottom: 0; border-top-left-radius: 12px; border-top-right-radius: 12px; }"
            "QScrollArea > QWidget > QWidget { background: transparent; }"
            f"QScrollArea#todo:focus {{ border-color: {theme.accent}; }}",
        )

    def _update_list(self) -> None:
        items = self._newest_items() if self._running else ()
        if items != self.items:
            self.items = items
            self._show_items()
        self.setVisible(bool(items))

    def _newest_items(self) -> tuple[TodoItem, ...]:
        """Return the newest list of the turn at the end of the rows."""
        rows = self._model.raw_rows()
        for at in range(len(rows) - 1, max(-1, len(rows) - _MAX_LOOKBACK_ROWS), -1):
            newest = rows[at]
            if isinstance(newest, ToolRow) and newest.state not in ("failed", "denied"):
                items = parse_items(newest.call.arguments) if newest.call.name == TODO else ()
                if items:
                    return items
            if isinstance(newest, UserRow) and not newest.steered and not newest.is_side:
                return ()
        return ()

    def _show_items(self) -> None:
        clear_layout(self._list)
        for item in self.items:
            role: TextRole = "muted" if item.status == "done" else "text"
            words = TextLine(
                escape_invisible(item.content), 13, 500 if item.status == "in_progress" else 400, role=role
            )
            words.setAccessibleName(_spoken_text(item))
            line = row(_StatusIcon(item), words, gap=10)
            line.setStretch(1, 1)
            content = QWidget()
            content.setLayout(line)
            self._list.addWidget(content)
        height = self._list.sizeHint().height()
        overflows = height > _MAX_HEIGHT
        self.frame.setFocusPolicy(Qt.FocusPolicy.StrongFocus if overflows else Qt.FocusPolicy.NoFocus)
        self.frame.setFixedHeight(min(height, _MAX_HEIGHT) + 2)
        self.frame.verticalScrollBar().setValue(self._place_of_current() * height // max(1, len(self.items)))

    def _place_of_current(self) -> int:
        """Return how many items stand above the one in progress, with one of these left in sight."""
        statuses = [item.status for item in self.items]
        return max(0, statuses.index("in_progress") - 1) if "in_progress" in statuses else 0


def _spoken_text(item: TodoItem) -> str:
    content = escape_invisible(item.content)
    match item.status:
        case "done":
            return tr("Done: {item}", item=content)
        case "in_progress":
            return tr("In progress: {item}", item=content)
        case "pending":
            return tr("To do: {item}", item=content)
