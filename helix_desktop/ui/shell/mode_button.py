"""The mode of the session in the top bar: a pill with a word, and the menu that changes it."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QAction, QColor, QFont, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QMenu, QPushButton

from helix_desktop.domain.choices import PermissionMode
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.ui.design.buttons import EnterActivates
from helix_desktop.ui.design.mirror import draw_pixmap, draw_text, mirror
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.icons import pixmap
from helix_desktop.ui.design.themed import Themed
from helix_desktop.ui.shell.actions import tip_with_keys
from helix_desktop.words.translation import Translator, translate

text = TextContext("Window")
tr = Translator("Window")

_NAMES = {"ask": text("Ask", "mode"), "plan": text("Plan", "mode"), "auto": text("Auto", "mode")}
_DEMO = text("Demo", "mode")
_EXCEPT_DEMO = text("Ask, except demo calls", "mode")
_TIPS = {
    "ask": text("Ask: the agent asks before it edits files or runs commands"),
    "plan": text("Plan: the agent only reads and plans"),
    "auto": text(
        "Auto: the agent edits files and runs sandboxed commands without asking, "
        "unless they destroy what can't be undone"
    ),
}
_ICONS: dict[PermissionMode, str] = {"ask": "shield", "plan": "list-tree", "auto": "zap"}
_COLOR_TOKENS: dict[PermissionMode, tuple[str, str]] = {
    "ask": ("muted", "raised"),
    "plan": ("accent_text", "accent_soft"),
    "auto": ("warn", "warn_soft"),
}
_HEIGHT_PX, _ICON_PX, _PAD_PX, _CHEVRON_PX = 30, 14, 9, 14

ModeDetail = Literal["word", "icon"]


class ModeButton(EnterActivates, Themed, QPushButton):
    """Shows a session's mode; its menu changes it."""

    def __init__(self, menu: QMenu, next_mode: QAction) -> None:
        """`next_mode` is the command that switches the mode; its keys stand in the tooltip."""
        super().__init__()
        self._next_mode = next_mode
        self._mode: PermissionMode = "ask"
        self._demo_runs = False
        self._detail: ModeDetail = "word"
        self.setMenu(menu)
        self.setAutoDefault(False)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.show_mode("ask")
        next_mode.changed.connect(lambda: self.show_mode(self._mode, demo_runs=self._demo_runs))

    def show_mode(self, mode: PermissionMode, *, demo_runs: bool = False) -> None:
        """Show a mode; `demo_runs` says that calls of the demo model run in it without asking."""
        self._mode, self._demo_runs = mode, demo_runs
        tip = translate(_TIPS[mode])
        if demo_runs and mode != "plan":
            tip += "\n" + tr("Demo calls run without asking. Change it in Settings → Permissions.")
        self.setToolTip(tip_with_keys(self._next_mode, tip))
        self.setAccessibleName(tr("Mode: {mode}", mode=_EXCEPT_DEMO if self._asks_less else _NAMES[mode]))
        self.setAccessibleDescription(self.toolTip())
        self.set_detail(self._detail)
        self.update()

    @property
    def _asks_less(self) -> bool:
        return self._demo_runs and self._mode == "ask"

    @property
    def _word(self) -> TranslatableText:
        """The mode's name, or what is shorter than "Ask, except demo calls" and does not claim to ask."""
        return _DEMO if self._asks_less else _NAMES[self._mode]

    def set_detail(self, detail: ModeDetail) -> None:
        """Show the word next to the icon, or the icon alone."""
        self._detail = detail
        self.setFixedSize(QSize(self.width_at(detail), scaled(_HEIGHT_PX)))

    def width_at(self, detail: ModeDetail) -> int:
        """Width in pixels in a form, the same in every mode, wider where the demo model's calls run."""
        metrics = QFontMetricsF(self._font())
        if detail == "icon":
            return scaled(_HEIGHT_PX)
        names = (*_NAMES.values(), *((_DEMO,) if self._demo_runs else ()))
        widest = max(metrics.horizontalAdvance(word) for word in map(translate, names))
        return 2 * _PAD_PX + scaled(_ICON_PX) + round(widest) + 6 + _CHEVRON_PX

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint background, icon, word and chevron; a ring where it has the keyboard."""
        theme = self._theme
        color, background = (getattr(theme, name) for name in _COLOR_TOKENS[self._mode])
        painter = QPainter(self)
        mirror(painter, self.rect())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        edge = theme.accent if self.hasFocus() else theme.border_strong if self.underMouse() else theme.border
        painter.setPen(QPen(QColor(edge), 2 if self.hasFocus() else 1))
        painter.setBrush(QColor(background))
        bounds = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        painter.drawRoundedRect(bounds, 9, 9)
        side = scaled(_ICON_PX)
        left = _PAD_PX if self._detail == "word" else (self.width() - side) // 2
        icon = _ICONS["auto" if self._asks_less else self._mode]
        picture = pixmap(icon, color, side, self.devicePixelRatioF())
        draw_pixmap(painter, left, (self.height() - side) // 2, picture)
        if self._detail == "word":
            self._paint_text(painter, color, bounds)

    def _paint_text(self, painter: QPainter, color: str, area: QRectF) -> None:
        painter.setFont(self._font())
        painter.setPen(QColor(color))
        place = area.adjusted(_PAD_PX + scaled(_ICON_PX) + 5, 0, -_CHEVRON_PX, 0)
        draw_text(painter, place, Qt.AlignmentFlag.AlignVCenter, translate(self._word))
        painter.setPen(QPen(QColor(color), 1.5, c=Qt.PenCapStyle.RoundCap, j=Qt.PenJoinStyle.RoundJoin))
        x, y = self.width() - _PAD_PX - 5.0, self.height() / 2 - 1.5
        painter.drawPolyline([QPointF(x - 3, y), QPointF(x, y + 3), QPointF(x + 3, y)])

    def _font(self) -> QFont:
        return fonts.sized(self.font(), fonts.BASE_PX, QFont.Weight.Medium)
