"""Three-way merges: what each side changed is in the result, or named as a conflict."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.file_history.diff import Merge, merge

lines = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\r\n", b"\n", b"\xff\n", b"d"]), max_size=12)
texts = lines.map(b"".join)


def merged(base: bytes, ours: bytes, theirs: bytes) -> Merge:
    result = merge(base, ours, theirs)
    assert result is not None
    return result


@given(texts, texts)
def test_a_side_that_changed_nothing_gives_the_other(base: bytes, other: bytes) -> None:
    assert merged(base, other, base).build() == other
    assert merged(base, base, other).build() == other
    assert merged(base, other, other).build() == other


@given(texts, texts, texts)
def test_the_chunks_are_the_three_sides(base: bytes, ours: bytes, theirs: bytes) -> None:
    result = merged(base, ours, theirs)
    every = range(len(result.chunks))
    for side, data in (("base", base), ("ours", ours), ("theirs", theirs)):
        assert b"".join(line for chunk in result.chunks for line in getattr(chunk, side)) == data
    assert result.build(dict.fromkeys(every, "ours")) == ours
    assert result.build(dict.fromkeys(every, "theirs")) == theirs


@given(texts, texts, texts)
def test_no_line_of_a_side_is_lost_but_those_that_the_other_removed(
    base: bytes, ours: bytes, theirs: bytes
) -> None:
    result = merged(base, ours, theirs)
    if not result.is_clean:
        with pytest.raises(ValueError, match="conflict"):
            result.build()
        return
    counts = [Counter(data.splitlines()) for data in (base, ours, theirs, result.build())]
    in_base, in_ours, in_theirs, in_result = counts
    for side, other in ((in_ours, in_theirs), (in_theirs, in_ours)):
        assert side - (in_base - other) <= in_result


@given(st.sets(st.integers(0, 39)), st.sets(st.integers(0, 39)), st.booleans())
def test_edits_apart_from_each_other_are_both_applied(
    our_places: set[int], their_places: set[int], ends: bool
) -> None:
    """Neighboring lines are too near: whether both edits fit each other is for the user to say."""
    base = [f"line {number}".encode() for number in range(40)]
    their_places -= {place + near for place in our_places for near in (-1, 0, 1)}
    ours, theirs, both = list(base), list(base), list(base)
    for place in our_places:
        ours[place] = both[place] = b"our %d" % place
    for place in their_places:
        theirs[place] = both[place] = b"their %d" % place
    end = b"\r\n" if ends else b""
    sides = [b"\r\n".join(side) + end for side in (base, ours, theirs, both)]
    assert merged(*sides[:3]).build() == sides[3]


def test_neighboring_edits_are_a_conflict_that_choices_resolve() -> None:
    result = merged(b"a\nb\nc\n", b"a\nB\nc\n", b"a\nb\nC")
    assert [chunk.kind for chunk in result.chunks] == ["same", "conflict"]
    assert result.conflicts == 1
    assert result.build({1: "base"}) == b"a\nb\nc\n"
    assert result.build({1: "ours_theirs"}) == b"a\nB\nc\nb\nC"
    assert result.build({1: "theirs_ours"}) == b"a\nb\nC\nB\nc\n"


@pytest.mark.parametrize(
    ("encoding", "middle"), [("utf-8-sig", "Ċ"), ("utf-16", "\u0a41\u0100"), ("latin-1", "é")]
)
def test_a_merge_keeps_the_encoding(encoding: str, middle: str) -> None:
    """In UTF-16 the bytes of a line feed are in other characters, and between two of them, too."""
    base, ours, theirs, both = (
        text.replace("m", middle).encode(encoding)
        for text in ("ä\nm\nc\n", "Ä\nm\nc\n", "ä\nm\nC\n", "Ä\nm\nC\n")
    )
    result = merged(base, ours, theirs)
    assert result.build() == both
    assert [len(chunk.base) for chunk in result.chunks] == [1, 1, 1]


def test_what_is_no_text_is_not_merged() -> None:
    assert merge(b"a\0", b"b\0", b"c\0") is None
    assert merge("a".encode("utf-16"), b"a", b"b") is None
    assert merge(b"", bytes(9 << 20), bytes(9 << 20)) is None


def test_hostile_texts_are_merged_within_bounds() -> None:
    """The plain search for the longest common lines would take minutes here."""
    result = merged(b"a\nb\n" * 5_000, b"b\na\na\n" * 4_000, b"b\n" * 8_000)
    assert result.build(dict.fromkeys(range(len(result.chunks)), "ours")) == b"b\na\na\n" * 4_000
