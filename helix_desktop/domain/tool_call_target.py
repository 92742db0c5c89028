"""What a tool call was about, read from its name and arguments: for tools that do not say so themselves."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Literal

import msgspec

from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.unicode_safety import escape_undecodable

ToolKind = Literal["read", "list", "search", "write", "edit", "command", "other"]
_PATH_KEYS = ("file_path", "path", "notebook_path", "filename", "file")
_TARGET_KEYS = (
    *_PATH_KEYS,
    "command",
    "cmd",
    "pattern",
    "query",
    "url",
    "prompt",
    "description",
)
PATCHED = re.compile(r"\*\*\* (?:Update|Add|Delete) File: (.+)")
_BROKEN_TARGET = re.compile(rf'"(?:{"|".join(_TARGET_KEYS)})"\s*:\s*"((?:[^"\\]|\\.){{1,200}})')
_FIRST = re.compile(r'"((?:[^"\\]|\\.){1,200})"')
_CAP = 200  # characters
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_KINDS: dict[str, ToolKind] = {
    **dict.fromkeys(("read", "view", "cat", "open", "get", "show"), "read"),
    **dict.fromkeys(("list", "ls", "glob", "tree", "dir"), "list"),
    **dict.fromkeys(("search", "grep", "find", "rg", "query"), "search"),
    **dict.fromkeys(("write", "create", "save", "touch"), "write"),
    **dict.fromkeys(("edit", "patch", "replace", "insert", "update", "multiedit"), "edit"),
    **dict.fromkeys(("bash", "shell", "command", "exec", "terminal", "run"), "command"),
}
_SYMBOL_WORDS = frozenset(
    ("symbol", "symbols", "references", "definition", "definitions", "usages", "callers", "callees", "lsp")
)


@lru_cache(256)
def tool_kind(tool: str) -> ToolKind:
    """Return the kind of a tool, by the words in its name; the most invasive kind wins."""
    kinds = [_KINDS[word] for word in tool_words(tool) if word in _KINDS]
    order: tuple[ToolKind, ...] = ("command", "write", "edit", "search", "list", "read")
    return next((kind for kind in order if kind in kinds), "other")


@lru_cache(256)
def is_symbol_lookup(tool: str) -> bool:
    """Return True if a tool says where a symbol is defined or used, by the words in its name."""
    return not _SYMBOL_WORDS.isdisjoint(tool_words(tool)) and tool_kind(tool) in ("search", "read", "other")


@lru_cache(256)
def tool_words(tool: str) -> frozenset[str]:
    """Return the words in the name of a tool, in lower case."""
    return frozenset(word.lower() for word in _WORD.findall(tool))


def call_target(arguments: str) -> str:
    """Return the path, command or pattern of a call, on one line of at most 200 characters; may be empty.

    A path is spelled as the tools spell it: with codes for what ends a line.
    """
    args = decode_arguments(arguments)
    if isinstance(args, dict):
        if path := _first_text(args, _PATH_KEYS):
            return ellipsize(escape_undecodable(path[: _CAP * 4]), _CAP)
        text = _target_of(args) or next((value for value in args.values() if isinstance(value, str)), "")
        text = text or ", ".join(dict.fromkeys(filter(None, map(_target_of, _parts(args)))))
    else:
        patched = PATCHED.search(arguments)
        is_broken = arguments.lstrip().startswith("{")  # the first string of an object is a name
        first = _BROKEN_TARGET.search(arguments) if is_broken else _FIRST.search(arguments)
        text = patched.group(1) if patched else first.group(1) if first else arguments
    return ellipsize(" ".join(text[: _CAP * 4].split()), _CAP)


def mcp_call_target(arguments: str) -> str:
    """Return the first text that an MCP tool is given, else all that it is; empty for nothing."""
    args = decode_arguments(arguments)
    if not isinstance(args, dict):
        return ""
    texts = (value for value in args.values() if isinstance(value, str) and value.strip())
    text = next(texts, "") or ", ".join(f"{name}: {json.dumps(value)}" for name, value in args.items())
    return ellipsize(" ".join(text[: _CAP * 4].split()), _CAP)


def _target_of(args: dict[str, Any]) -> str:
    return escape_undecodable(_first_text(args, _PATH_KEYS)) or _first_text(args, _TARGET_KEYS)


def _first_text(args: dict[str, Any], names: Iterable[str]) -> str:
    return next((args[name] for name in names if isinstance(args.get(name), str) and args[name]), "")


def _parts(args: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of a call that does several things, such as edits of several files."""
    lists = (value for value in args.values() if isinstance(value, list))
    return [part for values in lists for part in values[:_CAP] if isinstance(part, dict)]


def decode_arguments(text: str) -> Any:
    """Return the arguments of a call as data; None if they are no JSON."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
