"""Prepare a server's tools for the model: untrusted texts are capped, schemas cleaned.

What JSON Schema does not allow is left out, keyword by keyword; the rest means what it meant. A reference
back to what it stands in is allowed there, but several providers refuse it or come to no end with it: it
becomes the type of what it names, and says what it names.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import msgspec

from helix_desktop.context.summaries.summary_task import escape_markers
from helix_desktop.domain.messages import MCP_PREFIX, ToolSpec
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.translatable_text import OptionalText, TextContext, verbatim
from helix_desktop.domain.unicode_safety import first_hidden, is_hidden

if TYPE_CHECKING:
    import mcp_types as types

_text = TextContext("MCP")


REJECTION = "helix-desktop/rejection"
"""The key of the reason why a tool can't be used, in its `_meta`."""

MAX_DEPTH = 16
MAX_SCHEMA_CHARS = 16_000  # characters of a schema as JSON; a few thousand tokens in every request

# Providers refuse a request with one of these at the top of a tool's arguments.
_FORBIDDEN_TOP_KEYS = frozenset({"oneOf", "anyOf", "allOf", "not", "enum", "if", "then", "else", "$schema"})
_TEXT_KEYS = frozenset({"description", "title", "$comment"})
_TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_OTHER_TYPES = {
    "str": "string",
    "text": "string",
    "int": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "bool": "boolean",
    "dict": "object",
    "map": "object",
    "list": "array",
    "tuple": "array",
    "none": "null",
}
"""Names of types in programming languages, which servers pass on."""

_SCHEMAS_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_SCHEMA_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SCHEMAS = frozenset(
    {
        *("additionalProperties", "items", "contains", "propertyNames", "not", "if", "then", "else"),
        *("unevaluatedItems", "unevaluatedProperties", "additionalItems", "contentSchema"),
    }
)
_NUMBERS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_COUNTS = frozenset(
    {
        *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
        *("minContains", "maxContains"),
    }
)
_STRINGS = frozenset({"format", "pattern", "$ref", "$id", "$anchor", "contentEncoding", "contentMediaType"})
_FLAGS = frozenset({"uniqueItems", "deprecated", "readOnly", "writeOnly", "nullable"})
_DATA = frozenset({"default", "const", "enum", "examples", "example"})
"""Keywords whose values are data: a key in them is no keyword."""
_OTHER_REFERENCES = frozenset({"$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor"})
"""References whose place depends on who refers; no provider follows them."""
_NOTHING = object()
_Place = tuple[str, ...]
"""Where a part of a schema stands: the keys and numbers that lead to it."""


def clean_schema(schema: Mapping[str, Any], clean_text: Callable[[str], str]) -> dict[str, Any]:
    """Return the schema of a tool's arguments as providers take it; `clean_text` cleans its descriptions.

    Raises ValueError with the reason if it cannot be used.
    """
    try:
        schema = _without_reference_at_top(schema)
        cleaned = _Cleaner(schema, clean_text).schema(schema, 0)
    except RecursionError:
        raise ValueError("Its schema is nested too deeply") from None
    cleaned = {key: part for key, part in cleaned.items() if key not in _FORBIDDEN_TOP_KEYS}
    cleaned["type"] = "object"
    cleaned.setdefault("properties", {})
    size = len(json.dumps(cleaned))
    if size > MAX_SCHEMA_CHARS:
        raise ValueError(f"Its schema has {size:,} characters; {MAX_SCHEMA_CHARS:,} are the most")
    return cleaned


def _without_reference_at_top(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema whose top is not just a reference into it: providers read the arguments there."""
    followed: set[str] = set()
    while isinstance(reference := schema.get("$ref"), str) and reference not in followed:
        followed.add(reference)
        target = _resolve(schema, reference)
        rest = {key: part for key, part in schema.items() if key != "$ref"}
        schema = {**target, **rest} if isinstance(target, dict) else rest
    return {key: part for key, part in schema.items() if key != "$ref"}


def _place(reference: str) -> _Place | None:
    """Return the place that a reference leads to; None for one that leads out of its document."""
    if reference == "#":
        return ()
    if not reference.startswith("#/"):
        return None
    steps = unquote(reference).removeprefix("#/").split("/")
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in steps)


def _resolve(root: Mapping[str, Any], reference: str) -> Any:
    """Return what a reference leads to; None if there is nothing."""
    place = _place(reference)
    part = root
    for step in place or ():
        if isinstance(part, dict) and step in part:
            part = part[step]
        elif isinstance(part, list) and step.isdecimal() and int(step) < len(part):
            part = part[int(step)]
        else:
            return None
    return None if place is None else part


class _Circles:
    """Finds the references that lead back to what they stand in, at once or through others."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._open: list[_Place] = []
        self._done: set[_Place] = set()
        self.closing: set[int] = set()
        """The ids of the schemas whose reference closes a circle."""
        self._visit((), root)

    def _visit(self, place: _Place, part: Any) -> None:
        if place in self._done:
            return
        self._open.append(place)
        items: Iterable[tuple[Any, Any]] = ()
        if isinstance(part, dict):
            items = part.items()
        elif isinstance(part, list):
            items = enumerate(part)
        for key, value in items:
            if isinstance(value, dict | list) and key not in _DATA:
                self._visit((*place, str(key)), value)
        reference = part.get("$ref") if isinstance(part, dict) else None
        if isinstance(reference, str) and (target := _place(reference)) is not None:
            if any(inside[: len(target)] == target for inside in self._open):
                self.closing.add(id(part))
            else:
                self._visit(target, _resolve(self._root, reference))
        self._open.pop()
        self._done.add(place)


class _Cleaner:
    """Cleans the parts of one schema, whose references lead into `root`."""

    def __init__(self, root: Mapping[str, Any], clean_text: Callable[[str], str]) -> None:
        self._root = root
        self._clean_text = clean_text
        self._closing = _Circles(root).closing

    def schema(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        if depth > MAX_DEPTH:
            raise ValueError("Its schema is nested too deeply")
        cleaned: dict[str, Any] = {}
        for key, part in schema.items():
            if part is None and key not in _DATA:
                continue
            value = self._keyword(key, part, depth)
            if value is not _NOTHING:
                cleaned[key] = value
        if id(schema) in self._closing and (reference := cleaned.pop("$ref", "")):
            self._describe_target(cleaned, reference)
        return cleaned

    def _describe_target(self, cleaned: dict[str, Any], reference: str) -> None:
        """Say in place of a reference what it leads to."""
        target = _resolve(self._root, reference)
        name = self._clean_text(reference.rpartition("/")[2])
        if not isinstance(target, dict) or not target.keys() - {"$ref"}:
            return  # to nothing but references
        kind = "object" if name == "#" else _type(target.get("type"))
        if kind is not _NOTHING:
            cleaned.setdefault("type", kind)
        words = "Has the form of all arguments." if name == "#" else f"Has the form of {name}."
        cleaned.setdefault("description", words)

    def _keyword(self, key: str, part: Any, depth: int) -> Any:
        """Return the value of a keyword; _NOTHING if it can't have that."""
        if key in _OTHER_REFERENCES:
            return _NOTHING
        if key in _TEXT_KEYS:
            return self._clean_text(part) if isinstance(part, str) else _NOTHING
        if key == "type":
            return _type(part)
        if key == "required":
            return _names(part)
        if key == "enum":
            return self._data(part, depth) if isinstance(part, list) and part else _NOTHING
        if key == "examples":
            return self._data(part, depth) if isinstance(part, list) else _NOTHING
        if key in _SCHEMAS_BY_NAME:
            return self._by_name(part, depth)
        if key in _SCHEMA_LISTS or (key == "items" and isinstance(part, list)):
            return self._list(part, depth)
        if key in _SCHEMAS:
            return self._part(part, depth) if isinstance(part, dict | bool) else _NOTHING
        if key in _STRINGS:
            return part if isinstance(part, str) and self._is_usable(key, part) else _NOTHING
        return self._plain(key, part, depth)

    def _plain(self, key: str, part: Any, depth: int) -> Any:
        if key in _NUMBERS:
            is_usable = _is_number(part) and (key != "multipleOf" or part > 0)
            return part if is_usable else _NOTHING
        if key in _COUNTS:
            return int(part) if _is_number(part) and part >= 0 and part == int(part) else _NOTHING
        if key in _FLAGS:
            return part if isinstance(part, bool) else _NOTHING
        return self._data(part, depth)

    def _by_name(self, part: Any, depth: int) -> Any:
        if not isinstance(part, dict):
            return _NOTHING
        return {name: self._part(schema, depth + 1) for name, schema in part.items()}

    def _list(self, part: Any, depth: int) -> Any:
        if not isinstance(part, list) or not part:
            return _NOTHING
        return [self._part(schema, depth + 1) for schema in part]

    def _part(self, schema: Any, depth: int) -> Any:
        """Return a schema within another one; what is none allows anything."""
        if isinstance(schema, bool):
            return schema
        return self.schema(schema, depth + 1) if isinstance(schema, dict) else {}

    def _data(self, value: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise ValueError("Its schema is nested too deeply")
        match value:
            case dict():
                return {key: self._data(part, depth + 1) for key, part in value.items()}
            case list():
                return [self._data(part, depth + 1) for part in value]
            case float() if not math.isfinite(value):
                return None
        return value

    def _is_usable(self, key: str, part: str) -> bool:
        if key == "$ref":
            is_left_out = (_place(part) or ("",))[0] in _FORBIDDEN_TOP_KEYS
            return not is_left_out and isinstance(_resolve(self._root, part), dict | bool)
        if key == "pattern":
            try:
                re.compile(part)
            except (re.error, RecursionError, OverflowError):
                return False
        return True


def _type(part: Any) -> Any:
    """Return the types that JSON Schema has, in its own words; _NOTHING for what may be anything."""
    listed = part if isinstance(part, list) else [part]
    type_names = [_OTHER_TYPES.get(name.lower(), name.lower()) for name in listed if isinstance(name, str)]
    types = list(dict.fromkeys(name for name in type_names if name in _TYPES))
    if not types or len(type_names) != len(listed) or any(name not in _TYPES for name in type_names):
        return _NOTHING
    return types if isinstance(part, list) else types[0]


def _names(part: Any) -> Any:
    """Return the names of required arguments; _NOTHING where they are not listed."""
    if not isinstance(part, list):
        return _NOTHING
    return list(dict.fromkeys(name for name in part if isinstance(name, str)))


def _is_number(part: Any) -> bool:
    return isinstance(part, int | float) and not isinstance(part, bool) and math.isfinite(part)


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
    if first_hidden(json.dumps(cleaned, ensure_ascii=False)):
        raise ValueError("Its schema holds hidden signs")
    return cleaned
