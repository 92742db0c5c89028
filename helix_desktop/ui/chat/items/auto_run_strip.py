"""The line of a card that names what its call changed and other programs run by themselves, with Undo."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from helix_desktop.domain.tools import AutoRunChange
from helix_desktop.ui.chat.actions import PutAutoRun
from helix_desktop.ui.chat.items.painting import (
    HitArea,
    PaintState,
    button_width,
    paint_button,
    paint_icon,
    paint_line,
)
from helix_desktop.ui.chat.style import SMALL, ChatStyle
from helix_desktop.words.file_changes import auto_run_texts
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

_HEIGHT, _LEFT, _RIGHT = 34.0, 38.0, 12.0  # pixels


class AutoRunStrip:
    """Lines below a card's bar, one for each outcome; sizes in pixels."""

    def __init__(self, changes: Sequence[AutoRunChange], capture_id: str, style: ChatStyle) -> None:
        """`capture_id` leads to what the file history has of the call."""
        self._style = style
        self._lines: list[tuple[str, str, PutAutoRun | None, QRectF]] = []
        for outcomes in (("removed",), ("failed",), ("named", "kept")):
            part = [change for change in changes if change.outcome in outcomes]
            if part:
                label, action = "", None
                if outcomes != ("failed",):
                    is_out = outcomes == ("removed",)
                    label = tr("Restore") if is_out else tr("Undo")
                    action = _action(part, capture_id, restore=is_out)
                self._lines.append((auto_run_texts(part)[0], label, action, QRectF()))
        self.hit_areas: list[HitArea] = []

    @property
    def words(self) -> str:
        """Return all of it, as a screen reader reads it."""
        return ". ".join(text for text, *_ in self._lines)

    def arrange(self, top: float, width: float) -> float:
        """Place it below `top`; where it ends."""
        style = self._style
        self.hit_areas = []
        placed = []
        for number, (text, label, action, _) in enumerate(self._lines):
            line = QRectF(0, top, width, style.px(_HEIGHT))
            placed.append((text, label, action, line))
            top = line.bottom()
            if action is not None:
                wide, tall = button_width(style, label), style.px(26)
                left = width - style.px(_RIGHT) - wide
                place = QRectF(left, line.center().y() - tall / 2 - style.px(2), wide, tall)
                self.hit_areas.append(
                    HitArea(f"auto_run:{number}", action, f"{label}: {text}", place, radius=8, tip=text)
                )
        self._lines = placed
        return top

    def paint(self, painter: QPainter, state: PaintState) -> None:
        """Draw the lines with their buttons."""
        style, theme = self._style, self._style.theme
        areas = {area.action: area for area in self.hit_areas}
        for text, label, action, line in self._lines:
            middle, side = line.center().y() - style.px(2), style.px(14)
            icon = QRectF(style.px(14), middle - side / 2, side, side)
            paint_icon(painter, style, "shield-alert", theme.warn, icon)
            right = line.right() - style.px(_RIGHT)
            area = areas.get(action) if action is not None else None
            if area is not None:
                paint_button(painter, style, area._replace(label=label), state, "outline")
                right = area.rect.x() - style.px(10)
            room = QRectF(style.px(_LEFT), middle - style.px(10), right - style.px(_LEFT), style.px(20))
            paint_line(painter, style, room, text, style.font(SMALL), theme.text)


def _action(part: Sequence[AutoRunChange], capture_id: str, *, restore: bool) -> PutAutoRun:
    change_ids = tuple(change.change_id for change in part if change.change_id)
    paths = tuple(change.path for change in part if not change.change_id) if capture_id else ()
    return PutAutoRun(change_ids, restore, capture_id, paths)
