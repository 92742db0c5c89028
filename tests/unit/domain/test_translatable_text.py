"""Texts as data: English words that know their catalog entry and their facts."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.translatable_text import (
    ByteSize,
    TextContext,
    TranslatableText,
    join_sentences,
    plain_text,
    system_reason,
    verbatim,
)

text = TextContext("Tests")


def test_a_text_is_its_english_words() -> None:
    """What stores, sends or prints a text does so in English."""
    message = text("Model {model} not found on {provider}.", model="m-1", provider="Local")
    assert message == "Model m-1 not found on Local."
    assert (message.context, message.source) == ("Tests", "Model {model} not found on {provider}.")
    assert json.dumps({"what": message}) == '{"what": "Model m-1 not found on Local."}'


class _Event(msgspec.Struct):
    what: str


def test_a_text_is_stored_as_plain_words() -> None:
    """An event that holds a text is encoded as one that holds a plain string."""
    event = _Event(text("Version {version} is available.", version="2.1"))
    for encode, decode in (
        (msgspec.json.encode, msgspec.json.decode),
        (msgspec.msgpack.encode, msgspec.msgpack.decode),
    ):
        stored = encode(event, enc_hook=plain_text)
        assert stored == encode(_Event("Version 2.1 is available."))
        assert type(decode(stored, type=_Event).what) is str
    with pytest.raises(TypeError, match="object cannot be stored"):
        msgspec.json.encode(object(), enc_hook=plain_text)


@pytest.mark.parametrize(("count", "words"), [(0, "0 entries"), (1, "1 entry"), (1_200, "1,200 entries")])
def test_a_count_decides_between_singular_and_plural(count: int, words: str) -> None:
    """The number itself is a fact, in groups of digits."""
    assert text.plural(count, "%n entry", "%n entries") == words


def test_facts_are_shown_by_their_kind() -> None:
    """Numbers, sizes and lists are shown as English writes them, other facts as they are."""
    message = text(
        "{count} {size} {names} {process}",
        count=4_000,
        size=ByteSize(2_516_582),
        names=("a", "b", "c"),
        process="4000",
    )
    assert message == "4,000 2.4 MB a, b and c 4000"
    assert text("{size}", size=ByteSize(812)) == "812 B"


def test_a_missing_fact_is_an_error() -> None:
    """A text with a hole never reaches a user."""
    with pytest.raises(KeyError):
        text("{name} not found", other="x")


@given(st.text())
def test_facts_are_never_read_as_templates(fact: str) -> None:
    """Braces and marks in a fact stay as they are."""
    assert text("<{fact}>", fact=fact) == f"<{fact}>"
    assert text.plural(2, "%n {fact}", "%n {fact}s", fact=fact) == f"2 {fact}s"


@given(st.text())
def test_what_others_say_stays_as_it_is(words: str) -> None:
    """Marks and braces in it are never read as a template, and a text of the catalog stays one."""
    assert verbatim(words) == words
    entry = text("Restore")
    assert verbatim(entry) is entry


def test_a_reason_of_the_system_is_a_sentence() -> None:
    """In the system's own words; an error of ours has only its message."""
    assert system_reason(OSError(28, "No space left on device")) == "No space left on device."
    assert system_reason(OSError("it was cut off")) == "it was cut off."


@given(st.lists(st.sampled_from(["", "One.", "Two."])))
def test_sentences_follow_one_another(sentences: list[str]) -> None:
    """Empty sentences leave no gap."""
    joined = join_sentences(*sentences)
    assert joined == " ".join(filter(None, sentences))
    assert isinstance(joined, TranslatableText)
