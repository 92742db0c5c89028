"""Slash commands as they are typed, and what only looks like one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.slash_command import (
    SlashInput,
    is_command_name,
    nearest_command,
    parse_slash_input,
)


@pytest.mark.parametrize(
    ("message", "typed"),
    [
        ("/compact", SlashInput("compact")),
        ("/compact keep the API \n", SlashInput("compact", "keep the API")),
        ("/web:test\nfirst\n\nsecond", SlashInput("web:test", "first\n\nsecond")),
        ("/überprüfe  zweimal", SlashInput("überprüfe", "zweimal")),
        ("/2nd-pass", SlashInput("2nd-pass")),
        ("/usr/bin is full", None),
        ("/etc/hosts", None),
        ("/notes.txt is empty", None),
        ("/", None),
        ("/ compact", None),
        ("/\ncompact", None),
        ("/* a comment */", None),
        ("// another", None),
        ("/a: b", None),
        ("/C:\\windows", None),
        (" /compact", None),
        ("say /compact", None),
        ("/a\u202eb", None),
        ("/" + "a" * 65, None),
        ("", None),
    ],
)
def test_a_command_is_the_first_word_of_a_message(message: str, typed: SlashInput | None) -> None:
    """Paths, comments and a slash behind a space are text."""
    assert parse_slash_input(message) == typed


@given(st.text())
def test_any_text_is_read_as_a_command_or_not_at_all(message: str) -> None:
    """A command found in it is one that can be typed, and the name is what follows the slash."""
    typed = parse_slash_input(message)
    if typed is not None:
        assert is_command_name(typed.name)
        assert message.startswith(f"/{typed.name}")
        assert message[len(typed.name) + 1 :].strip() == typed.arguments.strip()


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("revew", "review"), ("REVIEW", "review"), ("comp", "compact"), ("xyzzy", "")],
)
def test_the_nearest_name_is_proposed_where_it_is_plain(name: str, nearest: str) -> None:
    """A slip of the keys, or the only one that begins so; nothing where none is near."""
    assert nearest_command(name, ["review", "compact", "rename", "redo"]) == nearest
