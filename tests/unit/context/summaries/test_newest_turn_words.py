"""The words of the newest complete turn stay verbatim when a running turn is handed over."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.policy import PROFILES
from helix_desktop.context.summaries.handover import (
    newest_texts,
    newest_turn_words,
    user_text_budget,
    whole_texts,
)
from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.events.summary import HandoverMade
from tests.support.histories import SessionSimulator, histories

PARAGRAPH = "The second paragraph: " + "a thought of its own. " * 12


@given(histories(), st.integers(0, 300))
def test_both_sides_of_the_newest_complete_turn_stand_in_the_window(
    simulator: SessionSimulator, keep: int
) -> None:
    """Raw, or in the handover, as far as their share of the window reaches; the window's count has them."""
    handover = simulator.hand_over(keep)
    if handover is None:
        return
    transcript = simulator.transcript
    budget = user_text_budget(simulator.policy.user_text_tokens, simulator.frame.info.window)
    turn = transcript.messages.turns - 1 if transcript.turn_open else transcript.messages.turns
    texts = "\n".join(message.text for message in simulator.window().request.messages)
    covered = [item for item in transcript.messages.items if item.turn == turn and item.seq <= handover.upto]
    answers = [item for item in covered if isinstance(item.event, AssistantSpoke) and item.event.text.strip()]
    assert set(handover.words) <= {item.seq for item in answers}
    if sum(item.word_tokens for item in answers) <= budget:
        assert [item.seq for item in answers] == [*handover.words]
    for item in transcript.window.without_excluded(answers):
        if item.seq in handover.words and isinstance(item.event, AssistantSpoke):
            assert f"e{item.seq} agent: {item.event.text}" in texts


def test_a_follow_up_on_the_last_answer_still_has_it() -> None:
    """The answer is covered inside the long turn that edits it, and stands there word for word."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Write two paragraphs.")
    simulator.step(f"The first paragraph.\n\n{PARAGRAPH}", 0)
    simulator.send_message("Edit the second paragraph, but look at everything first.")
    for step in range(6):
        simulator.step(f"Step {step}.", 1)
        simulator.answer_call(0, f"{step} line of output\n" * 40)
    handover = simulator.hand_over(100)
    assert isinstance(handover, HandoverMade)
    first, *_ = simulator.window().request.messages[1:]
    assert PARAGRAPH in first.text
    assert "e2 user: Write two paragraphs." in first.text
    assert not any("Step" in text for text in first.text.split("verbatim\n")[-1].splitlines())


def test_words_of_the_turn_before_are_not_kept() -> None:
    """Only those of the newest complete turn; between turns it stands there itself."""
    simulator = SessionSimulator(PROFILES["balanced"])
    for turn in range(3):
        simulator.send_message(f"Question {turn}?")
        simulator.step(f"Answer {turn}.", 0)
    seqs = {
        item.event.text: item.seq
        for item in simulator.transcript.messages.items
        if isinstance(item.event, AssistantSpoke)
    }
    last = simulator.transcript.last_seq
    assert newest_turn_words(simulator.transcript, last, 1_000) == (seqs["Answer 2."],)
    simulator.send_message("And now?")
    assert newest_turn_words(simulator.transcript, simulator.transcript.last_seq, 1_000) == (
        seqs["Answer 2."],
    )
    assert newest_turn_words(simulator.transcript, last, 1) == ()


def test_a_long_message_is_cut_only_beyond_the_cap() -> None:
    """20,000 tokens of the newest words are whole; the message that does not fit keeps head and tail."""
    simulator = SessionSimulator(PROFILES["balanced"])
    rules = "First of all. " + "Some words of a long specification. " * 1_500 + "Never touch main."
    for text in (rules, f"At first: {rules}", rules, "Short.", "Short."):
        simulator.send_message(text)
        simulator.step("Yes.", 0)
    items = [item for item in simulator.transcript.messages.items if isinstance(item.event, UserSpoke)]
    (oldest, newer, *newest) = newest_texts(items, 20_000)
    assert [text for _, text, _ in newest] == ["Short.", "Short."]
    assert newer[1] == rules
    assert oldest[1].startswith("At first: First of all.")
    assert oldest[1].endswith("Never touch main.")
    assert sum(tokens for _, _, tokens in (oldest, newer, *newest)) == 20_000
    twice = newest_texts([items[0], items[2]], 20_000)
    assert [seq for seq, _, _ in twice] == [items[2].seq], "a long message in the same words stands once"
    assert user_text_budget(20_000, 128_000) == user_text_budget(20_000, 80_000) == 20_000
    assert user_text_budget(20_000, 24_000) == 6_000


def test_a_block_pasted_again_leaves_room_for_an_older_message() -> None:
    """It stands in full where it came last, so that the first message need not be cut; all count as whole."""
    simulator = SessionSimulator(PROFILES["balanced"])
    template = "\n".join(f"{number}. Look at every file of part {number} first." for number in range(200))
    rules = "\n".join(f"{number}. Never touch part {number}." for number in range(200))
    for text in (rules, *(f"Task {number}: mend it.\n{template}" for number in range(5))):
        simulator.send_message(text)
        simulator.step("Yes.", 0)
    items = [item for item in simulator.transcript.messages.items if isinstance(item.event, UserSpoke)]
    cap = items[0].word_tokens + 2 * items[-1].word_tokens
    texts = newest_texts(items, cap)
    assert texts[0] == (items[0].seq, rules, items[0].word_tokens)
    assert texts[-1][1] == f"Task 4: mend it.\n{template}"
    for number, (seq, text, tokens) in enumerate(texts[1:-1]):
        first, line = text.split("\n")
        assert first == f"Task {number}: mend it."
        assert line.startswith("[Helix Desktop: the same ")
        assert f"as in e{items[-1].seq}," in line
        assert tokens < 100
        assert seq == items[number + 1].seq
    assert whole_texts(items, cap) == {item.seq for item in items}
