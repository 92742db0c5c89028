"""Simulated power loss: what a disk may hold when it lost power between two acknowledged writes.

A writer is halted after each acknowledgement and its files are copied. What a copy holds was synced; what the
next copy holds beyond it may have reached the disk wholly, partly, as zeros or as anything at all, sector by
sector. LevelDB's own order is kept: a table is synced before its list names it, a list before CURRENT does.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.store import Commit
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store.builders import WORKSPACE, closing_store, tool_answer_event
from tests.support.store.damage import ExpectedState, compare_store
from tests.support.store.power_loss_process import SESSIONS, content_bytes

_WRITER_SCRIPT = Path(__file__).with_name("power_loss_process.py")
_SECTOR_BYTES = 512  # bytes
LOSS_MODES = ("dropped", "cut", "zeroed", "garbled", "mixed")


def record_copies(folder: Path, groups: int, max_content_bytes: int) -> list[Path]:
    """Let a writer commit so many groups; a copy of its store before the first and after each."""
    live = folder / "live"
    command = [sys.executable, str(_WRITER_SCRIPT), str(live), WORKSPACE, str(max_content_bytes)]
    copies: list[Path] = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for number in range(groups + 1):
            if number:
                child.stdin.write(b"\n")
                child.stdin.flush()
                assert child.stdout.readline() == b"%d\n" % number
                copies.append(_copy_while_stopped(child, live, folder / str(number)))
        child.send_signal(signal.SIGKILL)
    return copies


def _copy_while_stopped(child: subprocess.Popen[bytes], live: Path, target: Path) -> Path:
    child.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
    shutil.copytree(live, target)
    child.send_signal(signal.SIGCONT)
    return target


def simulate_power_loss(before: Path, after: Path, target: Path, rng: random.Random, mode: str) -> None:
    """Make the store that is found when power was lost between two copies."""
    shutil.copytree(before, target)
    listed = [path.name for path in (before / "db").glob("MANIFEST-*")]
    list_grew = any(_size(after / "db" / name) > _size(before / "db" / name) for name in listed)
    is_list_kept = list_grew and rng.random() < 0.5
    for path in sorted((after / "db").iterdir()):
        had = before / "db" / path.name
        if path.name in ("LOCK", "LOG", "CURRENT") or _size(path) <= _size(had):
            continue
        if path.suffix == ".ldb":
            if is_list_kept:
                shutil.copy(path, target / "db")
                continue
        elif path.name in listed:
            if is_list_kept:
                shutil.copy(path, target / "db")
            continue
        elif not had.exists() and not is_list_kept and rng.random() < 0.3:
            continue  # its name did not reach the disk
        synced = had.read_bytes() if had.exists() else b""
        (target / "db" / path.name).write_bytes(
            synced + _unsynced_tail(path.read_bytes()[len(synced) :], rng, mode)
        )


def _unsynced_tail(tail: bytes, rng: random.Random, mode: str) -> bytes:
    """Return what the disk contains of bytes that were written and not synced."""
    if mode == "dropped":
        return b""
    cut = tail[: rng.randrange(len(tail) + 1)]
    if mode == "cut":
        return cut
    result = bytearray(cut)
    first = rng.randrange(len(result) + 1)
    for at in range(first, len(result), _SECTOR_BYTES):
        end = min(at + _SECTOR_BYTES, len(result))
        fate = rng.choice(["zeroed", "garbled", "there"]) if mode == "mixed" else mode
        if fate == "zeroed":
            result[at:end] = bytes(end - at)
        elif fate == "garbled":
            result[at:end] = rng.randbytes(end - at)
    return bytes(result)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else -1


def expected_state_after(groups: int, max_content_bytes: int) -> ExpectedState:
    """Return what the first groups put into the store."""
    expected = ExpectedState()
    for session_id in SESSIONS:
        for seq in range(1, groups + 1):
            data = content_bytes(session_id, seq, max_content_bytes)
            expected.events.setdefault(session_id, []).append(tool_answer_event(seq, data))
            expected.contents[digest_of(data)] = data
    return expected


async def check_after_power_loss(folder: Path, acknowledged: int, max_content_bytes: int) -> None:
    """Assert that the store opens with all acknowledged data, is consistent, and accepts writes."""
    async with closing_store(await LevelDbStore.open(folder, WORKSPACE)) as store:
        missing = await compare_store(store, expected_state_after(acknowledged + 1, max_content_bytes))
        assert not missing.contents & expected_state_after(acknowledged, max_content_bytes).contents.keys()
        assert all(lost <= 1 for lost in missing.events.values())
        checked = await store.health.check()
        assert checked.problems == ()
        for session_id in SESSIONS:
            seq = len(await store.events(session_id)) + 1
            await store.commit(
                Commit(session_id, [tool_answer_event(seq, content_bytes(session_id, 1, max_content_bytes))])
            )
