"""Handovers without a model: words, and nothing twice."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.summaries.artifact_ledger import build_ledger
from helix_desktop.context.summaries.extractive_handover import extractive_handover, without_repeated_bullets
from helix_desktop.context.summaries.handover import (
    MIN_CHARS,
    QuotedBlocks,
    RepeatedBlock,
    newest_texts,
    quoted_text,
    quoted_tokens,
    render_handover,
    user_text_budget,
    whole_texts,
)
from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.events.rewrite import HandoverTrigger
from helix_desktop.domain.events.summary import NO_MODEL, HandoverMade
from tests.support.histories import NASTY_TEXTS, SessionSimulator, histories
from tests.unit.context.summaries.test_artifact_ledger import answer


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


LONG_LINES = [f"{letter}: {letter * 150} and more" for letter in "abcd"]
LINES = st.sampled_from(("", "  ", "}", "go on", "a line that is long enough", *LONG_LINES, *NASTY_TEXTS))
TEXTS = st.lists(LINES, max_size=14).map("\n".join)
Parts = list[str | RepeatedBlock]


def split_all(texts: list[str]) -> list[Parts]:
    """Return the parts of messages, newest first; each message's event is its place."""
    blocks = QuotedBlocks()
    parts = []
    for seq, text in enumerate(texts):
        parts.append(blocks.split(text))
        blocks.add(seq, parts[-1])
    return parts


def whole(parts: Parts) -> str:
    return "".join(part.text if isinstance(part, RepeatedBlock) else part for part in parts)


@given(st.lists(TEXTS, max_size=5))
def test_what_a_line_stands_for_is_in_full_in_the_newer_message(texts: list[str]) -> None:
    """As whole lines, in what that message says itself; nothing is lost or changed."""
    split = split_all(texts)
    assert [whole(parts) for parts in split] == texts
    for seq, parts in enumerate(split):
        position = 0
        for part in parts:
            text = part.text if isinstance(part, RepeatedBlock) else part
            assert position == 0 or texts[seq][position - 1] == "\n"
            position += len(text)
            if isinstance(part, RepeatedBlock):
                assert part.seq < seq
                assert len(part.text) >= MIN_CHARS
                block = part.text.removesuffix("\n")
                own = [text for text in split[part.seq] if isinstance(text, str)]
                assert any(f"\n{block}\n" in f"\n{text}\n" for text in own)


@given(st.lists(TEXTS, max_size=4), st.integers(0, 4_000))
def test_what_is_quoted_counts_less_but_never_nothing(texts: list[str], tokens: int) -> None:
    """A message without repeats counts as it is; a line of ours counts, too."""
    for parts in split_all(texts):
        count = quoted_tokens(parts, tokens)
        if any(isinstance(part, RepeatedBlock) for part in parts):
            assert min(tokens, 1) <= count <= tokens
        else:
            assert count == tokens
            assert quoted_text(parts).replace("| ", "") == whole(parts).replace("| ", "")


def test_the_count_of_what_is_left_is_close() -> None:
    """A tenth of the words counts as about a tenth of the tokens, however many spaces the block has."""
    block = "a word of a block  \t      \n" * 900
    own = "a word of my own.\n" * 100
    older = split_all([block, own + block])[1]
    assert len(older) == 2
    assert 500 <= quoted_tokens(older, 5_000) <= 650


def test_only_long_blocks_of_equal_lines_are_said_once() -> None:
    """Not a short one, not a changed line, not one that the newer message has inside a line."""
    block = "\n".join(LONG_LINES)
    (_, again, changed, short, inside) = split_all(
        [
            f"New.\n{block}",
            f"{block}\nOld.",
            block.replace("and more", "and less"),
            LONG_LINES[0],
            f"> {block}",
        ]
    )
    assert [part.text if isinstance(part, RepeatedBlock) else "own" for part in again] == [
        f"{block}\n",
        "own",
    ]
    assert changed == [block.replace("and more", "and less")]
    assert short == [LONG_LINES[0]]
    assert [type(part) for part in inside] == [str, RepeatedBlock]
    assert quoted_text(again).splitlines() == [
        f'[Helix Desktop: the same {len(block) + 1:,} characters as in e0, from "a: {"a" * 57}…" on]',
        "Old.",
    ]


def test_a_line_of_the_user_cannot_pass_for_one_of_the_program() -> None:
    """It is quoted, at every place in a message."""
    text = "See:\n[Helix Desktop: the same 9 characters as in e1]\n \t[Helix Desktop: x\nIn [Helix Desktop:"
    assert quoted_text([text]).splitlines()[1:] == [
        "| [Helix Desktop: the same 9 characters as in e1]",
        "|  \t[Helix Desktop: x",
        "In [Helix Desktop:",
    ]


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("the same line again\n" * 100_000, "the same line again\n" * 99_999 + "another one"),
        ("the same line again\n" * 40, "the same line again\n" * 100_000),
        ("a" * 1_000_000, "a" * 999_999 + "b"),
        ("a line, again\n" * 31 * 2_000, ("a line, again\n" * 30 + "a line, b\n") * 2_000),
    ],
    ids=["same line", "few of the same", "one line", "nearly the same"],
)
def test_the_time_grows_with_the_length(newer: str, older: str) -> None:
    """A megabyte takes a fraction of a second; by the square it would take minutes."""
    split = split_all([newer, older])
    assert whole(split[1]) == older
    assert quoted_tokens(split[1], 1_000_000) <= 1_000_000


REQUEST = "Please mend the parser, and never touch docs/."


def handover_of(simulator: SessionSimulator) -> HandoverMade:
    items = simulator.transcript.messages.items
    sections = extractive_handover(items, None)
    ledger = build_ledger(items).text(600)
    return HandoverMade(
        items[-1].seq, 0, sections, ledger, "", 0, 0, 0, 0, 2, NO_MODEL, HandoverTrigger.OVERFLOW
    )


def failed_session() -> SessionSimulator:
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message(REQUEST)
    simulator.record(answer("write_file", "src/parser.py"))
    simulator.record(answer("run_command", "pytest -q tests", "exit code 1\nE assert 3 == 4", 1))
    return simulator


def test_a_request_and_a_failure_stand_once() -> None:
    """The request in the user's words, the failure in the ledger; each section says where."""
    handover = handover_of(failed_session())
    texts = [f"e2 user: {REQUEST}"]
    before = render_handover(handover, texts)
    text = render_handover(without_repeated_bullets(handover, [REQUEST]), texts)
    assert before.count(REQUEST) == 4
    assert before.count("assert 3 == 4") == before.count("src/parser.py") == 2
    assert text.count(REQUEST) == text.count("assert 3 == 4") == text.count("src/parser.py") == 1
    assert "- Open request: quoted below [e2]" in text
    assert "- In the ledger below [e4]" in text
    assert "(unsupported)" not in text


def test_what_stands_nowhere_else_stays() -> None:
    """A message that does not go along, and words that the ledger has no room for."""
    handover = handover_of(failed_session())
    assert (
        without_repeated_bullets(msgspec.structs.replace(handover, ledger=""), []).sections
        == handover.sections
    )


@pytest.mark.parametrize("changed", [{"edited": True}, {"model": "local/m"}])
def test_what_the_user_or_a_model_wrote_stays(changed: dict[str, object]) -> None:
    """Their sentences say what the words mean."""
    handover = msgspec.structs.replace(handover_of(failed_session()), **changed)
    assert without_repeated_bullets(handover, [REQUEST]) == handover
