"""The chart of a replayed session."""

from __future__ import annotations

from itertools import product

import pytest
from pytestqt.qtbot import QtBot

from helix_desktop.replay.policy_replay import PolicyReplay, PolicyRewrite, WindowPoint
from helix_desktop.ui.design.style.theme import DARK, LIGHT, Theme
from helix_desktop.ui.design.themed import retint
from helix_desktop.ui.settings.policy.comparison import PolicyChoice, PolicyComparison
from helix_desktop.ui.settings.policy.replay_chart import ReplayChart, label_top

WINDOW, HANDOVER_AT = 128_000, 108_800


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_the_dot_of_a_handover_lies_at_the_drop_above_those_of_the_many_sweeps(
    qtbot: QtBot, theme: Theme
) -> None:
    """Also where the other curve has a point just before the drop."""
    kinds = ("handover-made", "sweep-made")
    rewrites = tuple(PolicyRewrite(2, 2, kind, 90_000, 9_000) for kind in kinds)
    chart = ReplayChart()
    qtbot.addWidget(chart)
    chart.resize(300, 160)
    retint(chart, theme)
    choices = (PolicyChoice("edited", "Plain"), PolicyChoice("in_use", "Lean"))
    replay = _replay({1: 90_000, 4: 9_000, 5: 12_000}, rewrites)
    other = _replay({1: 5_000, 3: 5_000, 5: 5_000})
    chart.show_comparison(PolicyComparison(choices, "edited", "in_use", replay, other, "ready", is_one=False))

    image = chart.grab().toImage()
    places: dict[str, list[int]] = {}
    for x, y in product(range(image.width()), range(image.height())):
        places.setdefault(image.pixelColor(x, y).name(), []).append(y)
    assert min(places[theme.seg_handover]) > image.height() / 2
    assert theme.seg_output not in places


@pytest.mark.parametrize("edge", [40.0, 22.0, 12.0])
@pytest.mark.parametrize("distance", [0.0, 2.0, 9.0, 30.0])
def test_the_labels_of_two_lines_never_overlap(edge: float, distance: float) -> None:
    top, height = 10.0, 16.0
    first = label_top(edge, height, top)
    below = max(edge, first + height)
    second = label_top(edge + distance, height, below)
    assert first >= top
    assert second >= below


def _replay(tokens: dict[int, int], rewrites: tuple[PolicyRewrite, ...] = ()) -> PolicyReplay:
    points = tuple(WindowPoint(seq, seq, tokens) for seq, tokens in tokens.items())
    return PolicyReplay(points, rewrites, WINDOW, HANDOVER_AT, 111_000, 1.0, None, is_exact=True)
