"""A damaged store is mended: what can be read is kept, what cannot is named, the files stand aside."""

from __future__ import annotations

import asyncio
import random
import shutil
from pathlib import Path

import plyvel
import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ContentRedacted
from helix_desktop.domain.redaction.redaction import RedactionRequest
from helix_desktop.domain.store.commit import Commit
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.words.store_reports import repair_notice
from tests.support.store.builders import WORKSPACE, make_content, make_summary, tool_answer_event
from tests.support.store.damage import compact_tables, database_files
from tests.support.store.expected_state import (
    ExpectedState,
    check_reported,
    compare_store,
    damage_and_compare,
    write_commits,
)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ExpectedState]:
    """A closed store of 32 commits, half of them in tables."""
    folder, made = tmp_path_factory.mktemp("original") / "store", ExpectedState()
    asyncio.run(write_commits(folder, made, 16, 1))
    compact_tables(folder)
    asyncio.run(write_commits(folder, made, 16, 2))
    return folder, made


@pytest.fixture
def truth(tmp_path: Path, original: tuple[Path, ExpectedState]) -> ExpectedState:
    """What the store in `store` holds."""
    shutil.copytree(original[0], tmp_path / "store")
    return original[1]


@pytest.mark.parametrize("gone", ["CURRENT", "MANIFEST-*", "LOG"])
async def test_a_lost_list_of_files_costs_nothing(tmp_path: Path, truth: ExpectedState, gone: str) -> None:
    folder = tmp_path / "store"
    for path in (folder / "db").glob(gone):
        path.unlink()
    before = database_files(folder)
    store = await LevelDbStore.open(folder, WORKSPACE)
    try:
        assert not await compare_store(store, truth)
        if gone == "LOG":
            assert store.health.report is None
            return
        assert store.health.report is not None
        assert store.health.report.is_lossless
        assert gone.removesuffix("-*") in repair_notice(store.health.report).why
        assert store.health.report.copy == str(folder / "kept" / "1" / "db")
        assert before.items() <= database_files(folder / "kept" / "1").items()
        assert store.health.report.events == sum(map(len, truth.events.values()))
        await store.health.acknowledge()
        assert store.health.report is None
    finally:
        await store.close()
    again = await LevelDbStore.open(folder, WORKSPACE)
    assert again.health.report is None
    assert not await compare_store(again, truth)
    await again.close()


@pytest.mark.parametrize("cut", [1, 60, 5000])
async def test_a_table_that_a_crash_left_too_short_is_mended(
    tmp_path: Path, truth: ExpectedState, cut: int
) -> None:
    folder = tmp_path / "store"
    (folder / "clean").unlink()
    table = max((folder / "db").glob("*.ldb"), key=lambda path: path.stat().st_size)
    table.write_bytes(table.read_bytes()[:-cut])
    store = await LevelDbStore.open(folder, WORKSPACE)
    try:
        missing = await compare_store(store, truth)
        assert store.health.report is not None
        assert f"{table.name} has" in repair_notice(store.health.report).why
        check_reported(store.health.report, missing)
        assert not (cut == 1 and missing)
    finally:
        await store.close()


async def test_a_mending_tells_how_far_it_is_and_an_opening_that_needs_none_tells_nothing(
    tmp_path: Path, truth: ExpectedState
) -> None:
    folder = tmp_path / "store"
    heard: list[tuple[int, int]] = []
    store = await LevelDbStore.open(folder, WORKSPACE, on_progress=lambda *far: heard.append(far))
    await store.close()
    assert heard == []
    (folder / "db" / "CURRENT").unlink()
    store = await LevelDbStore.open(folder, WORKSPACE, on_progress=lambda *far: heard.append(far))
    await store.close()
    assert store.health.report is not None
    assert heard == sorted(set(heard))
    assert {size for _, size in heard} == {heard[0][1]}
    assert len(heard) > len(truth.events)
    assert heard[-1][0] > 0.5 * heard[-1][1]


@pytest.mark.parametrize("pattern", ["*.ldb", "*.log"])
async def test_a_lost_table_or_log_is_reported_and_the_rest_is_there(
    tmp_path: Path, truth: ExpectedState, pattern: str
) -> None:
    folder = tmp_path / "store"
    largest = max((folder / "db").glob(pattern), key=lambda path: path.stat().st_size)
    largest.unlink()
    store = await LevelDbStore.open(folder, WORKSPACE)
    try:
        missing = await compare_store(store, truth)
        assert missing
        assert store.health.report is not None
        assert largest.name in repair_notice(store.health.report).why
        check_reported(store.health.report, missing)
    finally:
        await store.close()


@pytest.mark.parametrize("seed", range(10))
async def test_damaged_bytes_are_reported_and_never_returned(
    tmp_path: Path, truth: ExpectedState, seed: int
) -> None:
    await damage_and_compare(tmp_path / "store", truth, random.Random(seed))


ROWS = ["!last", "!totals", "R", "b", "e", "h", "m", "r", "t"]


@pytest.mark.parametrize("how", ["deleted", "flipped"])
@pytest.mark.parametrize("kind", ROWS)
async def test_the_check_finds_each_missing_or_damaged_row_and_the_next_opening_mends_it(
    tmp_path: Path, truth: ExpectedState, kind: str, how: str
) -> None:
    folder = tmp_path / "store"
    db = plyvel.DB(str(folder / "db"), compression=None)
    key, row = next(iter(db.iterator(prefix=kind.encode())))
    if how == "deleted":
        db.delete(key)
    elif row:
        db.put(key, row[:-1] + bytes([row[-1] ^ 1]))
    else:
        db.delete(key)
        db.put(key[:-1] + bytes([key[-1] ^ 1]), row)
    db.close()
    compact_tables(folder)
    store = await LevelDbStore.open(folder, WORKSPACE)
    found = await store.health.check()
    assert not found.is_sound or store.health.report  # the opening itself looks at the counters
    await store.close()
    store = await LevelDbStore.open(folder, WORKSPACE)
    try:
        missing = await compare_store(store, truth)
        again = await store.health.check()
        assert again.problems == ()
        assert {one.digest for one in again.damaged} == missing.contents
        check_reported(store.health.report, missing) if found.problems else None
        assert bool(missing) == (kind in "be")
    finally:
        await store.close()


async def test_a_sound_store_is_checked_with_progress_while_others_write(
    tmp_path: Path, truth: ExpectedState
) -> None:
    store = await LevelDbStore.open(tmp_path / "store", WORKSPACE)
    heard: list[tuple[int, int]] = []
    try:
        writing = asyncio.gather(
            *(store.commit(Commit("new", contents=[make_content(b"%d" % number)])) for number in range(50))
        )
        found = await store.health.check(lambda *done: heard.append(done))
        await writing
        assert found.is_sound
        assert found.contents >= len(truth.contents)
        assert heard == sorted(heard)
        assert heard[-1][0] == found.contents
        found = await store.health.check()
        assert found.is_sound
        assert found.contents == len(truth.contents) + 50
    finally:
        await store.close()


async def test_a_check_can_be_cancelled(tmp_path: Path, truth: ExpectedState) -> None:
    store = await LevelDbStore.open(tmp_path / "store", WORKSPACE)
    try:
        heard: list[int] = []

        def stop(done: int, _: int) -> None:
            heard.append(done)
            checking.cancel()

        scope = TaskScope()
        checking = scope.start(store.health.check(stop), "check")
        with pytest.raises(asyncio.CancelledError):
            await checking
        await scope.close()
        assert len(heard) == 1
        assert not await compare_store(store, truth)
    finally:
        await store.close()


async def test_what_was_forgotten_or_removed_stays_away_when_a_store_is_mended(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    secret, kept = b"a secret " * 40, b"something else " * 40
    store = await LevelDbStore.open(folder, WORKSPACE)
    for session, data in (("s", secret), ("gone", b"x"), ("s2", kept)):
        await store.commit(
            Commit(session, [tool_answer_event(1, data)], [make_content(data)], summary=make_summary(session))
        )
    await store.close()
    store = await LevelDbStore.open(folder, WORKSPACE)
    await store.redaction.redact(RedactionRequest(digests=(digest_of(secret),)))
    await store.retention.trash_session("gone")
    await store.retention.empty_trash()
    await store.close()
    (folder / "db" / "CURRENT").unlink()
    store = await LevelDbStore.open(folder, WORKSPACE)
    try:
        assert store.health.report is not None
        assert store.health.report.is_lossless, store.health.report
        with pytest.raises(ContentRedacted):
            await store.get(digest_of(secret))
        assert [one.id for one in await store.sessions()] == ["s", "s2"]
        assert await store.get(digest_of(kept)) == kept
        assert (await store.health.check()).is_sound
    finally:
        await store.close()


async def test_a_torn_end_of_the_log_is_dropped_and_nothing_else_is_rewritten(tmp_path: Path) -> None:
    folder, truth = tmp_path / "store", ExpectedState()
    store = await write_commits(folder, truth, 12, close=False)
    for number in (1, 2):
        crashed = tmp_path / "crashed" if number == 1 else tmp_path / "again"
        shutil.copytree(folder if number == 1 else tmp_path / "crashed", crashed)
        (log,) = (crashed / "db").glob("*.log")
        # A head that could be one, and noise: what is no head at all LevelDB takes for the end.
        torn = log.read_bytes() + b"crc?" + (900).to_bytes(2, "little") + b"\1"
        torn += random.Random(number).randbytes(3000)
        log.write_bytes(torn)
        opened = await LevelDbStore.open(crashed, WORKSPACE)
        try:
            assert opened.health.report is None
            assert not await compare_store(opened, truth)
            assert (crashed / "kept" / f"torn-{number}" / log.name).read_bytes() == torn
            assert not (crashed / "kept" / "1").exists()
        finally:
            await opened.close()
    await store.close()


async def test_a_log_that_vanished_after_a_crash_is_noticed_and_never_called_no_loss(tmp_path: Path) -> None:
    folder, truth = tmp_path / "store", ExpectedState()
    await write_commits(folder, truth, 10)
    store = await write_commits(folder, truth, 10, seed=2, close=False)
    crashed = Path(shutil.copytree(folder, tmp_path / "crashed"))
    await store.close()
    (log,) = (crashed / "db").glob("*.log")
    log.unlink()
    opened = await LevelDbStore.open(crashed, WORKSPACE)
    try:
        report = opened.health.report
        assert report is not None
        assert f"{log.name} is missing" in repair_notice(report).why
        assert not report.is_lossless
        assert "nobody can say how much" in repair_notice(report).why
        assert sum((await compare_store(opened, truth)).events.values()) == 10
        assert (await opened.health.check()).is_sound
    finally:
        await opened.close()
