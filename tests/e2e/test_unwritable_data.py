"""A data folder that can't be written opens for reading and export: a full disk, a read-only one, rights."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli_rig import ROOT, Cli, wait_for_exit
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    replies_in_order,
    text_reply,
)
from tests.support.small_disk import fill_disk, mount_small_disk, remount

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="mounts and another user")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own for the data."""
    (tmp_path / "data").mkdir()
    with mount_small_disk(tmp_path / "data", "24m"):
        yield tmp_path / "data"


async def write_session(cli: Cli) -> None:
    write = StreamedReply(Call("write_file", '{"path": "made.txt", "content": "made\\n"}'))
    async with ChatServer(replies_in_order(write, text_reply("It is written."))) as server:
        result = await cli.run_with_server(server.base_url, "Write it", "--yes")
    assert result.code == 0, result.err


def state(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def copies() -> list[str]:
    return [str(path) for path in Path("/tmp").glob("helix-desktop-reading-*")]


async def check_reads_and_exports(cli: Cli, out: Path, why: str) -> None:
    """Assert that all that reads works, that nothing is written, and that what writes says why not."""
    before = state(cli.data)
    for words in (
        ("sessions",), ("timeline",), ("cache", "list"), ("changes", "list"), ("changes", "diff"),
    ):  # fmt: skip
        result = await cli(*words, "--workspace", "ws")
        assert result.code == 0, (words, result)
        assert "Opened for reading." in result.err
        assert why in result.err
    assert b"made.txt" in (await cli("changes", "diff", "--workspace", "ws")).out
    exported = await cli("cache", "export", "--workspace", "ws", out / "all.helix")
    assert exported.code == 0, exported
    assert (out / "all.helix").stat().st_size > 1_000
    refused = await cli.run("More")
    assert (refused.code != 0, "Opened for reading" in refused.err) == (True, False), refused
    assert why in refused.err
    for words in (("cache", "gc"), ("changes", "revert")):
        refused = await cli(*words, "--workspace", "ws")
        assert refused.code != 0, refused
        assert why in refused.err
    assert state(cli.data) == before
    assert copies() == []


async def test_a_full_disk(disk: Path, cli: Cli, tmp_path: Path) -> None:
    """Of which not a byte is left: what is stored is read from a copy on another one."""
    await write_session(cli)
    fill_disk(disk / "ballast")
    await check_reads_and_exports(cli, tmp_path, "No space left on device")


async def test_a_disk_that_is_read_only(disk: Path, cli: Cli, tmp_path: Path) -> None:
    """Mounted so, or after an error of the disk; once it can be written again all goes on."""
    await write_session(cli)
    remount(disk, "ro")
    await check_reads_and_exports(cli, tmp_path, "Read-only file system")
    remount(disk, "rw")
    await write_session(cli)
    sessions = await cli("sessions", "--workspace", "ws", "--json")
    assert "Opened for reading" not in sessions.err


async def test_a_folder_that_may_only_be_read(cli: Cli, tmp_path: Path) -> None:
    """By its permissions, in a process that has no rights beyond them."""
    await write_session(cli)
    for path in (cli.data, *cli.data.rglob("*")):
        path.chmod(0o500 if path.is_dir() else 0o400)
    without_rights = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    if without_rights and shutil.which("setpriv") is None:
        pytest.skip("needs setpriv to give up root's rights")
    before = state(cli.data)
    for words in (["sessions", "--workspace", "ws"], ["backup", str(tmp_path / "out")]):
        process = await asyncio.create_subprocess_exec(
            *without_rights, sys.executable, "-m", "helix_desktop", *words,
            env={**os.environ, "PYTHONPATH": str(ROOT), "HELIX_DATA_DIR": str(cli.data)},
            cwd=tmp_path, stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        result = await wait_for_exit(process)
        assert result.code == 0, result
        assert "Opened for reading." in result.err
        assert "Permission denied" in result.err
    assert os.listdir(tmp_path / "out")
    assert state(cli.data) == before
    for path in (cli.data, *cli.data.rglob("*")):
        path.chmod(0o700)
