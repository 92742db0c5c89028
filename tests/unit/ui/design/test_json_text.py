"""JSON as indented text: nothing is lost or changed, and the text stays of a size with the JSON."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.ui.design.viewer.json_text import MAX_JSON_BYTES, indent_json
from tests.support.tables import for_each

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@given(st.lists(values) | st.dictionaries(st.text(), values), st.booleans())
def test_it_is_indented_as_python_does_it(value: Any, is_ascii: bool) -> None:
    data = json.dumps(value, ensure_ascii=is_ascii).encode()
    assert indent_json(data) == json.dumps(value, ensure_ascii=is_ascii, indent=2).encode()


def test_values_and_repeated_names_stay_as_they_are_written() -> None:
    long_number = b"7" * 6_000
    text = indent_json(rb' {"a" :1.50,"a":"\u00e9\" [,:]", "b": [ ],"c":' + long_number + b"}\n")
    assert text is not None
    assert text.split(b"\n") == [
        b"{", b'  "a": 1.50,', rb'  "a": "\u00e9\" [,:]",', b'  "b": [],', b'  "c": ' + long_number, b"}",
    ]  # fmt: skip


@for_each(
    "data",
    [b"", b"{}x", b"[1,]", b'{"a": NaN}', b"[" * 5_000 + b"]" * 5_000, b'["\xff"]', b'"text"',
     b"[" + b" " * MAX_JSON_BYTES + b"]"],
)  # fmt: skip
def test_what_is_no_json_or_too_much_stays_as_it_is(data: bytes) -> None:
    assert indent_json(data) is None


def test_deep_json_is_not_mostly_blanks() -> None:
    data = b"[" * 200 + b",".join([b"1"] * 2_000) + b"]" * 200
    text = indent_json(data)
    assert text is not None
    assert len(text) < 50 * len(data)
    assert json.loads(text) == json.loads(data)
