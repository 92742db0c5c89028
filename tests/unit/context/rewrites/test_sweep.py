"""When old outputs become markers."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.policy import PROFILES, ContextPolicy
from helix_desktop.context.rewrites import planner, sweep
from helix_desktop.context.window.window import NO_OUTPUT, render_message
from helix_desktop.domain.digest import bare_marker
from helix_desktop.domain.events.rewrite import SweepMade
from helix_desktop.domain.events.rewrite_kinds import SweepReason
from helix_desktop.domain.events.session import AssistantSpoke, ToolAnswered
from tests.support.histories import SessionSimulator, build_history, disable_folding, histories

BALANCED = PROFILES["balanced"]


def savings(simulator: SessionSimulator) -> list[int]:
    """What each sweep of a history saved."""
    return [one.event.saved for one in simulator.log if isinstance(one.event, SweepMade)]


@pytest.mark.parametrize("size", [600, 2_000, 6_000, 12_000])
def test_rent_fires_between_its_bounds(size: int) -> None:
    """With the policy's own numbers a sweep saves from 2,000 to 20,000 tokens and a step's outputs on top."""
    simulator = build_history(60, size=size)
    assert savings(simulator)
    assert min(savings(simulator)) >= 2_000
    assert max(savings(simulator)) < 20_000 + 4 * size // 4 + 1


def test_rent_waits_until_it_pays() -> None:
    """What lies behind the first ripe output makes a sweep dear: with more there, it waits longer."""
    near = build_history(30, size=2_000)
    far = SessionSimulator(BALANCED)
    far.send_message("word " * 4_000)
    for step in range(80):
        far.step("thinking aloud " * 100, 1)
        far.answer_call(0, f"{step} output line\n" * 150)
    first_near = next(n for n, one in enumerate(near.log) if isinstance(one.event, SweepMade))
    first_far = next(n for n, one in enumerate(far.log) if isinstance(one.event, SweepMade))
    assert steps_before(near, first_near) < steps_before(far, first_far)


def steps_before(simulator: SessionSimulator, position: int) -> int:
    """Model calls in a log up to a position."""
    return sum(isinstance(one.event, AssistantSpoke) for one in simulator.log[:position])


def test_fixed_waits_for_its_amount() -> None:
    """Each sweep saves at least the fixed amount."""
    simulator = build_history(60, size=4_000, policy=PROFILES["classic"])
    assert savings(simulator)
    assert min(savings(simulator)) >= 10_000


def test_at_once_does_not_wait() -> None:
    """As soon as an output leaves the protected tail it is a marker."""
    simulator = build_history(14, size=2_000, policy=PROFILES["plain"])
    simulator.answer_all_calls("x")
    last = simulator.transcript.steps
    outputs = [item for item in simulator.transcript.items if isinstance(item.event, ToolAnswered)]
    # The newest step's request was sent before the step counted.
    assert {item.seq for item in outputs if last - 1 - item.step >= 10} == simulator.transcript.masked


def test_a_person_can_sweep_all_but_two_steps() -> None:
    """By hand everything but the newest two steps goes, and what is too small to save anything stays."""
    simulator = build_history(6, size=2_000)
    swept = planner.sweep_all(simulator.transcript, BALANCED)
    assert swept is not None
    steps = {item.step for seq in swept.masked if (item := simulator.transcript.item(seq))}
    assert steps == {1, 2, 3, 4}
    assert planner.sweep_all(build_history(6, size=60).transcript, BALANCED) is None


def test_what_was_taken_back_stays_in_the_window() -> None:
    """After an undo the outputs are shown whole, when later ones are swept too; by hand they can go."""
    simulator = build_history(8, size=4_000, policy=disable_folding(BALANCED))
    simulator.record_sweep(planner.sweep_all(simulator.transcript, BALANCED), SweepReason.MANUAL)
    taken_back = simulator.transcript.masked
    assert taken_back
    simulator.undo(0)
    for step in range(30):
        simulator.step("On.", 1)
        simulator.answer_call(0, f"{step} output line\n" * 300)
    assert simulator.transcript.masked
    assert not simulator.transcript.masked & taken_back
    again = planner.sweep_all(simulator.transcript, BALANCED)
    assert again is not None
    assert taken_back <= set(again.masked)


@given(histories(), st.sampled_from([*PROFILES.values()]))
def test_due_is_a_part_of_ripe(simulator: SessionSimulator, policy: ContextPolicy) -> None:
    """What is due is ripe; at once takes all of it but what was taken back; what never ran is never ripe."""
    found = {one.seq for one in sweep.sweep_candidates(simulator.transcript, policy)}
    due = planner.sweep_due(simulator.transcript, policy)
    assert set(due.masked if due else ()) <= found
    if policy.enabled:
        at_once = planner.sweep_due(simulator.transcript, msgspec.structs.replace(policy, sweep="at once"))
        assert set(at_once.masked if at_once else ()) == found - simulator.transcript.sweep_exempt
    for seq in found:
        item = simulator.transcript.item(seq)
        assert item is not None
        assert isinstance(item.event, ToolAnswered | AssistantSpoke)
        assert item.event.digest if isinstance(item.event, ToolAnswered) else item.event.short


@given(histories())
def test_a_marker_names_its_content(simulator: SessionSimulator) -> None:
    """What stands for a masked output is one line that begins with the handle of its own digest."""
    simulator.record(SweepMade(tuple(one.seq for one in simulator.transcript.items), 0, SweepReason.MANUAL))
    pinned = simulator.transcript.rewrites.pinned
    for item in simulator.transcript.items:
        if isinstance(item.event, ToolAnswered) and item.event.digest and item.seq not in pinned:
            marked = render_message(item, simulator.transcript).text
            assert marked.startswith(bare_marker(item.event.digest) + " ")
            assert "\n" not in marked


@pytest.mark.parametrize("text", ["", "   ", "\n\n"])
def test_an_empty_output_is_said_to_be_empty(text: str) -> None:
    """No wire format takes an empty message."""
    simulator = build_history(1)
    simulator.step("Once more.", 1)
    simulator.answer_call(0, text)
    assert simulator.window().request.messages[-1].text == NO_OUTPUT
