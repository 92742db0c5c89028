"""Characters cut in two between the pieces of a stream."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.providers.streaming import SurrogateDecoder


def pieces(text: str, size: int) -> list[str]:
    """Return a text from a server that counts UTF-16 code units: JSON pieces of so many units."""
    halves = text.encode("utf-16-le")
    cut = (halves[index : index + 2 * size] for index in range(0, len(halves), 2 * size))
    return [json.dumps({"delta": {"text": piece.decode("utf-16-le", "surrogatepass")}}) for piece in cut]


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(1, 5))
def test_the_text_is_restored_at_any_cut(text: str, size: int) -> None:
    """The joined pieces are the original text; and no piece has a lone surrogate."""
    halves = SurrogateDecoder()
    read = [halves.decode(piece)["delta"]["text"] for piece in pieces(text, size)]
    assert "".join(read) == text
    assert all(piece.encode() or True for piece in read)


def test_two_interleaved_texts_do_not_mix() -> None:
    """Each half waits in its own place."""
    halves = SurrogateDecoder()
    first = halves.decode(r'{"a": "x\ud83d", "b": ["y\ud83c"], "n": 1}')
    assert first == {"a": "x", "b": ["y"], "n": 1}
    assert halves.decode(r'{"n": 2}') == {"n": 2}
    assert halves.decode(r'{"b": ["\udf0d!"], "a": "\ude00?"}') == {"a": "😀?", "b": ["🌍!"]}


def test_a_lone_half_is_replaced() -> None:
    """The other half never came: the replacement character marks it."""
    halves = SurrogateDecoder()
    assert halves.decode(r'{"a": "x\ud83d"}') == {"a": "x"}
    assert halves.decode('{"a": "yz"}') == {"a": "\N{REPLACEMENT CHARACTER}yz"}
    assert SurrogateDecoder().decode(r'"\ude00 alone"') == "\N{REPLACEMENT CHARACTER} alone"


@pytest.mark.parametrize("text", ["{half", "", "[" * 200_000, "\ud83d"])
def test_invalid_json_is_refused(text: str) -> None:
    """As by the stricter reader."""
    with pytest.raises(ValueError, match=r"."):
        SurrogateDecoder().decode(text)


def test_constants_that_json_lacks_are_nothing() -> None:
    assert SurrogateDecoder().decode(r'{"a": [NaN, -Infinity], "b": "NaN\ud83d"}') == {
        "a": [None, None],
        "b": "NaN",
    }
