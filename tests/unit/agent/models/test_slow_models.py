"""Which models are too slow for large outputs, and for how long that is remembered."""

from __future__ import annotations

from helix_desktop.agent.models import SlowModels
from tests.support.agent_rig import SteppedClock

DAY_S = 24 * 60 * 60


def test_a_miss_is_remembered_for_a_day() -> None:
    """A later miss begins another one; a clock that was set back changes nothing."""
    clock = SteppedClock()
    slow_models = SlowModels(clock)
    slow_models.add("box/large", 10)
    clock.advance_s(-60)
    assert slow_models.is_slow("box/large", 10)
    clock.advance_s(60 + DAY_S - 1)
    slow_models.add("box/small", 10)
    assert [model.label for model in slow_models.remembered] == ["box/large", "box/small"]
    clock.advance_s(1)
    assert not slow_models.is_slow("box/large", 10)
    assert [model.label for model in slow_models.remembered] == ["box/small"]
    slow_models.add("box/large", 10)
    assert slow_models.is_slow("box/large", 10)


def test_a_longer_deadline_asks_again() -> None:
    """The user set 60 s: whether the model keeps that is not known; a shorter one it does not keep either."""
    slow_models = SlowModels(SteppedClock())
    slow_models.add("box/large", 10)
    assert [slow_models.is_slow("box/large", deadline_s) for deadline_s in (5, 10, 60)] == [True, True, False]


def test_listeners_hear_of_what_changes() -> None:
    """A model that is not remembered can be tried again without a word."""
    slow_models, counts = SlowModels(SteppedClock()), list[int]()
    slow_models.listen(lambda: counts.append(len(slow_models.remembered)))
    slow_models.try_again("box/large")
    slow_models.add("box/large", 10)
    slow_models.try_again("box/large")
    assert counts == [1, 0]
