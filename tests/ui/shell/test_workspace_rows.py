"""Names, colors and places of workspaces, times and search words of the sidebar."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from helix_desktop.domain.text_format import matches_query
from helix_desktop.ui.window.sidebar.session_list import day_group
from helix_desktop.ui.window.workspace_names import (
    default_initials,
    disambiguate,
    distinct_colors,
)
from helix_desktop.words.times import format_short_time
from tests.support.tables import for_each


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        (["/a/work/app", "/a/home/app"], ["work", "home"]),
        (["/a/x/src/app", "/b/y/src/app"], ["x/src", "y/src"]),
        (["/a/one", "/a/two"], ["/a/one", "/a/two"]),
    ],
)
def test_folders_with_the_same_name_are_distinguishable(paths: list[str], words: list[str]) -> None:
    assert disambiguate(paths) == words


def test_similar_workspaces_have_different_colors() -> None:
    colors = distinct_colors([f"w{number}" for number in range(8)])

    assert len(set(colors.values())) == 8


@for_each(
    ("name", "initials"),
    [
        ("helix-desktop", "HD"),
        ("Helix", "HE"),
        ("repo2", "R2"),
        ("2048", "20"),
        ("weather_bot v2", "WB"),
        ("数据", "数"),
        ("", "?"),
        ("...", "?"),
    ],
)
def test_initials_come_from_the_words_of_a_name(name: str, initials: str) -> None:
    assert default_initials(name) == initials


@pytest.mark.parametrize(
    ("ago", "group", "when"),
    [
        (timedelta(seconds=20), "today", "now"),
        (timedelta(hours=3), "today", "12:04"),
        (timedelta(hours=16), "yesterday", "Thu"),
        (timedelta(days=8), "earlier", "12 Nov"),
        (timedelta(days=400), "earlier", "16 Oct 2025"),
    ],
)
def test_relative_times_in_words(ago: timedelta, group: str, when: str) -> None:
    now = datetime(2026, 11, 20, 15, 4)
    updated_ms = int((now - ago).timestamp() * 1000)
    assert day_group(updated_ms, now) == group
    assert format_short_time(updated_ms, now) == when


def test_search_needs_every_word() -> None:
    assert matches_query("fix PARSER", "Fix the parser", "opus")
    assert not matches_query("fix lexer", "Fix the parser", "opus")
