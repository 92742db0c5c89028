"""The policy as a form: numbers within their bounds, in words; the slider, and the chart of a replay."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import msgspec
import pytest
from PySide6.QtCore import QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QPainterPathStroker
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from helix_desktop.context import policy_numbers
from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy, policy_fields, policy_from
from helix_desktop.replay.policy.policy_replay import PolicyReplay, PolicyRewrite, WindowPoint
from helix_desktop.ui.design.plot import Plot
from helix_desktop.ui.design.style.theme import DARK, LIGHT, Theme
from helix_desktop.ui.kit.forms import all_fields
from helix_desktop.ui.settings.policy.form import (
    FILE_FIELDS,
    POLICY,
    SLIDER_FIELDS,
    Number,
    ToolNames,
    conflict_text,
    profiles_beside,
)
from helix_desktop.ui.settings.policy.page import PolicySlider, StopTrack
from helix_desktop.ui.settings.policy.replay_card import PolicyComparison, ReplayChart, label_rects
from tests.support.tables import for_each
from tests.support.window.looks import ShowLook

FIELDS = [field for field in all_fields(POLICY) if isinstance(field, Number)]


def numbers(**changes: float) -> dict[str, Any]:
    return {**msgspec.structs.asdict(PROFILES["balanced"]), **changes}


def test_every_field_of_the_policy_is_in_its_form_or_in_the_file_alone() -> None:
    """Each once; those of the form with a label, a unit and an explanation."""
    fields = all_fields(POLICY)
    keys = [field.name for field in fields]
    assert sorted([*keys, *FILE_FIELDS, *SLIDER_FIELDS]) == sorted(ContextPolicy.__struct_fields__)
    assert [group.title for group in POLICY] == ["Cache", "Compact"]
    assert len(fields) <= 12, "more belong in the file"
    assert all(field.label and field.unit and field.note and "_" not in field.label for field in fields)
    described = {name for name, field in policy_numbers.FIELDS.items() if field.label}
    assert described == set(keys), "what has words is on the page"
    assert policy_numbers.FIELDS.keys() | policy_numbers.CHOICES == set(ContextPolicy.__struct_fields__), (
        "each is described"
    )


def test_tools_that_are_never_cached_are_typed_by_their_names() -> None:
    """Each once; one that does not exist is named, because nothing would ever be said of it."""
    field = next(field for field in all_fields(POLICY) if isinstance(field, ToolNames))
    names = field.read(" run_command, mcp__web__fetch ,run_command,")
    assert names == ("run_command", "mcp__web__fetch")
    assert (field.read(field.typed(names)), field.in_text(())) == (names, "none")
    with pytest.raises(ValueError, match="“run_comand” isn't the name of a tool"):
        field.read("run_comand")
    own = policy_from({"never_cache": list(names)})
    assert policy_fields(own) == {"profile": "balanced", "never_cache": list(names)}
    assert policy_from(policy_fields(own)) == own
    subagents = own.for_subagents()
    assert subagents is not None
    assert (subagents.profile, subagents.never_cache) == ("lean", names)


def test_the_slider_has_plain_only_where_a_file_chose_it(qtbot: QtBot) -> None:
    """A policy that is turned off by hand stands at Off, whatever its profile."""

    def names(policy: ContextPolicy) -> list[str]:
        return [profile.name for profile in profiles_beside(policy)]

    assert names(PROFILES["balanced"]) == ["lean", "balanced", "classic", "off"]
    assert "plain" in names(PROFILES["plain"])
    slider = PolicySlider()
    qtbot.addWidget(slider)
    slider.show_policy(policy_from({"profile": "balanced", "enabled": False}))
    assert slider.track.value_text == "Off"


@for_each("field", FIELDS)
def test_the_form_bounds_a_number_as_the_policy_does(field: Number) -> None:
    """The policy accepts each number that the form accepts; it refuses those below or above."""
    # Only the bounds of the field itself: rules between fields are reported by the policy's own messages.
    free = {"sweep_min": 0, "sweep_max": 10_000_000, "observe_at": 0.0, "observe_place_at": 0.9,
            "panic_to": 0.1, "handover_at": 0.3, "panic_at": 1.0}  # fmt: skip
    base = {**free, field.name: field.minimum}
    policy_from(base)
    if field.is_percent:
        policy_from({**free, field.name: field.maximum})
        for beyond in (field.minimum - 0.01, field.maximum + 0.01):
            with pytest.raises(ValueError, match=field.name):
                policy_from({**free, field.name: beyond})
    else:
        with pytest.raises(ValueError, match=field.name):
            policy_from({**free, field.name: -1})


@pytest.mark.parametrize("name", ["classic", "plain"])
def test_a_profile_is_described_with_the_threshold_that_holds(name: str) -> None:
    """That of the policy on the page; the other profiles with their own."""

    def descriptions(**changes: float) -> dict[str, str]:
        profiles = profiles_beside(policy_from({"profile": name, **changes}))
        return {profile.name: profile.description for profile in profiles}

    own, changed = descriptions(), descriptions(handover_at=0.6)
    assert "85 %" in own[name]
    assert changed[name] == own[name].replace("85 %", "60 %")
    others = own.keys() - {name}
    assert all(changed[other] == own[other] for other in others)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"observe_at": 0.5}, "“Compact early from” can't be above “observe_place_at”."),
        ({"panic_to": 0.9, "panic_at": 0.9}, "“panic_to” must be below “panic_at”."),
        ({"panic_at": 0.8}, "“Compact at” can't be above “panic_at”."),
    ],
)
def test_numbers_that_cannot_work_together_are_named_as_in_the_form_or_the_file(
    changes: dict[str, float], text: str
) -> None:
    with pytest.raises(ValueError, match="must"):
        policy_from(numbers(**changes))
    assert conflict_text(numbers(**changes)) == text


def fault(field: Number, typed: str) -> str:
    """Why a typed number can't be used; empty: it can."""
    try:
        field.read(typed)
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("abc", "Enter a number."),
        ("2.5", "Enter a whole number."),
        ("10,0", ""),
        ("201", "Enter a number from 2 to 200."),
    ],
)
def test_a_policy_number_is_held_against_its_range(typed: str, why: str) -> None:
    assert fault(Number("protect_steps", minimum=2, maximum=200), typed) == why


@pytest.mark.parametrize(
    ("typed", "why"), [("38", ""), ("38.5 %", ""), ("91", "Enter a number from 0 % to 90 %.")]
)
def test_policy_shares_are_typed_as_percent(typed: str, why: str) -> None:
    field = Number("observe_at", maximum=0.9, is_percent=True)
    assert fault(field, typed) == why
    assert (field.typed(0.38), field.in_text(0.38)) == ("38", "38 %")
    if not why:
        assert field.read(typed) == pytest.approx(float(typed.removesuffix("%")) / 100)


def test_slider_is_mirrored_where_texts_begin_at_the_right(qtbot: QtBot) -> None:
    selected = list[int]()
    track = StopTrack(selected.append)
    qtbot.addWidget(track)
    track.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    track.resize(400, 26)
    track.set_stop(5, 1, is_changed=False, value_text="Plain")

    QTest.keyClick(track, Qt.Key.Key_Left)
    QTest.keyClick(track, Qt.Key.Key_Right)
    QTest.keyClick(track, Qt.Key.Key_Up)
    QTest.mouseClick(track, Qt.MouseButton.LeftButton, pos=QPoint(390, 13))

    assert selected == [2, 0, 2, 0]
    selected.clear()
    track.set_stop(5, 4, is_changed=True, value_text="Lean, changed")
    QTest.keyClick(track, Qt.Key.Key_Up)
    QTest.keyClick(track, Qt.Key.Key_Down)
    assert selected == [4, 3], "up leads to the profile without the changes"


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
