"""Buttons in the composer's line: model, mode, and the gauge that says how full the window is."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QPushButton, QSizePolicy, QWidget

from helix_desktop.domain.choices import PermissionMode
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.ui.chat.style import MEDIUM, UI, ChatStyle
from helix_desktop.ui.design.buttons import EnterActivates
from helix_desktop.ui.design.key_names import tip_with_key
from helix_desktop.ui.design.mirror import draw_text
from helix_desktop.ui.design.shell_data import GaugeState, gauge_text
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.theme import LIGHT, Theme, Themed
from helix_desktop.ui.kit.boxes import Icon, Pen, Row, Text
from helix_desktop.words.numbers import format_whole_percent
from helix_desktop.words.rewrite_explanations import explain_hold
from helix_desktop.words.translation import Translator, translate

tr = Translator("Composer")
text = TextContext("Composer")


_WARN_SHARE = 0.7  # of the context window: from here on gauges have a color


def share_color(share: float, theme: Theme) -> str:
    """Return the color of a share of the context window: another from 70 % on, and where it is full."""
    if share >= 1.0:
        return theme.error
    return theme.warn if share >= _WARN_SHARE else theme.accent


def paint_usage_bar(painter: QPainter, bar: QRectF, share: float, color: str, theme: Theme) -> None:
    """Paint a bar that is filled to a share; above 1 to scale, with a gap where the window ends."""
    round_px = bar.height() / 2
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme.seg_free))
    painter.drawRoundedRect(bar, round_px, round_px)
    if share <= 0:
        return
    painter.setBrush(QColor(color))
    full = max(2 * round_px, bar.width() * min(1.0, share))
    painter.drawRoundedRect(QRectF(bar.x(), bar.y(), full, bar.height()), round_px, round_px)
    if share > 1:
        painter.fillRect(
            QRectF(bar.x() + bar.width() / share - 1, bar.y(), 2, bar.height()), QColor(theme.surface)
        )


_PAD_PX, _GAP_PX, _CHEVRON_PX, _LEAST_PX = 8, 4, 13, 64  # at 100 %
_HEIGHT_PX = 26


class ChoiceButton(EnterActivates, QPushButton):
    """Flat until the pointer or the keyboard is on it; where room is narrow its words are cut."""

    def __init__(self, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._style = ChatStyle(LIGHT)
        # Qt's own is that of the style sheet, which has the former text size while that changes.
        self._font = self._style.font(UI, MEDIUM)
        self.setObjectName(name)
        self.setAutoDefault(False)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)

    def set_style(self, style: ChatStyle) -> None:
        self._style = style
        self._font = style.font(UI, MEDIUM)
        self.setFont(self._font)
        self.setFixedHeight(round(style.px(_HEIGHT_PX)))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        width = QFontMetricsF(self._font).horizontalAdvance(self.text())
        return QSize(round(self._style.px(2 * _PAD_PX + _GAP_PX + _CHEVRON_PX) + width) + 1, self.height())

    def minimumSizeHint(self) -> QSize:
        return QSize(min(self.sizeHint().width(), round(self._style.px(_LEAST_PX))), self.height())

    def colors(self) -> tuple[str, str]:
        """Tokens of words and ground; without a ground, what is behind shows."""
        return ("muted" if self.isEnabled() else "faint"), ""

    def paintEvent(self, event: QPaintEvent) -> None:
        color, ground = self.colors()
        if self.underMouse() and self.isEnabled() and not ground:
            color, ground = "text", "hover"
        pen, bounds = Pen.of_widget(self, self._style.theme), QRectF(self.rect())
        pen.box(bounds.adjusted(1, 1, -1, -1), ground, radius=8)
        if self.hasFocus():
            pen.box(bounds, "", "accent", 8, 2)
        words = Text(self.text(), UI, color, 500, elide=Qt.TextElideMode.ElideMiddle, shrink=True)
        line = Row([words, Icon("chevron-down", color, _CHEVRON_PX)], _GAP_PX - 1)
        pad = self._style.px(_PAD_PX)
        pen.write(line, pad, bounds.adjusted(0, 0, 1 - pad, 0))


_NAMES = {"ask": text("Ask", "mode"), "plan": text("Plan", "mode"), "auto": text("Auto", "mode")}
_DEMO = text("Demo", "mode")
_EXCEPT_DEMO = text("Ask, except demo calls", "mode")
_TIPS = {
    "ask": text("Ask: the agent asks before edits, and commands that do more than read"),
    "plan": text("Plan: the agent only reads and plans"),
    "auto": text(
        "Auto: the agent edits files and runs sandboxed commands without asking, "
        "unless they destroy what can't be undone"
    ),
}


class ModeButton(ChoiceButton):
    def __init__(self, parent: QWidget) -> None:
        """Start in mode Ask."""
        super().__init__("mode", parent)
        self._mode: PermissionMode = "ask"
        self._demo_runs = False
        self.show_mode("ask")

    def show_mode(self, mode: PermissionMode, *, demo_runs: bool = False, key: str = "") -> None:
        """Show a mode; `demo_runs` says that calls of the demo model run in it without asking.

        `key` switches to the next mode; it stands in the tooltip.
        """
        self._mode, self._demo_runs = mode, demo_runs
        tip = translate(_TIPS[mode])
        if demo_runs and mode != "plan":
            tip += "\n" + tr("Demo calls run without asking. Change it in Settings → Permissions.")
        self.setText(translate(self._word))
        self.setToolTip(tip_with_key(tip, key))
        self.setAccessibleName(tr("Mode: {mode}", mode=_EXCEPT_DEMO if self._asks_less else _NAMES[mode]))
        self.setAccessibleDescription(self.toolTip())
        self.updateGeometry()
        self.update()

    def minimumSizeHint(self) -> QSize:
        """Room for the whole word: it says what runs without a question."""
        return self.sizeHint()

    @property
    def _asks_less(self) -> bool:
        return self._demo_runs and self._mode == "ask"

    @property
    def _word(self) -> TranslatableText:
        """The mode's name, or what is shorter than "Ask, except demo calls" and does not claim to ask."""
        return _DEMO if self._asks_less else _NAMES[self._mode]

    def colors(self) -> tuple[str, str]:
        """Those of the mode: Auto is a warning."""
        if not self.isEnabled() or self._mode == "ask":
            return super().colors()
        return ("accent_text", "accent_soft") if self._mode == "plan" else ("warn", "warn_soft")


_BAR_PX, _GAUGE_GAP_PX, _GAUGE_PAD_PX, _GAUGE_HEIGHT_PX = 46, 8, 6, 26
_MAX_PX = 16_777_215  # Qt's own limit of a width

GaugeForm = Literal["full", "words", "none"]


class ContextGauge(EnterActivates, Themed, QAbstractButton):
    """A bar and the share; clicking it asks for the panel. Its actions are its menu."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = GaugeState(0, 0, True, "")
        self._form: GaugeForm = "full"
        self._room = _MAX_PX
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.hide()

    def show_state(self, state: GaugeState) -> None:
        """Show a new state; hidden while no window is known."""
        if state == self._state:
            return  # every event of a session asks for it
        self._state = state
        hold = explain_hold() if state.is_on_hold else ""
        usage = tr("Context: {usage}", usage=gauge_text(state))
        parts = tuple(filter(None, (usage, hold, state.source, state.policy)))
        self.setAccessibleName(" · ".join(parts))
        self.setToolTip("\n".join((*parts, tr("Click to show or hide the context panel."))))
        self.fit(self._room)
        self.updateGeometry()
        self.update()

    def fit(self, room: int) -> None:
        """Show bar and words, words alone, or nothing, as some pixels have room for."""
        self._room = room
        forms: tuple[GaugeForm, ...] = ("full", "words", "none")
        form = next(form for form in forms if form == "none" or self._width_of(form) <= room)
        is_shown = self._state.window > 0 and form != "none"
        if form != self._form or is_shown == self.isHidden():
            self._form = form
            self.setVisible(is_shown)
            self.updateGeometry()

    def text(self) -> str:
        share = format_whole_percent(self._state.share)
        return tr("{share} · paused", share=share) if self._state.is_on_hold else share

    def sizeHint(self) -> QSize:
        """Room for what is shown; of a share with three digits, so that nothing moves as it grows."""
        return QSize(self._width_of(self._form), scaled(_GAUGE_HEIGHT_PX))

    def _width_of(self, form: GaugeForm) -> int:
        metrics = QFontMetricsF(self._font())
        words = max(metrics.horizontalAdvance(text) for text in (self.text(), format_whole_percent(1.0)))
        return round(2 * _GAUGE_PAD_PX + (_BAR_PX + _GAUGE_GAP_PX if form == "full" else 0) + words) + 1

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, share = self._theme, self._state.share
        pen, bounds = Pen.of_widget(self, theme), QRectF(self.rect())
        if self.underMouse():
            pen.box(bounds.adjusted(1, 1, -1, -1), "hover", radius=7)
        if self.hasFocus():
            pen.box(bounds, "", "accent", 7, 2)
        color, left = share_color(share, theme), _GAUGE_PAD_PX
        if self._form == "full":
            bar = QRectF(_GAUGE_PAD_PX, self.height() / 2 - 2, _BAR_PX, 4)
            paint_usage_bar(pen.qt, bar, share, color, theme)
            left += _BAR_PX + _GAUGE_GAP_PX
        pen.qt.setFont(self._font())
        pen.qt.setPen(QColor(theme.muted if color == theme.accent else color))
        draw_text(pen.qt, bounds.adjusted(left, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, self.text())

    def _font(self) -> QFont:
        return fonts.sized(self.font(), 12, QFont.Weight.Medium)
