"""Anchors: the names that a rewrite takes out of the window stay in sight, in a line of bounded length."""

from __future__ import annotations

import msgspec

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.rewrites.anchors import FOLD_TITLE, SWEEP_TITLE, IdentifierIndex
from helix_desktop.context.window.window_breakdown import break_down_window
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import (
    Excluded,
    FoldMade,
    HandoverTrigger,
    PlacementReason,
    SweepMade,
    SweepReason,
)
from helix_desktop.domain.events.summary import (
    Bullet,
    EndedObservation,
    HandoverMade,
    Observation,
    ObservationsMade,
    ObservationsPlaced,
    Section,
)
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.replay import Replayer
from tests.support.session_rewrites import exclude
from tests.support.session_simulator import SessionSimulator, count_tokens

STEPS = 40


def transcript_of(*names: tuple[str, ...], used: tuple[str, ...] = ()) -> Transcript:
    """Return a session in which each step saw some names, after a first one that used some."""
    events: list[Event] = [UserSpoke("Go.", 2), AssistantSpoke("", "m", 5, identifiers=used)]
    for number, seen in enumerate(names):
        events.append(AssistantSpoke("", "m", 5))
        events.append(ToolAnswered(f"c{number}", "read", "x", "d" * 64, 1, 5, 5, identifiers=seen))
    return Transcript(RecordedEvent(seq, seq, event) for seq, event in enumerate(events, 1))


def test_a_line_names_what_is_hidden_newest_first() -> None:
    """Each name under the entries it was last seen in; what is visible is left out."""
    index = IdentifierIndex()
    index.update(transcript_of(("a/old.py", "twice_seen"), ("a/new.py", "twice_seen"), ("in_sight",)))
    line = index.anchor_line(FOLD_TITLE, {"in_sight"}, 1_000)
    assert line == f"{FOLD_TITLE} e6: a/new.py twice_seen; e4: a/old.py"


def test_a_name_that_was_used_outlives_newer_ones_that_were_only_seen() -> None:
    """Recorded agents come back to it as often as to what they saw in a sixth of its age."""
    seen = tuple((f"only_seen_{number:03}",) for number in range(60))
    index = IdentifierIndex()
    index.update(transcript_of(*seen, used=("used_once_x",)))
    line = index.anchor_line(FOLD_TITLE, set(), 100)
    assert "used_once_x" in line
    assert "only_seen_059" in line
    assert "only_seen_010" not in line
    assert len(line) <= 300


def test_a_name_that_was_in_more_messages_outlives_one_of_its_age() -> None:
    """What came up again and again comes up again."""
    index = IdentifierIndex()
    index.update(transcript_of(*[("in_many_x",)] * 5, ("in_many_x", "in_one_yy"), *[()] * 30))
    line = index.anchor_line(FOLD_TITLE, set(), 53)
    assert line == f"{FOLD_TITLE} e14: in_many_x"


def test_many_names_share_few_labels() -> None:
    """Names of one entry stand behind one label; of many entries, neighbors share one."""
    index = IdentifierIndex()
    index.update(transcript_of(*[(f"name_{number}_a", f"name_{number}_b") for number in range(20)]))
    line = index.anchor_line(FOLD_TITLE, set(), 1_000)
    assert line.count(": ") == 7
    assert "e38-e42: name_19_a name_19_b name_18_a" in line


def test_a_sweep_names_what_stands_nowhere_else() -> None:
    """A name stays out of its line while another message in the window still has it."""
    transcript = transcript_of(("gone_name", "both_have_it"), ("both_have_it",))
    index = IdentifierIndex()
    index.update(transcript)
    assert index.sweep_line(transcript, [4], 1_000) == f"{SWEEP_TITLE} e4: gone_name"
    assert index.sweep_line(transcript, [4, 6], 1_000) == f"{SWEEP_TITLE} e6: both_have_it; e4: gone_name"
    assert not index.sweep_line(transcript, [], 1_000)


def test_a_sweep_names_nothing_that_stands_in_a_summary() -> None:
    """What a handover's artifacts and sentences name, or noted facts do, is in the window."""
    answers = ToolAnswered(
        "a", "read", "x", "d" * 64, 1, 5, 5, identifiers=("src/a.py", "parse_part", "hidden_x")
    )
    later = ToolAnswered("b", "read", "x", "e" * 64, 1, 5, 5, identifiers=answers.identifiers)
    facts = (Observation(1, 1, "parse_part cuts the text."),)
    sections = (Section("Completed Work", (Bullet("parse_part cuts the text."),)),)
    ledger = "r src/a.py dddddddddddd e3"
    noted = ObservationsMade(0, 3, facts, (), ledger, "f" * 64, 1, 9, 9, 1, "m")
    handover = HandoverMade(3, 0, sections, ledger, "f" * 64, 1, 9, 9, 9, 1, "m", HandoverTrigger.MANUAL)
    for summary in ([noted, ObservationsPlaced(4, PlacementReason.THRESHOLD, 9)], [handover]):
        events: list[Event] = [UserSpoke("Go.", 2), AssistantSpoke("", "m", 5), answers, *summary]
        events += [AssistantSpoke("", "m", 5), later]
        transcript = Transcript(RecordedEvent(seq, seq, event) for seq, event in enumerate(events, 1))
        index = IdentifierIndex()
        index.update(transcript)
        last = len(events)
        assert index.sweep_line(transcript, [last], 1_000) == f"{SWEEP_TITLE} e{last}: hidden_x"


def test_a_sweep_names_what_stood_in_a_fact_that_is_over() -> None:
    """The fact left the window with the observations that mark it."""
    answer = ToolAnswered("a", "read", "x", "d" * 64, 1, 5, 5, identifiers=("parse_part",))
    fact = Observation(1, 1, "parse_part cuts the text.")
    noted = ObservationsMade(0, 3, (fact,), (), "", "f" * 64, 1, 9, 9, 1, "m")
    over = ObservationsMade(3, 5, (), (), "", "f" * 64, 1, 9, 9, 1, "m", over=(EndedObservation(fact, 5),))
    events: list[Event] = [UserSpoke("Go.", 2), AssistantSpoke("", "m", 5), answer]
    events += [UserSpoke("Go on.", 2), AssistantSpoke("Done.", "m", 5)]
    for observations in (noted, over):
        events += [observations, ObservationsPlaced(len(events) + 1, PlacementReason.THRESHOLD, 9)]
    events += [AssistantSpoke("", "m", 5), answer]
    transcript = Transcript(RecordedEvent(seq, seq, event) for seq, event in enumerate(events, 1))
    index = IdentifierIndex()
    index.update(transcript)
    last = len(events)
    assert index.sweep_line(transcript, [last], 1_000) == f"{SWEEP_TITLE} e{last}: parse_part"


def test_no_name_of_an_earlier_line_is_named_again() -> None:
    """Not the last name of a group either, behind which stands a semicolon."""
    index = IdentifierIndex()
    both = ("first_name", "second_name")
    transcript = transcript_of(both, both)
    index.update(transcript)
    line = f"{SWEEP_TITLE} e6: second_name; e4: first_name"
    seq = transcript.last_seq + 1
    transcript.apply(RecordedEvent(seq, seq, SweepMade((4,), 9, SweepReason.BATCH, line, 9, carrier=4)))
    assert not index.sweep_line(transcript, [6], 1_000)


def test_no_name_in_the_line_of_a_note_is_named_again() -> None:
    index = IdentifierIndex()
    transcript = transcript_of(("a_name",), ("a_name",), ("b_name",))
    index.update(transcript)
    note = FoldMade(2, 4, f"A note.\n{FOLD_TITLE} e4: a_name", 3, "d" * 64, 1, steps=1, saved=5)
    transcript.apply(RecordedEvent(transcript.last_seq + 1, 9, note))
    assert index.sweep_line(transcript, [6, 8], 1_000) == f"{SWEEP_TITLE} e8: b_name"


def test_a_message_that_is_excluded_twice_counts_once() -> None:
    """Alone and with the note that replaced it: what another message says too is still named."""
    index = IdentifierIndex()
    transcript = transcript_of(("both_have_it",), ("both_have_it",))
    index.update(transcript)
    for event in (
        Excluded((4,), "Excluded.", 3, "d" * 64),
        FoldMade(2, 4, "A note.", 3, "d" * 64, 1, steps=1, saved=5),
        Excluded((transcript.last_seq + 2,), "Excluded.", 3, "d" * 64),
    ):
        transcript.apply(RecordedEvent(transcript.last_seq + 1, 9, event))
    assert index.sweep_line(transcript, [6], 1_000) == f"{SWEEP_TITLE} e6: both_have_it"


def test_messages_that_were_dropped_leave_no_names() -> None:
    """A retried step is as if it had never been sent."""
    index = IdentifierIndex()
    index.update(transcript_of(("kept_name",), ("dropped_name",)))
    index.update(transcript_of(("kept_name",), ("other_name",)))
    line = index.anchor_line(FOLD_TITLE, set(), 100)
    assert "kept_name" in line
    assert "dropped_name" not in line


def test_what_leaves_a_long_session_stays_in_sight() -> None:
    """Names of swept and folded outputs stand in the request; each note has a line of those it took away."""
    replay = Replayer(msgspec.structs.replace(PROFILES["balanced"], sweep_min=500, fold_least=500))
    replay.feed({"role": "user", "content": "Look at all modules."})
    for number in range(STEPS):
        path = f"src/package/module_{number}.py"
        call = {"id": f"c{number}", "name": "read_file", "arguments": f'{{"path": "{path}"}}'}
        text = f"def handler_{number}():\n" + "    pass  # and so on\n" * 120
        replay.request()
        replay.feed({"role": "assistant", "content": "", "tool_calls": [call]})
        replay.feed({"role": "tool", "content": text, "tool_call_id": f"c{number}", "name": "read_file"})
    request = "\n".join(f"{message['content']} {message.get('tool_calls')}" for message in replay.request())
    assert replay.counts.folds >= 1
    assert request.count(FOLD_TITLE) == replay.counts.folds
    for number in range(STEPS):
        assert f"module_{number}.py" in request
        assert f"handler_{number}" in request
    replay.close()


def read_module(simulator: SessionSimulator, number: int) -> int:
    """Play a step that reads a module with a name of its own; return the event of the output."""
    simulator.step("", 1)
    (call,) = simulator.transcript.open_calls.values()
    text = f"def handler_{number:03}():\n" + "    pass  # and so on\n" * 120
    digest = simulator.store_content(text)
    tokens = count_tokens(text)
    answer = ToolAnswered(call.id, "read_file", text, digest, len(text), tokens, 30, "src/a.py", whole=True)
    simulator.record(msgspec.structs.replace(answer, identifiers=(f"handler_{number:03}",)))
    return simulator.transcript.last_seq


def exclude_output(simulator: SessionSimulator, seq: int) -> str:
    """Let the user exclude an output; return what its row in the panel says."""
    entries = simulator.window().entries
    place = next(n for n, entry in enumerate(entries) if isinstance(entry, LogItem) and entry.seq == seq)
    assert exclude(simulator, place)
    rows = break_down_window(simulator.window(), simulator.transcript, simulator.frame)
    return str(next(row for row in rows if row.seq == seq).why)


def test_no_line_names_what_only_an_excluded_output_said() -> None:
    """A line that was sent before keeps it until its part is rewritten, and the row says so."""
    policy = msgspec.structs.replace(
        PROFILES["balanced"], sweep_min=500, fold_least=500, observe_at=0.0, previous_turn_share=0.0
    )
    simulator = SessionSimulator(policy, ModelInfo("test", "large", window=100_000, reserve=200))
    simulator.send_message("Look at all modules.")
    seqs = [read_module(simulator, number) for number in range(2)]
    assert exclude_output(simulator, seqs[0]) == "Left out by you"
    while not simulator.transcript.rewrites.anchors:
        seqs.append(read_module(simulator, len(seqs)))
    swept = next(iter(simulator.transcript.rewrites.anchors.values())).swept
    number = seqs.index(swept[-1])
    assert f"handler_{number:03}" in str(simulator.window().request)
    assert "some of its names stay in a list" in exclude_output(simulator, swept[-1])
    while len(seqs) < STEPS:
        seqs.append(read_module(simulator, len(seqs)))
    request = str(simulator.window().request)
    assert FOLD_TITLE in request
    assert "handler_000" not in request
    assert f"handler_{number:03}" not in request
    assert f"handler_{number + 1:03}" in request


def test_of_an_extreme_text_the_names_at_its_ends_are_read() -> None:
    """To read all of an answer of 8 MB takes a third of a second."""
    text = f"src/first.py {'word ' * 200_000} src/middle.py {'word ' * 200_000} src/last.py"
    index = IdentifierIndex()
    transcript = Transcript([RecordedEvent(1, 1, UserSpoke(text, 9)), RecordedEvent(2, 2, UserSpoke("x", 1))])
    index.update(transcript)
    assert index.anchor_line(FOLD_TITLE, set(), 1_000) == f"{FOLD_TITLE} e1: src/first.py src/last.py"
