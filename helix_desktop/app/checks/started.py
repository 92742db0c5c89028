"""Checks of what the program starts: itself to paint and to serve, others with a clean environment."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from helix_desktop.app.checks.painted import PARTS
from helix_desktop.app.itself import is_built, itself
from helix_desktop.app.sample_python import with_python
from helix_desktop.config.build import this_build
from helix_desktop.config.paths import resources_dir
from helix_desktop.context.errors import HelixError

PAINT_ONLY = "--paint-only"
_CHILD_S = 60.0
_RAN = re.compile(r"^Ran (\d+) tests", re.MULTILINE)
_TOLD = 400  # characters of what a failing program said
_MARKS = ("_MEIPASS", "_PYI_", "PYINSTALLER_")
"""Beginnings of variables that a frozen program's start leaves for itself."""
_LED_ASTRAY = frozenset(
    {"PATH", "HELIX_DATA_DIR", "PWD", "OLDPWD", "_", "APPDIR", "APPIMAGE", "ARGV0", "OWD"}
)
"""May name the program's folder without leading another program's libraries there."""
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


class Painting:
    """The painted parts, all tried by one child, which the first of them starts."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[bool, str]] | None = None
        self._lost = ""

    def checks(self) -> dict[str, Callable[[], Awaitable[str]]]:
        """One check for each part."""
        return {name: self._check(name) for name in PARTS}

    def _check(self, name: str) -> Callable[[], Awaitable[str]]:
        async def check() -> str:
            if self._found is None:
                await self._paint()
            works, words = (self._found or {}).get(name, (False, self._lost))
            if not works:
                raise HelixError(words)
            return words

        return check

    async def _paint(self) -> None:
        self._found = {}
        child = await asyncio.create_subprocess_exec(
            *itself("self-check", PAINT_ONLY), stdin=asyncio.subprocess.DEVNULL, stdout=_PIPE, stderr=_PIPE
        )
        try:
            said, complaint = await _end_of(child, "The painting")
        except HelixError as error:
            self._lost = str(error)
            return
        try:
            self._found = {name: (bool(one[0]), str(one[1])) for name, one in json.loads(said).items()}
        except ValueError:
            why = " ".join(complaint.decode(errors="replace").split())
            self._lost = f"Qt cannot paint. {why or f'It ended with {child.returncode}.'}"


async def mcp() -> str:
    """The cache server, started as other programs start it, answers their first request."""
    with tempfile.TemporaryDirectory() as place:
        folder, data = await asyncio.to_thread(_prepared, Path(place))
        child = await asyncio.create_subprocess_exec(
            *itself("mcp", "--data-dir", str(data), "--workspace", str(folder)),
            stdin=_PIPE, stdout=_PIPE, stderr=_PIPE,
        )  # fmt: skip
        said, complaint = await _end_of(child, "The cache server", json.dumps(_INITIALIZE).encode() + b"\n")
    try:
        answer = json.loads(said.splitlines()[0])["result"]
        return f"the cache server answers, protocol {answer['protocolVersion']}"
    except (IndexError, ValueError, KeyError, TypeError):
        why = " ".join(complaint.decode(errors="replace").split())
        raise HelixError(
            "The cache server gives no answer.", why or f"It ended with {child.returncode}."
        ) from None


async def _end_of(child: asyncio.subprocess.Process, what: str, fed: bytes = b"") -> tuple[bytes, bytes]:
    """What a child said until its end, on both streams. Raises HelixError when it does not come to one."""
    try:
        async with asyncio.timeout(_CHILD_S):
            return await child.communicate(fed or None)
    except TimeoutError:
        child.kill()
        await child.wait()
        raise HelixError(f"{what} did not come to an end within {_CHILD_S:g} s.") from None


def _prepared(place: Path) -> tuple[Path, Path]:
    """A workspace's folder, and a data directory that knows it."""
    from helix_desktop.config.toml_file import TomlFiles
    from helix_desktop.workspaces.registry import Registry

    folder, data = place / "workspace", place / "data"
    folder.mkdir()
    Registry(data / "workspaces", TomlFiles(), lambda: time.time_ns() // 1_000_000).add(folder)
    return folder, data


async def sample() -> str:
    """A sample project's tests run on the Python that its commands find."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "tidewatch")
        await asyncio.to_thread(shutil.copytree, resources_dir() / "demo" / "tidewatch", folder)
        child = await asyncio.create_subprocess_shell(
            "python3 -m unittest" if os.name != "nt" or is_built() else "python -m unittest",
            cwd=folder, env=with_python(os.environ),
            stdin=asyncio.subprocess.DEVNULL, stdout=_PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        said = (await _end_of(child, "The sample's Python"))[0].decode(errors="replace")
    ran = _RAN.search(said)
    if ran is None:
        raise HelixError("The sample's tests do not run.", " ".join(said.split())[-_TOLD:])
    return f"Python runs the sample's {ran[1]} tests"


async def children() -> str:
    """A program that is started sees the person's own environment, and nothing of ours."""
    command = ("cmd", "/d", "/u", "/c", "set") if os.name == "nt" else ("env", "-0")
    child = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.DEVNULL, stdout=_PIPE)
    said, _ = await child.communicate()
    text, end = (said.decode("utf-16-le"), "\r\n") if os.name == "nt" else (os.fsdecode(said), "\0")
    seen = dict(line.split("=", 1) for line in text.split(end) if "=" in line[1:])
    wrong = strays(seen, bundle())
    if wrong:
        raise HelixError(f"Programs that are started see {', '.join(wrong)} of Helix Desktop.")
    return f"{len(seen)} variables, all of them the person's own"


def bundle() -> Path | None:
    """The folder of a built app; None in a checkout or a Python environment, which leads nobody astray."""
    frozen = getattr(sys, "_MEIPASS", None)
    if frozen:
        return Path(frozen)
    return resources_dir().parent if this_build().target else None


def strays(environ: Mapping[str, str], folder: Path | None) -> list[str]:
    """The variables that a start of ours has left, or that lead into the app's folder."""
    return sorted(
        name
        for name, value in environ.items()
        if name.startswith(_MARKS) or (folder and name not in _LED_ASTRAY and str(folder) in value)
    )
