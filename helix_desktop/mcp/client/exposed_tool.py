"""What a server offers, made fit to be told: its words are a stranger's, capped and without hidden signs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from helix_desktop.context.summaries.transcript_lines import escape_markers
from helix_desktop.domain.messages import ToolSpec
from helix_desktop.domain.unicode_safety import first_hidden, is_hidden
from helix_desktop.mcp.client.tool_names import exposed_name

MAX_DESCRIPTION_CHARS = 2_000  # characters said of a tool
MAX_ARGUMENT_CHARS = 500  # characters said of an argument
MAX_SCHEMA_CHARS = 16_000  # characters of a schema as JSON; a few thousand tokens in every request
_MAX_DEPTH = 16
_TEXT_KEYS = frozenset({"description", "title", "$comment"})
# Providers refuse a request with one of these at the top of a tool's arguments.
_FORBIDDEN_TOP_KEYS = frozenset({"oneOf", "anyOf", "allOf", "not", "enum", "if", "then", "else", "$schema"})


class ExposedTool(msgspec.Struct, frozen=True):
    """A tool of a server: its own name, what the model is told of it, and what it claims to do.

    `refused` says why it is not told at all. `reads` is the server's claim that it changes nothing.
    """

    tool: str
    spec: ToolSpec
    title: str = ""
    claims_read_only: bool = False
    rejection: str = ""


def expose_tool(
    server: str,
    tool: str,
    title: str,
    server_description: str,
    schema: Mapping[str, Any],
    claims_read_only: bool,
) -> ExposedTool:
    """A server's tool as it is told, or why it is not."""
    refused, parameters = "", {"type": "object"}
    try:
        parameters = _clean_schema(schema)
    except ValueError as error:
        refused = f"{error}."
    if not tool or len(tool) > MAX_ARGUMENT_CHARS or first_hidden(tool):
        refused = "Its name is empty, too long or holds hidden signs."
    shown = sanitize_text(title, 80) or sanitize_text(tool, 80)
    description = sanitize_text(server_description, MAX_DESCRIPTION_CHARS) or shown
    spec = ToolSpec(exposed_name(server, tool), f"[MCP server {server}] {description}", parameters)
    return ExposedTool(tool, spec, shown, claims_read_only, refused)


def sanitize_text(text: str, max_chars: int) -> str:
    """A stranger's text without hidden signs and look-alikes of our marks, cut to `most` characters."""
    text = escape_markers("".join(sign for sign in text[: max_chars * 4] if not is_hidden(sign)).strip())
    return text if len(text) <= max_chars else f"{text[: max_chars - 1]}…"


def _clean_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a tool's arguments, cleaned. Raises ValueError with why it cannot be told."""
    fit = {key: part for key, part in _clean_object(schema, 0).items() if key not in _FORBIDDEN_TOP_KEYS}
    fit["type"] = "object"
    if not isinstance(fit.get("properties"), dict):
        fit["properties"] = {}
    size = len(json.dumps(fit))
    if size > MAX_SCHEMA_CHARS:
        raise ValueError(f"Its schema has {size:,} characters; {MAX_SCHEMA_CHARS:,} are the most")
    return fit


def _clean_object(schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
    if depth > _MAX_DEPTH:
        raise ValueError("Its schema is nested too deeply")
    found: dict[str, Any] = {}
    for key, part in schema.items():
        _reject_hidden(key)
        if key == "$ref" and not str(part).startswith("#"):
            continue
        if key in _TEXT_KEYS and isinstance(part, str):
            found[key] = sanitize_text(part, MAX_ARGUMENT_CHARS)
        else:
            found[key] = _clean_part(part, depth)
    return found


def _clean_part(part: Any, depth: int) -> Any:
    match part:
        case dict():
            return _clean_object(part, depth + 1)
        case list():
            if depth > _MAX_DEPTH:
                raise ValueError("Its schema is nested too deeply")
            return [_clean_part(one, depth + 1) for one in part]
        case str():
            _reject_hidden(part)
            return part
        case _:
            return part


def _reject_hidden(text: str) -> None:
    if first_hidden(text):
        raise ValueError("Its schema holds hidden signs")
