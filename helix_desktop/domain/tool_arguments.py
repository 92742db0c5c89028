"""The arguments of the agent's tools: typed, parsed from a call's JSON, and as a JSON schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from helix_desktop.domain.decoding_faults import decoding_fault, is_cut_off
from helix_desktop.domain.errors import ToolError

Line = Annotated[int, msgspec.Meta(ge=1)]
_KINDS = {str: "string", int: "integer", bool: "boolean"}


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The base class of all tool arguments; a field with a default may be left out."""


def _wrong_arguments(tool: str, text: str, error: Exception, signature: str) -> ToolError:
    """Return the error for the arguments of a call; one that was cut off is told how to fit."""
    if is_cut_off(error, text):
        return ToolError(
            f"{tool} was not run: its arguments end in the middle.",
            "The answer may have reached its limit of tokens.",
            f"Call it again with less at once, such as in several calls. It takes {signature}.",
        )
    is_json = isinstance(error, msgspec.ValidationError)
    what = f"{tool} was called with wrong arguments{'' if is_json else ': not valid JSON'}."
    return ToolError(what, decoding_fault(error), f"It takes {signature}.")


Args = TypeVar("Args", bound=Arguments)


def parse(tool: str, text: str, kind: type[Args]) -> Args:
    """Parse a call's JSON into typed arguments; null counts as left out, "12" as 12.

    Raises ToolError, which names the argument and the expected type.
    """
    try:
        args = msgspec.json.decode(text or "{}")
        if isinstance(args, dict):
            args = _without_nulls(args)
        return msgspec.convert(args, kind, strict=False)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise _wrong_arguments(tool, text, error, _signature(kind)) from error


def _without_nulls(args: dict[str, Any]) -> dict[str, Any]:
    """Drop the arguments that are null, also in the objects of lists."""
    return {name: _clean_value(value) for name, value in args.items() if value is not None}


def _clean_value(value: Any) -> Any:
    """Return a value; if it is a list, with its objects cleaned by `_without_nulls`."""
    if not isinstance(value, list):
        return value
    return [_without_nulls(item) if isinstance(item, dict) else item for item in value]


def schema(kind: type[msgspec.Struct], descriptions: Mapping[str, str]) -> dict[str, Any]:
    """Return the JSON schema of the arguments; `descriptions` is by argument name."""
    hints = get_type_hints(kind, include_extras=True)
    properties: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        properties[field.name] = _json_type(hints[field.name], descriptions)
        if field.name in descriptions:
            properties[field.name]["description"] = descriptions[field.name]
    return {
        "type": "object",
        "properties": properties,
        "required": [field.name for field in msgspec.structs.fields(kind) if field.required],
        "additionalProperties": False,
    }


def _json_type(hint: Any, descriptions: Mapping[str, str]) -> dict[str, Any]:
    if get_origin(hint) is Literal:
        return {"type": "string", "enum": list(get_args(hint))}
    options = [part for part in get_args(hint) if part is not type(None)]
    if get_origin(hint) is Annotated:
        meta = hint.__metadata__[0]
        bounds = {"minimum": meta.ge, "maximum": meta.le, "minItems": meta.min_length}
        bounds |= meta.extra_json_schema or {}
        constraints = {name: bound for name, bound in bounds.items() if bound is not None}
        return _json_type(hint.__origin__, descriptions) | constraints
    if get_origin(hint) is dict:
        return {"type": "object"}
    if get_origin(hint) is tuple:
        return {"type": "array", "items": _json_type(hint.__args__[0], descriptions)}
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return schema(hint, descriptions)
    return _json_type(options[0], descriptions) if options else {"type": _KINDS[hint]}


def _signature(kind: type[msgspec.Struct]) -> str:
    hints = get_type_hints(kind)
    return ", ".join(
        f"{field.name}{'' if field.required else '?'}{_choices(hints[field.name])}"
        for field in msgspec.structs.fields(kind)
    )


def _choices(hint: Any) -> str:
    """Return what a value may be where its name does not say it: one of these, or a list of objects."""
    if get_origin(hint) is Literal:
        return f" (one of {', '.join(get_args(hint))})"
    if get_origin(hint) is tuple and issubclass(hint.__args__[0], msgspec.Struct):
        return f" (each {{{_signature(hint.__args__[0])}}})"
    return next(filter(None, map(_choices, get_args(hint))), "") if get_origin(hint) is not tuple else ""
