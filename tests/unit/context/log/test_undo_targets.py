"""Undo and redo of every kind of rewrite, steps that are retried, and changes on record."""

from __future__ import annotations

import bisect
from copy import copy

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from helix_desktop.context.log.file_changes import logged_changes
from helix_desktop.context.log.rewrite_state import RewriteEvent, Undoable
from helix_desktop.context.log.steps import point_after, point_before_message, point_of_retry, read_steps
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.undo_targets import (
    covers_around,
    has_change,
    has_undone,
    last_change,
    seqs_to_undo,
)
from helix_desktop.context.log.window_entries import EDITED_LABEL_TOKENS
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.window.request_validation import problems
from helix_desktop.context.window.window import UNSHOWN_NOTE, PromptFrame, project
from helix_desktop.domain.errors import CompactionRefused, InvalidInput
from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    ToolAnswered,
    TurnEnded,
    TurnRetried,
    UserSpoke,
)
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import (
    Excluded,
    FoldMade,
    Form,
    FormChosen,
    Pinned,
    Redone,
    SweepMade,
    SweepReason,
    Undone,
    Unpinned,
)
from helix_desktop.domain.events.session import ChangesRecorded, SessionBranched
from helix_desktop.domain.events.summary import HandoverMade, ObservationsPlaced
from helix_desktop.domain.file_history.changes import ChangeSource
from helix_desktop.domain.messages import Message, ModelRequest, ToolCall
from helix_desktop.domain.slash_command import PromptSource
from tests.support import session_rewrites
from tests.support.call_log import CallLog
from tests.support.histories import (
    DEFAULT_ACTIONS,
    MODEL,
    SWEEP_AND_HANDOVER_ACTIONS,
    SessionSimulator,
    build_history,
    conversation_of,
    histories,
)
from tests.support.message_linter import lint
from tests.support.reachability import unreachable_content, without_edited_label


def raw(request: ModelRequest) -> list[bytes]:
    return [msgspec.json.encode(message) for message in request.messages]


def unlabeled(request: ModelRequest) -> list[Message]:
    """Return the messages without what only says that a file was edited before its text was back."""
    return [without_edited_label(message) for message in request.messages]


def labeled(request: ModelRequest) -> int:
    return sum(without_edited_label(message) != message for message in request.messages)


def rewrite(simulator: SessionSimulator, kind: type[Undoable], choice: int) -> int:
    """Make a manual rewrite of a kind if possible; return its seq, else 0."""
    before = set(simulator.transcript.rewrites.of_kind(kind))
    forms: tuple[Form, ...] = ("full", "preview", "compact")
    if kind is SweepMade:
        session_rewrites.sweep_all(simulator, choice % 3)
    elif kind is FoldMade:
        session_rewrites.truncate(simulator) if choice % 2 else session_rewrites.fold_all(simulator)
    elif kind is HandoverMade:
        simulator.hand_over(choice * 30)
    elif kind is Excluded:
        session_rewrites.exclude(simulator, choice * 3)
    elif kind is FormChosen:
        session_rewrites.choose_form(simulator, choice, forms[choice % 3])
    else:
        session_rewrites.prepare_observations(simulator)
        session_rewrites.place_observations(simulator)
    created = set(simulator.transcript.rewrites.of_kind(kind)) - before
    return max(created, default=0)


@given(histories(), st.integers(0, 9))
def test_undo_restores_and_redo_reapplies(simulator: SessionSimulator, choice: int) -> None:
    """For each kind, stacked: undo gives the previous window's bytes, redo the later."""
    for kind in (SweepMade, FoldMade, ObservationsPlaced, FormChosen, Excluded, HandoverMade, Excluded):
        check_undo(simulator, kind, choice)


def check_undo(simulator: SessionSimulator, kind: type[Undoable], choice: int) -> None:
    """Undo everything that one action created, and redo it."""
    before = simulator.window()
    known_seqs = set(simulator.transcript.rewrites.by_seq)
    if not rewrite(simulator, kind, choice):
        return
    after = simulator.window()
    created = [seq for seq in sorted(simulator.transcript.rewrites.by_seq) if seq not in known_seqs]
    undone = [seq for seq in reversed(created) if simulator.transcript.can_undo(seq)]
    for seq in undone:
        simulator.record(Undone(seq))
    restored = simulator.window()
    labels = labeled(restored.request) - labeled(before.request)
    assert unlabeled(restored.request) == unlabeled(before.request)
    assert restored.estimate == before.estimate + labels * EDITED_LABEL_TOKENS
    assert unreachable_content(simulator) == []
    for seq in reversed(undone):
        simulator.record(Redone(seq))
    assert simulator.window() == after


@given(histories(), st.lists(st.integers(0, 9), min_size=1, max_size=8))
def test_undo_at_any_depth(simulator: SessionSimulator, order: list[int]) -> None:
    """Undoing any number of rewrites in any order and redoing them in reverse changes nothing."""
    before = simulator.window()
    undone = [seq for choice in order if (seq := simulator.undo(choice))]
    assert unreachable_content(simulator) == []
    for seq in reversed(undone):
        simulator.record(Redone(seq))
    assert simulator.window() == before


@given(histories(), st.permutations(range(8)))
def test_the_order_of_undoing_does_not_matter(simulator: SessionSimulator, order: list[int]) -> None:
    """The window depends on which rewrites are active, not on how that came about."""
    undoable = [seq for seq in simulator.transcript.rewrites.by_seq if simulator.transcript.can_undo(seq)][:8]
    other = simulator.transcript.fork()
    for seq in undoable:
        simulator.record(Undone(seq))
    for index in order:
        if index < len(undoable):
            other.apply(RecordedEvent(other.last_seq + 1, 0, Undone(undoable[index])))
    assert project(other, simulator.policy, simulator.frame) == simulator.window()


def test_what_changed_an_entry_of_the_window_stands_inside_no_other_rewrite() -> None:
    """Though its event lies in the range of one: an excluded summary, the chosen form of a pinned output."""
    simulator = build_history(8, size=2_000)
    items = simulator.transcript.messages.items
    target = next(item.seq for item in items if isinstance(item.event, ToolAnswered))
    session_rewrites.fold_all(simulator)
    ((fold_seq, made),) = simulator.transcript.rewrites.active_folds.items()
    excluded = simulator.record(Excluded((fold_seq,), "Excluded.", 2, "ab" * 32, 0))[0].seq
    simulator.record(Pinned(target))
    session_rewrites.choose_form(simulator, 0, "compact")
    (form,) = simulator.transcript.rewrites.of_kind(FormChosen)
    assert simulator.transcript.rewrites.chosen_forms.keys() == {target}
    simulator.send_message("Go on.")
    simulator.step("Done.", 0)
    upto = simulator.transcript.last_seq
    simulator.record(msgspec.structs.replace(made, after=made.upto, upto=upto))
    assert [cover.upto for cover in simulator.transcript.window.covers] == [made.upto, upto]
    assert covers_around(simulator.transcript).keys().isdisjoint({excluded, form})
    assert raw(simulator.window().request) != raw(
        project(simulator.transcript.fork_with(Undone(excluded)), simulator.policy, simulator.frame).request
    )


def renumbered(events: list[RecordedEvent]) -> list[RecordedEvent]:
    """Return the events without gaps in their numbers; a retry refers to the same events as before."""
    seqs = [event.seq for event in events]
    result = []
    for seq, recorded in enumerate(events, 1):
        event = recorded.event
        if isinstance(event, TurnRetried):
            start, after = (bisect.bisect_right(seqs, old) for old in (event.of, event.after))
            event = msgspec.structs.replace(event, of=start, after=after)
        result.append(msgspec.structs.replace(recorded, seq=seq, event=event))
    return result


def check_undoing_everything_gives_the_plain_history(simulator: SessionSimulator) -> None:
    """The window is what the same history without rewrites would show."""
    for seq in sorted(simulator.transcript.rewrites.pinned):
        simulator.record(Unpinned(seq))
    while simulator.undo(0):
        pass
    plain = [recorded for recorded in simulator.log if not isinstance(recorded.event, RewriteEvent)]
    bare = Transcript(renumbered(plain))
    expected = project(bare, simulator.policy, simulator.frame).request.messages
    assert unlabeled(simulator.window().request) == list(expected)
    assert simulator.transcript.window.covers == ()
    assert not simulator.transcript.window.swept


def check_a_rewrite_takes_its_sweep_along(simulator: SessionSimulator) -> None:
    """A sweep made with a handover, a fold or observations cannot be undone alone, only with them."""
    for seq, sweep in simulator.transcript.rewrites.sweeps.items():
        if sweep.reason in {"handover", "fold", "observations"}:
            carrier = simulator.transcript.rewrites.by_seq[seq - 1]
            assert isinstance(carrier, HandoverMade | FoldMade | ObservationsPlaced)
            if seq - 1 in simulator.transcript.rewrites.undone:
                assert not simulator.transcript.can_undo(seq)


def check_a_fork_leaves_the_original_alone(simulator: SessionSimulator) -> None:
    """Trying rewrites on a fork changes neither the window nor what may be undone."""
    before = simulator.window()
    swept = set(simulator.transcript.window.swept)
    twin = simulator.transcript.fork()
    twin.apply(RecordedEvent(twin.last_seq + 1, 0, SweepMade((2, 3), 10, SweepReason.MANUAL)))
    twin.apply(RecordedEvent(twin.last_seq + 1, 0, Pinned(2)))
    for seq in list(twin.rewrites.by_seq):
        twin.apply(RecordedEvent(twin.last_seq + 1, 0, Undone(seq)))
    assert simulator.window() == before
    assert simulator.transcript.window.swept == swept
    assert len(simulator.log) == simulator.transcript.last_seq


def check_a_fold_undone_by_the_user_is_not_made_again(simulator: SessionSimulator) -> None:
    """Nor does the program put any of its messages into another one."""
    transcript = Transcript()
    for recorded in simulator.log:
        fold = recorded.event
        if isinstance(fold, FoldMade) and fold.how == "fold":
            back = [transcript.rewrites.by_seq[seq] for seq in transcript.rewrites.undone]
            undone_folds = [event for event in back if isinstance(event, FoldMade) and event.how == "fold"]
            assert not any(other.after < fold.upto and fold.after < other.upto for other in undone_folds)
        transcript.apply(recorded)


@given(histories())
def test_undos_of_any_history(simulator: SessionSimulator) -> None:
    """The last undoes the rest."""
    check_a_rewrite_takes_its_sweep_along(simulator)
    check_a_fork_leaves_the_original_alone(simulator)
    check_a_fold_undone_by_the_user_is_not_made_again(simulator)
    check_undoing_everything_gives_the_plain_history(simulator)


@pytest.mark.parametrize("kind", ["fold", "condense"])
def test_a_note_undone_by_the_user_stays_undone(kind: str) -> None:
    """However often the window is maintained: neither the note nor the shorter one comes back by itself."""
    policy = msgspec.structs.replace(session_rewrites.eager_policy(PROFILES["balanced"]), ledger_tokens=0)
    simulator = build_history(12, size=2_000, policy=policy)
    for _ in range(3):
        session_rewrites.fold_all(simulator)
        simulator.step("On.", 1)
    notes = [seq for seq, fold in simulator.transcript.rewrites.active_folds.items() if fold.how == kind]
    assert notes
    for seq in notes:
        simulator.record(Undone(seq))
    back = [
        (fold.after, fold.upto)
        for seq in notes
        if isinstance(fold := simulator.transcript.rewrites.by_seq[seq], FoldMade)
    ]
    known_folds = set(simulator.transcript.rewrites.folds)
    for number in range(6):
        simulator.step("On.", 1)
        simulator.answer_call(0, f"{number} a line of output\n" * 80)
        session_rewrites.fold_all(simulator)
    later = [
        fold
        for seq, fold in simulator.transcript.rewrites.folds.items()
        if seq not in known_folds and fold.how == kind
    ]
    assert not [fold for fold in later for after, upto in back if fold.after < upto and after < fold.upto]


@given(histories(SWEEP_AND_HANDOVER_ACTIONS))
def test_an_impossible_undo_is_refused(simulator: SessionSimulator) -> None:
    """Only rewrites, only while active; redo only what was undone."""
    transcript = simulator.transcript
    for recorded in simulator.log:
        if recorded.seq not in transcript.rewrites.by_seq:
            assert not transcript.can_undo(recorded.seq)
            assert not transcript.can_redo(recorded.seq)
        else:
            assert not (transcript.can_undo(recorded.seq) and transcript.can_redo(recorded.seq))


def test_an_undo_of_what_is_no_longer_in_the_context_says_why() -> None:
    """Nothing was recorded, and nothing was said. What was undone already needs no words: it is undone."""
    simulator = build_history(12, size=2_000)
    simulator.hand_over(1_000)
    ((first, handover),) = simulator.transcript.rewrites.handovers.items()
    simulator.record(msgspec.structs.replace(handover, replaces=(first,)))
    with pytest.raises(CompactionRefused, match="doesn't contain this change"):
        seqs_to_undo(simulator.transcript, (first,))
    (active,) = simulator.transcript.rewrites.active_handovers
    simulator.record(Undone(active))
    assert seqs_to_undo(simulator.transcript, (active,)) == []


@given(histories())
def test_a_message_and_its_step_on_the_chart_have_one_number(simulator: SessionSimulator) -> None:
    """Whatever was retried, steered or compacted in between."""
    steps = {step.seq: (step.turn, step.number) for step in read_steps(simulator.log)}
    transcript = simulator.transcript
    for item in transcript.messages.items:
        if isinstance(item.event, AssistantSpoke):
            assert (item.turn, transcript.messages.step_in_turn(item)) == steps[item.seq]


TREES = histories((*DEFAULT_ACTIONS, "branch", "branch"))


def window_after(simulator: SessionSimulator, seq: int) -> list[bytes]:
    """Return the request that the session would have sent behind an event."""
    transcript = Transcript(simulator.log[:seq])
    return raw(project(transcript, simulator.policy, simulator.frame).request)


@given(TREES, st.integers(1, 10**6))
def test_a_branch_has_the_window_of_its_point_and_loses_nothing(parent: SessionSimulator, at: int) -> None:
    seq = 1 + at % len(parent.log)
    branch = copy(parent)
    before = list(parent.log)
    end = branch.branch(seq)
    assume(end)
    assert end >= seq or isinstance(parent.log[seq - 1].event, SessionBranched)
    assert not branch.transcript.open_calls
    assert not branch.transcript.turn_open
    assert raw(branch.window().request) == window_after(parent, end)
    assert unreachable_content(branch) == []
    assert point_after(parent.log, end) == end, "a point is its own"
    undone = branch.undo(at)
    assert parent.log == before
    assert not undone or undone <= end
    assert unreachable_content(branch) == []
    branch.send_message("On.")
    branch.step("So it is.", 0)
    for sent in branch.sent_requests:
        assert lint(sent.request.messages) == problems(sent.request.messages) == []


@given(TREES, st.integers(1, 10**6))
def test_a_retry_asks_what_the_turn_asked_first(parent: SessionSimulator, at: int) -> None:
    """The parent's request, byte for byte, with its message once."""
    users = [
        entry.seq for entry in parent.log if isinstance(entry.event, UserSpoke) and not entry.event.steered
    ]
    assume(users)
    message = users[at % len(users)]
    end = point_of_retry(parent.log, message)
    branch = copy(parent)
    assert end >= message
    branch.go_on_behind(end)
    branch.retry()
    assert branch.transcript.turn_open
    assert branch.transcript.messages.items[-1].seq == message
    first = next((sent for sent in parent.sent_requests if sent.seq >= message), None)
    if first is not None and first.seq == end:
        assert raw(branch.window().request) == raw(first.request)


@given(TREES, st.integers(1, 10**6))
def test_an_edit_begins_where_the_message_was_not_sent_yet(parent: SessionSimulator, at: int) -> None:
    users = [entry.seq for entry in parent.log if isinstance(entry.event, UserSpoke)]
    assume(users)  # a branch of the very beginning has none
    message = users[at % len(users)]
    end = point_before_message(parent.log, message)
    branch = copy(parent)
    assert 0 < end < message
    branch.go_on_behind(end)
    assert not branch.transcript.open_calls
    assert raw(branch.window().request) == window_after(parent, end)
    branch.send_message("In other words.")
    branch.step("So it is.", 0)
    assert branch.sent_requests[-1].request.messages


def test_only_a_step_that_runs_has_no_point() -> None:
    simulator = conversation_of("Begin.")
    simulator.step("I read.", 2)
    seq = simulator.transcript.last_seq
    for at in (seq, 0):
        with pytest.raises(InvalidInput, match="still running"):
            point_after(simulator.log, at)
    assert point_after(simulator.log, seq - 1) == seq - 1
    simulator.answer_all_calls("done")
    assert point_after(simulator.log, seq) == seq + 2


def changed(capture_id: str, source: ChangeSource = "command") -> ChangesRecorded:
    """What a call changed, or something else."""
    return ChangesRecorded(capture_id, "digest", source)


def test_what_a_call_changed_that_a_crash_cut_off_is_captured_after_the_next_start() -> None:
    events: list[Event] = [
        UserSpoke("Go.", 1),
        changed("c1"),
        TurnEnded("interrupted", interruption="crash"),
        changed("c2"),
        changed("c3", "outside"),
        UserSpoke("Go on.", 1),
        changed("c4"),
        TurnEnded("stopped"),
        changed("c5"),
    ]
    log = [RecordedEvent(seq, seq, event) for seq, event in enumerate(events, 1)]
    captures = logged_changes("s", log).captures
    after_crash = [capture.changes.capture_id for capture in captures if capture.changes.is_after_crash]
    assert after_crash == ["c2"]


def test_a_change_has_the_target_of_its_call_as_the_tool_told_it_or_else_from_the_arguments() -> None:
    edit = ToolCall("a", "edit", '{"path": "./a.txt"}')
    command = ToolCall("b", "bash", '{"command": "make"}')
    events: list[Event] = [
        UserSpoke("Go.", 1),
        AssistantSpoke("", "box/small", 1, (edit, command)),
        ToolAnswered("a", "edit", "ok", "d" * 64, 1, 1, 1, target="a.txt"),
        ChangesRecorded("c1", "digest", "tool", call_id="a"),
        ToolAnswered("b", "bash", "ok", "d" * 64, 1, 1, 1),
        ChangesRecorded("c2", "digest", "command", call_id="b"),
        ChangesRecorded("c3", "digest", "outside"),
    ]
    log = [RecordedEvent(seq, seq, event) for seq, event in enumerate(events, 1)]
    changes = [capture.changes for capture in logged_changes("s", log).captures]
    assert [(change.tool, change.target) for change in changes] == [
        ("edit", "a.txt"),
        ("bash", "make"),
        ("", ""),
    ]


def test_a_turn_of_a_command_has_the_words_that_were_typed() -> None:
    prompt = PromptSource("release", ".claude/skills/release/SKILL.md", "d" * 64, "of Monday")
    log = [
        RecordedEvent(1, 1, UserSpoke("Use the skill release: follow @…", 1, prompt=prompt)),
        RecordedEvent(2, 2, changed("c1")),
    ]
    (capture,) = logged_changes("s", log).captures
    assert capture.changes.turn_title == "/release of Monday"


def shown(log: CallLog, seq: int) -> str:
    """Return the text of an output as it is sent."""
    window = project(log.transcript, PROFILES["balanced"], PromptFrame(MODEL, "You are an agent."))
    messages = zip(window.entries, window.request.messages[1:], strict=True)
    return next(message.text for entry, message in messages if entry.seq == seq)


def test_a_file_edited_before_its_text_was_brought_back_is_sent_with_a_word_of_that() -> None:
    """By an undo, a form or a pin of the user; an edit behind it stands below, and changes nothing above."""
    log = CallLog()
    read = log.call("read_file", "x = 1", path="a.py")
    other = log.call("read_file", "y = 1", path="b.py")
    edit = log.call("edit_file", path="a.py", old_text="1", new_text="2")
    assert (shown(log, read), shown(log, other)) == ("x = 1", "y = 1")
    sweep = log.add(SweepMade((read, other), 2, SweepReason.MANUAL))
    log.add(Undone(sweep, refused=True))
    assert shown(log, read) == "x = 1", "no user brought it back"
    log.add(Redone(sweep))
    log.add(Undone(sweep))
    label = f"[File as it was (edited since, e{edit})]\nx = 1"
    assert (shown(log, read), shown(log, other)) == (label, "y = 1")
    edit_of_other = log.call("edit_file", path="b.py", old_text="1", new_text="2")
    assert (shown(log, read), shown(log, other)) == (label, "y = 1")
    log.add(SweepMade((read, other), 2, SweepReason.MANUAL))
    log.add(FormChosen(other, "full", "y = 1", 2))
    log.add(Pinned(read))
    label_of_other = f"[File as it was (edited since, e{edit_of_other})]\ny = 1"
    assert (shown(log, read), shown(log, other)) == (label, label_of_other)


def test_the_marker_of_an_output_that_no_request_held_says_so() -> None:
    """Not that of one that the model has read, nor after it was brought back, nor without want of room."""
    log = CallLog()
    read = log.call("read_file", "x = 1", path="a.py")
    log.calls(("read_file", {"path": "c.py"}), ("read_file", {"path": "d.py"}))
    new = log.transcript.last_seq - 1
    other = log.transcript.last_seq
    sweep = log.add(SweepMade((read, new), 2, SweepReason.OVERFLOW))
    log.add(SweepMade((other,), 2, SweepReason.MANUAL))
    unshown = [seq for seq in (read, new, other) if shown(log, seq).endswith(UNSHOWN_NOTE)]
    assert unshown == [new]
    marker = shown(log, new)
    log.call("list_directory", path=".")
    assert shown(log, new) == marker
    assert [shown(log, seq)[:8] for seq in (read, new, other)] == ["[CACHED]"] * 3
    log.add(Undone(sweep))
    log.call("list_directory", path=".")
    log.add(SweepMade((new,), 2, SweepReason.OVERFLOW))
    assert shown(log, new) == marker.removesuffix(UNSHOWN_NOTE)


@given(histories((*DEFAULT_ACTIONS, "exclude", "pin", "undo", "undo")))
def test_what_is_offered_is_what_can_be_done(simulator: SessionSimulator) -> None:
    transcript = simulator.transcript
    assert has_change(transcript) == bool(last_change(transcript) or transcript.rewrites.pinned)
    redoable = [
        entry
        for entry in simulator.log
        if (isinstance(entry.event, Undone) and transcript.can_redo(entry.event.target))
        or (isinstance(entry.event, Unpinned) and entry.event.target not in transcript.rewrites.pinned)
    ]
    assert has_undone(transcript) == bool(redoable)
