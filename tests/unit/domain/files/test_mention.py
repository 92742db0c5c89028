"""Mentions of files, and paths found by a few letters."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.files.mention import (
    FuzzyPaths,
    find_mentions,
    fold_case,
    format_mention,
    parse_typed,
)

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


_LISTED_PATHS = st.lists(st.text("abCd_/.İß", min_size=1, max_size=12), max_size=30, unique=True)
_QUERIES = st.text("abcd_/.İ", min_size=1, max_size=4)


def has_letters(query: str, path: str) -> bool:
    letters = iter(fold_case(path))
    return all(letter in letters for letter in fold_case(query))


@given(_LISTED_PATHS, _QUERIES)
def test_exactly_the_paths_with_the_letters_are_found_where_the_letters_are(
    paths: list[str], query: str
) -> None:
    matches = FuzzyPaths(paths).search(query, len(paths) + 1)
    assert sorted(match.path for match in matches) == sorted(
        path for path in paths if has_letters(query, path)
    )
    for match in matches:
        assert "".join(fold_case(match.path)[at] for at in match.positions) == fold_case(query)
        assert list(match.positions) == sorted(set(match.positions))


@given(_LISTED_PATHS, _QUERIES, st.randoms())
def test_the_order_of_the_paths_changes_nothing(paths: list[str], query: str, random: Random) -> None:
    before = FuzzyPaths(paths).search(query, 9)
    random.shuffle(paths)
    assert FuzzyPaths(paths).search(query, 9) == before


def first(query: str, *paths: str, recent: tuple[str, ...] = ()) -> str:
    return FuzzyPaths(paths).search(query, 1, recent)[0].path


def test_names_starts_of_words_and_letters_side_by_side_come_first() -> None:
    assert first("test", "test/data/x.py", "lib/my_test.py", "lib/test.py") == "lib/test.py"
    assert first("cc", "abcc.py", "composer_controller.py", "cache.h") == "composer_controller.py"
    assert first("fs", "of_some/xyz.py", "FuzzySearch.py") == "FuzzySearch.py"
    assert first("app", "a_p_p.py", "zapp.py", "app_x.py") == "app_x.py"
    assert first("ui/comp", "ui/chat/composer.py", "build/comp.py") == "ui/chat/composer.py"
    assert first("model", "model/", "lib/model.py") == "lib/model.py"


def test_what_was_used_lately_comes_before_its_like() -> None:
    paths = ("a/view.py", "b/view.py", "c/view.py")
    assert first("view", *paths, recent=("gone.py", "c/view.py")) == "c/view.py"
    found = FuzzyPaths([*paths, "z.txt", "a/"]).search("", 3, ["c/view.py"])
    assert [match.path for match in found] == ["c/view.py", "a/", "z.txt"]


def test_many_matches_do_not_hide_the_whole_name() -> None:
    crowd = [f"pkg{number}/aaa_{number}.py" for number in range(2_000)]
    assert first("a", *crowd, "deep/er/a.py") == "deep/er/a.py"
    assert first("pkg7/a", *crowd) == "pkg7/aaa_7.py"
