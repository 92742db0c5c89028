"""Observations: what is due, what may be placed, what is read, extracted and rendered."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.context.log.transcript import OBSERVATIONS_LABEL_TOKENS, Transcript
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.rewrites import fold
from helix_desktop.context.summaries import observation, observation_task
from helix_desktop.context.summaries.handover import UNSUPPORTED
from helix_desktop.context.summaries.observation_task import (
    merge_observations,
    parse_observations,
    verbatim_seqs,
)
from helix_desktop.context.summaries.summary_task import full_request
from helix_desktop.context.summaries.transcript_lines import transcript_lines
from helix_desktop.context.window.request_validation import problems
from helix_desktop.domain.errors import CompactionRefused
from helix_desktop.domain.events.rewrite import Redone, Undone
from helix_desktop.domain.events.session import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import Observation, ObservationsMade
from tests.support.histories import SessionSimulator, build_history, histories
from tests.support.rewrite_histories import fold as fold_it
from tests.support.rewrite_histories import histories_with_rewrites, observe, place_observations

SMALL = 300  # tokens of a window of which nearly everything is too much
POLICY = PROFILES["balanced"]
REPLACE = msgspec.structs.replace


def talked(turns: int, steps: int = 3, size: int = 400) -> SessionSimulator:
    """So many complete turns of so many steps each."""
    simulator = SessionSimulator(POLICY)
    for turn in range(turns):
        simulator.send_message(f"Do task {turn}. Always use tabs.")
        for step in range(steps):
            simulator.step(f"Step {step} of {turn}. It is so because of src/a{turn}.py.", 1)
            simulator.answer_call(0, f"{turn}.{step} line of output\n" * (size // 20))
        simulator.step("Done.", 0)
    return simulator


def prepared(simulator: SessionSimulator, reflect: bool = False) -> int:
    """Observations of what is due, recorded; their seq."""
    find = observation.due_reflection if reflect else observation.due_observation
    stretch = find(simulator.transcript, POLICY, 1)
    assert stretch is not None
    return observe(simulator, (stretch.after, stretch.upto), stretch.replaces)


def in_force(transcript: Transcript) -> list[int]:
    """The placings of the observations that stand in the window."""
    return [one.seq for one in transcript.covers if isinstance(one.event, ObservationsMade)]


@given(histories_with_rewrites(), st.booleans())
def test_a_stretch_is_closed_and_free(simulator: SessionSimulator, by_hand: bool) -> None:
    """It ends before the previous turn, its calls are answered, no handover or observations stand there."""
    known = simulator.transcript
    stretch = (
        observation.observable_range(known) if by_hand else observation.due_observation(known, POLICY, SMALL)
    )
    if stretch is None:
        return
    items = known.between(stretch.after, stretch.upto)
    previous = known.turns - 1 if known.turn_open else known.turns
    assert items
    assert all(item.turn < previous for item in items)
    for number, item in enumerate(items):
        if isinstance(item.event, AssistantSpoke):
            answers = items[number + 1 : number + 1 + len(item.event.calls)]
            assert all(isinstance(one.event, ToolAnswered) for one in answers)
            assert len(answers) == len(item.event.calls)
    assert not isinstance(items[0].event, ToolAnswered)
    held = [one for one in known.covers if hasattr(one.event, "sections") or hasattr(one.event, "quoted")]
    assert all(one.upto <= stretch.after or stretch.upto <= one.after for one in held)


@given(histories_with_rewrites(), st.booleans())
def test_what_fits_can_be_placed_and_taken_back(simulator: SessionSimulator, reflect: bool) -> None:
    """In place the window is smaller and valid; undone it is what it was, and it is not placed again."""
    known = simulator.transcript
    find = observation.due_reflection if reflect else observation.due_observation
    stretch = find(known, POLICY, 1)
    if stretch is None:
        return
    made = observe(simulator, (stretch.after, stretch.upto), stretch.replaces)
    event = known.rewrites.observations[made]
    stood = observation.tokens_in_window(known, event.after, event.upto)
    assert (observation.pending_observations(known) == made) == (stood > event.tokens)
    if observation.pending_observations(known) != made:
        return
    before = simulator.window()
    seq = place_observations(simulator, made)
    after = simulator.window()
    assert after.estimate < before.estimate + OBSERVATIONS_LABEL_TOKENS + FRAMING_TOKENS
    assert set(problems(after.request.messages)) <= set(problems(before.request.messages))
    assert seq in in_force(known)
    assert not set(stretch.replaces) & set(in_force(known))
    simulator.record(Undone(seq))
    assert simulator.window().request == before.request
    assert observation.pending_observations(known) is None
    simulator.record(Redone(seq))
    assert simulator.window().request == after.request


def test_what_is_due_ends_before_the_previous_turn() -> None:
    """Everything older than the newest complete turn; nothing while it is under its share."""
    simulator = talked(4)
    stretch = observation.due_observation(simulator.transcript, POLICY, SMALL)
    assert stretch is not None
    items = simulator.transcript.between(stretch.after, stretch.upto)
    assert {item.turn for item in items} == {1, 2, 3}
    assert stretch.tokens == observation.tokens_in_window(simulator.transcript, stretch.after, stretch.upto)
    assert observation.due_observation(simulator.transcript, POLICY, 100_000) is None
    simulator.send_message("And now?")
    simulator.step("Let me see.", 1)
    assert observation.due_observation(simulator.transcript, POLICY, SMALL) == stretch


def test_off_means_nothing_is_due() -> None:
    """Neither observations nor reflections, in the profiles that have none."""
    simulator = talked(4)
    for name in ("classic", "plain", "off"):
        assert observation.due_observation(simulator.transcript, PROFILES[name], 1) is None
        assert observation.due_reflection(simulator.transcript, PROFILES[name], 1) is None


def test_one_turn_is_never_observed() -> None:
    """However long it is, and by hand neither."""
    simulator = build_history(30)
    assert observation.due_observation(simulator.transcript, POLICY, 1) is None
    assert observation.observable_range(simulator.transcript) is None


def test_one_at_a_time() -> None:
    """While prepared ones wait nothing more is due; in place, the next stretch begins where they end."""
    simulator = talked(4)
    made = prepared(simulator)
    assert observation.pending_observations(simulator.transcript) == made
    assert observation.due_observation(simulator.transcript, POLICY, 1) is None
    place_observations(simulator, made)
    assert observation.due_observation(simulator.transcript, POLICY, 1) is None
    for _ in range(2):
        simulator.send_message("More.")
        for step in range(4):
            simulator.step(f"Step {step}.", 1)
            simulator.answer_call(0, "line of output\n" * 20)
        simulator.step("Done.", 0)
    stretch = observation.due_observation(simulator.transcript, POLICY, SMALL)
    assert stretch is not None
    first = simulator.transcript.rewrites.observations[made]
    assert simulator.transcript.between(first.upto, stretch.after) == []


def generations(simulator: SessionSimulator, count: int) -> list[int]:
    """So many generations of observations in place, one behind the other; their placings."""
    found = []
    for _ in range(count):
        for _ in range(2):
            simulator.send_message("More.")
            for step in range(5):
                simulator.step(f"Step {step}.", 1)
                simulator.answer_call(0, "line of output\n" * 20)
            simulator.step("Done.", 0)
        found.append(place_observations(simulator, prepared(simulator)))
    return found


def test_reflection() -> None:
    """Due above its share; in place it stands for the former ones, undone they stand there again."""
    simulator = talked(1)
    placed = generations(simulator, 3)
    assert in_force(simulator.transcript) == placed
    tokens = 3 * 60
    assert observation.due_reflection(simulator.transcript, POLICY, tokens * 2) is None
    stretch = observation.due_reflection(simulator.transcript, POLICY, tokens * 2 - 1)
    assert stretch is not None
    assert (stretch.tokens, stretch.replaces) == (tokens, tuple(placed))
    made = prepared(simulator, reflect=True)
    seq = place_observations(simulator, made)
    assert in_force(simulator.transcript) == [seq]
    assert observation.refinable_range(simulator.transcript) is None
    simulator.record(Undone(seq))
    assert in_force(simulator.transcript) == placed
    assert observation.pending_observations(simulator.transcript) is None


def test_a_reflection_whose_ground_is_gone_is_not_placed() -> None:
    """When one of those that it refines was taken out, it would hide what the person wanted back."""
    simulator = talked(1)
    placed = generations(simulator, 2)
    made = prepared(simulator, reflect=True)
    simulator.record(Undone(placed[0]))
    assert observation.pending_observations(simulator.transcript) is None
    simulator.record(Redone(placed[0]))
    assert observation.pending_observations(simulator.transcript) == made


def test_what_lies_between_is_not_refined_away() -> None:
    """Raw history that was taken back parts the observations around it."""
    simulator = talked(1)
    placed = generations(simulator, 4)
    simulator.record(Undone(placed[1]))
    stretch = observation.refinable_range(simulator.transcript)
    assert stretch is not None
    assert stretch.replaces == tuple(placed[2:])


def test_what_was_taken_back_is_observed_by_hand_only() -> None:
    """The program leaves it alone, the person need not."""
    simulator = talked(5)
    seq = place_observations(simulator, prepared(simulator))
    simulator.record(Undone(seq))
    assert observation.due_observation(simulator.transcript, POLICY, 1) is None
    stretch = observation.observable_range(simulator.transcript)
    assert stretch is not None
    assert {item.turn for item in simulator.transcript.between(stretch.after, stretch.upto)} == {1, 2, 3, 4}


def test_a_handover_supersedes_prepared_observations() -> None:
    """What it covers needs no observations; undone, they fit again."""
    simulator = talked(5)
    made = prepared(simulator)
    handover = simulator.hand_over(0)
    assert handover is not None
    seq = simulator.transcript.handover
    assert seq is not None
    assert observation.pending_observations(simulator.transcript) is None
    simulator.record(Undone(seq[0]))
    assert observation.pending_observations(simulator.transcript) == made


def test_they_must_be_shorter_than_what_they_stand_for() -> None:
    """Folding meanwhile can make that untrue; then they are not placed."""
    simulator = talked(4)
    made = prepared(simulator)
    event = simulator.transcript.rewrites.observations[made]
    seq = fold_it(simulator, (event.after, event.upto), "truncate")
    stands = observation.tokens_in_window(simulator.transcript, event.after, event.upto)
    assert (observation.pending_observations(simulator.transcript) == made) == (stands > event.tokens)
    simulator.record(Undone(seq))
    assert observation.pending_observations(simulator.transcript) == made


def test_what_is_left_out_takes_observations_with_it() -> None:
    """Hard truncation stands for the observations in it; wider observations can stand for it later."""
    simulator = talked(4)
    seq = place_observations(simulator, prepared(simulator))
    items = simulator.transcript.items
    cut = fold_it(simulator, (1, items[-1].seq), "truncate")
    assert [one.seq for one in simulator.transcript.covers] == [cut]
    simulator.record(Undone(cut))
    assert in_force(simulator.transcript) == [seq]
    simulator.record(Redone(cut))
    for _ in range(2):
        simulator.send_message("More.")
        simulator.step("Look.", 1)
        simulator.answer_call(0, "line of output\n" * 60)
        simulator.step("Done.", 0)
    wide = place_observations(simulator, prepared(simulator))
    assert [one.seq for one in simulator.transcript.covers] == [wide]
    assert problems(simulator.window().request.messages) == ["the last message is the assistant's"]


def test_no_fold_reaches_across_an_edge() -> None:
    """A note over the end of a stretch would keep the observations out: the run is split there."""
    policy = REPLACE(POLICY, fold_after_steps=2, fold_least=0, protect_tokens=0)
    simulator = talked(8)
    items = simulator.transcript.items
    edge = max(item.seq for item in items if item.turn < 4)
    plain = fold.due_folds(simulator.transcript, policy, is_cold=True)
    split = fold.due_folds(simulator.transcript, policy, is_cold=True, edges=(edge,))
    assert any(one.after < edge < one.upto for one in plain)
    assert not any(one.after < edge < one.upto for one in split)
    assert {one.upto for one in split} >= {edge}
    assert [split[0].after, split[-1].upto] == [plain[0].after, plain[-1].upto]


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("- (1) A fact [e4]", (1, "A fact", (4,))),
        ("- (P3) A fact [e4, e5]", (3, "A fact", (4, 5))),
        ("* P2: A fact [e5; e4].", (2, "A fact", (5, 4))),
        ("1. [2] A fact", (2, "A fact", ())),
        ("- A fact [e99]", (2, "A fact", ())),
        ("- 3 files were changed [e4]", (2, "3 files were changed", (4,))),
        (f"- (2) A fact {UNSUPPORTED}", (2, "A fact", ())),
        ("- (2) A fact\n  that goes on [e4]", (2, "A fact that goes on", (4,))),
    ],
)
def test_models_write_facts_differently(line: str, read: tuple[int, str, tuple[int, ...]]) -> None:
    """Priority, words and sources are found; a number that begins a sentence is no priority."""
    items = talked(2).transcript.items
    (one,) = parse_observations(f"Here they are:\n\n2026-01-01\n{line}\n", items)
    assert (one.priority, one.text, one.sources) == read
    times = {item.seq: item.at_ms for item in items}
    assert one.at == (max(times[seq] for seq in one.sources) if one.sources else max(times.values()))


@pytest.mark.parametrize("text", ["", "I cannot do that.", "- ", "# Facts", "- [e4]"])
def test_nonsense_is_refused(text: str) -> None:
    """What names no fact is no observation."""
    with pytest.raises(CompactionRefused):
        parse_observations(text, talked(2).transcript.items)


@given(st.text(max_size=300))
def test_any_answer_is_read_or_refused(text: str) -> None:
    """Whatever a model writes, nothing else happens; facts are in the order of their dates."""
    items = talked(1).transcript.items
    try:
        read = parse_observations(text, items)
    except CompactionRefused:
        return
    assert [one.at for one in read] == sorted(one.at for one in read)
    assert all(one.text and one.priority in (1, 2, 3) for one in read)


FACTS = st.lists(
    st.builds(
        Observation,
        st.integers(0, 10**12),
        st.integers(1, 3),
        st.text(alphabet="abc xyz.,", min_size=1, max_size=40).map(str.strip).filter(bool),
        st.lists(st.integers(2, 9), max_size=3, unique=True).map(tuple),
    ),
    min_size=1,
    max_size=8,
).map(tuple)


def made_of(facts: tuple[Observation, ...]) -> ObservationsMade:
    """Observations with these facts."""
    return ObservationsMade(1, 9, facts, (), "", "d" * 64, 2, 60, 400, 8, "m")


@given(FACTS)
def test_what_is_rendered_can_be_read(facts: tuple[Observation, ...]) -> None:
    """Priorities, words and sources come back; each fact without sources is marked."""
    items = talked(2).transcript.items
    text = observation.render_generation(made_of(facts), Transcript())
    facts_only = "\n".join(line for line in text.splitlines() if line.startswith("- "))
    assert facts_only.count(UNSUPPORTED) == sum(not one.sources for one in facts)
    read = parse_observations(facts_only, items)
    key = [(one.priority, one.text, one.sources) for one in read]
    assert sorted(key) == sorted((one.priority, one.text, one.sources) for one in facts)


@given(histories_with_rewrites())
def test_the_persons_words_are_quoted_by_event(simulator: SessionSimulator) -> None:
    """As many of the newest as fit, verbatim, in what stands in the window."""
    items = simulator.transcript.items
    seqs = verbatim_seqs(items, 40)
    said = {item.seq: item.event for item in items if isinstance(item.event, UserSpoke)}
    assert list(seqs) == sorted(seqs)
    assert sum(said[seq].tokens for seq in seqs) <= 40
    made = REPLACE(made_of((Observation(0, 1, "A fact"),)), quoted=seqs)
    text = observation.render_generation(made, simulator.transcript)
    assert all(f"e{seq} user: {said[seq].text}" in text for seq in seqs)


@given(histories())
def test_extracted_facts_are_sourced(simulator: SessionSimulator) -> None:
    """Without a model each fact names an event of the stretch, and is of its time."""
    items = simulator.transcript.items
    times = {item.seq: item.at_ms for item in items}
    facts = observation_task.extract_observations(items)
    assert facts
    for one in facts:
        assert one.sources
        assert one.at == max(times[seq] for seq in one.sources)
    assert [one.at for one in facts] == sorted(one.at for one in facts)


def test_an_extract_keeps_what_matters() -> None:
    """What was asked and wished first, then what was changed, run and failed."""
    simulator = talked(1)
    base = ToolAnswered("c", "", "x", "d" * 64, 1, 1, 1)
    simulator.record(REPLACE(base, name="edit_file", target="src/login.py"))
    simulator.record(REPLACE(base, name="run_command", target="pytest", exit_code=1, ok=False))
    facts = observation_task.extract_observations(simulator.transcript.items)
    told: dict[int, list[str]] = {one.priority: [] for one in facts}
    for one in facts:
        told[one.priority].append(one.text)
    assert any("Do task 0" in text for text in told[1])
    assert any("tabs" in text for text in told[1])
    assert any("src/login.py" in text for text in told[2])
    assert any("pytest" in text for text in told[2])
    assert any("because of src/a0.py" in text for text in told[3])


@given(st.lists(FACTS, min_size=1, max_size=4))
def test_refined_without_a_model(generations: list[tuple[Observation, ...]]) -> None:
    """Each fact once, about half of it at most, the vital ones last to go; at least one stays."""
    every = [one for facts in generations for one in facts]
    kept = merge_observations([made_of(facts) for facts in generations])
    assert kept
    assert len({one.text for one in kept}) == len(kept)
    assert {one.text for one in kept} <= {one.text for one in every}
    assert len(kept) == 1 or sum(len(one.text) for one in kept) <= sum(len(one.text) for one in every) / 2
    newest = {one.text: one for one in every}
    gone = [(-one.priority, one.at) for one in newest.values() if one not in kept]
    assert not gone or max(gone) <= min((-one.priority, one.at) for one in kept)


def test_the_record_follows_what_stands_in_the_window() -> None:
    """Observed stretches are told by their facts and the person's words, folded ones in brief."""
    simulator = talked(6, size=4_000)
    place_observations(simulator, prepared(simulator))
    folded = [item for item in simulator.transcript.items if item.turn == 6]
    fold_it(simulator, (folded[0].seq - 1, folded[-1].seq))
    simulator.send_message("And now?")
    simulator.step("Look.", 1)
    simulator.answer_call(0, "fresh output\n" * 100)
    lines = [one.text for one in transcript_lines(simulator.transcript.items, simulator.transcript.covers)]
    observed = [line for line in lines if line.startswith("observed (")]
    assert len(observed) == 4
    assert "Fact from e2. [e2]" in observed[0]
    assert sum(" user: Do task" in line for line in lines) == 6
    outputs = [line for line in lines if " tool " in line]
    assert len(outputs) == 4
    assert all(len(line) < 200 for line in outputs[:3])
    assert len(outputs[3]) > 1_000


def test_requests_tell_what_is_known() -> None:
    """The newest facts stand before a record; a refinement's record is the facts themselves."""
    simulator = talked(4)
    place_observations(simulator, prepared(simulator))
    held = list(simulator.transcript.rewrites.placed_observations.values())
    assert len(held) == 1
    record = transcript_lines(simulator.transcript.items[-6:])
    text = full_request(observation_task.observation_task("Note.", record, held)).messages[1].text
    assert text.startswith(
        f"{observation_task.OBSERVE}\nKnown already:\nobserved (3) 2025-10-09: Fact from e2. [e2]"
    )
    assert text.index("Known already:") < text.index("The messages to observe:")
    text = full_request(observation_task.reflection_task("Refine.", held)).messages[1].text
    head, *facts = text.splitlines()
    assert head == observation_task.REFINE
    assert len(facts) == 1 + len(held[0].observations)
