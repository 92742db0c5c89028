"""What is forecast of the next rewrite, against what the engine then does."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given

from helix_desktop.context.policy import PROFILES, REFERENCE_WINDOW, ContextPolicy
from helix_desktop.context.rewrites.forecast import MAX_CALLS, NOTHING_DUE, Forecast, make_forecast
from helix_desktop.context.rewrites.planner import handover_due, observation_due
from helix_desktop.context.rewrites.summary_forecast import forecast_summary
from helix_desktop.context.rewrites.sweep import names_line_tokens
from helix_desktop.context.window.usage_gauge import measure_next_request
from helix_desktop.domain.events.choices import HoldSet
from helix_desktop.domain.events.rewrite import FoldMade, SweepMade
from helix_desktop.domain.messages import ModelInfo
from tests.support.histories import SessionSimulator, histories

_OFF_BY = 2  # model calls that a forecast of a few calls ahead may be wrong


def _forecast(simulator: SessionSimulator, policy: ContextPolicy, room: int = REFERENCE_WINDOW) -> Forecast:
    return make_forecast(simulator.transcript, policy, simulator.gauge(), room)


def play(policy: ContextPolicy, steps: int, size: int) -> tuple[list[Forecast], list[tuple[int, bool]]]:
    """Return the forecast before each call, and the calls that a rewrite preceded, with whether it folded."""
    simulator = SessionSimulator(policy)
    simulator.send_message("Begin.")
    predictions, rewritten = [], []
    for step in range(steps):
        predictions.append(_forecast(simulator, policy))
        before = len(simulator.log)
        simulator.step(f"Step {step}.", 1)
        rewrites = [entry.event for entry in simulator.log[before:]]
        if any(isinstance(event, SweepMade | FoldMade) for event in rewrites):
            rewritten.append((step, any(isinstance(event, FoldMade) for event in rewrites)))
        simulator.answer_call(0, f"{step} line of output\n" * (size // 20))
    return predictions, rewritten


@pytest.mark.parametrize("profile", ["balanced", "lean", "classic"])
@pytest.mark.parametrize("size", [2_000, 6_000])
def test_predictions_come_true(profile: str, size: int) -> None:
    """A rewrite due with the next request is done with it, and only then; ahead it is about right."""
    predictions, rewritten = play(PROFILES[profile], 70, size)
    due_now = [
        (step, forecast.next.is_fold)
        for step, forecast in enumerate(predictions)
        if forecast.next is not None and not forecast.next.calls
    ]
    assert due_now == rewritten
    assert rewritten
    ahead = [(step, predictions[step - 4].next) for step, _ in rewritten[1:] if step >= 4]
    last = {step for step, _ in rewritten}
    for step, prediction in ahead:
        if not last & set(range(step - 4, step)):  # no other rewrite came between
            assert prediction is not None
            assert abs(prediction.calls - 4) <= _OFF_BY


def test_it_says_what_a_rewrite_saves_and_costs() -> None:
    """In the tokens that the window has then."""
    predictions, _ = play(PROFILES["balanced"], 40, 6_000)
    due = [forecast.next for forecast in predictions if forecast.next is not None]
    assert due
    assert all(rewrite.saved > 0 and 0 <= rewrite.calls <= MAX_CALLS for rewrite in due)
    assert any(rewrite.resent > 0 for rewrite in due)
    assert all((rewrite.grown > 0) == (rewrite.calls > 0) for rewrite in due)
    assert predictions[-1].unobserved > 0


def test_nothing_is_foretold_for_after_the_context_is_summarized() -> None:
    """A rewrite that is due later than that never comes as it was foretold."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Begin.")
    for step in range(3):
        simulator.step(f"Step {step}.", 1)
        simulator.answer_call(0, f"{step} line of output\n" * 300)
    due = _forecast(simulator, simulator.policy).next
    assert due is not None
    assert due.calls
    assert _forecast(simulator, simulator.policy, due.grown).next == due
    room = due.grown // due.calls * (due.calls - 1)
    sooner = _forecast(simulator, simulator.policy, room)
    assert (sooner.next, sooner.calls) == (None, due.calls - 1)


def test_a_sweep_saves_less_by_its_line_of_names() -> None:
    """As it will be recorded; which names it has is not known before."""
    without = msgspec.structs.replace(PROFILES["classic"], anchor_tokens=0)
    named = msgspec.structs.replace(without, anchor_tokens=4_000)
    pairs = zip(play(without, 40, 6_000)[0], play(named, 40, 6_000)[0], strict=True)
    due = [(one.next, other.next) for one, other in pairs if one.next and not one.next.calls]
    assert due
    for plain, less in due:
        assert less is not None
        assert less.calls == 0
        assert less.saved == plain.saved - names_line_tokens(named, plain.saved) < plain.saved


def test_nothing_is_due_where_nothing_is_managed() -> None:
    """With the policy off, and before the first message."""
    off = PROFILES["off"]
    simulator = SessionSimulator(PROFILES["balanced"])
    assert _forecast(simulator, PROFILES["balanced"]) == NOTHING_DUE
    simulator.send_message("Begin.")
    assert _forecast(simulator, off) == NOTHING_DUE


@given(histories())
def test_looking_ahead_changes_nothing(simulator: SessionSimulator) -> None:
    """It is asked of a copy, whatever happened before."""
    before = simulator.window().request
    policy = msgspec.structs.replace(simulator.policy)
    assert _forecast(simulator, policy) == _forecast(simulator, policy)
    simulator.reload()
    assert simulator.window().request == before


def test_a_handover_leaves_at_most_what_was_said_of_it_long_before() -> None:
    """From the first calls on it is priced as it is then; one that is due, from the request of now."""
    policy = PROFILES["plain"]
    simulator = SessionSimulator(policy, ModelInfo("test", "small", window=40_000, reserve=200))
    simulator.send_message("Begin.")
    forecasts, plan = [], None
    while plan is None:
        gauge = measure_next_request(simulator.transcript, policy, simulator.frame)
        summary = forecast_summary(simulator.transcript, policy, simulator.frame, simulator.now_ms)
        assert summary is not None
        assert summary.kind == "handover"
        forecasts.append(summary)
        plan = handover_due(simulator.transcript, policy, gauge, simulator.now_ms)
        assert (summary.before == gauge.used) == (plan is not None)
        if plan is None:
            simulator.step("A step.", 1)
            simulator.answer_call(0, f"{len(forecasts)} line of output\n" * 300)
    simulator.record(simulator.handover_at(plan.cut))
    after, threshold = measure_next_request(simulator.transcript, policy, simulator.frame).used, 40_000 * 0.85
    assert after <= forecasts[-1].after
    for early in forecasts[10:]:
        assert early.fresh < early.after
        assert abs(early.before - threshold) <= 1_200
        assert abs(early.after - forecasts[-1].after) <= 1_200
        assert early.read is not None
        assert early.read >= plan.cut.tokens * 0.9


def test_what_is_read_of_noted_steps_is_not_forecast() -> None:
    """The notes stand in the window, the originals are read: up to 20 times as much as was said."""
    policy = PROFILES["lean"]
    simulator = SessionSimulator(policy, ModelInfo("test", "small", window=40_000, reserve=200))
    reads = []
    while not any(isinstance(entry.event, FoldMade) for entry in simulator.log):
        assert simulator.transcript.messages.steps < 300, "no step was noted"
        simulator.send_message("Go on.")
        simulator.step("A step.", 1)
        simulator.answer_call(0, "A line of output.\n" * 200)
        simulator.step("An answer in some more words. " * 100, 0)
        summary = forecast_summary(simulator.transcript, policy, simulator.frame, simulator.now_ms)
        reads.append(summary.read if summary is not None else 0)
    assert reads[0] is not None
    assert reads[-1] is None


def test_observations_that_are_due_come_before_a_handover() -> None:
    """As at the end of a turn; on hold, and with the policy off, a model writes nothing by itself."""
    policy = msgspec.structs.replace(PROFILES["balanced"], fold_after_steps=0)
    simulator = SessionSimulator(policy, ModelInfo("test", "small", window=40_000, reserve=200))
    for turn in range(8):
        simulator.send_message(f"Question {turn}.")
        simulator.step("I look.", 1)
        simulator.answer_call(0, f"{turn} line of output\n" * 300)
        simulator.step("An answer in some more words. " * 200, 0)
    summary = forecast_summary(simulator.transcript, policy, simulator.frame, simulator.now_ms)
    assert summary is not None
    gauge = measure_next_request(simulator.transcript, policy, simulator.frame)
    assert (summary.kind, summary.before) == ("observations", gauge.used)
    assert 0 < summary.fresh <= summary.after < summary.before
    assert forecast_summary(simulator.transcript, PROFILES["off"], simulator.frame, 0) is None
    simulator.record(HoldSet(on=True))
    assert forecast_summary(simulator.transcript, policy, simulator.frame, simulator.now_ms) is None


def test_no_request_is_said_to_grow_with_observations() -> None:
    """In a small window the bound of what a model writes is larger than what is observed."""
    policy = msgspec.structs.replace(PROFILES["balanced"], observe_at=0.30)
    simulator = SessionSimulator(policy, ModelInfo("test", "small", window=4_000, reserve=200))

    def is_due() -> bool:
        gauge = measure_next_request(simulator.transcript, policy, simulator.frame)
        due = observation_due(simulator.transcript, policy, gauge, simulator.now_ms)
        return gauge.pressure == "none" and due is not None

    while not is_due():
        simulator.send_message("Question.")
        simulator.step("An answer in some more words. " * 10, 0)
    assert forecast_summary(simulator.transcript, policy, simulator.frame, simulator.now_ms) is None
