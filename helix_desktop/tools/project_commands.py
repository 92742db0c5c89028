"""Which commands run the tests of a project, and the Python that they need, by its manifests."""

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
_FINDS_MODULES = re.compile(r"^\s*pythonpath\s*=|sys\.path", re.MULTILINE)  # options of pytest, conftest.py
_SRC = r"""PYTHONPATH=["']?(?:\./|\$PWD/|\$\(pwd\)/)?src/?(?![\w:/.-])"""
_WITH_SOURCES = re.compile(rf"{_SRC}[^\n]*\b(?:pytest|unittest)\b")
_DOCUMENTS = ("README.md", "README.rst", "README", "CONTRIBUTING.md", "AGENTS.md", "CLAUDE.md", "Makefile")
_MAX_COMMANDS = 3
_MAX_PACKAGES = 20  # folders of src/ that are looked into


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
    if any(_MAKE_TEST.search(_read_text(jail, name)) for name in ("Makefile", "makefile") if name in names):
        commands.append("make test")
    commands += [*_pytest(jail, names), *_node(jail, names)]
    found = {name: command for name, command in _BY_MANIFEST.items() if name in names}
    if "mvnw" in found:
        found.pop("pom.xml", None)
    return [*commands, *found.values()][:_MAX_COMMANDS]


def _pytest(jail: Jail, names: set[str]) -> list[str]:
    manifests = ("pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini", "requirements-dev.txt")
    if "pytest.ini" not in names and not any(
        _PYTEST.search("\n" + _read_text(jail, name)) for name in manifests if name in names
    ):
        return []
    if "uv.lock" in names:
        return ["uv run pytest"]
    if "poetry.lock" in names:
        return ["poetry run pytest"]
    if python := python_environment(jail):
        return [f"{python} -m pytest"]
    if not _has_packages_in_src(jail, names):
        return ["python3 -m pytest"]
    settings = (*manifests[:4], "conftest.py", "tests/conftest.py")
    if any(_FINDS_MODULES.search(_read_text(jail, name)) for name in settings):
        return ["python3 -m pytest"]
    is_path_set = any(_WITH_SOURCES.search(_read_text(jail, name)) for name in _DOCUMENTS if name in names)
    return ["PYTHONPATH=src python3 -m pytest"] if is_path_set else []


def _has_packages_in_src(jail: Jail, names: set[str]) -> bool:
    """Return True if Python finds the project's packages only once it is installed, or told of `src`."""
    inside = sorted(_names(jail, "src"))[:_MAX_PACKAGES] if "src" in names else []
    return any(name.endswith(".py") or "__init__.py" in _names(jail, f"src/{name}") for name in inside)


def _node(jail: Jail, names: set[str]) -> list[str]:
    if "package.json" not in names:
        return []
    try:
        scripts = json.loads(_read_text(jail, "package.json")).get("scripts", {})
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


def _read_text(jail: Jail, name: str) -> str:
    try:
        with jail.open_file(name) as opened:
            return opened.file.read(_CAP).decode(errors="replace")
    except ToolError:
        return ""
