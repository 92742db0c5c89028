"""JSON as indented text: a line for each member and item, each value as it is written."""

from __future__ import annotations

import json
import re

MAX_JSON_BYTES = 1024 * 1024
"""Larger JSON stays as it is: what parses it in a thread would hold up the window."""

_INDENT = "  "
_MAX_LEVELS = 32
"""Levels with an indent of their own; without a limit, deep JSON would be mostly blanks."""

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+')
_OPENING = ("[", "{")
_CLOSING = ("]", "}")


def may_be_json(data: bytes) -> bool:
    """Return True if bytes begin and end as an object or array does."""
    begin = data[:256].lstrip()[:1]
    end = data[-256:].rstrip()[-1:]
    return (begin, end) in ((b"{", b"}"), (b"[", b"]"))


def indent_json(data: bytes) -> bytes | None:
    """Return an object or array as indented text.

    None stands for invalid JSON, and for what is too large or too deep.
    """
    if len(data) > MAX_JSON_BYTES or not may_be_json(data):
        return None

    try:
        text = data.decode()
        _check(text)
    except (ValueError, RecursionError):
        return None

    return "".join(_indented_pieces(text)).encode()


def _check(text: str) -> None:
    """Raise ValueError or RecursionError for what is no JSON or too deep."""
    # Functions of Python, not classes: at each call another thread may run.
    json.loads(
        text,
        object_pairs_hook=_forget_members,
        parse_float=_forget_number,
        parse_int=_forget_number,
        parse_constant=_refuse,
    )


def _forget_members(_pairs: list[tuple[str, object]]) -> None:
    return None


def _forget_number(_text: str) -> None:
    return None


def _refuse(text: str) -> object:
    raise ValueError(f"{text} is not JSON")


def _indented_pieces(text: str) -> list[str]:
    """Return the tokens of valid JSON with the breaks and blanks between them."""
    pieces: list[str] = []
    level = 0
    previous = ""

    for found in _TOKENS.finditer(text):
        token = found.group()
        if token in _CLOSING:
            level -= 1

        is_empty = previous in _OPENING and token in _CLOSING
        if previous == ":":
            pieces.append(" ")
        elif not is_empty and (previous in (*_OPENING, ",") or token in _CLOSING):
            pieces.append("\n" + _INDENT * min(level, _MAX_LEVELS))

        pieces.append(token)
        if token in _OPENING:
            level += 1
        previous = token

    return pieces
