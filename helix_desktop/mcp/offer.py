"""What a server offers, made fit to be told: its words are a stranger's, capped and without hidden signs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from helix_desktop.context.message import ToolSpec
from helix_desktop.context.record import defused
from helix_desktop.context.signs import first_hidden, is_hidden
from helix_desktop.mcp.names import told_name

LONGEST_TOOL = 2_000  # characters said of a tool
LONGEST_ARGUMENT = 500  # characters said of an argument
LARGEST_SCHEMA = 16_000  # characters of a schema as JSON; a few thousand tokens in every request
_DEEPEST = 16
_SAID = frozenset({"description", "title", "$comment"})
# Providers refuse a request with one of these at the top of a tool's arguments.
_NOT_ON_TOP = frozenset({"oneOf", "anyOf", "allOf", "not", "enum", "if", "then", "else", "$schema"})


class Offer(msgspec.Struct, frozen=True):
    """A tool of a server: its own name, what the model is told of it, and what it claims to do.

    `refused` says why it is not told at all. `reads` is the server's claim that it changes nothing.
    """

    tool: str
    spec: ToolSpec
    title: str = ""
    reads: bool = False
    refused: str = ""


def offer(server: str, tool: str, title: str, said: str, schema: Mapping[str, Any], reads: bool) -> Offer:
    """A server's tool as it is told, or why it is not."""
    refused, parameters = "", {"type": "object"}
    try:
        parameters = _fit(schema)
    except ValueError as error:
        refused = f"{error}."
    if not tool or len(tool) > LONGEST_ARGUMENT or first_hidden(tool):
        refused = "Its name is empty, too long or holds hidden signs."
    shown = plain(title, 80) or plain(tool, 80)
    description = plain(said, LONGEST_TOOL) or shown
    spec = ToolSpec(told_name(server, tool), f"[MCP server {server}] {description}", parameters)
    return Offer(tool, spec, shown, reads, refused)


def plain(text: str, most: int) -> str:
    """A stranger's text without hidden signs and look-alikes of our marks, cut to `most` characters."""
    text = defused("".join(sign for sign in text[: most * 4] if not is_hidden(sign)).strip())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _fit(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a tool's arguments, cleaned. Raises ValueError with why it cannot be told."""
    fit = {key: part for key, part in _cleaned(schema, 0).items() if key not in _NOT_ON_TOP}
    fit["type"] = "object"
    if not isinstance(fit.get("properties"), dict):
        fit["properties"] = {}
    size = len(json.dumps(fit))
    if size > LARGEST_SCHEMA:
        raise ValueError(f"Its schema has {size:,} characters; {LARGEST_SCHEMA:,} are the most")
    return fit


def _cleaned(schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
    if depth > _DEEPEST:
        raise ValueError("Its schema is nested too deeply")
    found: dict[str, Any] = {}
    for key, part in schema.items():
        _seen(key)
        if key == "$ref" and not str(part).startswith("#"):
            continue
        if key in _SAID and isinstance(part, str):
            found[key] = plain(part, LONGEST_ARGUMENT)
        else:
            found[key] = _part(part, depth)
    return found


def _part(part: Any, depth: int) -> Any:
    match part:
        case dict():
            return _cleaned(part, depth + 1)
        case list():
            if depth > _DEEPEST:
                raise ValueError("Its schema is nested too deeply")
            return [_part(one, depth + 1) for one in part]
        case str():
            _seen(part)
            return part
        case _:
            return part


def _seen(text: str) -> None:
    if first_hidden(text):
        raise ValueError("Its schema holds hidden signs")
