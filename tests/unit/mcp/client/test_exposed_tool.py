"""Tool descriptions of servers reach the model cleaned, capped, and under unique names."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mcp_types import Tool, ToolAnnotations

from helix_desktop.domain.messages import display_name
from helix_desktop.domain.unicode_safety import first_hidden
from helix_desktop.mcp.client.exposed_tool import (
    MAX_SCHEMA_CHARS,
    clean_schema,
    expose_tool,
    exposed_name,
    sanitize_text,
)
from helix_desktop.mcp.client.process import MAX_CHARS, REDACTED, StderrLog
from tests.support.tables import for_each

SERVERS = st.from_regex(r"[a-z0-9][a-z0-9-]{0,31}", fullmatch=True)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=20,
)


@given(SERVERS, st.text(max_size=120), st.text(max_size=120))
def test_exposed_names_are_valid_and_unique(server: str, tool: str, other: str) -> None:
    """Every provider accepts them, they include the server, and two tools never share one."""
    name = exposed_name(server, tool)
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name)
    assert name.startswith(f"mcp__{server}__"[:40])
    assert (name == exposed_name(server, other)) == (tool == other)


@given(
    st.text(max_size=400), st.text(max_size=3_000), st.dictionaries(st.text(max_size=12), JSON, max_size=5)
)
def test_any_offered_tool_can_be_sent(title: str, description: str, schema: dict[str, Any]) -> None:
    """No hidden character, no unbounded text, an object schema; or a reason why it is not offered."""
    exposed = expose_tool("x", Tool(name="tool", title=title, description=description, input_schema=schema))
    parameters = json.dumps(exposed.spec.parameters, ensure_ascii=False)
    assert len(exposed.spec.description) < 2_100
    assert not first_hidden(exposed.spec.description)
    assert exposed.spec.parameters["type"] == "object"
    assert len(parameters) <= MAX_SCHEMA_CHARS
    if not exposed.rejection:
        assert isinstance(exposed.spec.parameters["properties"], dict)
        assert not first_hidden(json.dumps(exposed.spec.parameters))


def test_our_markers_lose_their_brackets() -> None:
    """A description cannot imitate a marker, a summary or a note."""
    text = "[CACHED] x [Conversation History Summary] [Folded steps] [Observations] [ordinary]"
    assert sanitize_text(text, 500) == (
        "(CACHED) x (Conversation History Summary) (Folded steps) (Observations) [ordinary]"
    )
    newer = "[Summary of older steps] [summary of older messages]"
    assert sanitize_text(newer, 500) == "(Summary of older steps) (summary of older messages)"


def test_a_schema_keeps_what_a_model_needs() -> None:
    """Types, names, choices and inner references stay; outer references and invalid roots go."""
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": ["a"],
        "anyOf": [{"required": ["a"]}], "additionalProperties": False,
        "properties": {"a": {"enum": ["x", 1, None]}, "b": {"$ref": "#/$defs/B"}, "c": {"$ref": "file:///x"}},
        "$defs": {"B": {"type": "string", "description": "d" * 900}},
    }  # fmt: skip
    hints = ToolAnnotations(read_only_hint=True)
    exposed = expose_tool("x", Tool(name="t", description="Does it.", input_schema=schema, annotations=hints))
    assert exposed.spec.parameters == {
        "type": "object", "required": ["a"], "additionalProperties": False,
        "properties": {"a": {"enum": ["x", 1, None]}, "b": {"$ref": "#/$defs/B"}, "c": {}},
        "$defs": {"B": {"type": "string", "description": "d" * 499 + "…"}},
    }  # fmt: skip
    assert exposed.claims_read_only


def test_a_deep_schema_is_refused() -> None:
    """Endless nesting would exhaust any code that walks it."""
    schema: dict[str, Any] = {}
    for _ in range(200):
        schema = {"properties": {"x": schema}}
    assert (
        expose_tool("x", Tool(name="t", input_schema=schema)).rejection == "Its schema is nested too deeply."
    )


@given(st.lists(st.text(max_size=300), max_size=40))
def test_stderr_output_is_bounded_and_readable(pieces: list[str]) -> None:
    """Any output: only a limited amount is kept, and no control character reaches the screen."""
    stderr_log = StderrLog()
    for piece in pieces:
        stderr_log.add(piece)
    assert len(stderr_log.text) <= MAX_CHARS + 3_000
    assert not first_hidden(stderr_log.text)


def test_stderr_output_keeps_the_end_and_hides_secrets() -> None:
    """Known and likely secrets are never shown; the newest lines stay."""
    stderr_log = StderrLog()
    stderr_log.set_secrets(["hunter2!", "abc"])
    stderr_log.add(
        "login with hunter2! ok, abc stays\nAuthorization: Bearer eyJhbGciOi\napi_key=12345 next\n"
    )
    assert stderr_log.text.splitlines() == [
        f"login with {REDACTED} ok, abc stays",
        f"Authorization: Bearer {REDACTED}",
        f"api_key= {REDACTED} next",
    ]
    for number in range(5_000):
        stderr_log.add(f"line {number} of the log, long enough to fill it\n")
    assert stderr_log.last_line == "line 4999 of the log, long enough to fill it"
    assert stderr_log.dropped_lines > 1_000
    assert "earlier lines are not kept" in stderr_log.text.splitlines()[0]
    stderr_log.note("It ended with exit code 1.")
    assert stderr_log.last_line == "line 4999 of the log, long enough to fill it"
    stderr_log.add("\x1b[31mred\x1b[0m \u202etext\n")
    assert stderr_log.last_line == "red \\u202etext"


@given(SERVERS, st.text("abcXYZ_-1", min_size=1, max_size=20))
def test_the_user_sees_server_and_tool(server: str, tool: str) -> None:
    """The model's name for a tool leads back to the displayed one; our own tools keep theirs."""
    assert display_name(exposed_name(server, tool)) == f"{server}: {tool}"
    assert display_name(tool) == tool


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


SCHEMA_PARTS = st.recursive(
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


@given(
    st.dictionaries(
        st.sampled_from(["type", "properties", "required", "enum", "$defs", "items"]), SCHEMA_PARTS
    )
)
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
    own = list[str]()
    parts = list[Any]()
    if isinstance(value, dict):
        parts = [*value.values()]
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
    elif isinstance(value, list):
        parts = value
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
