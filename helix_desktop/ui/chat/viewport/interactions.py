"""What the rows' widgets ask for and what their buttons do."""

from __future__ import annotations

from PySide6.QtCore import QObject, QRectF, QTimer, Signal
from PySide6.QtGui import QGuiApplication

from helix_desktop.ui.chat.items.item import RowItem
from helix_desktop.ui.chat.items.painting import PaintState
from helix_desktop.ui.chat.markdown.text_layout import TextMark
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.chat.rows.row_types import OFFER_GROUP, ApprovalRow, ToolRow, needs_original
from helix_desktop.ui.chat.viewport.approval_click_guard import ApprovalClickGuard
from helix_desktop.ui.chat.viewport.chat_viewport import ChatViewport
from helix_desktop.ui.chat.viewport.finder import ChatFinder
from helix_desktop.ui.chat.viewport.focus_order import FocusOrder
from helix_desktop.ui.chat.viewport.mouse import AreaId, MouseHandler
from helix_desktop.ui.chat.viewport.row_widget import RowWidget
from helix_desktop.ui.chat.viewport.selection import Selection

_COPIED_MS = 1_600


class RowInteractions(QObject):
    """The host of the rows' widgets."""

    open_in_cache = Signal(str)
    approval_decided = Signal(str, str, int)
    """Call, answer, and which of the offered rules it is about."""
    action_triggered = Signal(object, str)
    content_requested = Signal(object, bool)
    menu_requested = Signal(int)
    tool_action_triggered = Signal(object, str)
    focus_leave_requested = Signal(bool)

    def __init__(
        self,
        chat_viewport: ChatViewport,
        mouse: MouseHandler,
        selection: Selection,
        finder: ChatFinder,
        guard: ApprovalClickGuard,
    ) -> None:
        super().__init__(chat_viewport)
        self._guard = guard
        self._chat_viewport = chat_viewport
        self._mouse = mouse
        self._selection = selection
        self._finder = finder
        self.focus = FocusOrder(chat_viewport)
        self._copied: AreaId | None = None
        self._copied_timer = QTimer(self)
        self._copied_timer.setSingleShot(True)
        self._copied_timer.setInterval(_COPIED_MS)
        self._copied_timer.timeout.connect(self._clear_copied)
        mouse.clicked.connect(self.activate)

    def paint_state(self, index: int, item: RowItem, widget: RowWidget) -> PaintState:
        """Return how a row looks at this moment."""
        key = item.row.key
        paint = PaintState(QRectF(), tick=self._chat_viewport.animation_tick)
        paint.hovered = _name_in(key, self._mouse.hovered)
        paint.pressed = _name_in(key, self._mouse.pressed)
        paint.copied = _name_in(key, self._copied)
        paint.marks = self._marks(index, item)
        return paint

    def activate(self, index: int, area_name: str) -> None:
        """Do what a place of a row does."""
        row = self._chat_viewport.model.row(index)
        kind, _, name = area_name.partition(":")
        if kind == "open":
            self._chat_viewport.item_cache.toggle(row.key, name)
            self._chat_viewport.relayout_in_place(index)
            if (
                isinstance(row, ToolRow)
                and needs_original(row)
                and self._chat_viewport.item_cache.is_open(row.key, name)
            ):
                self.content_requested.emit(row.key, False)
        elif kind == "whole":
            self.content_requested.emit(row.key, True)
        elif kind == "menu":
            self.menu_requested.emit(index)
        elif kind in ("subagent", "stop"):
            self.tool_action_triggered.emit(row.key, kind)
        elif kind == "cache" and isinstance(row, ToolRow):
            self.open_in_cache.emit(row.digest)
        elif kind == "decide" and isinstance(row, ApprovalRow):
            self._decide(row, name)
        elif kind == OFFER_GROUP:
            self._chat_viewport.item_cache.select_option(row.key, kind, name)
            self._chat_viewport.relayout_in_place(index)
        elif kind == "action":
            self.action_triggered.emit(row.key, name)
        else:
            self._copy_code(index, area_name)

    def _decide(self, row: ApprovalRow, answer: str) -> None:
        if self._guard.accepts(row.key, f"decide:{answer}"):
            offer = int(self._chat_viewport.item_cache.selected_option(row.key, OFFER_GROUP) or 0)
            self.approval_decided.emit(row.call_id, answer, offer)

    def reset(self) -> None:
        """The rows are others: nothing is selected, sought or clicked any more."""
        self._selection.clear()
        self._finder.clear()
        self._mouse.last_index = -1
        self._chat_viewport.reset()

    def step_focus(self, forward: bool) -> bool:
        """Move the keyboard to the next place; leaves the conversation after the last one."""
        if not self.focus.step(forward):
            self.focus_leave_requested.emit(forward)
        return True

    def _copy_code(self, index: int, area_name: str) -> None:
        item = self._chat_viewport.item(index)
        source = item.copy_text(area_name)
        if source is not None:
            QGuiApplication.clipboard().setText(source)
            self._copied = (item.row.key, area_name)
            self._copied_timer.start()
            self._chat_viewport.repaint()

    def _clear_copied(self) -> None:
        self._copied = None
        self._chat_viewport.repaint()

    def _marks(self, index: int, item: RowItem) -> dict[int, list[TextMark]]:
        style, theme = self._chat_viewport.style, self._chat_viewport.style.theme
        marks: dict[int, list[TextMark]] = {}
        for number, ranges in self._finder.matches(item).items():
            marks[number] = [TextMark(*span, style.color(theme.warn_soft)) for span in ranges]
        current = self._finder.current
        if current is not None and current[0].row == index:
            spot, length = current
            hit = TextMark(spot.position, spot.position + length, style.color(theme.text_selection))
            marks.setdefault(spot.text, []).append(hit)
        for number, span in self._selection.ranges(index, item).items():
            marks.setdefault(number, []).append(TextMark(*span, style.color(theme.text_selection)))
        return marks


def _name_in(key: RowKey, area: AreaId | None) -> str:
    """Return the name of a place if it is in the row of a key."""
    return area[1] if area is not None and area[0] == key else ""
