"""Proves an installation: each part is tried for real, and what is wrong is named."""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from helix_desktop import __version__
from helix_desktop.config.itself import own_command
from helix_desktop.config.paths import DataDir, resources_dir
from helix_desktop.context.errors import HelixError

PAINT_ONLY = "--paint-only"
_WIDTH = 14
Check = Callable[[], Awaitable[str]]


def self_check(given: argparse.Namespace) -> int:
    """Print one line per part; 0 when all of them work, else 1 with the reason."""
    if given.paint_only:
        return _paint()
    data = DataDir.locate(getattr(given, "data_dir", None), os.environ)
    return asyncio.run(_run(data))


async def _run(data: DataDir) -> int:
    checks: dict[str, Check] = {
        "versions": _versions,
        "resources": _resources,
        "window": _window,
        "store": _store,
        "tokens": _tokens,
        "search": _search,
        "sandbox": _sandbox,
        "data": lambda: _data(data),
        "keys": _keys,
    }
    failed = 0
    for name, check in checks.items():
        try:
            sys.stdout.write(f"ok    {name:<{_WIDTH}} {await check()}\n")
        except Exception as error:  # noqa: BLE001 - whatever is wrong with a part has to be named
            failed += 1
            sys.stdout.write(f"FAIL  {name:<{_WIDTH}} {type(error).__name__}: {error}\n")
    sys.stdout.write("all parts work\n" if not failed else f"{failed} of {len(checks)} parts do not work\n")
    return 1 if failed else 0


async def _versions() -> str:
    import plyvel
    from PySide6.QtCore import qVersion

    parts = (f"Helix Desktop {__version__}", f"Python {platform.python_version()}", f"Qt {qVersion()}")
    return ", ".join((*parts, f"LevelDB {plyvel.__leveldb_version__}"))


async def _resources() -> str:
    root = resources_dir()
    wanted = ("fonts/Inter-Regular.ttf", "icons/helix.svg", "prompts/system.md", "demo/tidewatch", "licences")
    missing = [name for name in wanted if not (root / name).exists()]
    if missing:
        raise HelixError(f"{', '.join(missing)} missing in {root}.", fix="Install Helix Desktop again.")
    return str(root)


async def _window() -> str:
    """A window that really paints, tried in a process of its own, which a broken Qt aborts."""
    child = await asyncio.create_subprocess_exec(
        *(*own_command(), "self-check", PAINT_ONLY),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    said, complaint = await child.communicate()
    if child.returncode:
        raise HelixError("Qt cannot paint.", " ".join(complaint.decode(errors="replace").split()))
    return said.decode(errors="replace").strip()


def _paint() -> int:
    """Paint something; without a display, on Qt's offscreen platform."""
    if not any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")) and sys.platform == "linux":
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtWidgets import QApplication, QLabel

    from helix_desktop.ui import fonts

    app = QApplication(sys.argv[:1])
    families = fonts.load(resources_dir() / "fonts")
    label = QLabel("Helix Desktop")
    if label.grab().isNull():
        raise HelixError("The picture is empty.")
    sys.stdout.write(f"{app.platformName()}, {len(families)} font families\n")
    return 0


async def _store() -> str:
    """A round trip through a real LevelDB, with everything closed and opened again in between."""
    from helix_desktop.context.content import Content
    from helix_desktop.context.digest import digest_of
    from helix_desktop.store.leveldb import LevelStore

    data, identity = os.urandom(100_000), "00000000-0000-4000-8000-000000000000"
    with tempfile.TemporaryDirectory() as place:
        for _ in range(2):
            store = await LevelStore.open(Path(place) / "store", identity)
            await store.commit("self-check", contents=[Content(digest_of(data), data)])
            back = await store.get(digest_of(data))
            await store.close()
            if back != data:
                raise HelixError("LevelDB gave back other bytes than it was given.")
    return "100,000 bytes written, closed, read back and verified"


async def _tokens() -> str:
    from helix_desktop.providers.token_counter import TokenCounter

    folder = resources_dir() / "tokenizers"
    names = ("o200k_base", "cl100k_base")
    for name in names:
        await TokenCounter(folder / f"{name}.tiktoken").load()
    return f"{' and '.join(names)}, hashes verified"


async def _search() -> str:
    from helix_desktop.tools.ripgrep import find_ripgrep

    found = find_ripgrep()
    if found is None:
        raise HelixError("ripgrep is missing.", fix="Install Helix Desktop again.")
    return str(found)


async def _sandbox() -> str:
    """What holds the agent's commands back here; none is no fault of the installation."""
    from helix_desktop.app.tooling import NO_SANDBOX
    from helix_desktop.tools.sandbox import told
    from helix_desktop.tools.sandboxes import find_sandbox

    kind = (await asyncio.to_thread(find_sandbox)).kind
    said = told(kind, network=kind == "none")
    return f"{said} {NO_SANDBOX}" if kind == "none" else said


async def _data(data: DataDir) -> str:
    data.ensure()
    return f"{data.root} can be written"


async def _keys() -> str:
    from helix_desktop.config.secrets import Secrets

    secrets = Secrets(os.environ)
    try:
        name = await secrets.backend()
    finally:
        secrets.close()
    return name or f"no keychain ({secrets.problem}); keys come from the environment, or last for one run"
