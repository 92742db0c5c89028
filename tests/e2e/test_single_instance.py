"""One window per data directory, and its end: nothing is left running, the store opens again at once."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from helix_desktop.app.main import RUN_MARKER_FILE
from helix_desktop.app.run_marker import RunMarker
from helix_desktop.app.single_instance import LOCK_FILE
from tests.support.cli_rig import Cli, wait_for_exit

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and process lists of POSIX")

LONGEST_S = 40.0  # for something to come about on a busy machine
LONGEST_END_S = 8.0


async def until(holds: Callable[[], bool], what: str) -> None:
    """Wait for a condition that only the file system reveals."""
    ends = time.monotonic() + LONGEST_S
    while not holds():
        assert time.monotonic() < ends, f"it never came to that: {what}"
        await asyncio.sleep(0.05)


def opened(data: Path, folder: Path) -> bool:
    """Whether a window on this data directory has opened this folder's store."""
    for record in data.glob("workspaces/*/workspace.toml"):
        lock = record.parent / "store" / "owner.lock"
        if f'path = "{folder}"' in record.read_text() and lock.exists() and lock.read_text():
            return True
    return False


@asynccontextmanager
async def window(cli: Cli, *words: str | Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """An offscreen window; ended by SIGTERM at the end of the block if it still is there."""
    process = await cli.start(*words)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            await wait_for_exit(process)


def children_of(pid: int) -> list[int]:
    """The living processes that a process started."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(pid) for pid in children.read_text().split()] if children.exists() else []


async def test_a_second_start_notifies_the_first_window_and_exits(tmp_path: Path) -> None:
    cli = Cli.create(tmp_path)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "same").symlink_to(cli.data, target_is_directory=True)
    async with window(cli, "--workspace", tmp_path / "one") as first:
        await until(lambda: opened(cli.data, tmp_path / "one"), "the first window opens its folder")
        second = await cli("--data-dir", tmp_path / "same", "--workspace", tmp_path / "two")
        assert (second.code, second.err) == (0, "")
        await until(
            lambda: opened(cli.data, tmp_path / "two"), "the first window opens what the second named"
        )
        assert first.returncode is None

        assert (await cli("cache", "list", "--workspace", "one")).code == 0  # the window answers
        other = Cli(tmp_path, tmp_path / "elsewhere")
        async with window(other, "--workspace", tmp_path / "two") as apart:
            await until(
                lambda: opened(other.data, tmp_path / "two"), "another data directory has its own window"
            )
            assert apart.returncode is None

        started_at = time.monotonic()
        first.send_signal(signal.SIGTERM)
        assert children_of(first.pid) == []
        ran = await wait_for_exit(first)
        assert time.monotonic() - started_at < LONGEST_END_S
        assert (ran.code, ran.out, ran.err) == (0, b"", "")
    assert (await cli("cache", "list", "--workspace", "two")).code == 0
    log = cli.data / "logs" / "helix-desktop.log"
    assert not log.exists() or "ERROR" not in log.read_text()
    assert not (cli.data / LOCK_FILE).exists()


async def test_only_one_of_several_concurrent_starts_stays(tmp_path: Path) -> None:
    cli = Cli.create(tmp_path)
    started = await asyncio.gather(*(cli.start("--workspace", "ws") for _ in range(3)))
    ends = [asyncio.gather(wait_for_exit(process)) for process in started]
    try:
        await until(lambda: opened(cli.data, cli.project), "a window opens the folder")
        await until(lambda: sum(process.returncode is None for process in started) == 1, "the others leave")
    finally:
        for process in started:
            if process.returncode is None:
                process.terminate()
    for (ran,) in await asyncio.gather(*ends):
        assert (ran.code, ran.err) == (0, "")


async def test_after_kill_9_a_window_starts_normally(tmp_path: Path) -> None:
    cli = Cli.create(tmp_path)
    async with window(cli, "--workspace", "ws") as first:
        await until(lambda: opened(cli.data, cli.project), "the window opens its folder")
        marker = RunMarker(cli.data / RUN_MARKER_FILE)
        await until(
            lambda: bool((run := marker.crashed_run()) and run.workspaces), "the marker names the workspace"
        )
        first.kill()
        await wait_for_exit(first)
    crashed = marker.crashed_run()
    assert crashed is not None
    assert crashed.pid == first.pid
    lock = next(cli.data.glob("workspaces/*/store/owner.lock"))
    async with window(cli) as second:
        await until(lambda: lock.read_text().strip() == str(second.pid), "the next one opens it again")


async def test_a_hanging_window_is_waited_for_and_then_named(tmp_path: Path) -> None:
    cli = Cli.create(tmp_path)
    (tmp_path / "two").mkdir()
    async with window(cli, "--workspace", "ws") as first:
        await until(lambda: opened(cli.data, cli.project), "the window opens its folder")
        first.send_signal(signal.SIGSTOP)
        try:
            (await cli("--workspace", tmp_path / "two")).assert_refused(3, "not responding", str(first.pid))
        finally:
            first.send_signal(signal.SIGCONT)
        await until(
            lambda: opened(cli.data, tmp_path / "two"), "it answers again and opens what it was asked for"
        )
        first.send_signal(signal.SIGSTOP)
        try:
            late = await cli.start()
            await asyncio.sleep(3)
            assert late.returncode is None
        finally:
            first.send_signal(signal.SIGCONT)
        ran = await wait_for_exit(late)
        assert (ran.code, ran.err) == (0, "")


async def test_a_start_while_the_window_closes_opens_a_new_one(tmp_path: Path) -> None:
    cli = Cli.create(tmp_path)
    (tmp_path / "two").mkdir()
    async with window(cli, "--workspace", "ws") as first:
        await until(lambda: opened(cli.data, cli.project), "the window opens its folder")
        first.terminate()
        async with window(cli, "--workspace", tmp_path / "two") as second:
            await wait_for_exit(first)
            await until(lambda: opened(cli.data, tmp_path / "two"), "the second one opens its folder")
            assert second.returncode is None


async def test_a_link_and_a_file_reach_the_window_that_is_open(tmp_path: Path) -> None:
    cli = Cli.create(tmp_path)
    async with window(cli, "--workspace", "ws"):
        await until(lambda: opened(cli.data, cli.project), "the window opens its folder")
        identity = cli.store.parent.name
        packed = tmp_path / "Ünd so weiter.helix"
        assert (await cli("cache", "export", packed, "--workspace", "ws")).code == 0
        for target in (f"helix:open?workspace={identity}", "helix:nonsense", packed, packed.as_uri()):
            started_at = time.monotonic()
            ran = await cli(target)
            assert (ran.code, ran.out, ran.err) == (0, b"", ""), target
            assert time.monotonic() - started_at < LONGEST_END_S
