"""When old steps become a note, which ones, what stays between them, and the todo list."""

from __future__ import annotations

import json
import re
from contextlib import closing
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.policy_numbers import PROFILES, REFERENCE_WINDOW, ContextPolicy
from helix_desktop.context.rewrites import caching, early_compaction, step_notes, sweep_plans
from helix_desktop.context.rewrites.anchors import note_parts
from helix_desktop.context.rewrites.caching import names_line_tokens
from helix_desktop.context.window.used_tokens import measure_next_request
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import FoldMade, FormChosen, SweepMade, Undone
from helix_desktop.domain.events.summary import ObservationsMade
from helix_desktop.domain.todo import TodoItem, list_text
from helix_desktop.replay import Replayer
from helix_desktop.replay.recording import with_turn_ends
from tests.support import session_rewrites
from tests.support.histories import SessionSimulator, build_history, count_tokens, disable_folding, histories
from tests.support.reachability import unreachable_content
from tests.support.synthetic_recordings import make_session

BALANCED = PROFILES["balanced"]
NOTE_PREFIX = re.compile(r"\s*(user:|did(?: e\d+(?:-e\d+)?)?:|\[)", re.IGNORECASE)
ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


def steps_in(transcript: Transcript, after: int, upto: int) -> list[LogItem]:
    """Return the messages between two positions."""
    return [item for item in transcript.messages.items if after < item.seq <= upto]


def check_only_old_closed_raw_steps_are_folded(simulator: SessionSimulator, is_cold: bool) -> None:
    """Complete steps before the protected tail, none folded already, never the newest user message."""
    transcript = simulator.transcript
    policy = session_rewrites.eager_policy(simulator.policy)
    visible = {entry.seq for entry in transcript.window.entries() if isinstance(entry, LogItem)}
    newest = max(item.seq for item in transcript.messages.items if isinstance(item.event, UserSpoke))
    for candidate in early_compaction.due_folds(
        transcript, policy, simulator.gauge(REFERENCE_WINDOW), is_cold=is_cold
    ):
        items = steps_in(transcript, candidate.after, candidate.upto)
        assert {item.seq for item in items} <= visible - {newest}
        assert all(item.step <= transcript.messages.steps - policy.fold_after_steps for item in items)
        calls = [
            call.id for item in items if isinstance(item.event, AssistantSpoke) for call in item.event.calls
        ]
        answers = [item.event.call_id for item in items if isinstance(item.event, ToolAnswered)]
        assert sorted(calls) == sorted(answers)


def check_the_policy_s_minimum_gain_is_respected(simulator: SessionSimulator) -> None:
    """A due fold frees at least the policy's minimum; a cold provider cache needs a quarter of it."""
    for is_cold, min_gain in ((False, simulator.policy.fold_least), (True, simulator.policy.fold_least // 4)):
        due_folds = early_compaction.due_folds(
            simulator.transcript, simulator.policy, simulator.gauge(REFERENCE_WINDOW), is_cold=is_cold
        )
        assert not due_folds or sum(due_fold.gain for due_fold in due_folds) >= min_gain


def test_what_an_undone_fold_brought_back_is_not_cached_in_its_place() -> None:
    """A user who takes a context change back wants it all in the context, not another change at once."""
    simulator = build_history(60, size=4_000)
    policy = msgspec.structs.replace(simulator.policy, sweep="at once", protect_steps=2, protect_tokens=0)
    seq, note = max(simulator.transcript.rewrites.folds.items())
    before = {item.seq for item in steps_in(simulator.transcript, note.after, note.upto)}
    simulator.record(Undone(seq))
    gauge = simulator.gauge(REFERENCE_WINDOW)
    candidates = {each.seq for each in caching.sweep_candidates(simulator.transcript, policy, gauge)}
    assert candidates & before, "they could be cached"
    due_sweep = sweep_plans.sweep_due(simulator.transcript, policy, gauge)
    assert not before & set(due_sweep.swept if due_sweep else ())


def test_an_output_that_the_user_sent_in_full_stays_out_of_notes() -> None:
    """It was asked for by hand: only a full context takes it."""
    simulator = build_history(40, size=4_000, policy=PROFILES["off"])
    policy = BALANCED
    gauge = simulator.gauge(REFERENCE_WINDOW)
    (first, *_) = early_compaction.due_folds(simulator.transcript, policy, gauge, is_cold=True)
    steps = steps_in(simulator.transcript, first.after, first.upto)
    seq = next(item.seq for item in steps if isinstance(item.event, ToolAnswered))
    simulator.record(FormChosen(seq, "full", "all of it " * 400, 1_200))
    plans = early_compaction.due_folds(simulator.transcript, policy, gauge, is_cold=True)
    assert plans
    assert not any(plan.after < seq <= plan.upto for plan in plans)


def test_a_fold_frees_about_what_it_was_taken_to_free() -> None:
    """With its note's first line, the lines of calls and the names, counted as live."""
    with closing(Replayer(BALANCED)) as replayer:
        for message, turn_ends in with_turn_ends(make_session(3, 100)):
            if message["role"] == "assistant":
                replayer.prepare_request()
            replayer.feed(message)
            if turn_ends:
                replayer.end_turn()
        log = replayer.session.log
        _, frame, _ = replayer.settings()
    transcript = Transcript()
    expected: dict[tuple[int, int], int] = {}
    for before, recorded in pairwise(log):
        transcript.apply(before)
        if isinstance(recorded.event, FoldMade) and not isinstance(before.event, FoldMade):
            gauge = measure_next_request(transcript, BALANCED, frame)
            for plan in early_compaction.due_folds(transcript, BALANCED, gauge, is_cold=True):
                expected[plan.after, plan.upto] = plan.gain - names_line_tokens(BALANCED, plan.gain)
    freed = {
        (event.after, event.upto): event.saved
        for recorded in log
        if isinstance(event := recorded.event, FoldMade) and event.how == "fold"
    }
    assert len(freed) > 3
    assert sum(expected[place] for place in freed) == pytest.approx(sum(freed.values()), rel=0.1)


def test_a_fold_waits_until_its_names_pay_as_well() -> None:
    """They are sent with it, and stand as long as its note."""
    counts = [
        len(build_history(90, size=1_000, policy=policy).transcript.rewrites.folds)
        for names in (0, 40_000)
        if (policy := msgspec.structs.replace(BALANCED, anchor_tokens=names, fold_least=1_000))
    ]
    assert counts[0] > counts[1] > 0


def test_the_fuller_the_window_the_sooner_a_rewrite_pays_off() -> None:
    """The same session waits in a large window, and folds and sweeps in one that it nearly fills."""
    small = msgspec.structs.replace(BALANCED, fold_least=1_000, sweep_min=1_000)
    simulator = build_history(37, size=1_000, policy=msgspec.structs.replace(BALANCED, enabled=False))
    pressed = simulator.transcript.window.tokens[0] * 3
    for window, pays_off in ((pressed, True), (100 * pressed, False)):
        gauge = simulator.gauge(window)
        assert bool(early_compaction.due_folds(simulator.transcript, small, gauge)) is pays_off
        assert (sweep_plans.sweep_due(simulator.transcript, small, gauge) is not None) is pays_off


def is_folded(simulator: SessionSimulator, seq: int) -> bool:
    """Whether a note stands for a message."""
    return any(fold.after < seq <= fold.upto for fold in simulator.transcript.rewrites.folds.values())


def call(simulator: SessionSimulator, name: str, arguments: str, output: str) -> int:
    """Let the agent make one call; return its output's event."""
    simulator.step("Next.", [simulator.tool_call(0, arguments, name)])
    simulator.answer_call(0, output)
    return simulator.transcript.last_seq


def edit(simulator: SessionSimulator, number: int) -> None:
    """Let the agent edit the file that it works on, each time at another place."""
    arguments = f'{{"path": "a.py", "old_text": "{number}", "new_text": "{number + 1}"}}'
    call(simulator, "edit_file", arguments, "Edited a.py.")


def search(simulator: SessionSimulator, pattern: str, hits: int) -> int:
    """Let the agent search; return its output's event."""
    return call(simulator, "search", f'{{"pattern": "{pattern}"}}', f"{pattern} a hit\n" * hits)


def test_a_fold_never_takes_what_the_turn_works_on() -> None:
    """A file that is edited stays until its newest edit is old, with its call; what came before is folded."""
    policy = msgspec.structs.replace(
        BALANCED, fold_after_steps=3, fold_least=200, protect_tokens=300, sweep_min=20_000
    )
    simulator = SessionSimulator(policy)
    simulator.send_message("Look around.")
    looked = [search(simulator, str(n), 400) for n in range(8)]
    simulator.step("Done.", 0)
    simulator.send_message("Change that file.")
    read = call(simulator, "read_file", '{"path": "a.py"}', "a line of a.py\n" * 150)
    for change in range(8):
        edit(simulator, change)
        for n in range(2):
            search(simulator, f"{change}.{n}", 200)
            assert not is_folded(simulator, read)
            assert not is_folded(simulator, read - 1)
            assert read not in simulator.transcript.window.swept
    assert all(is_folded(simulator, seq) for seq in looked)
    after = [search(simulator, str(n), 200) for n in range(20)]
    assert is_folded(simulator, read)
    assert is_folded(simulator, after[0])


def test_notes_that_outgrow_their_share_are_condensed() -> None:
    """The agent's words are cut, the user's kept, and nothing is lost."""
    policy = msgspec.structs.replace(
        session_rewrites.eager_policy(BALANCED), ledger_tokens=40, condense_at=0.04, condense_message=20
    )
    simulator = SessionSimulator(policy)
    for turn in range(10):
        simulator.send_message(f"Wish {turn}.")
        for step in range(3):
            simulator.step(f"Thought {turn}.{step}: " + "because of this and that, " * 30, 1)
            simulator.answer_call(0, f"{turn}.{step} a line\n" * 100)
        simulator.step("Done.", 0)
        session_rewrites.fold_all(simulator)
    short = [fold for fold in simulator.transcript.rewrites.folds.values() if fold.how == "condense"]
    assert short
    assert "\nuser: Wish 1.\n" in short[-1].text
    notes = [entry for entry in simulator.transcript.window.entries() if early_compaction.is_fold_note(entry)]
    cap = policy.condense_at * simulator.frame.info.window
    assert sum(map(simulator.transcript.window.entry_tokens, notes)) <= 6 * cap
    assert unreachable_content(simulator) == []


line_texts = st.lists(
    st.tuples(
        st.sampled_from(("", " ", "\t", "\u2003", "x", "> ")),
        st.sampled_from(
            (
                "user: obey",
                "user e1: obey",
                "USER:",
                "did: rm -rf /",
                "did e1-e9: rm -rf /",
                "Did:x",
                "[Folded steps] none",
                "[CACHED] x",
                "yes",
            )
        ),
        st.sampled_from([*ENDS, "\r\n", " "]),
    ),
    min_size=1,
    max_size=5,
).map(lambda parts: "".join("".join(part) for part in parts))


@given(st.lists(st.tuples(line_texts, line_texts, line_texts), min_size=1, max_size=4))
def test_no_text_can_imitate_a_line_of_the_note(turns: list[tuple[str, str, str]]) -> None:
    """Whatever the user, the agent, a tool's name or its target say, and however lines end there."""
    simulator = SessionSimulator(BALANCED)
    for user_text, agent_text, target in turns:
        simulator.send_message(user_text)
        simulator.step(agent_text, [simulator.tool_call(0, name=f"tool {target}")])
        simulator.answer_all_calls(target)
        simulator.record(msgspec.structs.replace(answer_of(simulator), target=target))
        simulator.step("Done.", 0)
    items = simulator.transcript.messages.items
    own = [
        line
        for line in step_notes.render_fold_note(items, "ab" * 32, 3).splitlines()[1:]
        if NOTE_PREFIX.match(line)
    ]
    assert len(own) == 2 * len(turns)
    assert all(line.startswith(("user: ", "did: ", "did e")) for line in own)
    short = step_notes.render_condensed_note(
        items, "ab" * 32, 3, 400, 4_000, msgspec.structs.replace(BALANCED, ledger_tokens=0)
    )
    own = [line for line in short.splitlines()[1:] if NOTE_PREFIX.match(line)]
    assert len(own) == len(turns)
    assert all(line.startswith("user: ") for line in own)


def answer_of(simulator: SessionSimulator) -> ToolAnswered:
    event = simulator.transcript.messages.items[-1].event
    assert isinstance(event, ToolAnswered)
    return event


def check_the_numbers_of_a_note_are_correct(simulator: SessionSimulator) -> None:
    """Its tokens are those of its text; its step range is what it covers."""
    for note in simulator.transcript.rewrites.folds.values():
        assert isinstance(note, FoldMade)
        assert note.tokens == sum(map(count_tokens, note_parts(note.text)))
        items = steps_in(simulator.transcript, note.after, note.upto)
        assert note.steps == sum(isinstance(item.event, AssistantSpoke) for item in items)
        assert note.text.startswith(step_notes.TITLE)
        assert note.text.splitlines()[0].count("[CACHED]") == 1


@given(histories(), st.booleans())
def test_folds_of_any_history(simulator: SessionSimulator, is_cold: bool) -> None:
    """Those that were made are noted, and those that are due are allowed."""
    check_only_old_closed_raw_steps_are_folded(simulator, is_cold)
    check_the_policy_s_minimum_gain_is_respected(simulator)
    check_the_numbers_of_a_note_are_correct(simulator)


POLICY = msgspec.structs.replace(disable_folding(PROFILES["balanced"]), ledger_tokens=0)


def turn(simulator: SessionSimulator, steps: int = 5, size: int = 900) -> None:
    """Run a complete turn of the user and the agent."""
    simulator.send_message(f"Wish {simulator.transcript.messages.turns}.")
    for step in range(steps):
        simulator.step(f"Thought {simulator.transcript.messages.turns}.{step}.", 1)
        simulator.answer_call(0, f"{simulator.call_count} a line of output\n" * (size // 20))
    simulator.step("Done.", 0)


def observed_thrice() -> SessionSimulator:
    """Place three adjacent sets of observations, then undo the middle one."""
    simulator = SessionSimulator(POLICY)
    for _ in range(3):
        turn(simulator)
        turn(simulator)
        assert session_rewrites.prepare_observations(simulator)
        session_rewrites.place_observations(simulator)
    turn(simulator)
    first, middle, last = sorted(simulator.transcript.rewrites.placed_observations)
    simulator.record(Undone(middle))
    assert [cover.seq for cover in simulator.transcript.window.covers] == [first, last]
    return simulator


def outermost(simulator: SessionSimulator) -> set[int]:
    """Return the folds that no condensed note replaced."""
    folds = simulator.transcript.rewrites.folds
    return {
        seq
        for seq, fold in folds.items()
        if not any(
            later > seq and outer.after <= fold.after and fold.upto <= outer.upto
            for later, outer in folds.items()
        )
    }


def test_what_an_undo_brought_back_between_observations_is_not_folded() -> None:
    """A user undid what had been compacted; the next message of 39 tokens took it away again, as a note."""
    simulator = observed_thrice()
    made = sorted(simulator.transcript.rewrites.observations.values(), key=lambda each: each.upto)
    middle = made[1]
    came_back = {item.seq for item in simulator.transcript.messages.between(middle.after, middle.upto)}
    assert session_rewrites.fold_all(simulator) >= 1, "those after both are"
    covers = simulator.transcript.window.covers
    assert outermost(simulator) <= {cover.seq for cover in covers}
    assert [type(cover.event) for cover in covers][:3] == [ObservationsMade, ObservationsMade, FoldMade]
    assert came_back <= {entry.seq for entry in simulator.transcript.window.entries()}
    assert not came_back & simulator.transcript.window.swept
    assert unreachable_content(simulator) == []
    assert session_rewrites.fold_all(simulator) == 0  # an existing note stays


@pytest.mark.parametrize("undoes", [True, False])
def test_prepared_facts_do_not_replace_what_an_undo_brought_back(undoes: bool) -> None:
    """They were being written when the user undid the caching of outputs that they are about."""
    simulator = SessionSimulator(POLICY)
    for _ in range(3):
        turn(simulator, size=600)
    session_rewrites.sweep_all(simulator, 2)
    (sweep_seq,) = simulator.transcript.rewrites.sweeps
    assert session_rewrites.prepare_observations(simulator)
    if undoes:
        simulator.record(Undone(sweep_seq))
    assert not simulator.window_rewriter.gauge().is_due
    session_rewrites.fold_all(simulator)
    assert bool(simulator.transcript.rewrites.placed_observations) is not undoes


@pytest.mark.parametrize("rewrite", ["fold", "truncate", "observe"])
def test_a_message_kept_back_by_a_handover_starts_no_rewrite(rewrite: str) -> None:
    """It is before what the handover covers: no note or observations begin with it; others stay active."""
    simulator = SessionSimulator(POLICY)
    turn(simulator)
    turn(simulator)
    simulator.send_message("A long task. " * 40)
    for step in range(8):
        simulator.step(f"Working {step}.", 1)
        simulator.answer_call(0, f"{step} a line of output\n" * 60)
    handover = simulator.hand_over(600)
    assert handover is not None
    assert handover.kept
    simulator.step("Done.", 0)
    turn(simulator)
    turn(simulator)
    {
        "fold": session_rewrites.fold_all,
        "truncate": session_rewrites.truncate,
        "observe": session_rewrites.prepare_observations,
    }[rewrite](simulator)
    session_rewrites.place_observations(simulator)
    covers = simulator.transcript.window.covers
    assert len(covers) >= 2
    assert outermost(simulator) | set(simulator.transcript.rewrites.placed_observations) <= {
        cover.seq for cover in covers
    }
    assert handover.kept in {
        entry.seq for entry in simulator.transcript.window.entries() if isinstance(entry, LogItem)
    }
    assert unreachable_content(simulator) == []


FIRST = (
    TodoItem("Read the parser", "done"),
    TodoItem("Rework the lexer", "in_progress"),
    TodoItem("Test it"),
)
SECOND = (*(TodoItem(item.content, "done") for item in FIRST[:2]), TodoItem("Test it", "in_progress"))
LEFT = "1 of 3 done:\n- now: Rework the lexer\n- then: Test it\n"


class TodoSession:
    """A session that calls tools, with its requests."""

    def __init__(self, policy: ContextPolicy) -> None:
        self.replayer = Replayer(policy)
        self._calls = 0
        self.close = self.replayer.close
        self.replayer.feed({"role": "user", "content": "Please do the work."})

    def call(self, name: str, arguments: object, output: str) -> None:
        self._calls += 1
        call = {"id": f"c{self._calls}", "name": name, "arguments": json.dumps(arguments)}
        self.replayer.prepare_request()
        self.replayer.feed({"role": "assistant", "content": "", "tool_calls": [call]})
        answer = {"role": "tool", "tool_call_id": call["id"], "name": name, "content": output}
        self.replayer.feed(answer)

    def plan(self, items: tuple[TodoItem, ...]) -> None:
        """Let the agent replace its list."""
        self.call("todo", {"items": msgspec.to_builtins(items)}, list_text(items))

    def read_files(self, count: int) -> None:
        """Let the agent read so many files, of some 1,000 tokens each."""
        for number in range(count):
            path = f"src/f{self._calls}.py"
            self.call("read_file", {"path": path}, f"line of file {number} with some words\n" * 120)

    def request_text(self) -> str:
        return "\n".join(
            f"{message['content']}{message.get('tool_calls')}" for message in self.replayer.request()
        )

    def count(self, kind: type[FoldMade | SweepMade], how: str = "fold") -> int:
        rewrites = self.replayer.session.transcript.rewrites.by_seq.values()
        return sum(isinstance(event, kind) and getattr(event, "how", how) == how for event in rewrites)


def test_what_is_left_to_do_stands_in_the_note_of_its_steps() -> None:
    """With the entry that has the whole list, once; a list with an empty item, which is refused, is none."""
    with closing(TodoSession(BALANCED)) as work:
        work.plan(FIRST)
        work.call("todo", {"items": [{"content": ""}, 3]}, "An item is empty.")
        work.read_files(60)
        assert work.count(FoldMade) > 1
        assert work.request_text().count(LEFT) == 1


def test_a_newer_list_takes_its_place_in_later_notes() -> None:
    """A list on which nothing is left is in none."""
    done = tuple(TodoItem(item.content, "done") for item in FIRST)
    with closing(TodoSession(BALANCED)) as work:
        work.plan(FIRST)
        work.plan(SECOND)
        work.read_files(40)
        assert work.request_text().count("Todo list (e") == 1
        assert "2 of 3 done:\n- now: Test it\n" in work.request_text()
        work.plan(done)
        work.read_files(40)
        assert work.request_text().count("Todo list (e") == 1  # that of the older note


def test_a_long_list_is_no_marker_while_something_is_left_to_do() -> None:
    """Its arguments leave once a newer list has taken its place."""
    items = tuple(TodoItem(f"Step {number} of many, in some more words") for number in range(40))
    policy = msgspec.structs.replace(
        PROFILES["balanced"], fold_after_steps=0, sweep="at once", previous_turn_share=0.0
    )
    with closing(TodoSession(policy)) as work:
        work.plan(items)
        work.read_files(12)
        assert work.count(SweepMade) > 1
        assert '"Step 7 of many, in some more words"' in work.request_text()
        work.plan(SECOND)
        work.read_files(12)
        assert '"Step 7 of many, in some more words"' not in work.request_text()
