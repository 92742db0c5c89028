"""The first start leaves nothing outside its data directory; the program may lie where nothing is written."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from tests.support.cli_rig import ROOT
from tests.support.window_rig import until

_SYSTEMS_OWN = {".cache/fontconfig"}
"""Made by fontconfig for every program with fonts, where the system's own cache is out of date."""
_LONGEST_S = 200.0
_MOMENT_S = 2.0


def _walls(program: Path) -> tuple[str, ...]:
    """What makes a folder read-only, also for root."""
    bubblewrap = shutil.which("bwrap")
    if bubblewrap:
        return (bubblewrap, "--dev-bind", "/", "/", "--ro-bind", str(program), str(program))
    if not hasattr(os, "geteuid") or os.geteuid() == 0:
        pytest.skip("without bubblewrap root may write everywhere")
    for place in [*program.rglob("*"), program]:
        place.chmod(0o555 if place.is_dir() else 0o444)
    return ()


def _made(home: Path) -> set[str]:
    """Every file and folder below a home, but below the data directory and what is the system's own."""
    found = {str(place.relative_to(home)) for place in home.rglob("*")}
    ours = {name for name in found if not name.startswith(("data/", *(f"{own}/" for own in _SYSTEMS_OWN)))}
    return ours - _SYSTEMS_OWN - ({".cache"} if _SYSTEMS_OWN & found else set())


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_a_first_start_from_a_read_only_place_makes_its_data_directory_alone(tmp_path: Path) -> None:
    program, home, scratch = tmp_path / "program", tmp_path / "home", tmp_path / "scratch"
    without = shutil.ignore_patterns("__pycache__", "*.pyc")
    for part in ("helix_desktop", "resources"):
        shutil.copytree(ROOT / part, program / part, ignore=without)
    before = sorted(program.rglob("*"))
    for folder in (home, scratch):
        folder.mkdir()
    environ = {name: text for name, text in os.environ.items() if not name.startswith(("XDG_", "PYTHONDONT"))}
    environ |= {
        "HOME": str(home),
        "HELIX_DATA_DIR": str(home / "data"),
        "PYTHONPATH": str(program),
        "TMPDIR": str(scratch),
    }
    walls = _walls(program)

    async def start(*words: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(*walls, sys.executable, "-m", "helix_desktop", *words),
            cwd=tmp_path, env=environ, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip

    window = await start("--demo")
    await until(lambda: list(home.glob("data/workspaces/*/store/owner.lock")), "the window opens the sample")
    await asyncio.sleep(_MOMENT_S)  # the screens are filled, and whatever else a start may write is written
    pid = int(next(home.glob("data/workspaces/*/store/owner.lock")).read_text().split()[0])
    os.kill(pid, signal.SIGTERM)  # the program itself: bubblewrap would only pass on that it was killed
    async with asyncio.timeout(_LONGEST_S):
        said = await window.communicate()
        assert (window.returncode, said) == (0, (b"", b""))
        demo = await start("demo", "--out", str(tmp_path / "pictures"))
        said = await demo.communicate()
        assert demo.returncode == 0, said
    assert _made(home) == {"data"}
    assert sorted(program.rglob("*")) == before
    assert list(scratch.iterdir()) == []
    assert sorted(os.listdir(tmp_path)) == ["home", "pictures", "program", "scratch"]
