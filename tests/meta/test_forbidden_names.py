"""Names say what a thing is: forbidden words do not return."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("forbidden_names.txt")


def test_forbidden_names_do_not_return() -> None:
    allowed = _allowed()
    counts = Counter(
        name
        for file in sorted((ROOT / "helix_desktop").rglob("*.py"))
        for name in _bound_names(ast.parse(file.read_bytes()))
        if name in allowed
    )
    more = {
        name: f"{counts[name]}, allowed {limit}" for name, limit in allowed.items() if counts[name] > limit
    }
    fewer = {
        name: f"{counts[name]}, allowed {limit}" for name, limit in allowed.items() if counts[name] < limit
    }
    assert not more, f"name these after what they hold: {more}"
    assert not fewer, f"bring the numbers in {LIST.name} down: {fewer}"


def test_a_forbidden_name_is_found_at_every_binding() -> None:
    """As a parameter, variable, attribute, function or class, with or without underscores around it."""
    code = "def told(wanted, *, given):\n    _kept = [one for one in wanted]\n    self.held_ = 1\n"
    code += "class Heard: ...\n"
    assert set(_bound_names(ast.parse(code))) == {"told", "wanted", "given", "kept", "one", "held", "heard"}


def _allowed() -> dict[str, int]:
    """Return how often each word may still be bound; raise ValueError for a line without a reason."""
    allowed = {}
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            word, count, _reason = line.split(maxsplit=2)
            allowed[word] = int(count)
    return allowed


def _bound_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.arg(arg=name):
                pass
            case ast.Name(id=name, ctx=ast.Store()):
                pass
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                pass
            case ast.Attribute(attr=name, ctx=ast.Store()):
                pass
            case _:
                continue
        yield name.strip("_").lower()
