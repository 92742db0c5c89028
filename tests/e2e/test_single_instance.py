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

from helix_desktop.app.crash_recovery import RunMarker
from helix_desktop.app.main import RUN_MARKER_FILE
from helix_desktop.app.single_instance import LOCK_FILE
from tests.support.cli_rig import Cli, RunningCommand, wait_for_exit

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="signals and process lists of POSIX"),
    pytest.mark.slow,
    pytest.mark.timeout(1_200),
]

LONGEST_S = 60.0  # for something to come about on a busy machine
STOPPED_S = 1.0  # much less than a start waits for an answer


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


async def end(window: RunningCommand) -> None:
    """Assert that a window that was asked to end does so without a word."""
    ran = await wait_for_exit(window)
    assert (ran.code, ran.out, ran.err) == (0, b"", "")


@asynccontextmanager
async def windows(cli: Cli, *words: str | Path, starts: int = 1) -> AsyncIterator[list[RunningCommand]]:
    """Offscreen windows, started at the same time; killed at the end of the block if they still are there."""
    processes = [await cli.fork(*words) for _ in range(starts)]
    try:
        yield processes
    finally:
        for process in processes:
            if process.returncode is None:
                process.kill()
                await wait_for_exit(process)


def children_of(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(pid) for pid in children.read_text().split()] if children.exists() else []


async def test_a_data_directory_has_one_window(cli: Cli, tmp_path: Path) -> None:
    """One test for all of it: each window costs as much as a hundred commands."""
    for name in ("two", "three", "four"):
        (tmp_path / name).mkdir()
    async with windows(cli, "--workspace", "ws", starts=3) as started:
        await until(lambda: opened(cli.data, cli.project), "a window opens the folder")
        await until(lambda: [process.returncode for process in started].count(None) == 1, "the others leave")
        (first,) = [process for process in started if process.returncode is None]
        for process in started:
            if process is not first:
                await end(process)
        await second_starts_notify_the_first_window(cli)
        await sessions_and_files_reach_the_window(cli)
        # Another data directory has windows of its own at the same time.
        other = Cli(tmp_path, tmp_path / "elsewhere")
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(a_hanging_window_is_waited_for_and_then_named(cli, first))
            tasks.create_task(a_killed_and_a_closing_window_are_replaced(other))
        assert first.returncode is None
        children = children_of(first.pid)
        first.send_signal(signal.SIGTERM)
        await end(first)
        await until(
            lambda: not any(Path(f"/proc/{child}").exists() for child in children), "no child is left"
        )
    assert (await cli("cache", "list", "--workspace", "two")).code == 0
    log = cli.data / "logs" / "helix-desktop.log"
    assert not log.exists() or "ERROR" not in log.read_text()
    assert not (cli.data / LOCK_FILE).exists()


async def second_starts_notify_the_first_window(cli: Cli) -> None:
    """Also by another name of the data directory: the first one opens the folder, and this start exits."""
    (cli.folder / "same").symlink_to(cli.data, target_is_directory=True)
    second = await cli("--data-dir", cli.folder / "same", "--workspace", cli.folder / "two")
    assert (second.code, second.out, second.err) == (0, b"", "")
    await until(lambda: opened(cli.data, cli.folder / "two"), "the first window opens what the second named")
    assert (await cli("cache", "list", "--workspace", "ws")).code == 0  # the window answers


async def sessions_and_files_reach_the_window(cli: Cli) -> None:
    """Each is handed over, and the start exits."""
    packed = cli.folder / "Ünd so weiter.helix"
    assert (await cli("cache", "export", packed, "--workspace", "ws")).code == 0
    for words in (("open", "0c7f"), (packed,), (packed.as_uri(),)):
        ran = await cli(*words)
        assert (ran.code, ran.out, ran.err) == (0, b"", ""), words


async def a_hanging_window_is_waited_for_and_then_named(cli: Cli, first: RunningCommand) -> None:
    """It opens what it was asked for once it answers again; a start that still waits then exits."""
    first.send_signal(signal.SIGSTOP)
    try:
        (await cli("--workspace", cli.folder / "three")).assert_refused(3, "not responding", str(first.pid))
    finally:
        first.send_signal(signal.SIGCONT)
    await until(
        lambda: opened(cli.data, cli.folder / "three"), "it answers again and opens what it was asked for"
    )
    first.send_signal(signal.SIGSTOP)
    async with asyncio.TaskGroup() as tasks:
        try:
            late = tasks.create_task(cli())
            await asyncio.sleep(STOPPED_S)
            assert not late.done()
        finally:
            first.send_signal(signal.SIGCONT)
    assert (late.result().code, late.result().err) == (0, "")


async def a_killed_and_a_closing_window_are_replaced(cli: Cli) -> None:
    """After kill -9 the next window opens the same again; a start while it closes opens a new one."""
    four = cli.folder / "four"
    marker = RunMarker(cli.data / RUN_MARKER_FILE)
    async with windows(cli, "--workspace", four) as (killed,):
        await until(lambda: opened(cli.data, four), "the window opens its folder")
        await until(
            lambda: bool((run := marker.crashed_run()) and run.workspaces), "the marker names the workspace"
        )
        killed.kill()
        await wait_for_exit(killed)
    crashed = marker.crashed_run()
    assert crashed is not None
    assert crashed.pid == killed.pid
    (lock,) = cli.data.glob("workspaces/*/store/owner.lock")
    async with windows(cli) as (closing,):
        await until(lambda: lock.read_text().strip() == str(closing.pid), "the next one opens it again")
        closing.terminate()
        async with windows(cli, "--workspace", cli.folder / "two") as (last,):
            await end(closing)
            await until(lambda: opened(cli.data, cli.folder / "two"), "the second one opens its folder")
            assert last.returncode is None
            last.terminate()
            await end(last)
