"""Titles of sessions, as they are stored."""

from __future__ import annotations

from helix_desktop.domain.text_format import title_line


def test_a_title_is_the_first_line() -> None:
    line = "Read every module of the project and say which of them " + "talk to the network " * 10
    assert title_line(f"\n  {line} \nand then stop") == line.strip()


def test_a_title_beyond_the_cap_ends_at_a_word() -> None:
    title = title_line("seven " * 200)
    assert len(title) <= 500
    assert title.endswith("seven…")


def test_a_title_without_a_space_is_cut_anyway() -> None:
    assert title_line("x" * 2_000) == "x" * 499 + "…"


def test_whitespace_makes_no_title() -> None:
    assert title_line(" \n\t ") == ""
