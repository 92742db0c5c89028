"""Handovers without a model: newest runs and words, and nothing twice."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.intake.descriptions import describe_output
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.summaries.artifact_ledger import build_ledger
from helix_desktop.context.summaries.handover import (
    MIN_CHARS,
    QuotedBlocks,
    RepeatedBlock,
    newest_texts,
    newest_turn_words,
    quoted_text,
    quoted_tokens,
    render_handover,
    user_text_budget,
    whole_texts,
)
from helix_desktop.context.summaries.sections import extractive_handover, without_repeats
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import HandoverTrigger
from helix_desktop.domain.events.summary import NO_MODEL, Bullet, HandoverMade, Section
from tests.support.histories import NASTY_TEXTS, SessionSimulator, histories
from tests.unit.context.summaries.test_artifact_ledger import answer


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        ("pytest -q", "pytest -v", True),
        ("cd app && python -m pytest -q 2>&1", "cd app && python -m pytest -x --tb=short", True),
        ("cargo test -q", "cargo test", True),
        ("pytest -q tests/a.py", "pytest -v tests/b.py", False),
        ("pytest -q", "pytest -v -k login", False),
        ("pytest -q", "pytest -v | tail -3", False),
        ("pytest -q", "pytest -v; true", False),
        ("grep -q TODO a.py", "grep -v TODO a.py", False),
        ("python -m pytest -q tests", "pytest tests", True),
    ],
)
def test_an_extract_has_the_newest_result_of_the_same_tests(first: str, second: str, is_same: bool) -> None:
    """A failure is over once the same tests pass, whatever they print; a success once they fail."""
    for codes in ((1, 0), (0, 1)):
        simulator = SessionSimulator(PROFILES["balanced"])
        simulator.send_message("Run the tests.")
        for command, code in zip((first, second), codes, strict=True):
            answer = ToolAnswered("c", "run_command", "x", "d" * 64, 1, 1, 1, target=command, exit_code=code)
            simulator.record(msgspec.structs.replace(answer, ok=code == 0))
        sections = {
            section.title: section
            for section in extractive_handover(simulator.transcript.messages.items, None)
        }
        bullets = [*sections["Completed Work"].bullets, *sections["Current Issues"].bullets]
        assert any(f"`{second}`" in bullet.text for bullet in bullets)
        assert any(f"`{first}`" in bullet.text for bullet in bullets) is not is_same


@pytest.mark.parametrize(
    ("runs", "issues"),
    [
        ((("pytest -q tests/a.py", 1), ("pytest -k login", 2), ("pytest", 0)), []),
        ((("python3 -m unittest tests.test_a", 1), ("python3 -m unittest", 0)), []),
        ((("pytest", 0), ("pytest tests/a.py", 1)), ["pytest tests/a.py"]),
        ((("pytest tests/a.py", 1), ("pytest", 1)), ["pytest tests/a.py", "pytest"]),
        ((("pytest tests/a.py", 1), ("pytest; true", 0)), ["pytest tests/a.py"]),
        ((("python3 check.py --all", 1), ("python3 check.py", 0)), ["python3 check.py --all"]),
        ((("pytest tests/a.py", 1), ("cd app && pytest tests", 0)), ["pytest tests/a.py"]),
        ((("pytest tests/a.py", 1), ("pytest tests", 0)), []),
        ((("git commit -m x", 128), ("git -c user.name=me commit -m x", 0)), []),
        ((("git add . && git commit -m x", 1), ("git push", 0)), ["git add . && git commit -m x"]),
    ],
)
def test_failures_of_some_tests_are_over_once_all_pass(
    runs: tuple[tuple[str, int], ...], issues: list[str]
) -> None:
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Run the tests.")
    for command, code in runs:
        answer = ToolAnswered("c", "run_command", "x", "d" * 64, 1, 1, 1, target=command, exit_code=code)
        simulator.record(msgspec.structs.replace(answer, ok=code == 0))
    [bullets] = [
        section.bullets
        for section in extractive_handover(simulator.transcript.messages.items, None)
        if section.title == "Current Issues"
    ]
    assert [bullet.text.split("`")[1] for bullet in bullets] == issues


def test_tests_behind_other_commands_are_known_by_their_result() -> None:
    """A pass was told as the commit behind it, and the failure before it stayed an issue."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Fix it.")
    outputs = (
        ("sed -n 1,9p a.py; pytest -q tests 2>&1 | tail -2", "exit code 0\nFAILED tests/a.py::test_async"),
        (
            "python -m pytest -q tests && git commit -qm Fix && git show --stat | tail -2",
            "exit code 0\n........\n43 passed in 0.31s\n a.py | 9 ++\n 2 files changed, 7 insertions(+)",
        ),
    )
    for command, text in outputs:
        about = describe_output("run_command", text, 0)
        answer = ToolAnswered("c", "run_command", text, "d" * 64, 1, 1, 1, target=command, exit_code=0)
        simulator.record(msgspec.structs.replace(answer, about=about))
    sections = {
        section.title: [bullet.text for bullet in section.bullets]
        for section in extractive_handover(simulator.transcript.messages.items, None)
    }
    assert sections["Current Issues"] == []
    assert sections["Completed Work"][-1].endswith(": exit 0: 43 passed in 0.31s")


def test_failures_of_unittest_behind_a_filter_are_over_once_the_tests_pass() -> None:
    """Their last line is an exception: the failed run stayed an issue through an hour of passing ones."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Fix it.")
    failed = "exit code 0\nUnicodeDecodeError: no\nRan 8 tests in 0.5s\n\nFAILED (errors=1)"
    outputs = (
        (r'python3 -m unittest -v 2>&1 | grep -v "^  File\|\^"', failed),
        ("python3 -m unittest 2>&1 | tail -9", "exit code 0\nRan 9 tests in 0.3s\n\nOK"),
    )
    issues = []
    for command, text in outputs:
        answer = ToolAnswered("c", "run_command", text, "d" * 64, 1, 1, 1, target=command, exit_code=0)
        simulator.record(msgspec.structs.replace(answer, about=describe_output("run_command", text, 0)))
        found = extractive_handover(simulator.transcript.messages.items, None)
        issues.append([bullet.text for section in found[3:4] for bullet in section.bullets])
    assert len(issues[0]) == 1
    assert issues[1] == []


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


LONG_LINES = [f"{letter}: {letter * 150} and more" for letter in "abcd"]
LINES = st.sampled_from(("", "  ", "}", "go on", "a line that is long enough", *LONG_LINES, *NASTY_TEXTS))
TEXTS = st.lists(LINES, max_size=14).map("\n".join)
Parts = list[str | RepeatedBlock]


def split_all(texts: list[str]) -> list[Parts]:
    """Return the parts of messages, newest first; each message's event is its place."""
    blocks, parts = QuotedBlocks(), []
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
    block, own = "a word of a block  \t      \n" * 900, "a word of my own.\n" * 100
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
        ("\n" * 1_000_000, "\n" * 999_999 + "x"),
        ("a" * 1_000_000, "a" * 999_999 + "b"),
        ("short line of it\n" * 24 + "a" * 900_000, "short line of it\n" * 24 + "a" * 899_999 + "b"),
        ("a line, again\n" * 31 * 2_000, ("a line, again\n" * 30 + "a line, b\n") * 2_000),
    ],
    ids=["same line", "few of the same", "blank", "one line", "long last line", "nearly the same"],
)
def test_the_time_grows_with_the_length(newer: str, older: str) -> None:
    """A megabyte takes a fraction of a second; by the square it would take minutes."""
    split = split_all([newer, older])
    assert whole(split[1]) == older
    assert quoted_tokens(split[1], 1_000_000) <= 1_000_000


REQUEST = "Please mend the parser, and never touch docs/."


def handover_of(simulator: SessionSimulator) -> HandoverMade:
    items = simulator.transcript.messages.items
    sections, ledger = extractive_handover(items, None), build_ledger(items).text(600)
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
    text = render_handover(without_repeats(handover, [REQUEST]), texts)
    assert before.count(REQUEST) == 4
    assert before.count("assert 3 == 4") == before.count("src/parser.py") == 2
    assert text.count(REQUEST) == text.count("assert 3 == 4") == text.count("src/parser.py") == 1
    assert "- Last request, not answered yet: quoted below [e2]" in text
    assert "- In the ledger below [e4]" in text
    assert "(unsupported)" not in text


def test_what_stands_nowhere_else_stays() -> None:
    """A message that does not go along, and words that the ledger has no room for."""
    handover = handover_of(failed_session())
    assert without_repeats(msgspec.structs.replace(handover, ledger=""), []).sections == handover.sections


@pytest.mark.parametrize("changed", [{"edited": True}, {"model": "local/m"}])
def test_what_the_user_or_a_model_wrote_stays(changed: dict[str, object]) -> None:
    """Their sentences say what the words mean."""
    handover = msgspec.structs.replace(handover_of(failed_session()), **changed)
    assert without_repeats(handover, [REQUEST]) == handover


def _todo_after(model_says: str, cited: int, *, is_answered: bool, texts: tuple[str, ...]) -> list[str]:
    """Return the open items of a handover without a model, below one that a model wrote after e1."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.record(UserSpoke("Rename the flag.", 5))
    simulator.record(AssistantSpoke("Renamed.", "test", 5))
    upto = simulator.transcript.last_seq
    asked = []
    for text in texts:
        simulator.record(UserSpoke(text, 5))
        asked.append(simulator.transcript.last_seq)
        if is_answered:
            simulator.record(AssistantSpoke(f"Done: {text}", "test", 5))
    sources = (asked[cited],) if cited >= 0 else ()
    todo = Section("TODO Items", (Bullet(model_says, sources),))
    previous = HandoverMade(upto, 0, (todo,), "", "", 0, 0, 0, 0, 2, "vendor/m", HandoverTrigger.THRESHOLD)
    sections = extractive_handover(simulator.transcript.messages.items, previous)
    return [
        bullet.text for section in sections if section.title == "TODO Items" for bullet in section.bullets
    ]


@pytest.mark.parametrize(
    "label", ["Newest request: ", "The user's newest request: ", "Latest request (e90): "]
)
def test_the_newest_request_of_a_model_s_handover_does_not_outlive_its_answer(label: str) -> None:
    """The handover as it would be now begins with a checkpoint, whose newest request was answered since."""
    says = f"{label}quote the line that sorts the pages."
    texts = ("Quote the line that sorts the pages.", "Which option runs one test?")
    assert _todo_after(says, 0, is_answered=True, texts=texts) == []
    assert _todo_after(says, -1, is_answered=True, texts=texts) == [], "without the entry it comes from"
    open_items = _todo_after(says, 0, is_answered=False, texts=texts)
    assert [item.partition(":")[0] for item in open_items] == [
        "Earlier request, not answered yet",
        "Last request, not answered yet",
    ]
    assert _todo_after(says, 0, is_answered=False, texts=texts[:1]) == [
        "Last request, not answered yet: Quote the line that sorts the pages."
    ], "said once while it is the newest"
    assert _todo_after(says, -1, is_answered=False, texts=()) == [], "Renamed: the turn before was answered"
