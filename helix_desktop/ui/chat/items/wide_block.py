"""What may be wider than its place in a message, a table or a formula, has a bar then that scrolls it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from helix_desktop.ui.chat.actions import ScrollText
from helix_desktop.ui.chat.items.painting import HitArea, PaintState, paint_box
from helix_desktop.ui.chat.markdown.text_layout import TextLayout, handle_width
from helix_desktop.ui.chat.style import INDENT

_BAR_HEIGHT = 6  # pixels at zoom 1
_AROUND_BAR = 10  # pixels


class WideBlock:
    """A table or a formula, and the bar that scrolls it."""

    def __init__(self, text: TextLayout, bar_label: str, indent: int = 0) -> None:
        """`bar_label` says what the bar does."""
        self.text = text
        self._bar_label = bar_label
        self.height = 0.0
        self._indent = indent * text.style.px(INDENT)

    def layout(self, width: float) -> float:
        """Wrap to a width; the height that takes, both in pixels."""
        self.height = self.text.layout(max(40.0, width - self._indent))
        if self.text.max_offset:
            self.height += self.text.style.px(_BAR_HEIGHT) + _AROUND_BAR
        return self.height

    def move(self, x: float, y: float) -> None:
        """Move the top left corner to a point of the item."""
        self.text.x, self.text.y = x + self._indent, y

    def hit_areas(self) -> Sequence[HitArea]:
        """Return the bar, if there is one."""
        text = self.text
        if not text.max_offset:
            return ()
        strip = QRectF(text.x, text.y + text.height + 2, text.width, text.style.px(_BAR_HEIGHT) + 6)
        return (HitArea(f"{text.number}:bar", ScrollText(text.number), self._bar_label, strip),)

    def paint(self, painter: QPainter, state: PaintState) -> None:
        """Draw at its place."""
        text = self.text
        text.paint(painter, state.clip, state.marks_of(text))
        for area in self.hit_areas():
            style, theme = text.style, text.style.theme
            bar = area.rect.adjusted(0, 3, 0, -3)
            radius = bar.height() / 2
            paint_box(painter, bar, style.color(theme.raised), None, radius)
            is_held = area.name in (state.hovered, state.pressed)
            wide = handle_width(text)
            left = bar.x() + (bar.width() - wide) * text.offset / text.max_offset
            handle = QRectF(left, bar.y(), wide, bar.height())
            paint_box(painter, handle, style.color(theme.faint if is_held else theme.scrollbar), None, radius)
