"""What the shell makes of a variable's value by an operator in braces, such as `${name%.txt}`."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

ANYTHING = "**"
"""A value that only the shell knows; within a path: any folders."""

_WILDCARD = re.compile(r"[*?\[\\]")
_PLACE = re.compile(r":\s*(\d+)(?::(\d+))?")
_DEFAULT = re.compile(r":?[-=](.*)", re.DOTALL)
_STRIPPED = re.compile(r"(##?|%%?)(.*)", re.DOTALL)
_REPLACED = re.compile(r"/([/#%]?)([^/*?\[\\$]+)(?:/([^*?\[\\$]*))?")
_LONGEST_TEXT = 200  # characters of which each beginning is compared with a pattern


def expanded(values: Sequence[str], operator: str) -> list[str]:
    """Return what values may become by what stands behind a variable's name: any text if it is not clear."""
    operator = re.sub(r"^\[[^\]]*\]", "", operator)
    if not operator or operator.startswith(("?", ":?")):
        return list(values)
    if found := _DEFAULT.fullmatch(operator):
        return [*values, found[1]]
    if operator.startswith(("+", ":+")):
        return ["", operator.lstrip(":")[1:]]
    return [_changed(value, operator) for value in values]


def _changed(value: str, operator: str) -> str:
    if value == ANYTHING:
        return value
    if found := _STRIPPED.fullmatch(operator):
        return _stripped(value, found[1], found[2])
    if found := _REPLACED.fullmatch(operator):
        return _replaced(value, found[1], found[2], found[3] or "")
    return ANYTHING if _WILDCARD.search(value) else _cut(value, operator)


def _cut(value: str, operator: str) -> str:
    """Return a part of a value, or it in other letters."""
    if found := _PLACE.fullmatch(operator):
        return value[int(found[1]) :][: int(found[2]) if found[2] else None]
    return {"^^": value.upper(), ",,": value.lower()}.get(operator, ANYTHING)


def _stripped(value: str, operator: str, pattern: str) -> str:
    """Return a value without its beginning (`#`) or its end (`%`), or with the longest part gone (`##`)."""
    is_end = operator.startswith("%")
    if _WILDCARD.search(value):
        short = value.removesuffix(pattern) if is_end else value.removeprefix(pattern)
        # A name of wildcards alone says less than the one that was looked for.
        return short if posixpath.basename(short).strip("*?") and pattern else value
    if len(value) > _LONGEST_TEXT or "$" in pattern:
        return ANYTHING
    cuts = range(len(value), -1, -1) if is_end else range(len(value) + 1)
    for at in cuts if len(operator) == 1 else reversed(cuts):
        part, rest = (value[at:], value[:at]) if is_end else (value[:at], value[at:])
        if fnmatchcase(part, pattern):
            return rest
    return value


def _replaced(value: str, place: str, old: str, new: str) -> str:
    match place:
        case "/":
            return value.replace(old, new)
        case "#":
            return new + value[len(old) :] if value.startswith(old) else value
        case "%":
            return value[: -len(old)] + new if value.endswith(old) else value
    return value.replace(old, new, 1)
