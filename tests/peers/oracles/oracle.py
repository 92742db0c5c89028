"""Checks requests against third-party rules; run by the interpreter that has their packages, never by ours.

Reads one JSON object a line, `{"rule": ..., "body": ...}`, and answers with a list of problems.
`openai-chat`, `openai-responses` and `anthropic` compare a body with the TypedDicts of the official SDKs,
field by field; unknown fields are wrong. `order` has mistral-common check the order of Chat Completions'
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
MAX_PROBLEMS = 5


def shape_problems(value: Any, shape: Any, at: str) -> list[str]:
    """Return where a value does not match an annotation."""
    shape = _bare(shape)
    origin = typing.get_origin(shape)
    parts = typing.get_args(shape)
    if shape in (Any, object):
        return []
    if typing_extensions.is_typeddict(shape):
        return _fields(value, shape, at)
    if origin in (typing.Union, UnionType):
        return _union_problems(value, parts, at)
    return _plain(value, shape, at) if origin is None else _generic(value, origin, parts, at)


def _generic(value: Any, origin: Any, parts: Sequence[Any], at: str) -> list[str]:
    """A literal, an object, or a list in one of its many names; open files, say, are no JSON."""
    if origin is typing.Literal:
        return [] if value in parts else [f"{at}: {value!r} is none of {parts}"]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return [] if isinstance(value, dict) else [f"{at}: {value!r} is no object"]
    if not isinstance(value, list) or len(parts) != 1:
        return [f"{at}: {str(value)[:80]!r} is no list"]
    return [text for n, item in enumerate(value) for text in shape_problems(item, parts[0], f"{at}[{n}]")]


def _bare(shape: Any) -> Any:
    """Return an annotation without its wrappers."""
    while typing.get_origin(shape) in (
        typing.Annotated,
        typing_extensions.Required,
        typing_extensions.NotRequired,
        typing.Required,
        typing.NotRequired,
    ):
        shape = typing.get_args(shape)[0]
    value = getattr(shape, "__value__", None)
    return shape if value is None else _bare(value)


@cache
def _hints(shape: Any) -> dict[str, Any]:
    return typing_extensions.get_type_hints(shape, include_extras=True)


def _is_required(hint: Any) -> bool:
    return typing.get_origin(hint) in (typing_extensions.Required, typing.Required)


def _fields(value: Any, shape: Any, at: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{at}: {str(value)[:80]!r} is no {shape.__name__}"]
    hints = _hints(shape)
    problems = [f"{at}: {key} is not known to {shape.__name__}" for key in value if key not in hints]
    problems += [
        f"{at}: {shape.__name__} needs {key}"
        for key, hint in hints.items()
        if _is_required(hint) and key not in value
    ]
    for key, item in value.items():
        if key in hints:
            problems += shape_problems(item, hints[key], f"{at}.{key}")
    return problems


def _union_problems(value: Any, kinds: Sequence[Any], at: str) -> list[str]:
    """Return nothing if one of the kinds matches, else the problems of the best match."""
    by_kind = [shape_problems(value, kind, at) for kind in kinds]
    return min(by_kind, key=lambda problems: (bool(problems), _is_another_kind(problems, at), len(problems)))


def _is_another_kind(problems: list[str], at: str) -> bool:
    return any(problem.startswith((f"{at}.type", f"{at}.role", f"{at}:")) for problem in problems)


def _plain(value: Any, shape: Any, at: str) -> list[str]:
    if shape is float:
        shape = (int, float)
    if shape is type(None):
        return [] if value is None else [f"{at}: {str(value)[:80]!r} is not null"]
    if not isinstance(shape, (type, tuple)):
        return [f"{at}: {shape} is nothing that JSON can be"]
    if isinstance(value, shape) and not (isinstance(value, bool) and shape is not bool):
        return []
    return [f"{at}: {str(value)[:80]!r} is no {shape}"]


def shape_rule(module: str, name: str) -> Callable[[Any], list[str]]:
    """The rule that a body has the shape of an SDK's parameters."""
    shape = getattr(importlib.import_module(module), name)
    return lambda body: shape_problems(body, shape, "body")


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
        messages = body["messages"]
        tools = body.get("tools")
        try:
            parsed = request.ChatCompletionRequest.from_openai(messages, tools, model="m")
            judges[body.get("nine_signs", False)].validate_request(parsed)
        except (refused, ValueError) as error:
            return [f"{type(error).__name__}: {error}"]
        return []

    return problems


def main() -> None:
    """Judge line by line until there are no more."""
    rules: dict[str, Callable[[Any], list[str]]] = {}
    for line in sys.stdin:
        question = json.loads(line)
        name = question["rule"]
        if name not in rules:
            rules[name] = order_rule() if name == "order" else shape_rule(*SHAPES[name])
        sys.stdout.write(json.dumps(rules[name](question["body"])[:MAX_PROBLEMS]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
