"""Which level of reasoning a request asks for."""

from __future__ import annotations

import msgspec
import pytest

from helix_desktop.domain.choices import Effort, EffortLevel, SentEffort, fit_level, sort_levels
from helix_desktop.domain.messages import ModelInfo

UP_TO_HIGH: tuple[EffortLevel, ...] = ("low", "medium", "high")


@pytest.mark.parametrize(
    ("effort", "levels", "sent"),
    [
        ("", UP_TO_HIGH, ""),
        ("default", UP_TO_HIGH, ""),
        ("max", UP_TO_HIGH, "high"),
        ("medium", UP_TO_HIGH, "medium"),
        ("minimal", UP_TO_HIGH, "low"),
        ("medium", ("none", "low", "high"), "low"),
        ("xhigh", (), "xhigh"),
    ],
)
def test_the_nearest_level_is_sent(effort: Effort, levels: tuple[EffortLevel, ...], sent: SentEffort) -> None:
    assert fit_level(effort, levels) == sent


def test_a_model_that_cannot_think_is_sent_nothing_and_offers_nothing() -> None:
    info = ModelInfo("box", "small")
    assert (info.offered_efforts, info.fit_effort("high")) == (("low", "medium", "high"), "high")
    mute = msgspec.structs.replace(info, reasoning=False)
    assert (mute.offered_efforts, mute.fit_effort("high")) == ((), "")


def test_levels_come_in_order_and_other_names_are_left_out() -> None:
    assert sort_levels(["max", "ultra", "low", None]) == ("low", "max")
