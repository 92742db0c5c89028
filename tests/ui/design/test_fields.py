"""Fields of one line: what they say where they are narrow."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from helix_desktop.ui.design.fields import SearchField


def test_a_search_field_says_one_word_where_its_words_are_cut(qtbot: QtBot) -> None:
    words = "Search contents, files, tools or a SHA-256"
    field = SearchField(words)
    qtbot.addWidget(field)
    field.resize(700, 32)
    field.show()
    assert (field.placeholderText(), field.toolTip()) == (words, "")
    field.resize(150, 32)
    assert (field.placeholderText(), field.toolTip(), field.accessibleName()) == ("Search", words, words)
    field.resize(700, 32)
    assert (field.placeholderText(), field.toolTip()) == (words, "")
