"""What is to leave the code is listed with the number of its users, which may only fall."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "helix_desktop"


def _leaving() -> dict[str, int]:
    lines = (ROOT / "tests/meta/leaving.txt").read_text().splitlines()
    parts = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    return {name: int(number) for name, number in parts}


def _imports(path: Path) -> set[str]:
    """The modules that a file imports; all imports of the package name the module in full."""
    return set(re.findall(r"^\s*from (\S+) import ", path.read_text(), re.MULTILINE))


def test_what_is_leaving_has_as_many_users_as_the_list_says() -> None:
    leaving = _leaving()
    users = dict.fromkeys(leaving, 0)
    for path in PACKAGE.rglob("*.py"):
        for name in _imports(path) & leaving.keys():
            users[name] += 1
    assert users == leaving, "write down what there is now; a number must not rise"


def test_what_has_no_user_any_more_is_deleted() -> None:
    for name, number in _leaving().items():
        path = ROOT / name.replace(".", "/")
        is_there = path.with_suffix(".py").exists() or path.is_dir()
        assert is_there == (number > 0), name
