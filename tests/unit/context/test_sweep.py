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
from tests.support.histories import Maker, histories, played, unfolded

BALANCED = PROFILES["balanced"]


def savings(maker: Maker) -> list[int]:
    """What each sweep of a history saved."""
    return [one.event.saved for one in maker.log if isinstance(one.event, SweepMade)]


@pytest.mark.parametrize("size", [600, 2_000, 6_000, 12_000])
def test_rent_fires_between_its_bounds(size: int) -> None:
    """With the policy's own numbers a sweep saves from 2,000 to 20,000 tokens and a step's outputs on top."""
    maker = played(60, size=size)
    assert savings(maker)
    assert min(savings(maker)) >= 2_000
    assert max(savings(maker)) < 20_000 + 4 * size // 4 + 1


def test_rent_waits_until_it_pays() -> None:
    """What lies behind the first ripe output makes a sweep dear: with more there, it waits longer."""
    near = played(30, size=2_000)
    far = Maker(BALANCED)
    far.user("word " * 4_000)
    for step in range(80):
        far.step("thinking aloud " * 100, 1)
        far.answer(0, f"{step} output line\n" * 150)
    first_near = next(n for n, one in enumerate(near.log) if isinstance(one.event, SweepMade))
    first_far = next(n for n, one in enumerate(far.log) if isinstance(one.event, SweepMade))
    assert steps_before(near, first_near) < steps_before(far, first_far)


def steps_before(maker: Maker, position: int) -> int:
    """Model calls in a log up to a position."""
    return sum(isinstance(one.event, AssistantSpoke) for one in maker.log[:position])


def test_fixed_waits_for_its_amount() -> None:
    """Each sweep saves at least the fixed amount."""
    maker = played(60, size=4_000, policy=PROFILES["classic"])
    assert savings(maker)
    assert min(savings(maker)) >= 10_000


def test_at_once_does_not_wait() -> None:
    """As soon as an output leaves the protected tail it is a marker."""
    maker = played(14, size=2_000, policy=PROFILES["plain"])
    maker.answer_all("x")
    last = maker.transcript.steps
    outputs = [item for item in maker.transcript.items if isinstance(item.event, ToolAnswered)]
    # The newest step's request was sent before the step counted.
    assert {item.seq for item in outputs if last - 1 - item.step >= 10} == maker.transcript.masked


def test_a_person_can_sweep_all_but_two_steps() -> None:
    """By hand everything but the newest two steps goes, and what is too small to save anything stays."""
    maker = played(6, size=2_000)
    swept = planner.sweep_all(maker.transcript, BALANCED)
    assert swept is not None
    steps = {item.step for seq in swept.masked if (item := maker.transcript.item(seq))}
    assert steps == {1, 2, 3, 4}
    assert planner.sweep_all(played(6, size=60).transcript, BALANCED) is None


def test_what_was_taken_back_stays_in_the_window() -> None:
    """After an undo the outputs are shown whole, when later ones are swept too; by hand they can go."""
    maker = played(8, size=4_000, policy=unfolded(BALANCED))
    maker.sweep(planner.sweep_all(maker.transcript, BALANCED), SweepReason.MANUAL)
    taken_back = maker.transcript.masked
    assert taken_back
    maker.undo(0)
    for step in range(30):
        maker.step("On.", 1)
        maker.answer(0, f"{step} output line\n" * 300)
    assert maker.transcript.masked
    assert not maker.transcript.masked & taken_back
    again = planner.sweep_all(maker.transcript, BALANCED)
    assert again is not None
    assert taken_back <= set(again.masked)


@given(histories(), st.sampled_from([*PROFILES.values()]))
def test_due_is_a_part_of_ripe(maker: Maker, policy: ContextPolicy) -> None:
    """What is due is ripe; at once takes all of it but what was taken back; what never ran is never ripe."""
    found = {one.seq for one in sweep.sweep_candidates(maker.transcript, policy)}
    due = planner.sweep_due(maker.transcript, policy)
    assert set(due.masked if due else ()) <= found
    if policy.enabled:
        at_once = planner.sweep_due(maker.transcript, msgspec.structs.replace(policy, sweep="at once"))
        assert set(at_once.masked if at_once else ()) == found - maker.transcript.sweep_exempt
    for seq in found:
        item = maker.transcript.item(seq)
        assert item is not None
        assert isinstance(item.event, ToolAnswered | AssistantSpoke)
        assert item.event.digest if isinstance(item.event, ToolAnswered) else item.event.short


@given(histories())
def test_a_marker_names_its_content(maker: Maker) -> None:
    """What stands for a masked output is one line that begins with the handle of its own digest."""
    maker.record(SweepMade(tuple(one.seq for one in maker.transcript.items), 0, SweepReason.MANUAL))
    pinned = maker.transcript.rewrites.pinned
    for item in maker.transcript.items:
        if isinstance(item.event, ToolAnswered) and item.event.digest and item.seq not in pinned:
            marked = render_message(item, maker.transcript).text
            assert marked.startswith(bare_marker(item.event.digest) + " ")
            assert "\n" not in marked


@pytest.mark.parametrize("text", ["", "   ", "\n\n"])
def test_an_empty_output_is_said_to_be_empty(text: str) -> None:
    """No wire format takes an empty message."""
    maker = played(1)
    maker.step("Once more.", 1)
    maker.answer(0, text)
    assert maker.window().request.messages[-1].text == NO_OUTPUT
