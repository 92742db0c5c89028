"""How full the context window is, as the gauge shows it."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.window.used_tokens import UsageGauge
from helix_desktop.ui.chat.composer.context_gauge import ContextGauge, paint_usage_bar
from helix_desktop.ui.design.style.theme import DARK, LIGHT, Theme
from helix_desktop.ui.kit.boxes import PaintState, Pen
from helix_desktop.words.next_compaction import gauge_compaction_text
from tests.support.window.looks import ShowLook


def test_a_reported_number_is_not_called_an_estimate(qtbot: QtBot) -> None:
    gauge = ContextGauge()
    qtbot.addWidget(gauge)
    assert gauge.isHidden(), "without a window no number is claimed"
    gauge.show_usage(UsageGauge(19_900, 24_000, 0, 20_400, is_reported=True), ContextPolicy())
    assert "Context: 83 % · 19.9k / 24k · compaction in ≈ 500" in gauge.accessibleName()


@pytest.mark.parametrize(
    ("used", "is_managed", "is_on_hold", "text"),
    [
        (19_900, True, False, "compaction in ≈ 500"),
        (20_400, True, False, "above 85 %"),
        (23_000, True, False, "above 85 %"),
        (23_000, True, True, "paused"),
        (19_900, False, True, "compaction off"),
    ],
)
def test_the_gauge_says_how_far_the_next_compaction_is(
    used: int, is_managed: bool, is_on_hold: bool, text: str
) -> None:
    gauge = UsageGauge(used, 24_000, 0, 20_400, is_reported=True, panic_threshold=22_800)
    assert gauge_compaction_text(gauge.trigger, is_managed, is_on_hold) == text


def test_a_bar_above_its_window_is_drawn_to_scale(qapp: QApplication) -> None:
    """Twice the window: full, with a gap where the window ends; a bar that fits has none."""

    def painted(share: float) -> list[str]:
        image = QImage(100, 8, QImage.Format.Format_RGB32)
        painter = QPainter(image)
        pen = Pen(painter, LIGHT, PaintState(QRectF()))
        paint_usage_bar(pen, QRectF(0, 0, 100, 8), share, "error")
        painter.end()
        return [image.pixelColor(x, 4).name() for x in (25, 50, 75)]

    color, free, gap = (QColor(name).name() for name in (LIGHT.error, LIGHT.seg_free, LIGHT.surface))
    assert painted(2.0) == [color, gap, color]
    assert painted(0.4) == [color, free, free]
    assert painted(1.0) == [color, color, color]


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_the_gauge_has_a_color_from_70_percent_on(qtbot: QtBot, show_look: ShowLook, theme: Theme) -> None:
    gauge = ContextGauge()
    qtbot.addWidget(gauge)
    show_look(theme)
    colors, widths = [], set()
    for used in (690, 700, 849, 1_000):
        gauge.show_usage(UsageGauge(used, 1_000, 0, 850, is_reported=True), ContextPolicy())
        gauge.resize(gauge.sizeHint())
        image = gauge.grab().toImage()
        colors.append(image.pixelColor(20, image.height() // 2).name())
        widths.add(gauge.width())
    assert colors == [QColor(name).name() for name in (theme.accent, theme.warn, theme.warn, theme.error)]
    assert len(widths) == 1, "nothing moves as it fills"
    assert gauge.text() == "100 %"
    assert "Context: 100 % · 1k / 1k" in gauge.accessibleName()
