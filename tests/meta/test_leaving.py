"""What is to leave the code is listed with the number of its users, which may only fall."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "helix_desktop"


def _leaving() -> dict[str, int]:
    lines = (ROOT / "tests/meta/leaving.txt").read_text().splitlines()
    parts = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    return {name: int(number) for name, number in parts}


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_what_is_leaving_has_as_many_users_as_the_list_says() -> None:
    leaving = _leaving()
    users = dict.fromkeys(leaving, 0)
    for path in PACKAGE.rglob("*.py"):
        for name in set(_imports(path)) & leaving.keys():
            users[name] += 1
    assert users == leaving, "write down what there is now; a number must not rise"


def test_what_has_no_user_any_more_is_deleted() -> None:
    for name, number in _leaving().items():
        path = ROOT / name.replace(".", "/")
        is_there = path.with_suffix(".py").exists() or path.is_dir()
        assert is_there == (number > 0), name
