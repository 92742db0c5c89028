"""JSON as a tree: nothing is lost or changed, and no node has too many parts."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.ui.design.viewer.json_view import GROUP_SIZE, MAX_JSON_BYTES, JsonNode, parse_json
from tests.support.tables import for_each

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


def read_back(node: JsonNode) -> Any:
    """The value that a node stands for, from its rows alone."""
    if node.kind == "object":
        return {part.name: read_back(part) for part in leaves(node)}
    if node.kind == "array":
        return [read_back(part) for part in leaves(node)]
    return json.loads(node.text)


def leaves(node: JsonNode) -> list[JsonNode]:
    """The members or items of a node, those in groups too."""
    assert len(node.children) <= GROUP_SIZE
    found = []
    for part in node.children:
        found += leaves(part) if part.kind == "group" else [part]
    assert len(found) == node.size
    return found


@given(st.lists(values) | st.dictionaries(st.text(), values))
def test_the_rows_say_all_that_the_text_says(value: Any) -> None:
    root = parse_json(json.dumps(value).encode())
    assert root is not None
    assert read_back(root) == value


def test_a_long_array_stands_in_groups() -> None:
    root = parse_json(json.dumps(list(range(20_001))).encode())
    assert root is not None
    assert read_back(root) == list(range(20_001))
    assert [part.name for part in root.children] == ["0–9999", "10000–19999", "20000–20000"]


def test_numbers_and_repeated_names_stay_as_they_are_written() -> None:
    root = parse_json(b'{"a": 1.50, "a": 123456789012345678901234567890}')
    assert root is not None
    assert [part.text for part in root.children] == ["1.50", "123456789012345678901234567890"]


@for_each(
    "data",
    [b"", b"{}x", b"[1,]", b'{"a": NaN}', b"[" * 5_000 + b"]" * 5_000, b'["\xff"]', b'"text"',
     b"[" + b" " * MAX_JSON_BYTES + b"]"],
)  # fmt: skip
def test_what_is_no_json_or_too_much_stays_text(data: bytes) -> None:
    assert parse_json(data) is None


def test_long_values_are_cut_for_their_row_only() -> None:
    root = parse_json(b'["' + b"x" * 500 + b'", ' + b"7" * 500 + b', "short"]')
    assert root is not None
    text, number, short = root.children
    assert text.brief_text(300) == f'"{"x" * 300}"…'
    assert number.brief_text(300) == f"{'7' * 300}…"
    assert short.brief_text(300) == '"short"'
    assert len(text.text) == 502
