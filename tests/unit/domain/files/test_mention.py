"""Files mentioned in messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.files.mention import find_mentions, format_mention, parse_typed

_PATHS = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=20)


@given(_PATHS, st.integers(0, 500), st.integers(0, 500), st.sampled_from(["", " and more", ", then", ")"]))
def test_what_is_formatted_is_read_back_whatever_surrounds_it(
    path: str, first: int, more: int, rest: str
) -> None:
    mention = format_mention(path, first, first + more)
    (found,) = find_mentions(f"see ({mention}{rest}")
    assert found[:3] == (path, first, first + more if first else 0)
    assert f"see ({mention}{rest}"[found.start : found.end] == mention
    assert parse_typed(mention[1:]) == found[:3]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@src/app.py:10-40.", [("src/app.py", 10, 40)]),
        ("Compare @a.py:7, @b.py; and (@c/d).", [("a.py", 7, 7), ("b.py", 0, 0), ("c/d", 0, 0)]),
        ('@"a b.txt":3-9 @"c d/"', [("a b.txt", 3, 9), ("c d/", 0, 0)]),
        ('@a.py:40-10 @"b c":9-3', [("a.py", 40, 10), ("b c", 9, 3)]),
        ("me@example.com, a/@b, \\@c, @ d, @", []),
        ("`@a.py` and\n```\n@b.py\n```\n@c.py", [("c.py", 0, 0)]),
        ('@"open', []),
    ],
)
def test_mentions_are_read_as_a_user_writes_them(text: str, expected: list[tuple[str, int, int]]) -> None:
    assert [mention[:3] for mention in find_mentions(text)] == expected


def test_lines_may_be_unfinished_while_they_are_typed() -> None:
    for typed in ("a.py", "a.py:", '"a.py', '"a.py"', '"a.py":'):
        assert parse_typed(typed) == ("a.py", 0, 0)
    for typed in ("a.py:7", "a.py:7-", '"a.py":7', '"a.py":7-'):
        assert parse_typed(typed) == ("a.py", 7, 7)


def test_lines_that_end_before_they_begin_are_told_apart() -> None:
    mentions = find_mentions('@a.py:40-10 @"b c":9-3 @a.py:7-7 @a.py:7 @a.py @"b c"')
    assert [mention.is_reversed for mention in mentions] == [True, True, False, False, False, False]
