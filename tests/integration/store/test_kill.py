"""Killed or without power at any moment, nothing acknowledged or referenced is lost; see tests/torture."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.retention import DAY_MS, RetentionRule
from helix_desktop.domain.store import Commit
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store import power_loss_process
from tests.support.store.builders import (
    WORKSPACE,
    TickingClock,
    closing_store,
    make_content,
    make_summary,
    tool_answer_event,
)
from tests.support.store.damage import (
    AcknowledgedCommits,
    ExpectedState,
    check_acknowledged,
    check_row_consistency,
    compare_store,
    kill_writer,
)
from tests.support.store.power_loss_process import SESSIONS, content_bytes

_SECTOR_BYTES = 512  # bytes
LOSS_MODES = ("dropped", "cut", "zeroed", "garbled", "mixed")
TORTURE = "HELIX_TORTURE" in os.environ  # set by tests/torture/damage.py
KILLS, AT_ONCE = (10, 10) if TORTURE else (1, 3)
# Of torture enough for LevelDB to change its log and write tables meanwhile.
GROUPS, LARGEST = (24, 2_000_000) if TORTURE else (4, 60_000)
LOSSES = 36 if TORTURE else 2  # of each mode


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
@pytest.mark.parametrize("batch", range(KILLS))
async def test_kill_9_loses_nothing_acknowledged(tmp_path: Path, batch: int) -> None:
    folder = tmp_path / "store"
    everything: AcknowledgedCommits = {}
    for number in range(AT_ONCE):
        acknowledged = kill_writer(folder, batch * AT_ONCE + number)
        everything |= acknowledged
        # A stale owner lock is simply acquired.
        async with closing_store(await LevelDbStore.open(folder, WORKSPACE)) as store:
            assert store.health.report is None
            assert await check_acknowledged(store, acknowledged) > 0
            if number == AT_ONCE - 1:
                await check_acknowledged(store, everything)
                totals = await store.totals()
                assert totals.sessions == len(await store.sessions())
                assert (await store.health.check()).is_sound
        check_row_consistency(folder)


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A store after each of some groups of writes."""
    return record_copies(tmp_path_factory.mktemp("power"), GROUPS, LARGEST)


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be halted there")
@pytest.mark.parametrize("mode", LOSS_MODES)
async def test_power_loss_costs_nothing_acknowledged(copies: list[Path], tmp_path: Path, mode: str) -> None:
    for seed in range(LOSSES):
        rng = random.Random(f"{mode} {seed}")
        acknowledged = rng.randrange(1, GROUPS)
        folder = tmp_path / str(seed)
        simulate_power_loss(copies[acknowledged - 1], copies[acknowledged], folder, rng, mode)
        await check_after_power_loss(folder, acknowledged, LARGEST)
        shutil.rmtree(folder)


CLEANUP_ROUNDS = 5


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
async def test_a_store_killed_during_cleanup_is_consistent(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    for seed in range(CLEANUP_ROUNDS):
        acknowledged = kill_writer(folder, seed, 0.6, "cleanup")
        async with closing_store(await LevelDbStore.open(folder, WORKSPACE)) as store:
            assert store.health.report is None
            assert await check_acknowledged(store, acknowledged) > 0
            await check_totals(store)
        check_row_consistency(folder)


async def check_totals(store: LevelDbStore) -> None:
    """Assert that the counts are those of the entries, wherever they lie."""
    entries = [*(await store.retention.trash()).entries]
    cursor = ""
    while True:
        page = await store.page(cursor, 1000)
        entries += page.entries
        cursor = page.cursor
        if not cursor:
            break
    totals = await store.totals()
    assert totals.entries == len(entries)
    assert totals.size == sum(entry.size for entry in entries)
    assert totals.stored_size == sum(entry.stored_size for entry in entries)
    assert totals.sessions == len(await store.sessions()) + len((await store.retention.trash()).sessions)


@pytest.mark.parametrize("size", [300, 1_200_000])
async def test_a_put_at_the_moment_of_removal_wins(tmp_path: Path, size: int) -> None:
    clock = TickingClock()
    store = await LevelDbStore.open(tmp_path / "store", WORKSPACE, clock)
    data = random.Random(size).randbytes(size)
    content = make_content(data)
    try:
        await store.commit(Commit("s", contents=[content]))
        for seq in range(1, 8):
            session_id = f"s{seq}"
            clock.now += 2 * DAY_MS
            await store.retention.collect([content.digest])
            assert [entry.digest for entry in (await store.retention.trash()).entries] == [content.digest]
            actions = [
                store.retention.empty_trash(),
                store.commit(
                    Commit(
                        session_id, [tool_answer_event(1, data)], [content], summary=make_summary(session_id)
                    )
                ),
                store.retention.empty_trash(),
            ]
            random.Random(seq).shuffle(actions)
            await asyncio.gather(*actions)
            assert await store.get(content.digest) == data
            assert (await store.retention.plan(RetentionRule())).referenced.entries == 1
            await store.retention.trash_session(session_id)
            await store.retention.empty_trash()
            await check_totals(store)
    finally:
        await store.close()


def record_copies(folder: Path, groups: int, max_content_bytes: int) -> list[Path]:
    """Let a writer commit so many groups; a copy of its store before the first and after each."""
    live = folder / "live"
    command = [sys.executable, power_loss_process.__file__, str(live), WORKSPACE, str(max_content_bytes)]
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
    """Make the store that is found when power was lost between two copies.

    What a copy holds was synced; what the next copy holds beyond it may have reached the disk wholly, partly,
    as zeros or as anything at all, sector by sector. LevelDB's own order is kept: a table is synced before
    its list names it, a list before CURRENT does.
    """
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
