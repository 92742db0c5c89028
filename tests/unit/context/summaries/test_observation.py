"""Observations: placed, parsed, as text; those that are over leave the window, and stay in the log."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.log.file_changes import FileRevert
from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.context.log.mode_notes import mode_note
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_entries import OBSERVATIONS_LABEL_TOKENS
from helix_desktop.context.log.window_layout import LogItem, ended_observations, ended_tokens
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.rewrites import compaction_due
from helix_desktop.context.summaries import observation
from helix_desktop.context.summaries.handover import UNSUPPORTED, handover_parts
from helix_desktop.context.summaries.observation import (
    end_observations,
    leave_out_known,
    merge_observations,
    parse_observations,
    reflection_task,
    still_ended,
    verbatim_seqs,
)
from helix_desktop.context.summaries.summary_task import full_request, transcript_lines
from helix_desktop.context.window.request_validation import problems
from helix_desktop.domain.errors import CompactionRefused
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import HandoverTrigger, Redone, Undone
from helix_desktop.domain.events.summary import (
    EndedObservation,
    HandoverMade,
    Observation,
    ObservationsMade,
    Section,
)
from tests.support.call_log import CallLog
from tests.support.histories import (
    SessionSimulator,
    conversation_of,
    conversation_with,
    count_tokens,
    histories,
)
from tests.support.rewrite_histories import fold as fold_it
from tests.support.rewrite_histories import histories_with_rewrites, observe, place_observations
from tests.support.session_rewrites import exclude
from tests.support.session_simulator import MODEL
from tests.support.tables import for_each

SMALL = 300  # tokens of a window that is nearly always too small
POLICY = PROFILES["balanced"]
REPLACE = msgspec.structs.replace


def prepared(simulator: SessionSimulator, reflect: bool = False) -> int:
    """Record observations of what is due; return their seq."""
    find = observation.due_reflection if reflect else observation.due_observation
    span = find(simulator.transcript, POLICY, 1)
    assert span is not None
    return observe(simulator, (span.after, span.upto), span.replaces)


def active_placements(transcript: Transcript) -> list[int]:
    return [cover.seq for cover in transcript.window.covers if isinstance(cover.event, ObservationsMade)]


def check_an_observable_range_is_closed_and_free(simulator: SessionSimulator, is_manual: bool) -> None:
    """It ends before the previous turn, its calls are answered, no handover or observations are in it."""
    transcript = simulator.transcript
    span = (
        observation.observable_range(transcript)
        if is_manual
        else observation.due_observation(transcript, POLICY, SMALL)
    )
    if span is None:
        return
    items = transcript.messages.between(span.after, span.upto)
    previous = transcript.messages.turns - 1 if transcript.turn_open else transcript.messages.turns
    assert items
    assert all(item.turn < previous for item in items)
    for number, item in enumerate(items):
        if isinstance(item.event, AssistantSpoke):
            answers = items[number + 1 : number + 1 + len(item.event.calls)]
            assert all(isinstance(answer.event, ToolAnswered) for answer in answers)
            assert len(answers) == len(item.event.calls)
    assert not isinstance(items[0].event, ToolAnswered)
    summaries = [
        cover
        for cover in transcript.window.covers
        if hasattr(cover.event, "sections") or hasattr(cover.event, "quoted")
    ]
    assert all(cover.upto <= span.after or span.upto <= cover.after for cover in summaries)


def check_observations_can_be_placed_and_undone(simulator: SessionSimulator, reflect: bool) -> None:
    """Placed, the window is smaller and valid; undone it is as before, and it is not placed again."""
    transcript = simulator.transcript
    find = observation.due_reflection if reflect else observation.due_observation
    span = find(transcript, POLICY, 1)
    if span is None:
        return
    observation_seq = observe(simulator, (span.after, span.upto), span.replaces)
    event = transcript.rewrites.observations[observation_seq]
    covered_tokens = observation.tokens_in_window(transcript, event.after, event.upto)
    assert (observation.pending_observations(transcript) == observation_seq) == (
        covered_tokens > event.tokens
    )
    if observation.pending_observations(transcript) != observation_seq:
        return
    before = simulator.window()
    seq = place_observations(simulator, observation_seq)
    after = simulator.window()
    assert after.estimate < before.estimate + OBSERVATIONS_LABEL_TOKENS + FRAMING_TOKENS
    assert set(problems(after.request.messages)) <= set(problems(before.request.messages))
    assert seq in active_placements(transcript)
    assert not set(span.replaces) & set(active_placements(transcript))
    simulator.record(Undone(seq))
    assert simulator.window().request == before.request
    assert observation.pending_observations(transcript) is None
    simulator.record(Redone(seq))
    assert simulator.window().request == after.request


def test_a_range_that_facts_would_hardly_shorten_waits_for_more() -> None:
    """The newest turn alone passes the share: the short one before it would become no shorter."""
    simulator = SessionSimulator(POLICY, REPLACE(MODEL, window=32_000))
    for words in (20, 2_000, 2_000):
        simulator.send_message("Look at it.")
        for _ in range(4):
            simulator.step("word " * words, 1)
            simulator.answer_call(0, "a line of output")
        simulator.step("Done.", 0)
        turns = simulator.transcript.messages.turns
        span = observation.due_observation(simulator.transcript, POLICY, 20_000)
        assert (span is not None) == (turns > 1)
        due = compaction_due.observation_due(simulator.transcript, POLICY, simulator.gauge(20_000), 0)
        assert due == (span if turns > 2 else None)


def test_only_one_observation_is_due_at_a_time() -> None:
    """While prepared ones wait nothing more is due; once placed, the next range begins at their end."""
    simulator = conversation_with(4)
    observation_seq = prepared(simulator)
    assert observation.pending_observations(simulator.transcript) == observation_seq
    assert observation.due_observation(simulator.transcript, POLICY, 1) is None
    place_observations(simulator, observation_seq)
    assert observation.due_observation(simulator.transcript, POLICY, 1) is None
    for _ in range(2):
        simulator.send_message("More.")
        for step in range(4):
            simulator.step(f"Step {step}.", 1)
            simulator.answer_call(0, "line of output\n" * 20)
        simulator.step("Done.", 0)
    span = observation.due_observation(simulator.transcript, POLICY, SMALL)
    assert span is not None
    first = simulator.transcript.rewrites.observations[observation_seq]
    assert simulator.transcript.messages.between(first.upto, span.after) == []


def generations(simulator: SessionSimulator, count: int) -> list[int]:
    """Place so many adjacent sets of observations; return their placements."""
    placements = []
    for _ in range(count):
        for _ in range(2):
            simulator.send_message("More.")
            for step in range(5):
                simulator.step(f"Step {step}.", 1)
                simulator.answer_call(0, "line of output\n" * 20)
            simulator.step("Done.", 0)
        placements.append(place_observations(simulator, prepared(simulator)))
    return placements


def test_a_reflection_is_due_above_its_share_and_replaces_the_observations() -> None:
    """Due above its share; placed it replaces the previous ones, undone they are back."""
    simulator = conversation_with(1)
    placements = generations(simulator, 3)
    assert active_placements(simulator.transcript) == placements
    tokens = 3 * 60
    assert observation.due_reflection(simulator.transcript, POLICY, tokens * 2) is None
    span = observation.due_reflection(simulator.transcript, POLICY, tokens * 2 - 1)
    assert span is not None
    assert (span.tokens, span.replaces) == (tokens, tuple(placements))
    reflection_seq = prepared(simulator, reflect=True)
    simulator.record(Undone(placements[0]))
    pending = observation.pending_observations(simulator.transcript)
    assert pending is None, "it would hide what the user wanted back"
    simulator.record(Redone(placements[0]))
    assert observation.pending_observations(simulator.transcript) == reflection_seq
    seq = place_observations(simulator, reflection_seq)
    assert active_placements(simulator.transcript) == [seq]
    assert observation.refinable_range(simulator.transcript) is None
    simulator.record(Undone(seq))
    assert active_placements(simulator.transcript) == placements
    assert observation.pending_observations(simulator.transcript) is None


def test_restored_history_is_not_refined_away() -> None:
    """Raw history that was restored separates the observations around it."""
    simulator = conversation_with(1)
    placements = generations(simulator, 4)
    simulator.record(Undone(placements[1]))
    span = observation.refinable_range(simulator.transcript)
    assert span is not None
    assert span.replaces == tuple(placements[2:])


@pytest.mark.parametrize("kind", ["handover", "note", "observations"])
def test_what_an_undo_gave_back_is_observed_only_manually(kind: str) -> None:
    """Else facts about it were written at the end of the turn, for money, and took its place again."""
    simulator = conversation_with(6)
    span = observation.observable_range(simulator.transcript)
    assert span is not None
    assert observation.due_observation(simulator.transcript, POLICY, 1) is not None
    if kind == "handover":
        assert simulator.hand_over(0) is not None
        assert simulator.transcript.window.handover is not None
        seq = simulator.transcript.window.handover[0]
    elif kind == "note":
        seq = fold_it(simulator, (span.after, span.upto), "fold")
    else:
        seq = place_observations(simulator, prepared(simulator))
    simulator.record(Undone(seq))
    assert observation.due_observation(simulator.transcript, POLICY, 1) is None
    assert observation.observable_range(simulator.transcript) == span, "the user can still ask"
    simulator.record(Redone(seq))
    simulator.record(Undone(seq, refused=True))
    assert observation.due_observation(simulator.transcript, POLICY, 1) is not None, "no user undid this"


def test_a_handover_supersedes_prepared_observations() -> None:
    """What it covers needs no observations; undone, they fit again."""
    simulator = conversation_with(5)
    observation_seq = prepared(simulator)
    handover = simulator.hand_over(0)
    assert handover is not None
    seq = simulator.transcript.window.handover
    assert seq is not None
    assert observation.pending_observations(simulator.transcript) is None
    simulator.record(Undone(seq[0]))
    assert observation.pending_observations(simulator.transcript) == observation_seq


def test_observations_of_what_the_user_excluded_meanwhile_are_not_placed() -> None:
    """They would bring back what was left out, as a quote and as facts."""
    simulator = conversation_with(4)
    observation_seq = prepared(simulator)
    assert exclude(simulator, 0)
    assert observation.pending_observations(simulator.transcript) is None
    simulator.record(Undone(simulator.transcript.last_seq))
    assert observation.pending_observations(simulator.transcript) == observation_seq


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
    unique_by=lambda fact: plain(fact.text),
).map(tuple)


def plain(text: str) -> str:
    """Return the words of a fact as they are compared."""
    return " ".join(text.split()).rstrip(" .")


def observations_with(facts: tuple[Observation, ...]) -> ObservationsMade:
    return ObservationsMade(1, 9, facts, (), "", "d" * 64, 2, 60, 400, 8, "m")


@given(FACTS)
def test_rendered_observations_can_be_parsed(facts: tuple[Observation, ...]) -> None:
    """Priorities, text and sources come back; each fact without sources is marked."""
    items = conversation_with(2).transcript.messages.items
    text = observation.render_generation(observations_with(facts), Transcript())
    facts_only = "\n".join(line for line in text.splitlines() if line.startswith("- "))
    assert facts_only.count(UNSUPPORTED) == sum(not fact.sources for fact in facts)
    read = parse_observations(facts_only, items)
    key = [(fact.priority, fact.text, fact.sources) for fact in read]
    assert sorted(key) == sorted((fact.priority, fact.text, fact.sources) for fact in facts)


def check_user_messages_are_quoted_by_event(simulator: SessionSimulator) -> None:
    """As many of the newest as fit, verbatim, in what the window shows."""
    items = simulator.transcript.messages.items
    seqs = verbatim_seqs(items, 40)
    messages = {item.seq: item.event for item in items if isinstance(item.event, UserSpoke)}
    assert list(seqs) == sorted(seqs)
    assert sum(messages[seq].tokens for seq in seqs) <= 40
    observations = REPLACE(observations_with((Observation(0, 1, "A fact"),)), quoted=seqs)
    text = observation.render_generation(observations, simulator.transcript)
    assert all(f"e{seq} user: {messages[seq].text}" in text for seq in seqs)


@given(histories_with_rewrites(), st.booleans(), st.booleans())
def test_observations_of_any_history(simulator: SessionSimulator, is_manual: bool, reflect: bool) -> None:
    """The last check makes some."""
    check_an_observable_range_is_closed_and_free(simulator, is_manual)
    check_user_messages_are_quoted_by_event(simulator)
    check_observations_can_be_placed_and_undone(simulator, reflect)


@given(histories())
def test_extracted_facts_have_sources(simulator: SessionSimulator) -> None:
    """Without a model each fact names an event of the range, and has its time."""
    items = simulator.transcript.messages.items
    times = {item.seq: item.at_ms for item in items}
    facts = observation.extract_observations(items)
    assert facts
    for fact in facts:
        assert fact.sources
        assert fact.at == max(times[seq] for seq in fact.sources)
    assert [fact.at for fact in facts] == sorted(fact.at for fact in facts)


def test_an_extract_keeps_the_important_facts() -> None:
    """Requests and preferences first, then what failed; the ledger has the rest."""
    simulator = conversation_with(1)
    base = ToolAnswered("c", "", "x", "d" * 64, 1, 1, 1)
    simulator.record(REPLACE(base, name="edit_file", target="src/login.py"))
    simulator.record(REPLACE(base, name="run_command", target="pytest", exit_code=1, ok=False))
    facts = observation.extract_observations(simulator.transcript.messages.items)
    texts: dict[int, list[str]] = {fact.priority: [] for fact in facts}
    for fact in facts:
        texts[fact.priority].append(fact.text)
    assert any("Do task 0" in text for text in texts[1])
    assert any("tabs" in text for text in texts[1])
    assert any("src/login.py" in text for text in texts[3])
    assert any("pytest" in text for text in texts[2])


@given(st.lists(FACTS, min_size=1, max_size=4))
def test_refining_without_a_model(generations: list[tuple[Observation, ...]]) -> None:
    """Each fact once, about half at most, the vital ones dropped last; at least one stays."""
    every = [fact for facts in generations for fact in facts]
    merged = merge_observations([observations_with(facts) for facts in generations])
    assert merged
    distinct = {plain(fact.text) for fact in merged}
    assert len(distinct) == len(merged)
    assert {fact.text for fact in merged} <= {fact.text for fact in every}
    assert (
        len(merged) == 1
        or sum(len(fact.text) for fact in merged) <= sum(len(fact.text) for fact in every) / 2
    )
    ranks: dict[str, tuple[int, int]] = {}
    for fact in every:
        priority, at = ranks.get(plain(fact.text), (3, 0))
        ranks[plain(fact.text)] = min(priority, fact.priority), max(at, fact.at)
    assert all(ranks[plain(fact.text)] == (fact.priority, fact.at) for fact in merged)
    dropped = [(-priority, at) for words, (priority, at) in ranks.items() if words not in distinct]
    assert not dropped or max(dropped) <= min((-fact.priority, fact.at) for fact in merged)


def test_a_revert_stands_behind_what_it_reverts() -> None:
    """The agent concluded what it did after the change, and before the user took it back."""
    log = CallLog()
    edit = {"path": "tide.py", "old_text": "meters", "new_text": "bars"}
    edited = log.calls(("edit_file", edit), output="Edited tide.py: 1 replacement")
    log.add(AssistantSpoke("`tide.py` now reads the level in bars, as the gauge reports it.", "m", 9))
    revert = len(log.events)
    log.add(UserSpoke("Never use bars.", 3))
    items = [
        REPLACE(item, event=REPLACE(item.event, target="tide.py")) if item.seq == edited else item
        for item in log.transcript.messages.items
    ]
    facts = observation.extract_observations(items, reverts={"tide.py": FileRevert(revert)})
    texts = [fact.text for fact in facts]
    done, reverted, wish = (
        next(place for place, text in enumerate(texts) if words in text)
        for words in ("level in bars", "tide.py: the user reverted the change", "Never use bars")
    )
    assert done < reverted < wish


def test_the_record_follows_the_window() -> None:
    """Observed ranges are described by their facts and the user's text, folded ones in brief."""
    simulator = conversation_with(6, size=4_000)
    place_observations(simulator, prepared(simulator))
    folded = [item for item in simulator.transcript.messages.items if item.turn == 6]
    fold_it(simulator, (folded[0].seq - 1, folded[-1].seq))
    simulator.send_message("And now?")
    simulator.step("Look.", 1)
    simulator.answer_call(0, "fresh output\n" * 100)
    lines = [
        line.text
        for line in transcript_lines(simulator.transcript.messages.items, simulator.transcript.window.covers)
    ]
    observed = [line for line in lines if line.startswith("observed (")]
    assert len(observed) == 4
    assert "Fact from e2. [e2]" in observed[0]
    assert sum(" user: Do task" in line for line in lines) == 6
    outputs = [line for line in lines if " tool " in line]
    assert len(outputs) == 4
    assert all(len(line) < 200 for line in outputs[:3])
    assert len(outputs[3]) > 1_000


def test_requests_include_known_facts() -> None:
    """The newest facts come before a record; a refinement's record is the facts themselves."""
    simulator = conversation_with(4)
    place_observations(simulator, prepared(simulator))
    placed = list(simulator.transcript.rewrites.placed_observations.values())
    assert len(placed) == 1
    record = transcript_lines(simulator.transcript.messages.items[-6:])
    text = (
        full_request(observation.observation_task("Note.", record, placed[0].observations)).messages[1].text
    )
    assert text.startswith(
        f"{observation.OBSERVE}\nKnown already:\nknown 1: observed (3) 2025-10-09: Fact from e2. [e2]"
    )
    assert text.index("Known already:") < text.index("The messages to observe:")
    text = full_request(observation.reflection_task("Refine.", placed)).messages[1].text
    head, *facts = text.splitlines()
    assert head == observation.REFINE
    assert len(facts) == 1 + len(placed[0].observations)


def test_a_fact_that_repeats_a_quoted_message_does_not_stand_beside_it() -> None:
    """What it says beyond the message stays, and all of them where the message is not quoted."""
    simulator = conversation_of(
        "Please write docs/inline.md: one page, with the limits that the parser uses."
    )
    (item,) = simulator.transcript.messages.items
    facts = [
        Observation(0, 1, text, (item.seq,))
        for text in (
            "The user wants docs/inline.md, one page with the limits of the parser",
            "Tests failed with three errors",
            "One page with the limits that the parser uses, from lib/limits.py",
            "DB: PG",
            'Over: "Please write docs/inline.md"',
        )
    ]
    observations = observations_with(tuple(facts))
    quoted = msgspec.structs.replace(observations, quoted=(item.seq,), quote_tokens=400)
    for generation, in_text in ((observations, facts), (quoted, facts[1:])):
        text = observation.render_generation(generation, simulator.transcript)
        assert [line for line in text.splitlines() if line[:3] == "- ("] == [
            observation.observation_bullet(fact) for fact in in_text
        ]


def test_observations_repeat_the_mode_that_is_in_force() -> None:
    """It left the window with the message that announced it."""
    note = mode_note("ask", "auto")
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.record(UserSpoke("Begin.", 1, mode="auto", note=note))
    observations = observations_with((Observation(0, 1, "A fact"),))
    assert observation.render_generation(observations, simulator.transcript).splitlines()[-1] == note


MADE = HandoverMade(
    9, 0, (Section("TODO Items", ()),), "", "d" * 64, 2, 1, 2, 1, 8, "m", HandoverTrigger.MANUAL
)


def test_an_index_names_its_range_at_the_head_of_its_section() -> None:
    """Below, it would stand above the next section as if it was its own."""
    observed = observations_with((Observation(0, 1, "A fact"),))
    lines = observation.render_generation(observed, Transcript()).splitlines()
    assert lines[0].endswith(" 2 outputs covered here, e2-e9")
    parts = handover_parts(MADE, ["e1: Begin."])
    assert [part.kind for part in parts] == ["note", "index", "sections", "user"]
    assert parts[1].text.endswith(" 2 outputs covered here, e1-e9")
    continued = REPLACE(MADE, origin="a" * 32)
    assert [part.kind for part in handover_parts(continued, [])] == ["note", "sections", "index"]


def test_a_summary_says_what_can_be_recalled_and_which_edits_its_ledger_marks() -> None:
    """Where two stand, a file of the first may be edited in the second."""
    ledger = "r tide.py 0123456789ab e4"
    observed = REPLACE(observations_with((Observation(0, 1, "A fact"),)), ledger=ledger)
    observed_text = observation.render_observations([observed], Transcript())
    parts = {part.kind: part.text for part in handover_parts(REPLACE(MADE, ledger=ledger), ["e1: Begin."])}
    for text in (observed_text, parts["note"]):
        assert " can be recalled by hash or entry number." in text
    for text in (observed_text.splitlines()[0], parts["ledger"]):
        assert "edits after the covered events are not marked" in text


@for_each(
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
def test_variants_of_facts_are_parsed(line: str, read: tuple[int, str, tuple[int, ...]]) -> None:
    """Priority, text and sources are found; a number that begins a sentence is no priority."""
    items = conversation_with(2).transcript.messages.items
    (fact,) = parse_observations(f"Here they are:\n\n2026-01-01\n{line}\n", items)
    assert (fact.priority, fact.text, fact.sources) == read
    times = {item.seq: item.at_ms for item in items}
    assert fact.at == (max(times[seq] for seq in fact.sources) if fact.sources else max(times.values()))


@pytest.mark.parametrize("text", ["", "I cannot do that.", "- ", "# Facts", "- [e4]"])
def test_an_invalid_answer_is_refused(text: str) -> None:
    """An answer without facts is no observation."""
    with pytest.raises(CompactionRefused):
        parse_observations(text, conversation_with(2).transcript.messages.items)


@given(st.text(max_size=300))
def test_any_answer_is_parsed_or_refused(text: str) -> None:
    """Whatever a model writes, nothing else happens; facts are in the order of their dates."""
    items = conversation_with(1).transcript.messages.items
    try:
        read = parse_observations(text, items)
    except CompactionRefused:
        return
    assert [fact.at for fact in read] == sorted(fact.at for fact in read)
    assert all(fact.text and fact.priority in (1, 2, 3) for fact in read)


def test_facts_of_a_day_stay_as_they_were_noted() -> None:
    """What belongs together was noted together; noted twice, it has the higher weight and both entries."""
    day_ms = 86_400_000
    text = "out"
    events = [(seq, ToolAnswered("c", "tool", text, "d" * 64, 3, 1, 1)) for seq in range(2, 8)]
    items = [LogItem(seq, seq * 1_000 + (seq > 6) * day_ms, 1, 1, event, 9, 9) for seq, event in events]
    lines = [
        "- (2) The parser drops a line [e7]",
        *("- (2) a.py reads [e2, e6]", "- (1) a.py writes [e3]", "- (3) a.py reads too [e4]"),
        "- (1) A.py  reads. [e5]",
    ]
    facts = parse_observations("\n".join(lines), items)
    assert [(fact.priority, fact.text, fact.sources) for fact in facts] == [
        *((1, "a.py reads", (2, 6, 5)), (1, "a.py writes", (3,)), (3, "a.py reads too", (4,))),
        (2, "The parser drops a line", (7,)),
    ]


TODO = Observation(1_000, 1, "Tests of the parser are still to write", (3,))
RULE = Observation(2_000, 1, "Never push to main", (3, 5))
TOOL_SEARCH = (RULE, TODO)


def note(text: str, *sources: int) -> Observation:
    return Observation(9_000, 2, text, sources)


def test_a_note_ends_a_known_fact_by_its_number() -> None:
    """The note says what it was and how it ended, or only what holds now where that names it."""
    notes, ended = end_observations((note("Over: known 2, written and pass", 90),), TOOL_SEARCH)
    assert ended == (TODO,)
    assert [each.text for each in notes] == [
        'Over: "Tests of the parser are still to write": written and pass'
    ]
    whole = note("Over: known 2, the tests of the parser are written and pass", 90)
    notes, ended = end_observations((whole,), TOOL_SEARCH)
    assert ended == (TODO,)
    assert [each.text for each in notes] == ["Now: the tests of the parser are written and pass"]
    notes, _ = end_observations((note("Over: known 1", 95),), (note("Over: 217 tests pass", 90),))
    assert [each.text for each in notes] == ['Over: "217 tests pass"']


def test_a_note_that_ends_nothing_known_stays_a_note() -> None:
    """A wrong number, a number in the text of a fact, or none: nothing ends, nothing is lost."""
    texts = ("Over: known 7", "It is over 2 MB", "Over: something else", "The parser of known 2 works")
    notes, ended = end_observations(tuple(note(text, 90) for text in texts), TOOL_SEARCH)
    assert ended == ()
    assert [each.text for each in notes] == [*texts]


SHORT_FACTS = st.lists(
    st.builds(Observation, st.integers(0, 5), st.integers(1, 3), st.sampled_from("abcdef"), st.just((2,))),
    min_size=1,
    max_size=4,
    unique_by=lambda fact: fact.text,
).map(tuple)


@st.composite
def made_generations(draw: st.DrawFn) -> list[ObservationsMade]:
    events: list[ObservationsMade] = []
    standing: list[Observation] = []
    for number in range(draw(st.integers(1, 4))):
        over = draw(st.lists(st.sampled_from(standing), unique=True, max_size=2)) if standing else []
        facts = tuple(
            msgspec.structs.replace(fact, text=f"{number}{fact.text}") for fact in draw(SHORT_FACTS)
        )
        events.append(
            ObservationsMade(
                number, number + 1, facts, (), "", "d" * 64, 0, 50, 400, 1, "m",
                over=tuple(EndedObservation(fact, 7) for fact in over),
            )
        )  # fmt: skip
        standing += facts
    return events


@given(made_generations())
def test_each_fact_stands_in_the_window_or_was_ended_by_a_later_note(events: list[ObservationsMade]) -> None:
    """Nothing else is lost; the log has every fact; tokens are counted for what stands there."""
    transcript = SessionSimulator(PROFILES["balanced"]).transcript
    text = observation.render_observations(events, transcript)
    ended = ended_observations(events)
    facts = [fact for generation in events for fact in generation.observations]
    for fact in facts:
        assert (f"- ({fact.priority}) {fact.text} " in text) != (fact in ended)
    assert ended_tokens(events) == 7 * len(ended)
    assert {fact.text for fact in merge_observations(events)} <= {fact.text for fact in facts} - {
        fact.text for fact in ended
    }
    refined = "\n".join(line.text for line in reflection_task("Refine.", events).lines)
    assert all(fact.text in refined for fact in facts if fact not in ended)
    assert set(still_ended(events[1:])) <= set(ended)  # what the refined ones ended elsewhere stays over


def test_undoing_the_later_observations_brings_the_fact_back() -> None:
    """As with every rewrite; the count of the window follows."""
    simulator = SessionSimulator(PROFILES["balanced"])
    for turn in range(4):
        simulator.send_message(f"Do task {turn}.")
        simulator.step("Done.", 0)
    tokens = count_tokens(observation.observation_bullet(TODO))
    seqs = []
    for after, facts, over in ((1, TOOL_SEARCH, ()), (7, (note("Over: the tests are written", 9),), (TODO,))):
        later = ObservationsMade(
            after, after + 6, facts, (), "", "d" * 64, 0, 60, 400, 4, "m",
            over=tuple(EndedObservation(fact, tokens) for fact in over),
        )  # fmt: skip
        simulator.record(later)
        seqs.append(place_observations(simulator, simulator.transcript.last_seq))
    text = simulator.window().request.messages[1].text
    assert TODO.text not in text
    assert RULE.text in text
    record = "\n".join(
        line.text
        for line in transcript_lines(simulator.transcript.messages.items, simulator.transcript.window.covers)
    )
    assert RULE.text in record
    assert TODO.text not in record
    (block, *_) = simulator.transcript.window.entries()
    assert simulator.transcript.window.entry_tokens(block) == 120 + OBSERVATIONS_LABEL_TOKENS + 4 - tokens
    simulator.record(Undone(seqs[-1]))
    assert TODO.text in simulator.window().request.messages[1].text


def test_a_known_fact_is_not_noted_again() -> None:
    """Alone it is noted nevertheless."""
    earlier = (Observation(1, 2, "Tests pass.", (3,)),)
    again = Observation(5, 2, "tests pass", (7,))
    new = Observation(7, 3, "The port is 80, as the user wants", (9,))
    assert leave_out_known((again, new), earlier, ()) == (new,)
    assert leave_out_known((again,), earlier, ()) == (again,)


def test_a_fact_that_is_noted_again_and_ended_stays_as_it_is_noted_now() -> None:
    """Its earlier note leaves the window: without the new one nothing would say it."""
    earlier = Observation(1, 1, "Tests pass.", (3,))
    answer = Observation(5, 2, "Over: known 1", (7,)), Observation(5, 2, "tests pass", (7,))
    notes, over = end_observations(answer, (earlier,))
    assert over == (earlier,)
    assert leave_out_known(notes, (earlier,), over) == notes
    assert notes[1] == answer[1]
