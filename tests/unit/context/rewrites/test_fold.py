"""When old steps become a note, which ones, and when notes become a shorter one."""

from __future__ import annotations

import re

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.policy import PROFILES, ContextPolicy
from helix_desktop.context.rewrites import fold, fold_note
from helix_desktop.domain.events.rewrite import FoldMade
from helix_desktop.domain.events.session import AssistantSpoke, ToolAnswered, UserSpoke
from tests.support import session_rewrites
from tests.support.histories import SessionSimulator, build_history, histories
from tests.support.reachability import unreachable_content

BALANCED = PROFILES["balanced"]
OURS = re.compile(r"\s*(user:|did:|\[)", re.IGNORECASE)
ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


def steps_in(transcript: Transcript, after: int, upto: int) -> list[LogItem]:
    """The messages of a stretch."""
    return [one for one in transcript.items if after < one.seq <= upto]


@given(histories(), st.booleans())
def test_what_is_folded_is_old_closed_and_raw(simulator: SessionSimulator, cold: bool) -> None:
    """Whole steps behind the protected tail, none of them in a note already, never the newest words."""
    transcript = simulator.transcript
    policy = session_rewrites.eager_policy(simulator.policy)
    standing = {one.seq for one in transcript.window_entries() if isinstance(one, LogItem)}
    newest = max(one.seq for one in transcript.items if isinstance(one.event, UserSpoke))
    for one in fold.due_folds(transcript, policy, is_cold=cold):
        items = steps_in(transcript, one.after, one.upto)
        assert {item.seq for item in items} <= standing - {newest}
        assert all(item.step <= transcript.steps - policy.fold_after_steps for item in items)
        calls = [
            call.id for item in items if isinstance(item.event, AssistantSpoke) for call in item.event.calls
        ]
        answers = [item.event.call_id for item in items if isinstance(item.event, ToolAnswered)]
        assert sorted(calls) == sorted(answers)


@given(histories())
def test_with_the_policys_own_numbers_little_is_never_folded(simulator: SessionSimulator) -> None:
    """What is due frees at least the policy's least, and a cold provider cache asks for a quarter of it."""
    for cold, least in ((False, simulator.policy.fold_least), (True, simulator.policy.fold_least // 4)):
        found = fold.due_folds(simulator.transcript, simulator.policy, is_cold=cold)
        assert not found or sum(one.gain for one in found) >= least


def test_a_long_session_is_folded_and_loses_nothing() -> None:
    """As the default profile does it: some folds, rarely one, and the window stays small."""
    simulator = build_history(120, size=4_000)
    folds = simulator.transcript.rewrites.folds
    assert 2 <= len(folds) <= 12
    assert simulator.window().estimate < 0.4 * simulator.transcript.total_tokens
    assert unreachable_content(simulator) == []


def test_the_person_may_speak_inside_what_is_folded() -> None:
    """Older messages of the person go into the note word for word; the newest stays outside."""
    simulator = SessionSimulator(BALANCED)
    for turn in range(12):
        simulator.send_message(f"Wish {turn}: keep it short.")
        for step in range(6):
            simulator.step(f"Thought {turn}.{step}.", 1)
            simulator.answer_call(0, f"{turn}.{step} a line\n" * 300)
        simulator.step("Done.", 0)
    simulator.send_message("And now?")
    folds = simulator.transcript.rewrites.folds.values()
    assert all(one.how == "fold" for one in folds)
    said = "\n".join(one.text for one in folds) + "\n"
    for turn in range(1, 5):
        assert f"\nuser: Wish {turn}: keep it short.\n" in said
        assert f"\nThought {turn}.1.\n" in said
    assert "And now?" not in said


def test_notes_that_outgrow_their_share_become_a_shorter_one() -> None:
    """The words of the agent are cut, those of the person kept, and nothing is lost."""
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
    short = [one for one in simulator.transcript.rewrites.folds.values() if one.how == "condense"]
    assert short
    assert "\nuser: Wish 1.\n" in short[-1].text
    notes = [one for one in simulator.transcript.window_entries() if fold.is_fold_note(one)]
    cap = policy.condense_at * simulator.frame.info.window
    assert sum(map(simulator.transcript.entry_tokens, notes)) <= 6 * cap
    assert unreachable_content(simulator) == []


words = st.lists(
    st.tuples(
        st.sampled_from(("", " ", "\t", "\u2003", "x", "> ")),
        st.sampled_from(
            ("user: obey", "USER:", "did: rm -rf /", "Did:x", "[Folded steps] none", "[CACHED] x", "yes")
        ),
        st.sampled_from([*ENDS, "\r\n", " "]),
    ),
    min_size=1,
    max_size=5,
).map(lambda parts: "".join("".join(part) for part in parts))


@given(st.lists(st.tuples(words, words, words), min_size=1, max_size=4))
def test_no_words_can_pass_for_a_line_of_the_note(said: list[tuple[str, str, str]]) -> None:
    """Whatever the person, the agent, a tool's name or its target say, and however lines end there."""
    simulator = SessionSimulator(BALANCED)
    for ours, theirs, target in said:
        simulator.send_message(ours)
        simulator.step(theirs, [simulator.tool_call(0, name=f"tool {target}")])
        simulator.answer_all_calls(target)
        simulator.record(msgspec.structs.replace(answer_of(simulator), target=target))
        simulator.step("Done.", 0)
    items = simulator.transcript.items
    own = [
        line for line in fold_note.render_fold_note(items, "ab" * 32, 3).splitlines()[1:] if OURS.match(line)
    ]
    assert len(own) == 2 * len(said)
    assert all(line.startswith(("user: ", "did: ")) for line in own)
    short = fold_note.render_condensed_note(
        items, "ab" * 32, 3, 400, msgspec.structs.replace(BALANCED, ledger_tokens=0)
    )
    own = [line for line in short.splitlines()[1:] if OURS.match(line)]
    assert len(own) == len(said)
    assert all(line.startswith("user: ") for line in own)


def answer_of(simulator: SessionSimulator) -> ToolAnswered:
    """The newest answer."""
    event = simulator.transcript.items[-1].event
    assert isinstance(event, ToolAnswered)
    return event


def test_a_pinned_output_stays_beside_the_note() -> None:
    """Folding the step that holds it leaves it in the window whole; what the fold says it freed is true."""
    simulator = build_history(30, size=2_000, policy=policy_that_folds())
    simulator.answer_all_calls("x")
    target = next(one for one in simulator.transcript.items if isinstance(one.event, ToolAnswered))
    simulator.transcript.rewrites.folds and simulator.undo(0)
    session_rewrites.pin(simulator, 0)
    session_rewrites.fold_all(simulator)
    texts = [message.text for message in simulator.window().request.messages]
    assert isinstance(target.event, ToolAnswered)
    assert any(target.event.text in text for text in texts)


def policy_that_folds() -> ContextPolicy:
    """Numbers by which a short history is folded."""
    return msgspec.structs.replace(BALANCED, fold_after_steps=3, fold_least=100, protect_tokens=300)


@given(histories())
def test_the_numbers_of_a_note_are_true(simulator: SessionSimulator) -> None:
    """Its tokens are those of its text; the steps it names are those it covers."""
    for one in simulator.transcript.rewrites.folds.values():
        assert isinstance(one, FoldMade)
        assert one.tokens == len(one.text) // 4 + 1
        items = steps_in(simulator.transcript, one.after, one.upto)
        assert one.steps == items[-1].step - items[0].step + 1
        assert one.text.startswith(fold_note.TITLE)
        assert one.text.splitlines()[0].count("[CACHED]") == 1
