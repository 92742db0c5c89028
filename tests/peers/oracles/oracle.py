"""Judges requests by others' rules; run by the interpreter that has their packages, never by ours.

Reads one JSON object a line, `{"rule": ..., "body": ...}`, and answers with a list of what is wrong.
`openai-chat`, `openai-responses` and `anthropic` compare a body with the TypedDicts of the official SDKs,
field by field; unknown fields are wrong. `order` has mistral-common judge the order of Chat Completions'
messages.
"""

from __future__ import annotations

import importlib
import json
import sys
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import UnionType
from typing import Any

import typing_extensions

SHAPES = {
    "openai-chat": ("openai.types.chat.completion_create_params", "CompletionCreateParamsStreaming"),
    "openai-responses": ("openai.types.responses.response_create_params", "ResponseCreateParamsStreaming"),
    "anthropic": ("anthropic.types.message_create_params", "MessageCreateParamsStreaming"),
}
MOST = 5


def shape_problems(value: Any, wanted: Any, at: str) -> list[str]:
    """What in a value is not as an annotation says."""
    wanted = _bare(wanted)
    origin, parts = typing.get_origin(wanted), typing.get_args(wanted)
    if wanted in (Any, object):
        return []
    if typing_extensions.is_typeddict(wanted):
        return _fields(value, wanted, at)
    if origin in (typing.Union, UnionType):
        return _one_of(value, parts, at)
    return _plain(value, wanted, at) if origin is None else _generic(value, origin, parts, at)


def _generic(value: Any, origin: Any, parts: Sequence[Any], at: str) -> list[str]:
    """A literal, an object, or a list in one of its many names; open files, say, are no JSON."""
    if origin is typing.Literal:
        return [] if value in parts else [f"{at}: {value!r} is none of {parts}"]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return [] if isinstance(value, dict) else [f"{at}: {value!r} is no object"]
    if not isinstance(value, list) or len(parts) != 1:
        return [f"{at}: {str(value)[:80]!r} is no list"]
    return [text for n, one in enumerate(value) for text in shape_problems(one, parts[0], f"{at}[{n}]")]


def _bare(wanted: Any) -> Any:
    """An annotation without what stands around it."""
    while typing.get_origin(wanted) in (
        typing.Annotated,
        typing_extensions.Required,
        typing_extensions.NotRequired,
        typing.Required,
        typing.NotRequired,
    ):
        wanted = typing.get_args(wanted)[0]
    value = getattr(wanted, "__value__", None)
    return wanted if value is None else _bare(value)


@cache
def _hints(wanted: Any) -> dict[str, Any]:
    return typing_extensions.get_type_hints(wanted, include_extras=True)


def _is_required(hint: Any) -> bool:
    return typing.get_origin(hint) in (typing_extensions.Required, typing.Required)


def _fields(value: Any, wanted: Any, at: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{at}: {str(value)[:80]!r} is no {wanted.__name__}"]
    hints = _hints(wanted)
    found = [f"{at}: {key} is not known to {wanted.__name__}" for key in value if key not in hints]
    found += [
        f"{at}: {wanted.__name__} needs {key}"
        for key, hint in hints.items()
        if _is_required(hint) and key not in value
    ]
    for key, one in value.items():
        if key in hints:
            found += shape_problems(one, hints[key], f"{at}.{key}")
    return found


def _one_of(value: Any, kinds: Sequence[Any], at: str) -> list[str]:
    """Nothing, if one of the kinds fits; else what is wrong with the one that fits best."""
    found = [shape_problems(value, kind, at) for kind in kinds]
    return min(found, key=lambda problems: (bool(problems), _is_another_kind(problems, at), len(problems)))


def _is_another_kind(problems: list[str], at: str) -> bool:
    return any(problem.startswith((f"{at}.type", f"{at}.role", f"{at}:")) for problem in problems)


def _plain(value: Any, wanted: Any, at: str) -> list[str]:
    if wanted is float:
        wanted = (int, float)
    if wanted is type(None):
        return [] if value is None else [f"{at}: {str(value)[:80]!r} is not null"]
    if not isinstance(wanted, (type, tuple)):
        return [f"{at}: {wanted} is nothing that JSON can be"]
    if isinstance(value, wanted) and not (isinstance(value, bool) and wanted is not bool):
        return []
    return [f"{at}: {str(value)[:80]!r} is no {wanted}"]


def shape_rule(module: str, name: str) -> Callable[[Any], list[str]]:
    """The rule that a body has the shape of an SDK's parameters."""
    wanted = getattr(importlib.import_module(module), name)
    return lambda body: shape_problems(body, wanted, "body")


def order_rule() -> Callable[[Any], list[str]]:
    """The rule that messages come in an order that mistral-common accepts from a client."""
    instruct = "mistral_common.protocol.instruct"
    request, validator = (importlib.import_module(f"{instruct}.{name}") for name in ("request", "validator"))
    refused = importlib.import_module("mistral_common.exceptions").MistralCommonException
    serving = validator.ValidationMode.serving
    # The older one has the rule of nine signs for ids.
    judges = {
        True: validator.MistralRequestValidatorV11(serving),
        False: validator.MistralRequestValidatorV13(serving),
    }

    def problems(body: Any) -> list[str]:
        messages, tools = body["messages"], body.get("tools")
        try:
            asked = request.ChatCompletionRequest.from_openai(messages, tools, model="m")
            judges[body.get("nine_signs", False)].validate_request(asked)
        except (refused, ValueError) as error:
            return [f"{type(error).__name__}: {error}"]
        return []

    return problems


def main() -> None:
    """Judge line by line until there are no more."""
    rules: dict[str, Callable[[Any], list[str]]] = {}
    for line in sys.stdin:
        asked = json.loads(line)
        name = asked["rule"]
        if name not in rules:
            rules[name] = order_rule() if name == "order" else shape_rule(*SHAPES[name])
        sys.stdout.write(json.dumps(rules[name](asked["body"])[:MOST]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
