"""Scrolling a table sideways: by dragging its bar, by the wheel, by the arrow keys."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QWheelEvent

from helix_desktop.ui.chat.actions import ScrollText
from helix_desktop.ui.chat.items.item import RowItem
from helix_desktop.ui.chat.items.painting import HitArea
from helix_desktop.ui.chat.markdown.text_layout import TextLayout, handle_width
from helix_desktop.ui.design.mirror import is_right_to_left

_PAGE = 0.8  # of the visible width
_KEY_STEP = 60.0  # pixels
_WHEEL_STEP = 60.0  # pixels for a notch of the wheel, which is 120 units
_NOTCH = 120.0


class TableDrag:
    def __init__(self) -> None:
        self._text: TextLayout | None = None
        self._grip = 0.0  # pixels from the left edge of the handle

    @property
    def is_active(self) -> bool:
        return self._text is not None

    def begin(self, item: RowItem, x: float, area: HitArea) -> bool:
        """Hold the bar that was pressed, or bring its handle there first; False when it is none."""
        if not isinstance(area.action, ScrollText):
            return False
        text = self._text = item.text(area.action.text_number)
        wide = handle_width(text)
        left = text.x + (text.width - wide) * text.offset / text.max_offset
        self._grip = x - left if left <= x <= left + wide else wide / 2
        self.move(x)
        return True

    def move(self, x: float) -> None:
        text = self._text
        if text is not None and text.width > handle_width(text):
            part = (x - self._grip - text.x) / (text.width - handle_width(text))
            text.scroll_to(part * text.max_offset)

    def end(self) -> bool:
        was_active, self._text = self.is_active, None
        return was_active


def scroll_page(text: TextLayout) -> None:
    """Scroll on by a page; from the end back to the beginning."""
    if not text.scroll_to(text.offset + _PAGE * text.width):
        text.scroll_to(0.0)


def scroll_by_key(text: TextLayout, key: int) -> bool:
    """Scroll where an arrow key points; False for another key."""
    steps = {Qt.Key.Key_Left: -_KEY_STEP, Qt.Key.Key_Right: _KEY_STEP}
    step = steps.get(Qt.Key(key))
    if step is not None:
        text.scroll_to(text.offset + _visual(step))
    return step is not None


def scroll_by_wheel(text: TextLayout | None, event: QWheelEvent) -> bool:
    """Scroll the table below the mouse sideways; False when the wheel does not turn that way."""
    angle, pixels = event.angleDelta(), event.pixelDelta()
    is_shifted = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
    across = angle.x() or (angle.y() if is_shifted else 0)
    if text is None or not text.max_offset or not (is_shifted or abs(across) > abs(angle.y())):
        return False
    step = float(pixels.x()) if pixels.x() else across / _NOTCH * _WHEEL_STEP
    text.scroll_to(text.offset - _visual(step))
    return True


def _visual(step: float) -> float:
    return -step if is_right_to_left() else step
