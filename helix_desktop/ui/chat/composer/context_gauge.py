"""How full the context window is: the bar and its share below the message, and in the top bar."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.window.used_tokens import UsageGauge
from helix_desktop.ui.chat.style import COMPOSER_LINE_PX, SMALL
from helix_desktop.ui.design.buttons import EnterActivates
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.theme import Themed
from helix_desktop.ui.kit.boxes import Drawing, Pen, Row, Text
from helix_desktop.words.managed_window import managed_window_text
from helix_desktop.words.next_compaction import gauge_compaction_text
from helix_desktop.words.numbers import format_tokens, format_whole_percent
from helix_desktop.words.state_words import explain_hold, gauge_source_text
from helix_desktop.words.translation import Translator

tr = Translator("Composer")


def paint_usage_bar(pen: Pen, bar: QRectF, share: float, color: str) -> None:
    """Paint a bar that is filled to a share; above 1 to scale, with a gap where the window ends."""
    round_px = bar.height() / 2
    pen.box(bar, "seg_free", radius=round_px)
    if share > 0:
        full = max(2 * round_px, bar.width() * min(1.0, share))
        pen.box(QRectF(bar.x(), bar.y(), full, bar.height()), color, radius=round_px)
    if share > 1:
        pen.fill(QRectF(bar.x() + bar.width() / share - 1, bar.y(), 2, bar.height()), "surface")


def _gauge_color(usage: UsageGauge) -> str:
    if usage.used >= usage.model_window:
        return "error"
    return "warn" if usage.is_due else "accent"


_PAD_PX = 6
_MAX_PX = 16_777_215  # Qt's own limit of a width


class ContextGauge(EnterActivates, Themed, QAbstractButton):
    """A bar and the share; clicking it asks for the panel. Its actions are its menu."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state: tuple[UsageGauge, ContextPolicy, str, bool] | None = None
        self._has_bar = True
        self._room = _MAX_PX
        self._share = 0.0
        self._color = "accent"
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.hide()

    def show_usage(
        self, usage: UsageGauge, policy: ContextPolicy, policy_text: str = "", is_on_hold: bool = False
    ) -> None:
        """Show how full the window is, and where the policy, named by its text, compacts it."""
        if self._state == (state := (usage, policy, policy_text, is_on_hold)):
            return  # every event of a session asks for it
        self._state = state
        self._share = usage.share
        self._color = _gauge_color(usage)
        is_paused = is_on_hold and policy.enabled
        share = format_whole_percent(usage.share)
        self.setText(tr("{share} · paused", share=share) if is_paused else share)
        share = format_whole_percent(usage.share, is_estimated=not usage.is_reported)
        used = format_tokens(usage.used)
        window = managed_window_text(usage.window, usage.model_window)
        compaction = gauge_compaction_text(usage.trigger, policy.enabled, is_on_hold)
        text = " · ".join((share, tr("{used} / {window}", used=used, window=window), compaction))
        hold = explain_hold() if is_paused else ""
        parts = tuple(
            filter(None, (tr("Context: {usage}", usage=text), hold, gauge_source_text(usage), policy_text))
        )
        self.setAccessibleName(" · ".join(parts))
        self.setToolTip("\n".join((*parts, tr("Click to show or hide the context panel."))))
        self.fit(self._room)
        self.updateGeometry()
        self.update()

    def fit(self, room: int) -> None:
        """Show bar and words, words alone, or nothing, as some pixels have room for."""
        self._room = room
        has_bar = self._width(has_bar=True) <= room
        self.setVisible(self._state is not None and self._width(has_bar) <= room)
        if has_bar != self._has_bar:
            self._has_bar = has_bar
            self.updateGeometry()

    def sizeHint(self) -> QSize:
        """Room for what is shown; of a share with three digits, so that nothing moves as it grows."""
        return QSize(self._width(self._has_bar), scaled(COMPOSER_LINE_PX))

    def _width(self, has_bar: bool) -> int:
        widths = (self._line(has_bar, words).width() for words in (self.text(), format_whole_percent(1.0)))
        return round(2 * _PAD_PX + max(widths))

    def _line(self, has_bar: bool, words: str) -> Row:
        color = self._color
        bar = Drawing((46, 4), lambda pen, place: paint_usage_bar(pen, place, self._share, color))
        text = Text(words, SMALL, "muted" if color == "accent" else color, 500)
        return Row([bar, text] if has_bar else [text], 8)

    def paintEvent(self, event: QPaintEvent) -> None:
        pen = Pen.of_widget(self, self._theme)
        bounds = QRectF(self.rect())
        if self.underMouse():
            pen.box(bounds.adjusted(1, 1, -1, -1), "hover", radius=7)
        if self.hasFocus():
            pen.box(bounds, "", "accent", 7, 2)
        pen.write(self._line(self._has_bar, self.text()), _PAD_PX, bounds)
