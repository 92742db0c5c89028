"""The guided demo in an empty home, without a display and a network, from where nothing is written."""

from __future__ import annotations

import asyncio
import os
import re
import struct
import zlib
from pathlib import Path

import pytest

from tests.support.read_only_program import ReadOnlyProgram

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
    at, packed = 8, b""
    while at < len(picture):
        (size,) = struct.unpack(">I", picture[at : at + 4])
        if picture[at + 4 : at + 8] == b"IDAT":
            packed += picture[at + 8 : at + 8 + size]
        at += size + 12
    return width, height, zlib.decompress(packed)


@pytest.mark.slow
@pytest.mark.timeout(LONGEST_S + 20)
async def test_the_guided_demo_keeps_its_promises_offline(tmp_path: Path) -> None:
    program, hook, out = ReadOnlyProgram.copy_into(tmp_path), tmp_path / "hook", tmp_path / "out"
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
    assert int(counts["summary prepared"].split()[0]) >= 1
    summarized = re.match(r"(\d+) times? · (\d+) automatic · ", counts["summaries"])
    assert summarized is not None
    assert int(summarized[2]) >= 1
    for before, after in re.findall(r"([\d,]+) → ([\d,]+)", counts["summaries"]):
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
