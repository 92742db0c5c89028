"""Workspaces of 5,000 sessions and of one session with 200,000 outputs: idle, searched, and worked in.

Each figure is of a process of its own, as users start it. The same in an empty workspace stands beside it.
As a script it takes the number of sessions, and makes 40 outputs of each: `bench_big_workspaces.py 500`.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.workspaces.registry import WorkspaceRecord, WorkspaceRegistry
from tests.benchmarks.big_workspaces import (
    OUTPUTS_PER_SESSION,
    SESSION_ID,
    SESSIONS,
    add_many_sessions,
    add_one_session,
    add_workspace,
)
from tests.support.model_servers.chat_server import ChatServer, text_reply

ROOT = Path(__file__).resolve().parents[2]
_IDLE_S = 60.0
_SETTLE_S = 30.0
_TICKS = os.sysconf("SC_CLK_TCK")

Figure = tuple[str, float, str]


class Used(NamedTuple):
    """What a process took: CPU seconds, most memory in MB, seconds until its first request."""

    cpu_s: float
    memory_mb: float
    requested_s: float


def _command(data: Path, *words: str) -> subprocess.Popen[bytes]:
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "HELIX_DATA_DIR": str(data)}
    return subprocess.Popen(
        [sys.executable, "-m", "helix_desktop", *words],
        env={"QT_QPA_PLATFORM": "offscreen", **environ},
        cwd=data.parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


async def _run(data: Path, project: str, *words: str) -> Used:
    """Run a turn that a local server answers at once."""
    async with ChatServer(lambda _: text_reply("Done.")) as server:
        started = time.monotonic()
        model = ("--model", "local/small", "--base-url", server.base_url, "--window", "128000")
        command = ("run", "--workspace", project, "--trust", "--message", "Go.", *model, *words)
        process = _command(data, *command)
        loop = asyncio.get_running_loop()
        ended = loop.run_in_executor(None, os.wait4, process.pid, 0)
        requested_s = 0.0
        while not ended.done():
            await asyncio.sleep(0.02)
            if server.bodies and not requested_s:
                requested_s = time.monotonic() - started
        _, status, usage = await ended
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, (project, words)
    return Used(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, requested_s)


def _first_search(data: Path, project: str) -> tuple[float, float]:
    """Return the seconds and CPU seconds of a search in a workspace that is not indexed yet."""
    started = time.monotonic()
    process = _command(data, "search", "geometric mean", "--workspace", project)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return time.monotonic() - started, usage.ru_utime + usage.ru_stime


async def _index_outputs(data: Path, record: WorkspaceRecord) -> None:
    """Index all texts of a workspace; `search --wait` waits for its messages alone."""
    registry = WorkspaceRegistry(data / "workspaces", wall_clock_ms)
    store = await LevelDbStore.open(registry.store_folder(record.id), record.id, index_after_s=None)
    await store.wait_until_indexed()
    await store.close()


def _idle(data: Path, project: str) -> Used:
    """Open a window, leave it alone, and return the CPU of a minute of that, in seconds, and its memory."""
    process = _command(data, project)
    try:
        time.sleep(_SETTLE_S)
        before = _cpu_s(process.pid)
        time.sleep(_IDLE_S)
        spent = _cpu_s(process.pid) - before
        return Used(spent, _most_memory_mb(process.pid), 0.0)
    finally:
        process.terminate()
        process.wait()


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _most_memory_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    (most,) = (line for line in lines if line.startswith("VmHWM"))
    return int(most.split()[1]) / 1024


async def _measure(folder: Path, sessions: int) -> list[Figure]:
    data = folder / "data"
    outputs = sessions * OUTPUTS_PER_SESSION
    add_workspace(data, "empty")
    record = await add_many_sessions(data, sessions)
    await add_one_session(data, outputs)
    search_s, search_cpu_s = _first_search(data, "many-sessions")

    await _run(data, "empty")  # makes its session and the bytecode
    empty = await _run(data, "empty")
    crowded = await _run(data, "many-sessions")
    large = await _run(data, "one-session")
    whole = await _run(data, "one-session", "--session", SESSION_ID)

    await _index_outputs(data, record)
    idle = _idle(data, "many-sessions")
    idle_empty = _idle(data, "empty")
    return [
        (f"first search in {sessions:,} sessions, s", search_s, "<= 2, CPU free"),
        ("the same, CPU s", search_cpu_s, ""),
        ("a new session: most memory in an empty workspace, MB", empty.memory_mb, ""),
        (f"more with {sessions:,} sessions, MB", crowded.memory_mb - empty.memory_mb, "<= 100"),
        (
            f"more beside one with {outputs:,} outputs, MB",
            large.memory_mb - empty.memory_mb,
            "<= 100",
        ),
        (f"more with {sessions:,} sessions, CPU s", crowded.cpu_s - empty.cpu_s, "<= 1"),
        (f"more beside one with {outputs:,} outputs, CPU s", large.cpu_s - empty.cpu_s, "<= 1"),
        (f"first request of a session with {outputs:,} outputs, s", whole.requested_s, "<= 10"),
        ("the same, most memory, MB", whole.memory_mb, ""),
        (f"idle window, {sessions:,} sessions: CPU s in {_IDLE_S:.0f} s", idle.cpu_s, ""),
        (f"idle window, empty workspace: CPU s in {_IDLE_S:.0f} s", idle_empty.cpu_s, ""),
        (f"idle window, {sessions:,} sessions: most memory, MB", idle.memory_mb, ""),
    ]


def main(sessions: int = SESSIONS) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="bench-big-workspaces-") as folder:
        return asyncio.run(_measure(Path(folder), sessions))


if __name__ == "__main__":
    for figure, value, target in main(int(sys.argv[1]) if sys.argv[1:] else SESSIONS):
        sys.stdout.write(f"{figure:<70} {value:>10.2f}   {target}\n")
