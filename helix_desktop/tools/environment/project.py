"""What the files of a project plainly say: its Python environment, and the usual command of its tests."""

from __future__ import annotations

import json
import os
import re

from helix_desktop.domain.errors import ToolError
from helix_desktop.tools.files.jail import Jail

_CAP = 256 * 1024  # bytes of a manifest
_PYTHON_FOLDERS = (".venv", "venv", "env")
_NODE_LOCKS = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun", "bun.lockb": "bun"}
_BY_MANIFEST = {
    "Cargo.toml": "cargo test",
    "go.mod": "go test ./...",
    "mvnw": "./mvnw test",
    "pom.xml": "mvn test",
    "gradlew": "./gradlew test",
    "mix.exs": "mix test",
}
_MAKE_TEST = re.compile(r"^test\s*:", re.MULTILINE)
_PYTEST = re.compile(r"\[tool\.pytest|\[pytest\]|\[tool:pytest\]|[\"' ]pytest\b")
_MAX_COMMANDS = 3


def python_environment(jail: Jail) -> str:
    """Return the path of the project's own Python, as a command is given it; empty without one; blocks."""
    for folder in _PYTHON_FOLDERS:
        path = f"{folder}/Scripts/python.exe" if os.name == "nt" else f"{folder}/bin/python"
        if _names(jail, path.rpartition("/")[0]) & {"python", "python3", "python.exe"}:
            return path
    return ""


def test_commands(jail: Jail) -> list[str]:
    """Return the usual commands of the project's tests, as far as its files plainly say them; blocks."""
    names = _names(jail, "")
    commands = []
    if any(_MAKE_TEST.search(_text(jail, name)) for name in ("Makefile", "makefile") if name in names):
        commands.append("make test")
    commands += [*_pytest(jail, names), *_node(jail, names)]
    found = {name: command for name, command in _BY_MANIFEST.items() if name in names}
    if "mvnw" in found:
        found.pop("pom.xml", None)
    return [*commands, *found.values()][:_MAX_COMMANDS]


def _pytest(jail: Jail, names: set[str]) -> list[str]:
    manifests = ("pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini", "requirements-dev.txt")
    if "pytest.ini" not in names and not any(
        _PYTEST.search("\n" + _text(jail, name)) for name in manifests if name in names
    ):
        return []
    if "uv.lock" in names:
        return ["uv run pytest"]
    if "poetry.lock" in names:
        return ["poetry run pytest"]
    return [f"{python_environment(jail) or 'python3'} -m pytest"]


def _node(jail: Jail, names: set[str]) -> list[str]:
    if "package.json" not in names:
        return []
    try:
        scripts = json.loads(_text(jail, "package.json")).get("scripts", {})
        script = str(scripts.get("test", ""))
    except (ValueError, AttributeError, RecursionError):  # not JSON, or not the JSON of a package
        return []
    if not script or "no test specified" in script:
        return []
    return [f"{next((tool for lock, tool in _NODE_LOCKS.items() if lock in names), 'npm')} test"]


def _names(jail: Jail, folder: str) -> set[str]:
    try:
        return {entry.name for entry in jail.list_entries(folder or ".")[1]}
    except ToolError:
        return set()


def _text(jail: Jail, name: str) -> str:
    try:
        with jail.open_file(name) as opened:
            return opened.file.read(_CAP).decode(errors="replace")
    except ToolError:
        return ""
