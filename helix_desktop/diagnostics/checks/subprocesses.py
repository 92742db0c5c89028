"""Check what the program starts: itself to paint and to serve, others with a clean environment."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from helix_desktop.config.build_info import current_build
from helix_desktop.config.languages import LANGUAGE_VARIABLE
from helix_desktop.config.paths import resources_dir
from helix_desktop.diagnostics.checks.rendering import CHECK_NAMES
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.translatable_text import TextContext, join_sentences, verbatim
from helix_desktop.services.app_command import app_command, is_frozen
from helix_desktop.services.sample_python import with_sample_python
from helix_desktop.system.clock import wall_clock_ms

text = TextContext("Self-check")

PAINT_ONLY = "--paint-only"
_CHILD_TIMEOUT_S = 60.0
_RAN = re.compile(r"^Ran (\d+) tests", re.MULTILINE)
_OUTPUT_CHARS = 400  # characters of what a failing program said
_LAUNCHER_PREFIXES = ("_MEIPASS", "_PYI_", "PYINSTALLER_")
"""Prefixes of variables that a frozen program's launcher sets for itself."""
_HARMLESS_VARIABLES = frozenset(
    {"PATH", "HELIX_DATA_DIR", "PWD", "OLDPWD", "_", "APPDIR", "APPIMAGE", "ARGV0", "OWD"}
)
"""Variables that may contain the program's folder without making other programs load libraries from it."""
_PIPE = asyncio.subprocess.PIPE
_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "self-check", "version": "0"},
    },
}


class RenderCheckProcess:
    """The rendering checks, all run by one child process, which the first check starts."""

    def __init__(self, *, in_english: bool = False) -> None:
        self._environ = _english_environ() if in_english else None
        self._results: dict[str, tuple[bool, str]] | None = None
        self._failure = ""

    def checks(self) -> dict[str, Callable[[], Awaitable[str]]]:
        """Return one check per part."""
        return {name: self._check(name) for name in CHECK_NAMES}

    def _check(self, name: str) -> Callable[[], Awaitable[str]]:
        async def check() -> str:
            if self._results is None:
                await self._run()
            works, finding = (self._results or {}).get(name, (False, self._failure))
            if not works:
                raise HelixError(verbatim(finding))
            return finding

        return check

    async def _run(self) -> None:
        self._results = {}
        child = await asyncio.create_subprocess_exec(
            *app_command("self-check", PAINT_ONLY),
            env=self._environ,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=_PIPE,
            stderr=_PIPE,
        )
        try:
            output, errors = await _communicate(child, text("The rendering check"))
        except HelixError as error:
            self._failure = error.what
            return
        try:
            self._results = {
                name: (bool(result[0]), str(result[1])) for name, result in json.loads(output).items()
            }
        except ValueError:
            self._failure = join_sentences(text("Qt can't paint."), _end_of(child, errors))


def _english_environ() -> dict[str, str]:
    return {**os.environ, LANGUAGE_VARIABLE: "en"}


def _end_of(child: asyncio.subprocess.Process, errors: bytes) -> str:
    """Return what a failed child wrote to standard error, else its exit code."""
    message = " ".join(errors.decode(errors="replace").split())
    return message or text("It exited with code {code}.", code=str(child.returncode))


async def mcp(*, in_english: bool = False) -> str:
    """Check that the cache server, started as other programs start it, answers the first request."""
    with tempfile.TemporaryDirectory() as temp_dir:
        folder, data = await asyncio.to_thread(_create_workspace, Path(temp_dir))
        child = await asyncio.create_subprocess_exec(
            *app_command("mcp", "--data-dir", str(data), "--workspace", str(folder)),
            env=_english_environ() if in_english else None, stdin=_PIPE, stdout=_PIPE, stderr=_PIPE,
        )  # fmt: skip
        output, errors = await _communicate(
            child, text("The cache server"), json.dumps(_INITIALIZE).encode() + b"\n"
        )
    try:
        answer = json.loads(output.splitlines()[0])["result"]
        return text("the cache server answers with protocol {version}", version=answer["protocolVersion"])
    except (IndexError, ValueError, KeyError, TypeError):
        raise HelixError(text("The cache server doesn't answer."), verbatim(_end_of(child, errors))) from None


async def _communicate(
    child: asyncio.subprocess.Process, label: str, stdin_data: bytes = b""
) -> tuple[bytes, bytes]:
    """Return both outputs of a child when it has ended. Raises HelixError if it does not end."""
    try:
        async with asyncio.timeout(_CHILD_TIMEOUT_S):
            return await child.communicate(stdin_data or None)
    except TimeoutError:
        child.kill()
        await child.wait()
        raise HelixError(
            text(
                "{program} didn't end within {seconds} seconds.",
                program=label,
                seconds=round(_CHILD_TIMEOUT_S),
            )
        ) from None


def _create_workspace(place: Path) -> tuple[Path, Path]:
    """Create a workspace and a data directory that lists it; return both folders."""
    from helix_desktop.config.toml_file import TomlFiles
    from helix_desktop.workspaces.registry import WorkspaceRegistry

    folder, data = place / "workspace", place / "data"
    folder.mkdir()
    WorkspaceRegistry(data / "workspaces", TomlFiles(), wall_clock_ms).add(folder)
    return folder, data


async def sample() -> str:
    """Check that a sample project's tests run on the Python that its commands find."""
    with tempfile.TemporaryDirectory() as temp_dir:
        folder = Path(temp_dir, "tidewatch")
        await asyncio.to_thread(shutil.copytree, resources_dir() / "demo" / "tidewatch", folder)
        child = await asyncio.create_subprocess_shell(
            "python3 -m unittest" if os.name != "nt" or is_frozen() else "python -m unittest",
            cwd=folder, env=with_sample_python(os.environ),
            stdin=asyncio.subprocess.DEVNULL, stdout=_PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        output = (await _communicate(child, text("The sample's Python")))[0].decode(errors="replace")
    ran = _RAN.search(output)
    if ran is None:
        raise HelixError(
            text("The sample's tests don't run."), verbatim(" ".join(output.split())[-_OUTPUT_CHARS:])
        )
    return text.plural(int(ran[1]), "Python runs the sample's %n test", "Python runs the sample's %n tests")


async def children() -> str:
    """Check that a started program sees the user's own environment, and nothing of ours."""
    command = ("cmd", "/d", "/u", "/c", "set") if os.name == "nt" else ("env", "-0")
    child = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.DEVNULL, stdout=_PIPE)
    output, _ = await child.communicate()
    listing, end = (output.decode("utf-16-le"), "\r\n") if os.name == "nt" else (os.fsdecode(output), "\0")
    variables = dict(line.split("=", 1) for line in listing.split(end) if "=" in line[1:])
    leaked = leaked_variables(variables, bundle_dir())
    if leaked:
        raise HelixError(
            text("Started programs see Helix Desktop's variables: {names}.", names=tuple(leaked))
        )
    return text.plural(len(variables), "%n variable, your own", "%n variables, all your own")


def bundle_dir() -> Path | None:
    """Return the folder of a built app; None in a checkout or a Python environment: nothing can leak."""
    frozen = getattr(sys, "_MEIPASS", None)
    if frozen:
        return Path(frozen)
    return resources_dir().parent if current_build().target else None


def leaked_variables(environ: Mapping[str, str], bundle_folder: Path | None) -> list[str]:
    """Return the variables that our launcher has set, or that contain the app's folder."""
    return sorted(
        name
        for name, value in environ.items()
        if name.startswith(_LAUNCHER_PREFIXES)
        or (bundle_folder and name not in _HARMLESS_VARIABLES and str(bundle_folder) in value)
    )
