"""A user approves exactly what they read: hidden characters are found, and shown as codes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.unicode_safety import (
    escape_hidden,
    escape_hidden_name,
    first_hidden,
    is_hidden,
    repair_surrogates,
    without_direction_signs,
)
from tests.support.tables import for_each

HIDDEN = (
    "\0\x1b\r\x7f\x85\xad\u034f\u061c\u115f\u180e\u200b\u2028\u202e\u2066\u2800\u3164\ufe00\ufeff\U000e0041"
)


@for_each("char", HIDDEN)
def test_hidden_characters_are_found(char: str) -> None:
    assert first_hidden(f"echo a{char}b{char}") == char
    assert escape_hidden(char).startswith("\\")


@pytest.mark.parametrize("text", ["git commit -m 'Größe ❤️ 完了'\n\tmake", "سلام", "naïve", ""])
def test_words_of_all_languages_stay_unchanged(text: str) -> None:
    assert (first_hidden(text), escape_hidden(text)) == ("", text)


@given(st.text())
def test_nothing_hidden_is_left(text: str) -> None:
    assert not any(map(is_hidden, escape_hidden(text)))
    assert not set("\n\t") & set(escape_hidden_name(text))


@given(st.text(st.characters(codec=None)))
def test_a_repaired_text_can_be_stored_and_valid_text_is_unchanged(text: str) -> None:
    repaired = repair_surrogates(text)
    repaired.encode()
    assert repair_surrogates(repaired) == repaired
    if not any("\ud800" <= char <= "\udfff" for char in text):
        assert repaired == text


def test_matching_surrogate_halves_are_joined() -> None:
    assert repair_surrogates("a \ud83d\ude00 b \ud83d c") == "a 😀 b \ufffd c"


def test_signs_that_change_directions_are_removed_and_letters_of_any_script_stay() -> None:
    signs = "".join(map(chr, (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))))
    assert without_direction_signs("".join(f"a{sign}" for sign in signs)) == "a" * len(signs)
    assert without_direction_signs("שלום مرحبا a\u200db") == "שלום مرحبا a\u200db"
