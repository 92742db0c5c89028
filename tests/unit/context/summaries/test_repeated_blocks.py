"""A block of lines that the user repeats: in full in the newest message, one line of ours in the others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.summaries.handover import (
    MIN_CHARS,
    QuotedBlocks,
    RepeatedBlock,
    quoted_text,
    quoted_tokens,
)
from tests.support.histories import NASTY_TEXTS

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
    """Return the text that the parts are of."""
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
