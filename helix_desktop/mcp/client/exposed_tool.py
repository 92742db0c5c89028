"""Prepare a server's tools for the model: its texts are untrusted, so they are capped and sanitized."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from helix_desktop.context.summaries.transcript_lines import escape_markers
from helix_desktop.domain.messages import MCP_PREFIX, ToolSpec
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.translatable_text import OptionalText, TextContext, verbatim
from helix_desktop.domain.unicode_safety import first_hidden, is_hidden
from helix_desktop.mcp.client.message_repair import REJECTION
from helix_desktop.mcp.client.tool_schema import clean_schema

_text = TextContext("MCP")

if TYPE_CHECKING:
    import mcp_types as types

MAX_NAME_CHARS = 64  # characters that every known provider takes
MAX_DESCRIPTION_CHARS = 2_000  # characters of a tool's description
MAX_ARGUMENT_CHARS = 500  # characters of an argument's description
_NAME_HASH_DIGITS = 8


class ExposedTool(msgspec.Struct, frozen=True):
    """A tool of a server: its own name, its description for the model, and its claims.

    `rejection` is the reason why the tool is not exposed; empty if it is. `claims_read_only` is the server's
    claim that the tool changes nothing. `description` is the server's as it came, but cut; `digest` is that
    of everything the server says of the tool.
    """

    tool: str
    spec: ToolSpec
    title: str = ""
    claims_read_only: bool = False
    rejection: OptionalText = ""
    description: str = ""
    digest: str = ""


def exposed_name(server: str, tool: str) -> str:
    """Return `mcp__SERVER__TOOL`; a changed or shortened name ends with a hash of the tool's name."""
    plain = re.sub(r"[^a-zA-Z0-9_-]", "_", tool)
    name = f"{MCP_PREFIX}{server}__{plain}"
    if plain == tool and tool and len(name) <= MAX_NAME_CHARS:
        return name
    name_hash = hashlib.sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()[:_NAME_HASH_DIGITS]
    return f"{name[: MAX_NAME_CHARS - _NAME_HASH_DIGITS - 1]}_{name_hash}"


def expose_tool(server: str, tool: types.Tool) -> ExposedTool:
    """Return a server's tool as the model sees it, or with the reason why it is rejected."""
    rejection: OptionalText = ""
    parameters: dict[str, Any] = {"type": "object"}
    try:
        parameters = _clean_parameters(tool.input_schema)
    except ValueError as error:
        rejection = verbatim(f"{error}.")
    if not tool.name or len(tool.name) > MAX_ARGUMENT_CHARS or first_hidden(tool.name):
        rejection = _text("Its name is empty, too long or contains hidden characters.")
    if unusable := (tool.meta or {}).get(REJECTION):
        rejection = verbatim(str(unusable))
    hints = tool.annotations
    server_title = tool.title or (hints.title if hints else "") or ""
    title = sanitize_text(server_title, 80) or sanitize_text(tool.name, 80)
    description = sanitize_text(tool.description or "", MAX_DESCRIPTION_CHARS) or title
    spec = ToolSpec(exposed_name(server, tool.name), f"[MCP server {server}] {description}", parameters)
    server_text = ellipsize((tool.description or "").strip(), MAX_DESCRIPTION_CHARS)
    claims_read_only = bool(hints and hints.read_only_hint)
    digest = "" if rejection else _tool_digest(tool)
    return ExposedTool(tool.name, spec, title, claims_read_only, rejection, server_text, digest)


def without_twins(offers: list[ExposedTool]) -> list[ExposedTool]:
    """Return tools of which no two have one name: providers refuse such a request."""
    names: set[str] = set()
    unique: list[ExposedTool] = []
    twin = _text("Another tool of the server has its name.")
    for offer in offers:
        is_twin = offer.spec.name in names and not offer.rejection
        names.add(offer.spec.name)
        unique.append(msgspec.structs.replace(offer, rejection=twin, digest="") if is_twin else offer)
    return unique


def _tool_digest(tool: types.Tool) -> str:
    """Return the digest of what the server says of a tool: a changed one may do something else.

    As the server sent it: a change of how we clean it asks nobody again.
    """
    hints = tool.annotations
    parts = [tool.description or "", tool.input_schema, bool(hints and hints.read_only_hint)]
    text = json.dumps(parts, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def sanitize_text(text: str, max_chars: int) -> str:
    """Remove hidden characters and imitations of our markers from an untrusted text; cut to `max_chars`."""
    text = escape_markers("".join(char for char in text[: max_chars * 4] if not is_hidden(char)).strip())
    return ellipsize(text, max_chars)


def _clean_parameters(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Clean the schema of a tool's arguments. Raises ValueError with the reason if it cannot be exposed."""
    cleaned = clean_schema(schema, lambda text: sanitize_text(text, MAX_ARGUMENT_CHARS))
    _reject_hidden(json.dumps(cleaned, ensure_ascii=False))
    return cleaned


def _reject_hidden(text: str) -> None:
    if first_hidden(text):
        raise ValueError("Its schema holds hidden signs")
