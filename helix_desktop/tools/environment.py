"""What an agent is told of its workspace before it begins: the environment, and files with instructions."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import re
import shutil
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.events.session import StandingKind, StandingProblem, StandingText
from helix_desktop.domain.files.content import utf16_encoding
from helix_desktop.domain.git import GitStatus
from helix_desktop.domain.text_format import format_bytes, pluralize
from helix_desktop.domain.unicode_safety import escape_hidden, escape_hidden_name
from helix_desktop.system.files import open_regular
from helix_desktop.tools.files.jail import Jail, WorkspaceAway
from helix_desktop.tools.git import GitProgram, read_status
from helix_desktop.tools.shell.auto_run_guard import AutoRunGuard
from helix_desktop.tools.shell.run_command import shell_path
from helix_desktop.tools.shell.sandbox_detect import SandboxProvider
from helix_desktop.tools.tool import CurrentGrants, PathRefused

FILE_NAMES = ("AGENTS.md", "CLAUDE.md")  # the first is the common one
MAX_FILE_BYTES = 32 * 1024
_IMPORT = "@AGENTS.md"  # the whole of a CLAUDE.md that only names the other file
_GONE = (FileNotFoundError, NotADirectoryError)


def read_folder(
    jail: Jail, folder: str, paths_in_force: Iterable[str] = (), limit: int = MAX_FILE_BYTES
) -> list[StandingText]:
    """Return the instructions in a folder of the workspace, at most `limit` bytes of each file; blocks.

    Raises WorkspaceAway. A second file that says the same is left out, unless it is in force. The common one
    comes last.
    """
    common, other = (
        _read_in_jail(jail, f"{folder}/{name}" if folder else name, limit) for name in FILE_NAMES
    )
    if (
        common is not None
        and other is not None
        and other.path not in paths_in_force
        and _repeats(other, common)
    ):
        other = None
    return [text for text in (other, common) if text is not None]


def read_own(path: Path, kind: StandingKind, limit: int = MAX_FILE_BYTES) -> StandingText | None:
    """Return the user's own instructions from a file outside of workspaces; None without any; blocks."""
    try:
        with open_regular(path) as file:
            return _read(file, kind, "", limit, path.stat().st_size)
    except _GONE:
        return None
    except OSError as error:
        return _refused(kind, "", "unreadable", str(error.strerror))


def read_for_run(name: str, content: bytes, size: int, limit: int) -> StandingText | None:
    """Return the instructions for one run; None without any. `content` begins a file of `size` bytes."""
    return _read(BytesIO(content), "run", name, limit, size)


def deleted(previous: StandingText) -> StandingText:
    """Return the text that says that a file with instructions is gone."""
    name = _name_of(previous.kind, previous.path)
    return StandingText(
        previous.kind, f"[{name} were deleted: they hold no more.]", path=previous.path, problem="gone"
    )


def as_changed(text: StandingText) -> StandingText:
    """Return a text with a first line that says that it takes the place of the former one."""
    name = _name_of(text.kind, text.path)
    if text.problem not in ("", "cut"):
        return text
    rest = text.text.partition("\n")[2]
    changed = f"[{name} have changed: this text takes the place of the former one.]\n{rest}"
    return StandingText(text.kind, changed, 0, text.path, text.sha256, text.size, text.problem)


def _repeats(text: StandingText, common: StandingText) -> bool:
    body = text.text.partition("\n")[2].strip()
    return body == _IMPORT or text.sha256 == common.sha256 != ""


def _read_in_jail(jail: Jail, path: str, limit: int) -> StandingText | None:
    try:
        with jail.open_file(path) as opened:
            return _read(opened.file, "project", path, limit, opened.stamp.size)
    except WorkspaceAway:
        raise
    except ToolError as error:
        if isinstance(error.__cause__, _GONE):
            return None
        problem: StandingProblem = "refused" if isinstance(error, PathRefused) else "unreadable"
        return _refused("project", path, problem, " ".join(filter(None, (error.what, error.why))))


def _read(file: BinaryIO, kind: StandingKind, path: str, limit: int, size: int) -> StandingText | None:
    data = file.read(MAX_FILE_BYTES + 1)  # whatever the window: its hash tells whether the file changed
    sha256 = digest_of(data)
    encoding = utf16_encoding(data)
    if b"\0" in data and not encoding:
        return _refused(kind, path, "binary", "the file is not text.", sha256, size)
    body = data[:limit].decode(encoding or "utf-8-sig", errors="replace").removeprefix("\ufeff")
    problem: StandingProblem = ""
    if len(data) > limit:
        problem, body = "cut", body[: body.rfind("\n") + 1] or body
    body = escape_hidden(body.replace("\r\n", "\n")).strip()
    if not body:
        return None
    parts = [_heading(kind, path), body]
    if problem == "cut":
        rest = "read the rest with read_file" if kind == "project" else "the rest is not sent"
        parts.append(f"[Cut here: {_name_of(kind, path)} have {format_bytes(size)}; {rest}.]")
    return StandingText(kind, "\n".join(parts), path=path, sha256=sha256, size=size, problem=problem)


def _refused(
    kind: StandingKind, path: str, problem: StandingProblem, why: str, sha256: str = "", size: int = 0
) -> StandingText:
    text = f"[{_name_of(kind, path)} are not sent: {why}]"
    return StandingText(kind, text, path=path, sha256=sha256, size=size, problem=problem)


def _heading(kind: StandingKind, path: str) -> str:
    name = _name_of(kind, path)
    folder = escape_hidden_name(path.rpartition("/")[0])
    match kind:
        case "personal":
            return f"[{name}]"
        case "project" if folder:
            return f"[{name}: they hold for files in {folder}/, and win over those of the folders above it.]"
        case "project":
            return (
                f"[{name}: where they contradict instructions before them, these win. Those of subfolders "
                "come by themselves when you first work there.]"
            )
        case _:
            return f"[{name}: where they contradict instructions before them, these win.]"


def _name_of(kind: StandingKind, path: str) -> str:
    match kind:
        case "personal":
            return "The user's instructions for all workspaces"
        case "workspace":
            return "The user's instructions for this workspace"
        case "skills":
            return "The skills"
        case "run":
            return f"The user's instructions for this run ({escape_hidden_name(path)})"
        case _:
            return f"Project instructions in {escape_hidden_name(path)}"


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
    if python := python_environment(jail):
        return [f"{python} -m pytest"]
    if not _has_packages_in_src(jail, names):
        return ["python3 -m pytest"]
    settings = (*manifests[:4], "conftest.py", "tests/conftest.py")
    if any(_FINDS_MODULES.search(_text(jail, name)) for name in settings):
        return ["python3 -m pytest"]
    is_path_set = any(_WITH_SOURCES.search(_text(jail, name)) for name in _DOCUMENTS if name in names)
    return ["PYTHONPATH=src python3 -m pytest"] if is_path_set else []


def _has_packages_in_src(jail: Jail, names: set[str]) -> bool:
    """Return True if Python finds the project's packages only once it is installed, or told of `src`."""
    inside = sorted(_names(jail, "src"))[:_MAX_PACKAGES] if "src" in names else []
    return any(name.endswith(".py") or "__init__.py" in _names(jail, f"src/{name}") for name in inside)


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


_Found = TypeVar("_Found")
GIT_TIMEOUT_S = 1.0  # a first message waits no longer for git
_DEADLINE_S = 2.0  # a disk that does not answer holds up no message
_HEADING = "[Environment, as it was when this session began]"
_INTERPRETERS = ("python3", "node", "deno", "bun", "ruby", "php", "perl", "java", "go", "rustc", "dotnet")
_MANAGERS = (
    *("pip", "uv", "poetry", "conda", "npm", "pnpm", "yarn", "cargo", "bundle", "composer", "mvn", "gradle"),
    *("make", "cmake", "git", "docker"),
)


class WorkspaceEnvironment(msgspec.Struct, frozen=True):
    """What the commands of a workspace run with; `variables` are those of its processes."""

    root: Path
    jail: Jail
    variables: Mapping[str, str]
    sandboxes: SandboxProvider
    current_grants: CurrentGrants
    guard: AutoRunGuard | None = None

    @property
    def git(self) -> GitProgram:
        return GitProgram(self.root, self.variables, self.sandboxes, self.current_grants, self.guard)


async def describe_environment(
    environment: WorkspaceEnvironment, git_timeout_s: float = GIT_TIMEOUT_S
) -> str:
    """Return the text on the environment; what is not found in time is left out."""
    git, project = await asyncio.gather(
        _bounded(partial(read_status, environment.git, git_timeout_s)),
        _bounded(partial(asyncio.to_thread, _project_lines, environment)),
    )
    moment = datetime.now().astimezone()
    lines = [
        _HEADING,
        f"Date: {moment:%Y-%m-%d (%A)}, time zone {moment:%z}",
        f"Platform: {_platform()}",
        f"Shell of run_command: {shell_path()}",
        f"Workspace folder: {escape_hidden_name(str(environment.root))}",
        *([f"git: {describe_git(git, git_timeout_s)}"] if git else []),
        *(project or ()),
    ]
    return "\n".join(lines)


def describe_git(status: GitStatus, timeout_s: float = GIT_TIMEOUT_S) -> str:
    where = f"branch {status.branch}" if status.branch else "a checkout"
    if not status.is_known:
        why = f"git did not answer in {timeout_s:g} s" if status.problem == "slow" else "git failed"
        return f"{where}; its state is not known, {why}"
    if status.detached_at:
        where = f"detached at {status.short_commit}"
    elif not status.has_commit:
        where += ", without a commit"
    parts = [
        *([pluralize(status.changed, "changed file")] if status.changed else []),
        *([f"{status.conflicts} of them in conflict"] if status.conflicts else []),
        *([f"{status.untracked} untracked"] if status.untracked else []),
    ]
    return f"{where}; {', '.join(parts) or 'no changes'}"


async def _bounded(find: Callable[[], Awaitable[_Found]]) -> _Found | None:
    """Return what is found in time; a call, since a coroutine is never awaited if this is canceled first."""
    try:
        async with asyncio.timeout(_DEADLINE_S):
            return await find()
    except OSError:  # TimeoutError is one
        return None


def _project_lines(environment: WorkspaceEnvironment) -> list[str]:
    python, tests = python_environment(environment.jail), test_commands(environment.jail)
    path = environment.variables.get("PATH")
    return [
        f"Interpreters: {_found(_INTERPRETERS, path)}",
        f"Package managers and tools: {_found(_MANAGERS, path)}",
        *([f"Python of this project: {python}"] if python else []),
        *([f"Usual test command: {', or '.join(tests)}"] if tests else []),
    ]


def _found(names: Sequence[str], path: str | None) -> str:
    return ", ".join(name for name in names if shutil.which(name, path=path)) or "none found"


def _platform() -> str:
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    try:
        name = platform.freedesktop_os_release().get("PRETTY_NAME", "") if os.name == "posix" else ""
    except OSError:
        name = ""
    return f"{system} ({name})" if name else system
