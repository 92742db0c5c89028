"""Paths found by a few of their letters."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.files.mention import FuzzyPaths, fold_case

_PATHS = st.lists(st.text("abCd_/.İß", min_size=1, max_size=12), max_size=30, unique=True)
_QUERIES = st.text("abcd_/.İ", min_size=1, max_size=4)


def has_letters(query: str, path: str) -> bool:
    """Return True if the letters of a query are in a path, in order."""
    letters = iter(fold_case(path))
    return all(letter in letters for letter in fold_case(query))


@given(_PATHS, _QUERIES)
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


@given(_PATHS, _QUERIES, st.randoms())
def test_the_order_of_the_paths_changes_nothing(paths: list[str], query: str, random: Random) -> None:
    before = FuzzyPaths(paths).search(query, 9)
    random.shuffle(paths)
    assert FuzzyPaths(paths).search(query, 9) == before


def first(query: str, *paths: str, recent: tuple[str, ...] = ()) -> str:
    """Return the best match."""
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
