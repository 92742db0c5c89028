"""Titles of sessions as the user reads them."""

from __future__ import annotations

import pytest

from helix_desktop.words.sessions import session_title


@pytest.mark.parametrize(
    ("title", "line"),
    [
        ("Fix the parser", "Fix the parser"),
        ("\u202eevil override", "evil override"),
        ("two\nlines\tand a tab", "two lines and a tab"),
        ("עברית and English", "עברית and English"),
        ("\u200f", "New session"),
        ("", "New session"),
    ],
)
def test_a_title_is_one_line_without_signs_of_direction(title: str, line: str) -> None:
    assert session_title(title) == line
