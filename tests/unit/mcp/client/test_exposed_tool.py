"""What servers say reaches the model cleaned, capped, and under names that are nobody else's."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from mcp_types import Tool, ToolAnnotations

from helix_desktop.domain.messages import display_name
from helix_desktop.domain.unicode_safety import first_hidden
from helix_desktop.mcp.client.exposed_tool import MAX_SCHEMA_CHARS, expose_tool, exposed_name, sanitize_text
from helix_desktop.mcp.client.stderr_log import MAX_CHARS, REDACTED, StderrLog

SERVERS = st.from_regex(r"[a-z0-9][a-z0-9-]{0,31}", fullmatch=True)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=20,
)


@given(SERVERS, st.text(max_size=120), st.text(max_size=120))
def test_told_names_are_usable_and_tell_tools_apart(server: str, one: str, other: str) -> None:
    """Every provider takes them, they say whose they are, and two tools never get one name."""
    name = exposed_name(server, one)
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name)
    assert name.startswith(f"mcp__{server}__"[:40])
    assert (name == exposed_name(server, other)) == (one == other)


@given(
    st.text(max_size=400), st.text(max_size=3_000), st.dictionaries(st.text(max_size=12), JSON, max_size=5)
)
def test_whatever_is_offered_can_be_sent(title: str, said: str, schema: dict[str, Any]) -> None:
    """No hidden sign, no boundless text, an object at the top; or a reason why it is not told."""
    found = expose_tool("x", Tool(name="tool", title=title, description=said, input_schema=schema))
    told = json.dumps(found.spec.parameters, ensure_ascii=False)
    assert len(found.spec.description) < 2_100
    assert not first_hidden(found.spec.description)
    assert found.spec.parameters["type"] == "object"
    assert len(told) <= MAX_SCHEMA_CHARS
    if not found.rejection:
        assert isinstance(found.spec.parameters["properties"], dict)
        assert not first_hidden(json.dumps(found.spec.parameters))


def test_marks_of_ours_lose_their_brackets() -> None:
    """A description cannot pass for a marker, a summary or a note."""
    said = "[CACHED] x [Conversation History Summary] [Folded steps] [Observations] [ordinary]"
    assert sanitize_text(said, 500) == (
        "(CACHED) x (Conversation History Summary) (Folded steps) (Observations) [ordinary]"
    )


def test_a_schema_keeps_what_a_model_needs() -> None:
    """Types, names, choices and inner references stay; outer references and odd tops go."""
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": ["a"],
        "anyOf": [{"required": ["a"]}], "additionalProperties": False,
        "properties": {"a": {"enum": ["x", 1, None]}, "b": {"$ref": "#/$defs/B"}, "c": {"$ref": "file:///x"}},
        "$defs": {"B": {"type": "string", "description": "d" * 900}},
    }  # fmt: skip
    hints = ToolAnnotations(read_only_hint=True)
    found = expose_tool("x", Tool(name="t", description="Does it.", input_schema=schema, annotations=hints))
    assert found.spec.parameters == {
        "type": "object", "required": ["a"], "additionalProperties": False,
        "properties": {"a": {"enum": ["x", 1, None]}, "b": {"$ref": "#/$defs/B"}, "c": {}},
        "$defs": {"B": {"type": "string", "description": "d" * 499 + "…"}},
    }  # fmt: skip
    assert found.claims_read_only


def test_a_deep_schema_is_refused() -> None:
    """Nesting without end would exhaust whoever walks it."""
    schema: dict[str, Any] = {}
    for _ in range(200):
        schema = {"properties": {"x": schema}}
    assert (
        expose_tool("x", Tool(name="t", input_schema=schema)).rejection == "Its schema is nested too deeply."
    )


@given(st.lists(st.text(max_size=300), max_size=40))
def test_chatter_is_bounded_and_readable(pieces: list[str]) -> None:
    """Whatever is said: no more than so much is kept, and nothing steers the screen."""
    chatter = StderrLog()
    for piece in pieces:
        chatter.add(piece)
    assert len(chatter.text) <= MAX_CHARS + 3_000
    assert not first_hidden(chatter.text)


def test_chatter_keeps_the_end_and_hides_secrets() -> None:
    """Known secrets never show, nor what looks like one; the newest lines stay."""
    chatter = StderrLog()
    chatter.set_secrets(["hunter2!", "abc"])
    chatter.add("login with hunter2! ok, abc stays\nAuthorization: Bearer eyJhbGciOi\napi_key=12345 next\n")
    assert chatter.text.splitlines() == [
        f"login with {REDACTED} ok, abc stays",
        f"Authorization: Bearer {REDACTED}",
        f"api_key= {REDACTED} next",
    ]
    for number in range(5_000):
        chatter.add(f"line {number} of the log, long enough to fill it\n")
    assert chatter.last_line == "line 4999 of the log, long enough to fill it"
    assert chatter.dropped_lines > 1_000
    assert "earlier lines are not kept" in chatter.text.splitlines()[0]
    chatter.note("It ended with exit code 1.")
    assert chatter.last_line == "line 4999 of the log, long enough to fill it"
    chatter.add("\x1b[31mred\x1b[0m \u202etext\n")
    assert chatter.last_line == "red \\u202etext"


@given(SERVERS, st.text("abcXYZ_-1", min_size=1, max_size=20))
def test_people_read_server_and_tool(server: str, tool: str) -> None:
    """The name that the model is told leads back to what people call it; our own tools keep theirs."""
    assert display_name(exposed_name(server, tool)) == f"{server}: {tool}"
    assert display_name(tool) == tool
