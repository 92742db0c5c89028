"""What messages state: conclusions and rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.summaries.message_facts import (
    cut_between_words,
    instructions_in,
    main_statement,
    preferences_in,
    sentences_in,
    statements_in,
)
from tests.support.histories import NASTY_TEXTS
from tests.support.tables import for_each

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


def test_neither_code_nor_an_offer_states_anything() -> None:
    """An item of a list stands behind the line above it."""
    assert statements_in(CONCLUSION, 9, 200) == [
        "I looked at everything that you asked me about, and here is what there is to say.",
        "Root cause: `read_block` in src/parse.py:31 stops at the last line end.",
        "It drops the rest of a file without one.",
        "What I changed: `read_block` now returns the rest, too (src/parse.py:34)",
        "All 38 tests pass.",
    ]


def test_a_heading_stands_apart_from_what_follows() -> None:
    """One that is too long for a heading is a sentence, under no other heading."""
    long = "Confirmed: `DetectPresence` in agent/claude.py:46 looks in the wrong folder"
    text = f"### **Root cause**\nThe cache of the reader is never emptied.\n\nThis leads to:\n### 2. {long}\n"
    assert statements_in(text, 3, 200) == [
        "Root cause: The cache of the reader is never emptied.",
        long,
    ]


def test_what_follows_a_list_is_no_item_of_it() -> None:
    """Its subject is the line above it, not the colon before the list."""
    text = "The field `lines_read` is still used for:\n- finding new content\n\nBut `store` cuts no more."
    assert [sentence.text for sentence in sentences_in(text)] == [
        "The field `lines_read` is still used for: finding new content",
        "But `store` cuts no more.",
    ]


TWO_HALVES = (
    "Once you start streaming the pack, the header isn't required if the token is in the address, but the "
    "server answers 401 if it is neither there nor in the header, because a broken push must *not* block."
)


def test_a_sentence_is_whole_or_not_there() -> None:
    """A `not` that was cut said the opposite."""
    message = f"{TWO_HALVES} `push` in net/client.py:40 sends it. It returns 200."
    assert statements_in(message, 9, 100) == ["`push` in net/client.py:40 sends it.", "It returns 200."]
    assert main_statement(TWO_HALVES, 150) == ""
    assert statements_in(TWO_HALVES, 2, 150) == []


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It reads two, e.g. `a.py`. It writes none.", ["It reads two, e.g. `a.py`.", "It writes none."]),
        ("它读取文件。它写入文件。", ["它读取文件。", "它写入文件。"]),
        ("Total: 3\nPaid: 2\nLeft: 1", ["Total: 3", "Paid: 2", "Left: 1"]),
    ],
)
def test_where_sentences_end(text: str, sentences: list[str]) -> None:
    """Not at an abbreviation."""
    assert [sentence.text for sentence in sentences_in(text)] == sentences


def test_no_name_is_cut() -> None:
    """A piece of a name finds nothing."""
    assert cut_between_words("read src/parse.py now", 14) == "read…"
    assert cut_between_words("src/a_very_long_name.py", 14) == "src/a_very_lo…"


@given(st.sampled_from(NASTY_TEXTS) | st.text(max_size=300), st.integers(2, 400))
def test_a_cut_text_is_within_its_limit(text: str, limit: int) -> None:
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
    assert statements_in(message, 9, 400) == []


@given(st.lists(st.sampled_from((*NASTY_TEXTS, CONCLUSION, "## A\n\n", "- b.py fails:\n")), max_size=6))
def test_sentences_are_on_one_line_each_and_within_the_limit(parts: list[str]) -> None:
    """Whatever the message."""
    message = "\n".join(parts)
    for sentence in sentences_in(message):
        assert "\n" not in sentence.text
        assert sentence.text
    assert all(len(statement) <= 100 for statement in statements_in(message, 9, 100))


def test_instructions_are_sentences_that_set_a_rule() -> None:
    """Each on its own; what only asks or tells, or heads others, is none."""
    text = "Look at the parser. You must keep Python 3.9!\n- don't rename files\nMust it work without a net?"
    text += "\n## Must have\nKeep in mind:\nI know."
    assert list(instructions_in(text)) == ["You must keep Python 3.9!", "don't rename files"]


@for_each(
    ("message", "is_preference"),
    [
        ("Use tabs, never spaces.", True),
        ("Please don't commit anything.", True),
        ("I'd prefer small commits.", True),
        ("Themes must never break the app.", True),
        ("- keep each commit working", True),
        ("Make sure the docs stay true.", True),
        ("Please continue.", False),
        ("The hook never writes to stdout.", False),
        ("I don't know why it fails.", False),
        ("We don't have that field any more.", False),
        ("I'll make sure to look it up.", False),
    ],
)
def test_a_preference_says_how_things_are_to_be_done(message: str, is_preference: bool) -> None:
    """What never happens, or isn't there, says nothing of how the user wants to have it."""
    assert preferences_in(message) == ((message,) if is_preference else ())
