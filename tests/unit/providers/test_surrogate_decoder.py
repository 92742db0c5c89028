"""Characters cut in two between the pieces of a stream."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.providers.surrogate_decoder import SurrogateDecoder


def pieces(text: str, size: int) -> list[str]:
    """A text as a server sends it that counts in halves of UTF-16: JSON pieces of so many halves."""
    halves = text.encode("utf-16-le")
    cut = (halves[at : at + 2 * size] for at in range(0, len(halves), 2 * size))
    return [json.dumps({"delta": {"text": one.decode("utf-16-le", "surrogatepass")}}) for one in cut]


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(1, 5))
def test_wherever_it_was_cut_the_text_is_whole(text: str, size: int) -> None:
    """What is read, put together, is what was said; and no piece of it holds half a character."""
    halves = SurrogateDecoder()
    read = [halves.decode(piece)["delta"]["text"] for piece in pieces(text, size)]
    assert "".join(read) == text
    assert all(one.encode() or True for one in read)


def test_two_texts_cut_at_once_do_not_mix() -> None:
    """Each half waits in its own place."""
    halves = SurrogateDecoder()
    first = halves.decode(r'{"a": "x\ud83d", "b": ["y\ud83c"], "n": 1}')
    assert first == {"a": "x", "b": ["y"], "n": 1}
    assert halves.decode(r'{"n": 2}') == {"n": 2}
    assert halves.decode(r'{"b": ["\udf0d!"], "a": "\ude00?"}') == {"a": "😀?", "b": ["🌍!"]}


def test_a_half_that_nothing_completes_is_marked() -> None:
    """The other half never came: the mark of a lost character stands there."""
    halves = SurrogateDecoder()
    assert halves.decode(r'{"a": "x\ud83d"}') == {"a": "x"}
    assert halves.decode('{"a": "yz"}') == {"a": "\N{REPLACEMENT CHARACTER}yz"}
    assert SurrogateDecoder().decode(r'"\ude00 alone"') == "\N{REPLACEMENT CHARACTER} alone"


@pytest.mark.parametrize(
    "text", ["{half", "", "NaN", r'{"a": Infinity, "b": "\ud83d"}', "[" * 200_000, "\ud83d"]
)
def test_what_is_no_json_is_refused(text: str) -> None:
    """As by the stricter reader."""
    with pytest.raises(ValueError, match=r"."):
        SurrogateDecoder().decode(text)
