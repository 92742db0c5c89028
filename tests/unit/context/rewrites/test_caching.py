"""When old outputs become markers."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.policy_numbers import PROFILES, REFERENCE_WINDOW, ContextPolicy
from helix_desktop.context.rewrites import caching, sweep_plans
from helix_desktop.context.rewrites.anchors import SWEEP_TITLE
from helix_desktop.context.window.window import render_message
from helix_desktop.domain.digest import bare_marker
from helix_desktop.domain.events.conversation import AssistantSpoke, QueueChanged, ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import SweepMade, SweepReason
from tests.support.histories import SessionSimulator, build_history, disable_folding, histories

BALANCED = PROFILES["balanced"]


def sweep_savings(simulator: SessionSimulator) -> list[int]:
    return [recorded.event.saved for recorded in simulator.log if isinstance(recorded.event, SweepMade)]


@pytest.mark.parametrize("size", [600, 2_000, 6_000, 12_000])
def test_a_rent_sweep_saves_an_amount_within_its_bounds(size: int) -> None:
    """With the policy's own numbers a sweep saves 2,000 to 20,000 tokens plus one step's outputs."""
    simulator = build_history(60, size=size, policy=disable_folding(BALANCED))
    assert sweep_savings(simulator)
    assert min(sweep_savings(simulator)) >= 2_000
    assert max(sweep_savings(simulator)) < 20_000 + 4 * size // 4 + 1


def test_a_rent_sweep_waits_until_it_pays() -> None:
    """What follows the first candidate makes a sweep expensive: with more there, it waits longer."""
    near = build_history(30, size=2_000, policy=disable_folding(BALANCED))
    longer = SessionSimulator(disable_folding(BALANCED))
    longer.send_message("word " * 4_000)
    for step in range(80):
        longer.step("thinking aloud " * 100, 1)
        longer.answer_call(0, f"{step} output line\n" * 150)
    first_in_near = next(n for n, recorded in enumerate(near.log) if isinstance(recorded.event, SweepMade))
    first_in_longer = next(
        n for n, recorded in enumerate(longer.log) if isinstance(recorded.event, SweepMade)
    )
    assert steps_before(near, first_in_near) < steps_before(longer, first_in_longer)


def steps_before(simulator: SessionSimulator, position: int) -> int:
    """Count the model calls in a log up to a position."""
    return sum(isinstance(recorded.event, AssistantSpoke) for recorded in simulator.log[:position])


def test_a_fixed_sweep_waits_for_its_amount() -> None:
    """Each sweep saves at least the fixed amount."""
    simulator = build_history(60, size=4_000, policy=PROFILES["classic"])
    assert sweep_savings(simulator)
    assert min(sweep_savings(simulator)) >= 10_000


def test_a_manual_sweep_spares_the_newest_two_steps() -> None:
    """Everything older goes, but what is too small to save anything stays."""
    simulator = build_history(6, size=2_000)
    sweep_event = sweep_plans.sweep_now(simulator.transcript, BALANCED)
    assert sweep_event is not None
    steps = {item.step for seq in sweep_event.swept if (item := simulator.transcript.messages.item(seq))}
    assert steps == {1, 2, 3, 4}
    assert sweep_plans.sweep_now(build_history(6, size=60).transcript, BALANCED) is None


@pytest.mark.parametrize(("needed", "swept"), [(500, [1]), (2_500, [2]), (6_000, [2, 1])])
def test_as_few_outputs_of_the_newest_step_as_possible_leave(needed: int, swept: list[int]) -> None:
    """Three were asked for together: one that frees enough goes alone, else the largest first."""
    simulator = SessionSimulator(BALANCED)
    simulator.send_message("Read all three.")
    simulator.step("Reading.", 3)
    for words in (300, 1_500, 4_000):
        simulator.answer_call(0, "word " * words)
    answers = [
        item.seq for item in simulator.transcript.messages.items if isinstance(item.event, ToolAnswered)
    ]
    plan = sweep_plans.sweep_now(simulator.transcript, BALANCED, 0, needed)
    assert plan is not None
    assert plan.swept == tuple(sorted(answers[place] for place in swept))


def check_due_is_a_subset_of_candidates(simulator: SessionSimulator, policy: ContextPolicy) -> None:
    """At once takes all outputs that are ready except undone ones; what never ran is never ready."""
    gauge = simulator.gauge(REFERENCE_WINDOW)
    candidates = {
        candidate.seq for candidate in caching.sweep_candidates(simulator.transcript, policy, gauge)
    }
    due_sweep = sweep_plans.sweep_due(simulator.transcript, policy, gauge)
    assert set(due_sweep.swept if due_sweep else ()) <= candidates
    if policy.enabled:
        at_once = sweep_plans.sweep_due(
            simulator.transcript, msgspec.structs.replace(policy, sweep="at once"), gauge
        )
        assert set(at_once.swept if at_once else ()) == candidates - simulator.transcript.sweep_exempt
    for seq in candidates:
        item = simulator.transcript.messages.item(seq)
        assert item is not None
        assert isinstance(item.event, ToolAnswered | AssistantSpoke)
        assert item.event.digest if isinstance(item.event, ToolAnswered) else item.event.short


def check_a_marker_names_its_content(simulator: SessionSimulator) -> None:
    """A swept output is replaced by one line that begins with the handle of its own digest.

    Below it stands nothing but the anchors of a sweep.
    """
    simulator.record(
        SweepMade(tuple(item.seq for item in simulator.transcript.messages.items), 0, SweepReason.MANUAL)
    )
    pinned = simulator.transcript.rewrites.pinned
    for item in simulator.transcript.messages.items:
        if isinstance(item.event, ToolAnswered) and item.event.digest and item.seq not in pinned:
            marked = render_message(item, simulator.transcript).text
            assert marked.startswith(bare_marker(item.event.digest) + " ")
            _, _, below = marked.partition("\n")
            assert not below or (below.startswith(SWEEP_TITLE) and "\n" not in below)


@given(histories(), st.sampled_from([*PROFILES.values()]))
def test_sweeps_of_any_history(simulator: SessionSimulator, policy: ContextPolicy) -> None:
    """The last check sweeps everything."""
    check_due_is_a_subset_of_candidates(simulator, policy)
    check_a_marker_names_its_content(simulator)


def small_window(policy: ContextPolicy) -> SessionSimulator:
    """A session whose model has a context window of 24,000 tokens, with the policy as it is there.

    But for its share for two turns: below 30 % nothing of them would leave, however it is protected.
    """
    early = msgspec.structs.replace(policy, previous_turn_share=0.10)
    simulator = SessionSimulator(early.scaled(24_000))
    info = msgspec.structs.replace(simulator.frame.info, window=24_000)
    simulator.frame = msgspec.structs.replace(simulator.frame, info=info)
    return simulator


def read_text(simulator: SessionSimulator, name: str, tokens: int) -> str:
    """Let the agent read a text of so many tokens; return what stands in it."""
    call = simulator.tool_call(0, f'{{"path": "{name}.txt"}}', "read_file")
    simulator.step(f"I read {name}.", [call])
    line = f"what {name} says\n"
    text = line * (4 * tokens // len(line))
    simulator.answer_call(0, text)
    return text


def outputs_sent(simulator: SessionSimulator) -> set[str]:
    """The outputs in the request that the newest step answered."""
    messages = simulator.sent_requests[-1].request.messages
    return {message.text for message in messages if message.role == "tool"}


def test_a_small_window_keeps_what_the_newest_steps_read() -> None:
    """A file, what was looked up for it in two calls, and the edit that begins with it; then it leaves."""
    simulator = small_window(disable_folding(BALANCED))
    simulator.send_message("Mend it.")
    text = read_text(simulator, "file", 3_900)
    for hit in range(2):
        read_text(simulator, f"hit{hit}", 400)
    simulator.step("I edit.", 1)
    assert text in outputs_sent(simulator)
    for number in range(4):
        read_text(simulator, f"other{number}", 400)
    assert text not in outputs_sent(simulator)


def test_a_large_output_that_the_agent_asked_for_whole_stays_twice_as_long() -> None:
    """It left two calls after it was read in full, before the answer that it was read for."""
    simulator = small_window(BALANCED)
    simulator.send_message("Read it in full, and say how its titles are made.")
    text = read_text(simulator, "months", 6_000)
    for number in range(2 * BALANCED.protect_steps - 1):
        read_text(simulator, f"other{number}", 400)
    assert text in outputs_sent(simulator)
    for number in range(4):
        read_text(simulator, f"more{number}", 400)
    assert text not in outputs_sent(simulator)


def test_what_the_running_turn_recalled_stays_in_it() -> None:
    """In a small window, too, while outputs that are no older leave; the next turn begins without it."""
    simulator = small_window(BALANCED)
    simulator.send_message("Compare them.")
    table = read_text(simulator, "table", 700)
    read_text(simulator, "other", 700)
    simulator.recall(simulator.store_content(table))
    recalled = simulator.log[-1]
    for number in range(16):
        read_text(simulator, f"file{number}", 700)
    assert recalled.seq not in simulator.transcript.window.swept
    assert isinstance(recalled.event, ToolAnswered)
    assert recalled.event.text in outputs_sent(simulator)
    assert simulator.transcript.window.swept


@pytest.mark.parametrize("is_withdrawn", [False, True])
def test_files_that_a_queued_message_names_stay_until_it_is_sent_and_answered(is_withdrawn: bool) -> None:
    """What the running turn reads meanwhile leaves first; a message that is withdrawn holds nothing."""
    simulator = small_window(BALANCED)
    simulator.send_message("Look around.")
    files = {read_text(simulator, name, 1_400) for name in ("src/one", "two", "three")}
    simulator.send_message("Then review src/one.txt, two.txt and three.txt.")
    queued = simulator.transcript.last_seq
    if is_withdrawn:
        simulator.record(QueueChanged(()))
    for number in range(6):
        read_text(simulator, f"hit{number}", 1_100)
    simulator.step("I looked.", 0)
    if is_withdrawn:
        assert not files & outputs_sent(simulator)
        return
    assert files <= outputs_sent(simulator)
    (message,) = simulator.transcript.queued_messages.values()
    simulator.record(UserSpoke(message.text, 12, queued=queued))
    read_text(simulator, "another", 900)
    simulator.step("They are fine.", 0)
    assert files <= outputs_sent(simulator)
