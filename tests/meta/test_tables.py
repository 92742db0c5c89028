"""A table that is asked for any value of a type has all of them: a forgotten one is named, by its file."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, get_args

import helix_desktop

PACKAGE = Path(helix_desktop.__file__).parent

PARTIAL: dict[str, set[Any]] = {
    "context/summaries/artifact_ledger.py: FLAGS": {"command", "other"},
    "context/window/window_breakdown.py: _PROBLEMS": {"", "cut"},
    "providers/server_errors.py: _BROKEN_OFF_TEXTS": {"address", "connect", "tls"},
    "ui/outputs/rows.py: COLUMN_INDEX": {"stored"},
    "ui/outputs/rows.py: SAME_STATES": {
        "folded",
        "in_part",
        "index",
        "truncated",
        "observed",
        "pinned",
    },
    "ui/outputs/source.py: _RANK": {"damaged", "elsewhere", "in_trash", "index"},
    "ui/chat/items/approval.py: _MCP_CHANGES": {""},
    "ui/chat/items/approval.py: _REFUSALS": {""},
    "ui/chat/rows/row_texts.py: RUNNING_PHASES": {"done", "failed", "interrupted", "stopped"},
    "ui/handover/parts.py: _SIGNS": {"same"},
    "ui/panel/panel_state.py: SEGMENT_LOOKS": {"fold", "observations"},
    "ui/settings/permissions_page.py: _KINDS": {"exact", "server"},
    "ui/settings/permissions_page.py: _OUTDATED": {""},
    "words/file_changes.py: _PROBLEMS": {""},
}
"""The tables that are never asked for some values, and for which."""


def values_of(kind: Any) -> set[Any]:
    """Return the values of an Enum, a Literal, or a union of some; none of any other type."""
    if isinstance(kind, type):
        return set(kind) if issubclass(kind, Enum) else set()
    values = set[Any]()
    for part in get_args(kind):
        more = {part} if isinstance(part, str | int | None) else values_of(part)
        if not more:
            return set()
        values |= more
    return values


def tables_in(
    tree: ast.Module,
) -> Iterator[tuple[ast.Module | ast.FunctionDef, str, ast.expr, ast.expr | None]]:
    """Yield the tables of a module and its functions: where, name, type of the keys, what it is made of."""
    scopes: list[ast.Module | ast.FunctionDef] = [tree]
    scopes += [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for scope in scopes:
        for node in scope.body:
            match node:
                case ast.AnnAssign(
                    target=ast.Name(id=name),
                    annotation=ast.Subscript(ast.Name("dict" | "Mapping"), ast.Tuple([kind, _])),
                    value=made,
                ):
                    yield scope, name, kind, made


def test_a_value_that_a_table_forgets_is_named() -> None:
    sources = {path: path.read_text("utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
    public = {name for source in sources.values() for name in re.findall(r"\b([A-Z]\w+)\[(?=[a-z])", source)}
    complete = 0
    partial = dict[str, set[Any]]()
    for path, source in sources.items():
        if not re.search(r"^ *\w+: (?:dict|Mapping)\[[A-Z]", source, re.MULTILINE):
            continue
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        names = vars(importlib.import_module(".".join(parts)))
        for scope, name, kind, made in tables_in(ast.parse(source)):
            is_asked = name in public or re.search(rf"\b{name}\[(?=[a-z])", ast.unparse(scope))
            values = values_of(eval(ast.unparse(kind), names)) if is_asked else set()
            if not values:
                continue
            if isinstance(scope, ast.Module):
                keys = set(names[name])
            elif isinstance(made, ast.Dict) and made.keys and all(made.keys):
                keys = {eval(ast.unparse(key), names) for key in made.keys if key is not None}
            else:
                continue  # filled later
            complete += keys >= values
            if values - keys:
                partial["/".join(parts[1:]) + f".py: {name}"] = values - keys
    assert partial == PARTIAL
    assert complete > 40
