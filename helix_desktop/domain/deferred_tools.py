"""Deferred tools: those of MCP servers in a request that only names them, since it has too many.

Adding the definitions of found tools to a request would void the provider's prompt cache, which begins with
the tools. So a model reads a schema in the answer to `find_tools`, and calls by `call_tool`, which every
provider takes. That stands in requests alone: everybody else sees the call of the tool itself.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import SequenceMatcher, get_close_matches
from itertools import chain, groupby
from typing import Any

import msgspec

from helix_desktop.domain.messages import CALL_TOOL, FIND_TOOLS, MCP_PREFIX, ModelRequest, ToolCall, ToolSpec
from helix_desktop.domain.text_format import ellipsize, pluralize

MAX_WHOLE_TOOLS = 40
"""With more tools than this a request only names those of MCP servers."""
MAX_LIST_CHARS = 60_000  # of the names with their lines: about 15,000 tokens
_LINE_CHARS = 80
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")
_MIN_STEM = 3  # letters: shorter words match only as they are
_SMALL_WORDS = frozenset((
    "a", "an", "and", "any", "are", "as", "at", "be", "by", "can", "do", "for", "from", "get", "has",
    "if", "in", "into", "is", "it", "its", "new", "no", "not", "of", "on", "one", "or", "per", "set",
    "so", "the", "to", "up", "use", "via", "was", "you",
))  # fmt: skip
"""Words of sentences that tell no tool from another; others of two and three letters do: SQL, PDF, AWS."""
_MAX_NEAR = 5  # names
_MIN_LIKENESS = 0.75  # a name's likeness to itself is 2
_IN_NAME = 4.0  # weight of a word in a tool's name
_IN_SERVER = 2.0  # weight of one in the name of its server
_IN_TEXT = 1.0  # weight of one in its description or parameters


def defers_tools(specs: Sequence[ToolSpec]) -> bool:
    """Return True if a request with these tools only names those of MCP servers."""
    proxies = sum(spec.name in (FIND_TOOLS, CALL_TOOL) for spec in specs)
    is_large = len(specs) - proxies > MAX_WHOLE_TOOLS
    return is_large and proxies > 1 and any(spec.is_mcp for spec in specs)


def request_tools(specs: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """Return the tools as a request holds them; `specs` are all, with `find_tools` and `call_tool`."""
    if not defers_tools(specs):
        return tuple(spec for spec in specs if spec.name not in (FIND_TOOLS, CALL_TOOL))
    tool_list = list_tools([spec for spec in specs if spec.is_mcp])
    return tuple(
        _with_list(spec, tool_list) if spec.name == FIND_TOOLS else spec for spec in specs if not spec.is_mcp
    )


def _with_list(spec: ToolSpec, tool_list: str) -> ToolSpec:
    """Return `find_tools` with the list in the description of its argument.

    OpenAI limits the description of a tool to 1,024 characters; nobody limits that of an argument.
    """
    names = spec.parameters["properties"]["names"]
    names = {**names, "description": f"{names['description']}\n{tool_list}"}
    properties = {**spec.parameters["properties"], "names": names}
    return msgspec.structs.replace(spec, parameters={**spec.parameters, "properties": properties})


def list_tools(specs: Sequence[ToolSpec]) -> str:
    """Return the names of tools, by server, with as many of their lines as there is room for."""
    lines: list[str] = []
    for server, group in groupby(specs, key=_server):
        lines += [f"{MCP_PREFIX}{server}__ and:", *map(tool_line, group)]
    room = MAX_LIST_CHARS - sum(line.index(":") + 2 for line in lines)  # of names alone
    shown = ""
    for number, line in enumerate(lines):
        name, _, text = line.partition(":")
        room -= len(text)
        shown += f"{line if room >= 0 or not text else name}\n"
        if len(shown) > MAX_LIST_CHARS:
            rest = sum(not line.endswith(" and:") for line in lines[number + 1 :])
            return f"{shown}and {pluralize(rest, 'more tool')}: find them by words"
    return shown.rstrip()


def _server(spec: ToolSpec) -> str:
    return spec.name.removeprefix(MCP_PREFIX).partition("__")[0]


def tool_line(spec: ToolSpec) -> str:
    """Return the name of a tool without its server's, and the first sentence of its description."""
    text = spec.description.removeprefix(f"[MCP server {_server(spec)}] ").strip()
    name = spec.name.removeprefix(f"{MCP_PREFIX}{_server(spec)}__")
    return f"{name}: {ellipsize(_SENTENCE_END.split(text, maxsplit=1)[0], _LINE_CHARS)}"


def search_tools(specs: Sequence[ToolSpec], query: str) -> list[ToolSpec]:
    """Return the tools that match words, the best first; a word that few tools have counts for more.

    What matches less than half as well as the best is left out.
    """
    fields = [
        [
            (_IN_NAME, _stems(tool_line(spec).partition(":")[0])),
            (_IN_SERVER, _stems(_server(spec))),
            (_IN_TEXT, _telling_stems(" ".join([spec.description, *spec.parameters.get("properties", ())]))),
        ]
        for spec in specs
    ]
    counts = Counter(stem for parts in fields for stem in {*chain.from_iterable(part[1] for part in parts)})
    stems = sorted(stem for stem in _stems(query) if counts[stem])
    scores = [
        sum(
            math.log(1 + len(specs) / counts[stem])
            * max(weight if stem in part else 0.0 for weight, part in parts)
            for stem in stems
        )
        for parts in fields
    ]
    least = max(scores, default=0.0) / 2 or math.inf
    ordered = sorted(range(len(specs)), key=lambda number: -scores[number])
    return [specs[number] for number in ordered if scores[number] >= least]


def _telling_stems(text: str) -> frozenset[str]:
    """Return the words of a sentence without those like `for` and `the`, which in a name mean more."""
    return _stems(text) - _SMALL_WORDS


def _stems(text: str) -> frozenset[str]:
    """Return the words of a text or a name in lower case, without what forms plurals and tenses."""
    words = (word.lower() for word in _WORD.findall(text))
    return frozenset(
        stem if len(stem := re.sub(r"(?:e?s|ed|ing|e)$", "", word)) >= _MIN_STEM else word for word in words
    )


def near_names(name: str, names: Collection[str]) -> list[str]:
    """Return up to five names that are like an unknown one: by their letters, and by their words."""
    stems = _stems(name)
    end = name.rpartition("__")[2]

    def likeness(known: str) -> float:
        shared = (stems & _stems(known)) - {"mcp"}
        letters = SequenceMatcher(None, end, known.rpartition("__")[2]).ratio()
        return letters + len(shared) / len(stems | _stems(known))

    scores = {known: likeness(known) for known in names}
    return [
        known for known in sorted(names, key=lambda known: -scores[known]) if scores[known] > _MIN_LIKENESS
    ][:_MAX_NEAR]


class _CallToolArguments(msgspec.Struct):
    name: str
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


def unwrap_call(call: ToolCall, tools: Collection[str]) -> ToolCall:
    """Return the call of a tool that a model made by `call_tool`, in a request with `tools`.

    One that can't be read, or names no tool, stays what it is.
    """
    if call.name != CALL_TOOL:
        return call
    try:
        wrapped = msgspec.json.decode(call.arguments, type=_CallToolArguments)
        arguments = bytes(wrapped.arguments).decode()
        if arguments.startswith('"'):  # an object in quotes, as in the protocol of many servers
            arguments = msgspec.json.decode(arguments, type=str)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return call
    is_tool = wrapped.name.startswith(MCP_PREFIX) or wrapped.name in {*tools} - {CALL_TOOL}
    if not is_tool:
        return call
    if arguments == "null":
        arguments = "{}"
    return ToolCall(call.id, wrapped.name, arguments)


def wrap_calls(request: ModelRequest) -> ModelRequest:
    """Return a request with calls of deferred tools as calls of `call_tool`, as the model made them."""
    if all(spec.name != CALL_TOOL for spec in request.tools):
        return request
    messages = tuple(
        msgspec.structs.replace(message, calls=tuple(map(_wrap_call, message.calls)))
        if any(call.is_mcp for call in message.calls)
        else message
        for message in request.messages
    )
    return msgspec.structs.replace(request, messages=messages)


def _wrap_call(call: ToolCall) -> ToolCall:
    if not call.is_mcp:
        return call
    arguments = call.arguments or "{}"
    try:
        msgspec.json.decode(arguments, type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        arguments = json.dumps(arguments)
    return ToolCall(call.id, CALL_TOOL, f'{{"name": {json.dumps(call.name)}, "arguments": {arguments}}}')


_KINDS: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}


def argument_fault(schema: Any, value: Any, place: str = "") -> str:
    """Return what is surely wrong with arguments, or a part of them; empty if nothing is.

    References, alternatives and patterns are the server's to judge: one of its patterns could match forever.
    What stands in quotes for a number passes, as servers read it, and null for what may be left out.
    """
    if not isinstance(schema, dict) or schema.keys() & {"$ref", "anyOf", "oneOf", "allOf", "not", "if"}:
        return ""
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if kinds and not any(_is_a(value, kind) for kind in kinds):
        return f"{place or 'It'} must be {' or '.join(kinds)}, not {_kind_of(value)}."
    if isinstance(choices := schema.get("enum"), list) and value not in choices:
        return f"{place or 'It'} must be one of {ellipsize(json.dumps(choices, ensure_ascii=False), 400)}."
    return next(filter(None, _faults_within(schema, value, place)), "")


def _faults_within(schema: dict[str, Any], value: Any, place: str) -> Iterator[str]:
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield argument_fault(schema.get("items"), item, f"{place}[{number}]")
    if not isinstance(value, dict):
        return
    known = schema.get("properties", {})
    required = schema.get("required", [])
    names = {name: f"{place}.{name}".lstrip(".") for name in (*required, *value)}
    for name in required:
        if name not in value:
            yield f"{names[name]} is missing."
    for name, part in value.items():
        if name in known and not (part is None and name not in required):
            yield argument_fault(known[name], part, names[name])
        if (
            name not in known
            and schema.get("additionalProperties") is False
            and "patternProperties" not in schema
        ):
            near = get_close_matches(name, known, 1)
            yield f"There is no {names[name]}{f'; did you mean {near[0]}?' if near else '.'}"


def _is_a(value: Any, kind: str) -> bool:
    if isinstance(value, str) and kind in ("number", "integer", "boolean"):
        return bool(re.fullmatch(r"-?\d+(?:\.\d+)?|true|false", value))
    if kind == "integer" and isinstance(value, float) and not value.is_integer():
        return False
    return isinstance(value, _KINDS.get(kind, object)) and (kind == "boolean" or not isinstance(value, bool))


def _kind_of(value: Any) -> str:
    return next(kind for kind, types in _KINDS.items() if type(value) in types)
