"""How a query is parsed: words, phrases, and refusals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.text_search import MAX_QUERY_LENGTH, parse_query


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("tide", ("tide",)),
        ("  Tide\tGauge\n", ("tide", "gauge")),
        ('"High Water" level', ("high water", "level")),
        ('level"high water"', ('level"high', 'water"')),
        ('"high  water"', ("high  water",)),
        ('print("x")', ('print("x")',)),
        ('say "hello', ("say", '"hello')),
        ('"" x', ('""', "x")),
        ('"one\ntwo"', ("one", "two")),
        ('" " tide " "', ("tide",)),
        ("tide TIDE Tide", ("tide",)),
        ("Straße ΣΊΣΥΦΟΣ", ("strasse", "σίσυφοσ")),
    ],
)
def test_a_query_is_words_and_phrases(query: str, words: tuple[str, ...]) -> None:
    assert parse_query(query) == words


@pytest.mark.parametrize("query", ["", "   ", "\n", '" "'])
def test_an_empty_query_is_refused(query: str) -> None:
    with pytest.raises(InvalidInput, match=r"The query is empty\. Enter words"):
        parse_query(query)


def test_an_overlong_query_is_refused() -> None:
    assert parse_query("x" * MAX_QUERY_LENGTH)
    with pytest.raises(InvalidInput, match="has 201 characters; the limit is 200"):
        parse_query("x" * (MAX_QUERY_LENGTH + 1))


@given(st.text(max_size=200))
def test_any_query_is_parsed_or_refused(query: str) -> None:
    try:
        words = parse_query(query)
    except InvalidInput:
        return
    assert words
    assert all(word.strip() and "\n" not in word for word in words)
