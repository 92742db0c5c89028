"""The external interface as plain text by file, compared with golden files.

A golden file contains only externally visible names: fields, tags, options, calls. It names no class,
function or module of the product, so that these can be renamed freely.
"""

from __future__ import annotations

import enum
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect

GOLDEN_DIR = Path(__file__).parents[1] / "golden" / "interfaces"
WRITE_GOLDEN_VARIABLE = "HELIX_WRITE_GOLDEN"
"""With 1 in this variable, the golden files are written before they are compared."""

EVENT_PATH = ".event"
"""Events are not followed where they stand in something else: their own golden file has their fields."""
EVENT_ROW = "event of the log"
"""Stands there for the event."""

NOT_SENT = "nothing that can be sent"
"""Stands for code where data belongs."""

Rows = dict[str, str]
"""What stands at each place, in words."""
InterfaceRows = Mapping[str, Mapping[str, str]]
"""The rows of each part, by its name outside."""

_SCALARS: Mapping[type[inspect.Type], str] = {
    inspect.AnyType: "anything",
    inspect.BoolType: "boolean",
    inspect.BytesType: "bytes",
    inspect.FloatType: "number",
    inspect.IntType: "integer",
    inspect.NoneType: "null",
    inspect.RawType: "anything",
    inspect.StrType: "text",
}
_LIST_TYPES = (inspect.ListType, inspect.VarTupleType, inspect.SetType, inspect.FrozenSetType)
_BOUNDS = ("gt", "ge", "lt", "le", "multiple_of", "pattern", "min_length", "max_length")


def assert_matches_golden(name: str, current: InterfaceRows, dependents: str) -> None:
    """Fail with a readable difference from the golden file; `dependents` names those who rely on it."""
    path = GOLDEN_DIR / f"{name}.json"
    if os.environ.get(WRITE_GOLDEN_VARIABLE) == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(current, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    then: InterfaceRows = json.loads(path.read_text(encoding="utf-8"))
    differences = list(_differences(then, current))
    assert not differences, "\n".join(
        [
            f"{path.name} is not what it was:",
            *differences,
            f"{dependents} depend on this. There is one format until 1.0, without a second spelling: if the "
            f"change is meant, write the new state with {WRITE_GOLDEN_VARIABLE}=1; the changelog names it.",
        ]
    )


def to_json(value: object) -> str:
    return msgspec.json.encode(value, enc_hook=lambda _: NOT_SENT).decode()


def _differences(golden: InterfaceRows, current: InterfaceRows) -> Iterable[str]:
    for part in [*golden, *(name for name in current if name not in golden)]:
        old = golden.get(part, {})
        new = current.get(part, {})
        if part not in current:
            yield f"  gone     {part}"
        elif part not in golden:
            yield f"  new      {part}"
        for place in [*old, *(name for name in new if name not in old)]:
            if place not in new:
                yield f"  gone     {part} | {place}: {old[place]}"
            elif place not in old:
                yield f"  new      {part} | {place}: {new[place]}"
            elif old[place] != new[place]:
                yield f"  changed  {part} | {place}: {old[place]}  ->  {new[place]}"


def fields_of_type(kind: Any) -> Rows:
    """Describe a type as it is encoded: its fields at any depth, their types and defaults."""
    rows: Rows = {}
    description = _describe(inspect.type_info(kind), "", rows, ())
    return {"(whole)": description, **rows}


def _describe(info: inspect.Type, path: str, rows: Rows, enclosing: tuple[object, ...]) -> str:

    def inner(part: inspect.Type, place: str) -> str:
        return _describe(part, path + place, rows, enclosing)

    match info:
        case inspect.Metadata(type=bare):
            text = inner(bare, "")
        case inspect.StructType() | inspect.DataclassType():
            text = _struct(info, path, rows, enclosing)
        case inspect.UnionType() if f".{path}".endswith(EVENT_PATH):
            text = EVENT_ROW
        case inspect.UnionType(types=types):
            text = " or ".join(sorted(inner(option, _union_tag(option)) for option in types))
        case inspect.LiteralType() | inspect.EnumType():
            text = _choice(info)
        case inspect.DictType(key_type=key, value_type=value):
            text = f"by {inner(key, '')}: {inner(value, '.*')}"
        case inspect.TupleType(item_types=types):
            items = [inner(item, f"[{position}]") for position, item in enumerate(types)]
            text = f"list of exactly ({', '.join(items)})"
        case _ if isinstance(info, _LIST_TYPES):
            text = f"list of {inner(info.item_type, '[]')}"
        case _:
            text = _SCALARS.get(type(info), NOT_SENT)
    return text + _bounds(info)


def _choice(info: inspect.LiteralType | inspect.EnumType) -> str:
    if isinstance(info, inspect.LiteralType):
        return "one of " + ", ".join(sorted(map(repr, info.values)))
    members: list[enum.Enum] = list(info.cls)
    return "one of " + ", ".join(sorted(repr(member.value) for member in members))


def _union_tag(info: inspect.Type) -> str:
    """Describe how the structs of a union are distinguished by their tags."""
    return f"<{info.tag}>" if isinstance(info, inspect.StructType) and info.tag is not None else ""


def _bounds(info: inspect.Type) -> str:
    bounds = [(name, getattr(info, name, None)) for name in _BOUNDS]
    return "".join(f" {name} {value}" for name, value in bounds if value is not None)


def _struct(
    info: inspect.StructType | inspect.DataclassType, path: str, rows: Rows, enclosing: tuple[object, ...]
) -> str:
    if info.cls in enclosing:
        return "the same again"
    in_order = isinstance(info, inspect.StructType) and info.array_like
    for position, field in enumerate(info.fields):
        place = f"{path}.{position if in_order else field.encode_name}".removeprefix(".")
        rows[place] = ""  # before its inner types
        rows[place] = f"{_describe(field.type, place, rows, (*enclosing, info.cls))}; {_presence(field)}"
    if isinstance(info, inspect.DataclassType):
        return "object"
    more = [
        "list in this order" if in_order else "object",
        *([f"tag {info.tag_field}={info.tag}"] if info.tag is not None else []),
        *(["unknown fields are refused"] if info.forbid_unknown_fields else []),
        *(["defaults are left out"] if info.cls.__struct_config__.omit_defaults else []),
    ]
    return ", ".join(more)


def _presence(field: inspect.Field) -> str:
    if field.required:
        return "required"
    default = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    return f"default {to_json(default)}"


def document_shape(value: object) -> Rows:
    """Describe a JSON document that was really printed: the kind of value at each place."""
    kinds: dict[str, set[str]] = {}
    _collect_kinds(value, "", kinds)
    return {place or "(whole)": " or ".join(sorted(names)) for place, names in kinds.items()}


def _collect_kinds(value: object, path: str, kinds: dict[str, set[str]]) -> None:
    names = kinds.setdefault(path, set())
    if f".{path}".endswith(EVENT_PATH):
        names.add(EVENT_ROW)
    elif isinstance(value, dict):
        names.add("object")
        for name, inner in value.items():
            _collect_kinds(inner, f"{path}.{name}".removeprefix("."), kinds)
    elif isinstance(value, list):
        names.add("list")
        for inner in value:
            _collect_kinds(inner, f"{path}[]", kinds)
    else:
        words = {str: "text", bool: "boolean", int: "number", float: "number", type(None): "null"}
        names.add(words[type(value)])
