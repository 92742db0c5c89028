"""The guided demo and a first start, from a program in a place where nothing is written."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import struct
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

import pytest

from helix_desktop.tools.shell.scratch import temporary_base
from tests.support.cli_rig import ROOT
from tests.support.window.window_rig import until

IGNORE_TEMP_BYTECODE = shutil.ignore_patterns("*.pyc.*")
"""Bytecode that another process is just writing, for `shutil.copytree`."""

_SYSTEM_CACHES = {".cache/fontconfig"}
"""Made by fontconfig for every program with fonts, where the system's own cache is out of date."""


@dataclass(frozen=True)
class ReadOnlyProgram:
    """The program, an empty home, an empty folder for temporary files, and how the program is started."""

    folder: Path
    home: Path
    scratch: Path
    files: tuple[Path, ...]
    prefix: tuple[str, ...]
    """Words before the command that make the folder read-only, also for root."""

    @classmethod
    def copy_into(cls, folder: Path) -> ReadOnlyProgram:
        """Copy the program below `place`; skips the test where root can write everywhere."""
        program = folder / "program"
        home = folder / "home"
        scratch = folder / "scratch"
        # With its bytecode, as an installed program has it: else every start compiles the app again.
        shutil.copytree(ROOT / "helix_desktop", program / "helix_desktop", ignore=IGNORE_TEMP_BYTECODE)
        shutil.copytree(ROOT / "resources", program / "resources", ignore=shutil.ignore_patterns("*.pyc*"))
        home.mkdir()
        scratch.mkdir()
        files = tuple(sorted(program.rglob("*")))
        return cls(program, home, scratch, files, _write_protect(program))

    def command(self, *args: str) -> tuple[str, ...]:
        """Return the command line of `helix-desktop ARGUMENTS`."""
        return (*self.prefix, sys.executable, "-m", "helix_desktop", *args)

    @property
    def environ(self) -> dict[str, str]:
        """Environment variables that lead it to this home, without those that would lead it elsewhere."""
        names = {name for name in os.environ if name.startswith(("XDG_", "PYTHONDONT", "HELIX_", "QT_"))}
        own = {"HOME": str(self.home), "PYTHONPATH": str(self.folder), "TMPDIR": str(self.scratch)}
        return {name: text for name, text in os.environ.items() if name not in names} | own

    def home_entries(self, data_dir: str = "data") -> set[str]:
        """List the files in the home, except those below `data` and the system's own."""
        names = {str(place.relative_to(self.home)) for place in self.home.rglob("*")}
        below = tuple(f"{own}/" for own in (data_dir, *_SYSTEM_CACHES))
        rest = {name for name in names if not name.startswith(below)}
        return rest - _SYSTEM_CACHES - ({".cache"} if _SYSTEM_CACHES & names else set())

    def assert_untouched(self) -> None:
        """Assert that nothing was written next to the program or into the folder for temporary files."""
        assert tuple(sorted(self.folder.rglob("*"))) == self.files
        # The folder in which all workspaces make theirs stays, empty: removing it would race with other runs.
        base = self.scratch / temporary_base().name
        assert [path for path in self.scratch.rglob("*") if path != base] == []


def _write_protect(program: Path) -> tuple[str, ...]:
    bubblewrap = shutil.which("bwrap")
    if bubblewrap:
        return (
            bubblewrap,
            "--die-with-parent",
            "--dev-bind",
            "/",
            "/",
            "--ro-bind",
            str(program),
            str(program),
        )
    if not hasattr(os, "geteuid") or os.geteuid() == 0:
        pytest.skip("without bubblewrap root may write everywhere")
    for place in [*program.rglob("*"), program]:
        place.chmod(0o555 if place.is_dir() else 0o444)
    return ()


LONGEST_S = 1_000.0  # forty times the usual duration: a busy machine is no failure

# Every process that inherits this refuses each address that is not a file's, and notes it: code that retries
# or hides a refusal is found out all the same.
OFFLINE = """
import os, socket, sys

def refuse(event, arguments):
    if event in ("socket.connect", "socket.bind", "socket.sendto"):
        if arguments[0].family == socket.AF_UNIX:
            return
    elif event != "socket.getaddrinfo":
        return
    with open(os.environ["REFUSED"], "a") as noted:
        noted.write(f"{event} {arguments[1:]}\\n")
    raise PermissionError("there is no network here")

sys.addaudithook(refuse)
"""


def pixels(picture: bytes) -> tuple[int, int, bytes]:
    """Width, height and the unfiltered-as-stored rows of a PNG. Raises when it is none."""
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", picture[16:24])
    at = 8
    packed = b""
    while at < len(picture):
        (size,) = struct.unpack(">I", picture[at : at + 4])
        if picture[at + 4 : at + 8] == b"IDAT":
            packed += picture[at + 8 : at + 8 + size]
        at += size + 12
    return width, height, zlib.decompress(packed)


@pytest.mark.slow
@pytest.mark.timeout(LONGEST_S + 20)
async def test_the_guided_demo_keeps_its_promises_offline(tmp_path: Path) -> None:
    program = ReadOnlyProgram.copy_into(tmp_path)
    hook = tmp_path / "hook"
    out = tmp_path / "out"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(OFFLINE)
    environ = {
        **program.environ,
        "PYTHONPATH": f"{hook}{os.pathsep}{program.folder}",
        "REFUSED": str(tmp_path / "refused"),
    }
    process = await asyncio.create_subprocess_exec(
        *program.command("demo", "--out", str(out)),
        cwd=tmp_path,
        env=environ,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(LONGEST_S):
            output, complaints = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    text = output.decode()
    assert process.returncode == 0, text + complaints.decode()
    assert complaints.decode() == ""
    assert not (tmp_path / "refused").exists(), (tmp_path / "refused").read_text()
    check_findings(text)
    check_pictures(out)
    assert {path.name for path in out.iterdir() if path.is_dir()} == {"data", "projects"}
    assert program.home_entries() == set()
    program.assert_untouched()
    assert sorted(os.listdir(tmp_path)) == ["home", "hook", "out", "program", "scratch"]


def check_findings(text: str) -> None:
    """Assert that each thing promised was found, with its numbers."""
    assert "FAIL" not in text
    counts = {
        line[6:34].strip(): line[34:].strip() for line in text.splitlines() if line[:4] in {"ok  ", "    "}
    }
    assert int(counts["tool calls"].split()[0]) >= 80
    assert int(counts["prepared handover summaries"].split()[0]) >= 1
    summarized = re.match(r"(\d+) times? · (\d+) automatic · ", counts["handover summaries"])
    assert summarized is not None
    assert int(summarized[2]) >= 1
    for before, after in re.findall(r"([\d,]+) → ([\d,]+)", counts["handover summaries"]):
        assert _number(after) < _number(before) * 0.9
    cached = re.match(r"(\d+) times · \d+ outputs? · [1-9]\d* calls? · ", counts["cached"])
    assert cached is not None
    assert int(cached[1]) >= 2
    noted = re.match(
        r"(\d+) times · (\d+) steps · ([\d,]+) tokens saved", counts["compacted without a model"]
    )
    assert noted is not None
    assert int(noted[1]) >= 2
    assert int(noted[2]) >= int(noted[1])
    assert _number(noted[3]) >= 1_000
    observed = re.match(
        r"written (\d+) times? · (\d+) sentences · used (\d+) times?",
        counts["compacted by a model"],
    )
    assert observed is not None
    assert min(int(number) for number in observed.groups()) >= 1
    assert int(counts["cache"].split()[0]) >= 40
    read_back = re.match(r"(\d+) of (\d+) read back by SHA-256", counts["outputs byte for byte"])
    assert read_back is not None
    same, of = read_back.groups()
    assert same == of
    assert int(of) >= 80
    assert re.match(r"([1-9]\d*) of \1 match their calls", counts["arguments byte for byte"])
    assert int(counts["recalled by the agent"].split()[0]) >= 2
    for what in ("compaction", "caching", "summary"):
        steps = re.match(r"([\d,]+) → ([\d,]+) → ([\d,]+) tokens", counts[f"{what} undone and redone"])
        assert steps is not None
        before, undone, redone = map(_number, steps.groups())
        assert before == redone < undone
    assert counts["other workspace"].startswith("0 of ")


def _number(digits: str) -> int:
    return int(digits.replace(",", ""))


def check_pictures(out: Path) -> None:
    """Assert that there are eight pictures or more, dark and light, and that none is empty."""
    pictures = {path.stem: path.read_bytes() for path in out.glob("*.png")}
    assert len(pictures) >= 8
    dark = {name.removesuffix("-dark") for name in pictures if name.endswith("-dark")}
    light = {name.removesuffix("-light") for name in pictures if name.endswith("-light")}
    assert len(dark & light) >= 4
    assert dark | light == {re.sub("-(dark|light)$", "", name) for name in pictures}
    for name, picture in pictures.items():
        width, height, rows = pixels(picture)
        assert width >= 900, name
        assert height >= 600, name
        assert len(set(rows)) > 60, f"{name} shows next to nothing"
    assert len(set(pictures.values())) == len(pictures), "no picture is there twice"


_LONGEST_S = 60.0
_MOMENT_S = 2.0


def owners(home: Path) -> list[int]:
    """Return the processes that have a workspace open; a lock is empty for a moment."""
    locks = home.glob("data/workspaces/*/store/owner.lock")
    return [int(pid) for lock in locks for pid in lock.read_text().split()]


@pytest.mark.slow
@pytest.mark.timeout(1_200)
async def test_a_first_start_from_a_read_only_place_creates_only_its_data_directory(tmp_path: Path) -> None:
    program = ReadOnlyProgram.copy_into(tmp_path)
    home = program.home
    window = await asyncio.create_subprocess_exec(
        *program.command("--demo"),
        cwd=tmp_path,
        env={**program.environ, "QT_QPA_PLATFORM": "offscreen", "HELIX_DATA_DIR": str(home / "data")},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    await until(lambda: owners(home), "the window opens the sample")
    await asyncio.sleep(_MOMENT_S)  # the screens are filled, and whatever else a start may write is written
    os.kill(
        owners(home)[0], signal.SIGTERM
    )  # the program itself: bubblewrap would only pass on that it was killed
    async with asyncio.timeout(_LONGEST_S):
        output = await window.communicate()
    assert (window.returncode, output) == (0, (b"", b""))
    assert program.home_entries() == {"data"}
    program.assert_untouched()
    assert sorted(os.listdir(tmp_path)) == ["home", "program", "scratch"]
