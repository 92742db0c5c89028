"""The chart of a replayed session."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPainterPathStroker
from pytestqt.qtbot import QtBot

from helix_desktop.replay.policy.policy_replay import PolicyReplay, PolicyRewrite, WindowPoint
from helix_desktop.ui.design.plot import Plot
from helix_desktop.ui.design.style.theme import DARK, LIGHT, Theme
from helix_desktop.ui.settings.policy.replay_card import PolicyComparison, ReplayChart, label_rects
from tests.support.window.looks import ShowLook

WINDOW, HANDOVER_AT = 128_000, 108_800


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_the_dot_of_a_handover_lies_at_the_drop_above_those_of_the_many_sweeps(
    qtbot: QtBot, show_look: ShowLook, theme: Theme
) -> None:
    """Also where the other curve has a point just before the drop."""
    kinds = ("handover-made", "sweep-made")
    rewrites = tuple(PolicyRewrite(2, 2, kind, 90_000, 9_000) for kind in kinds)
    chart = ReplayChart()
    qtbot.addWidget(chart)
    chart.resize(300, 160)
    show_look(theme)
    names = {"edited": "Plain", "in_use": "Lean"}
    replay = _replay({1: 90_000, 4: 9_000, 5: 12_000}, rewrites)
    other = _replay({1: 5_000, 3: 5_000, 5: 5_000})
    chart.show_comparison(PolicyComparison(names, "edited", "in_use", replay, other, "ready", is_one=False))

    image = chart.grab().toImage()
    places: dict[str, list[int]] = {}
    for x, y in product(range(image.width()), range(image.height())):
        places.setdefault(image.pixelColor(x, y).name(), []).append(y)
    assert min(places[theme.seg_handover]) > image.height() / 2
    assert theme.seg_output not in places


@pytest.mark.parametrize("peak", [110_000, 130_000, 150_000, 300_000, 600_000, 3_000_000])
def test_the_labels_of_the_bounds_are_in_the_plot_and_clear_of_the_curves(peak: int) -> None:
    """Also without compaction, where the session grows to many times the window."""
    plot = Plot(QRectF(40, 8, 400, 120), 101, peak)
    curves = [peak * at // 100 for at in range(101)], [min(90_000, 3_000 * at) for at in range(101)]
    sizes = [QSize(90, 16), QSize(56, 16)]
    bounds = [tokens for tokens in (WINDOW, HANDOVER_AT) if tokens <= peak]
    rects = label_rects(plot, bounds, sizes[: len(bounds)], curves)
    assert all(plot.rect.contains(rect) for rect in rects)
    assert not any(rect.intersects(other) for rect, other in combinations(rects, 2))
    lines = [QPainterPathStroker().createStroke(plot.line_of(curve)) for curve in curves]
    assert not any(line.intersects(rect) for line in lines for rect in rects)


def _replay(tokens: dict[int, int], rewrites: tuple[PolicyRewrite, ...] = ()) -> PolicyReplay:
    points = tuple(WindowPoint(seq, seq, tokens) for seq, tokens in tokens.items())
    return PolicyReplay(points, rewrites, WINDOW, HANDOVER_AT, 111_000, 1.0, None, is_exact=True)
