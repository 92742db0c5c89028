"""Conclusions: which messages ended a turn, and which of their sentences state something."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.conclusions import (
    conclusions_in,
    cut_between_words,
    cut_sentence,
    informative_sentences,
    main_statement,
    open_points_in,
    sentences_in,
    statements_in,
    states_anything,
)
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.identifiers import identifiers_in
from helix_desktop.domain.messages import ToolCall
from tests.support.histories import NASTY_TEXTS

CONCLUSION = """Perfect! I looked at everything that you asked me about, and here is what there is to say.

## Root cause
`read_block` in src/parse.py:31 stops at the last line end. It drops the rest of a file without one.

```python
def read_block(lines): return lines[:-1]  # nothing of a block of code is quoted: src/other.py
```

What I changed:
- `read_block` now returns the rest, too (src/parse.py:34)
- Nothing else
All 38 tests pass. Would you like me to rename `read_block` in src/parse.py:31 as well?
"""


def texts(max_chars: int, message: str = CONCLUSION) -> list[str]:
    """Return the sentences that state most."""
    return [sentence.text for sentence in informative_sentences(message, max_chars)]


def test_a_conclusion_ends_its_turn() -> None:
    """It has no calls, and the user's next message follows, or nothing yet."""
    call = ToolCall("c", "read_file", "{}")
    events: tuple[UserSpoke | AssistantSpoke | ToolAnswered, ...] = (
        UserSpoke("Why?", 1),
        AssistantSpoke("Let me look.", "m", 1, (call,)),
        ToolAnswered("c", "read_file", "x", "d" * 64, 1, 1, 1, target="a.py"),
        AssistantSpoke("Cut off in the mid", "m", 1),
        AssistantSpoke("dle: it is the cache.", "m", 1),
        UserSpoke("Thanks.", 1),
        AssistantSpoke("  ", "m", 1),
        UserSpoke("And?", 1),
        AssistantSpoke("Nothing.", "m", 1),
    )
    items = Transcript(RecordedEvent(seq, seq, event) for seq, event in enumerate(events, 1)).messages.items
    assert [item.seq for item in conclusions_in(items)] == [5, 9]


def test_cause_and_result_come_before_everything_else() -> None:
    """Neither the exclamation, nor code, nor the offer at the end."""
    assert texts(230) == [
        "Root cause:",
        "`read_block` in src/parse.py:31 stops at the last line end.",
        "It drops the rest of a file without one.",
        "What I changed:",
        "- `read_block` now returns the rest, too (src/parse.py:34)",
        "All 38 tests pass.",
    ]
    every = " ".join(texts(10_000))
    assert "src/other.py" not in every
    assert "rename" not in every
    assert "What I changed:" in every


def test_a_finding_has_the_sentence_with_its_subject() -> None:
    """`It drops the last line` says nothing without what drops it."""
    message = "`Reader.close` is called twice. It drops the last line because the buffer is gone by then."
    assert texts(150, message) == [
        "`Reader.close` is called twice.",
        "It drops the last line because the buffer is gone by then.",
    ]
    (finding,) = statements_in(f"{message}\n\nI found the issue. It holds:", 1)
    assert finding.text == message
    assert finding.states_cause


def test_the_main_statement_has_all_items_of_its_list() -> None:
    """A list of values says little by its first; where room is scarce each item is cut."""
    message = (
        "Done.\n\nThe levels now:\n- off: `#303030`\n- low: `#5f87af` (blue)\n- high: `#b294bb`\n\nEnjoy!"
    )
    assert (
        main_statement(message, 300)
        == "The levels now: off: `#303030`; low: `#5f87af` (blue); high: `#b294bb`"
    )
    causes = (
        "This happens because:\n1. `Store.get` counts at line 851, "
        + "and again " * 20
        + ".\n2. `Revive` reads "
    )
    cut = main_statement(causes + "it in a loop, " * 9, 160)
    assert cut.startswith("This happens because: `Store.get` counts at line 851,…; ")
    assert "; `Revive` reads it in a loop" in cut
    assert main_statement("Let me look.", 100) == ""


TWO_HALVES = (
    "The limit for retries isn't in `net/config.py` where the README says that newcomers should look for it; "
    "it is set in `net/client.py` at line 40, because the pool needs it before the settings have been read."
)


def test_a_row_of_a_table_says_what_its_first_cell_names() -> None:
    """Its head says nothing alone, and neither does the number of a row."""
    text = """## What I changed

| # | File | Change |
|---|:----:|--------|
| 1 | `src/a.py` | Removed `load_all` (a \\| b) |
| 2 | `src/b.py` | Fixed `read_block` |

| Case | Result |
|------|--------|
| empty file | returns `None` now |
"""
    assert [sentence.text for sentence in sentences_in(text)] == [
        "What I changed:",
        "`src/a.py`: Removed `load_all` (a \\| b)",
        "`src/b.py`: Fixed `read_block`",
        "empty file: returns `None` now",
    ]


def test_a_heading_stands_apart_from_what_follows() -> None:
    """One that is too long for a heading is a sentence, under no other heading."""
    long = "Confirmed: `DetectPresence` in agent/claude.py:46 looks in the wrong folder"
    text = f"### **Root cause**\nThe cache of the reader is never emptied.\n\nThis leads to:\n### 2. {long}\n"
    assert [statement.text for statement in statements_in(text, 3)] == [
        "Root cause: The cache of the reader is never emptied.",
        long,
    ]


def test_what_follows_a_list_is_no_item_of_it() -> None:
    """Its subject is the line above it, not the colon before the list."""
    text = "The field `lines_read` is still used for:\n- finding new content\n\nBut `store` cuts no more."
    assert [(sentence.text, sentence.needs) for sentence in sentences_in(text)] == [
        ("The field `lines_read` is still used for:", -1),
        ("- finding new content", 0),
        ("But `store` cuts no more.", -1),
    ]


@pytest.mark.parametrize(
    ("text", "open_points"),
    [
        ("All 38 tests pass and nothing is left open.", []),
        ("`a.py` no longer fails.", []),
        ("Next steps:\n- wire `sweep` in\n- docs", ["Next steps: wire `sweep` in; docs"]),
        ("Done in `a.py`. `b.py` has not yet a test.", ["`b.py` has not yet a test."]),
        ("3 integration tests in `b.py` are failing.", ["3 integration tests in `b.py` are failing."]),
        ("Is it the cache? No. `a.py` is mended.\n\nShould I commit this?", ["Should I commit this?"]),
    ],
)
def test_what_an_answer_leaves_open(text: str, open_points: list[str]) -> None:
    """Gaps, checks that fail, and the question that it ends with."""
    assert [statement.text for statement in open_points_in(text, 3)] == open_points


def test_both_halves_of_a_sentence_stay() -> None:
    """Where a thing is stands behind where it is not: that half is worth more than words between."""
    beginning = TWO_HALVES.partition(" where")[0]
    assert cut_sentence(TWO_HALVES, len(TWO_HALVES)) == TWO_HALVES
    for limit in (110, 130, 160):
        cut = cut_sentence(TWO_HALVES, limit)
        assert cut.startswith(beginning)
        assert "it is set in `net/client.py` at line 40," in cut
    assert cut_sentence(TWO_HALVES, 60) == "… it is set in `net/client.py` at line 40,…"
    assert cut_sentence("It's this: a.py fails; " + "so it goes " * 9, 40) == "It's this: a.py fails;…"


def test_the_numbers_of_a_list_outlast_a_long_clause_that_names_less() -> None:
    """Else the one in the middle falls out: the limit that is looked for later."""
    clauses = (
        "It says the rules in order, the two structures `StateInline` and `Scanned`, and what was left out"
        " of it on purpose, since nobody asked for that part of the package at all, and so on;",
        "maxNesting is 20 in commonmark and 100 in default;",
        "32 nested parentheses in a destination;",
        "schemes have 2 to 32 characters;",
        "a label has 999 characters.",
    )
    cut = cut_sentence(" ".join(clauses), 240)
    assert all(number in cut for number in ("20", "100", "32 nested", "2 to 32", "999"))


def test_a_whole_statement_comes_before_the_other_items_of_its_list() -> None:
    """They have what it leaves; where they follow, it ends without its period."""
    items = "\n".join(f"- Step {number} reads the file {number}.txt again" for number in range(9))
    message = f"This is why:\n- {TWO_HALVES}\n{items}"
    statement = main_statement(message, 320)
    assert f"{TWO_HALVES.removesuffix('.')}; Step 0 reads the file 0.txt again" in statement


def test_no_name_is_cut() -> None:
    """A piece of a name finds nothing."""
    text = (
        "It calls `Store.read_contents_of_many(first, second, third)` in src/store/reader.py before all else"
    )
    for limit in range(45, len(text)):
        assert set(identifiers_in(cut_sentence(text, limit))) <= set(identifiers_in(text))
    assert cut_between_words("read src/parse.py now", 14) == "read…"
    assert cut_between_words("src/a_very_long_name.py", 14) == "src/a_very_lo…"


@given(st.sampled_from(NASTY_TEXTS) | st.text(max_size=300), st.integers(2, 400))
def test_a_cut_sentence_is_within_its_limit(text: str, limit: int) -> None:
    assert len(cut_sentence(f"{text}; {TWO_HALVES}", limit)) <= limit
    assert len(cut_between_words(text, limit)) <= limit


@given(st.sampled_from(NASTY_TEXTS) | st.text(max_size=300), st.integers(20, 400))
def test_a_main_statement_is_one_line_within_its_limit(text: str, limit: int) -> None:
    statement = main_statement(text + "\n\n- a.py:3 fails\n- " + text, limit)
    assert len(statement) <= limit
    assert "\n" not in statement


def test_a_message_that_only_announces_states_nothing() -> None:
    """What the agent was about to do is told by its calls."""
    message = (
        "Now let me read `Reader.close` in src/parse.py. I'll look at src/pool.py:12 next. Shall I go on?"
    )
    assert texts(1_000, message) == []
    assert not states_anything(message)
    assert states_anything(CONCLUSION)


@pytest.mark.parametrize("filler", ["Filler.\n" * 600, "Filler.\n" * 360 + "```\n" + "x = 1\n" * 180])
def test_of_a_long_message_no_code_and_no_half_of_a_sentence_is_read(filler: str) -> None:
    """Also where the part that is left out begins or ends in a block of code, or within a sentence."""
    cause = "The parser in src/parse.py:31 dropped the last line because of an early return."
    for code in ("x = 1\n" * 600, "found = 'src/code.py:3'  # fixed because\n" * 90):
        message = f"Look at this.\n\n```python\n{code}```\n\n{cause}\n{'Filler words. ' * 40}"
        assert texts(10_000, message) == [cause]
    end = "```" if "```" in filler else ""
    unsaid = f"You must not {'ever ' * 150}remove src/app.py."
    message = f"{filler}{end}\n{unsaid} {'Filler words. ' * 45}{cause}"
    assert texts(10_000, message) == [cause]


@given(st.lists(st.sampled_from((*NASTY_TEXTS, CONCLUSION, "## A\n\n", "- b.py fails:\n")), max_size=6))
def test_sentences_are_on_one_line_each_and_within_the_limit(parts: list[str]) -> None:
    """Whatever the message; a sentence longer than the limit stands alone."""
    message = "\n".join(parts)
    for sentence in sentences_in(message):
        assert "\n" not in sentence.text
        assert sentence.text
    chosen = texts(100, message)
    assert len(chosen) <= 1 or sum(map(len, chosen)) <= 100
