"""Schemas of tools: what JSON Schema does not allow is left out before a provider refuses the request."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from helix_desktop.mcp.client.exposed_tool import clean_schema
from tests.support.tables import for_each


def cleaned(**argument: Any) -> Any:
    """Return what is left of an argument's schema."""
    return clean_schema({"type": "object", "properties": {"a": argument}}, str)["properties"]["a"]


@for_each(
    ("argument", "expected"),
    [
        ({"type": "any"}, {}),
        ({"type": "str"}, {"type": "string"}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"type": ["string", "file"]}, {}),
        ({"type": "string", "enum": []}, {"type": "string"}),
        ({"type": "string", "required": True}, {"type": "string"}),
        ({"type": "array", "items": None}, {"type": "array"}),
        ({"type": "array", "items": "string"}, {"type": "array"}),
        ({"anyOf": []}, {}),
        ({"anyOf": [None, {"type": "int"}]}, {"anyOf": [{}, {"type": "integer"}]}),
        ({"type": "integer", "minimum": "0", "maximum": 5}, {"type": "integer", "maximum": 5}),
        ({"type": "string", "minLength": -1, "maxLength": 4.0}, {"type": "string", "maxLength": 4}),
        ({"type": "string", "pattern": "(", "format": None}, {"type": "string"}),
        ({"$ref": "#/$defs/Missing"}, {}),
        ({"$ref": "http://elsewhere.example/x"}, {}),
        ({"description": 5, "title": "A"}, {"title": "A"}),
        ({"type": "object", "properties": []}, {"type": "object"}),
        ({"default": {"type": "any", "required": None}}, {"default": {"type": "any", "required": None}}),
        ({"const": None, "x-order": 1}, {"const": None, "x-order": 1}),
    ],
)
def test_a_keyword_that_is_wrong_is_left_out(argument: dict[str, Any], expected: dict[str, Any]) -> None:
    assert cleaned(**argument) == expected


def test_required_is_a_list_of_names_or_nothing() -> None:
    properties = {"a": {"type": "string"}}
    assert "required" not in clean_schema({"type": "object", "properties": properties, "required": None}, str)
    schema = {"type": "object", "properties": properties, "required": ["a", "a", 5]}
    assert clean_schema(schema, str)["required"] == ["a"]


def test_a_good_schema_stays_as_it_is() -> None:
    schema = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Where", "minLength": 1},
            "type": {"$ref": "#/$defs/Kind"},
            "lines": {"type": "array", "items": {"type": "integer", "minimum": 1}, "uniqueItems": True},
        },
        "required": ["path"],
        "additionalProperties": False,
        "$defs": {"Kind": {"enum": ["a", "b"]}},
    }
    assert clean_schema(schema, str) == schema


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda parts: (
        st.lists(parts, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "required", "enum", "items", "anyOf", "$ref", "minimum", "x"]
            ),
            parts,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["type", "properties", "required", "enum", "$defs", "items"]), JSON))
def test_any_json_becomes_a_schema_or_has_a_reason(schema: dict[str, Any]) -> None:
    try:
        result = clean_schema(schema, str)
    except ValueError as error:
        assume("nested too deeply" not in str(error))
        raise
    assert result["type"] == "object"
    assert isinstance(result["properties"], dict)
    assert isinstance(result.get("required", []), list)
    json.dumps(result, allow_nan=True)
    assert clean_schema(result, str) == result


def references_in(value: Any) -> list[str]:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = [value["$ref"]] if isinstance(value, dict) and isinstance(value.get("$ref"), str) else []
    return [*own, *(reference for part in parts for reference in references_in(part))]


@pytest.mark.parametrize(
    ("definitions", "reference"),
    [
        ({}, "#"),
        ({}, "#/properties/a"),
        ({}, "#/properties"),
        ({"Loop": {"$ref": "#/$defs/Loop"}}, "#/$defs/Loop"),
        ({"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}, "#/$defs/A"),
        (
            {
                "Branch": {"properties": {"leaf": {"$ref": "#/$defs/Leaf"}}},
                "Leaf": {"properties": {"on": {"items": {"$ref": "#/$defs/Branch"}}}},
            },
            "#/$defs/Branch",
        ),
        ({"Out": {"properties": {"in": {"anyOf": [{"$ref": "#/$defs/Out"}]}}}}, "#/$defs/Out/properties/in"),
    ],
)
def test_references_in_a_circle_come_to_an_end(definitions: dict[str, Any], reference: str) -> None:
    schema = {"$defs": definitions, "properties": {"a": {"$ref": reference}}}
    result = clean_schema(schema, str)

    def unfold(part: Any, steps: int) -> None:
        assert steps < 40, "it goes in a circle"
        for found in references_in(part):
            place = result
            for step in found.removeprefix("#").split("/")[1:]:
                place = place[step]
            unfold(place, steps + 1)

    unfold(result, 0)


def test_a_tree_keeps_its_first_level_and_says_what_is_below() -> None:
    node = {
        "type": "object",
        "properties": {
            "value": {"type": "integer"},
            "below": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
        },
    }
    result = clean_schema({"$defs": {"Node": node}, "properties": {"a": {"$ref": "#/$defs/Node"}}}, str)
    assert result["properties"]["a"] == {"$ref": "#/$defs/Node"}
    below = result["$defs"]["Node"]["properties"]["below"]
    assert below["items"] == {"type": "object", "description": "Has the form of Node."}


def test_arguments_behind_a_reference_stand_at_the_top() -> None:
    arguments = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    result = clean_schema({"$ref": "#/definitions/Args", "definitions": {"Args": arguments}}, str)
    assert result["properties"] == {"q": {"type": "string"}}
    assert result["required"] == ["q"]
    assert "$ref" not in result


def test_a_reference_to_what_is_left_out_is_left_out() -> None:
    schema = {"oneOf": [{"type": "object"}], "properties": {"a": {"$ref": "#/oneOf/0"}}}
    assert clean_schema(schema, str)["properties"] == {"a": {}}


def test_a_chain_without_end_is_refused_with_the_reason() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5_000):
        deep = {"items": deep}
    with pytest.raises(ValueError, match="nested too deeply"):
        clean_schema({"properties": {"a": deep}}, str)
