"""A damaged store is repaired: readable data is kept, the rest is named, the old files are preserved."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
from pathlib import Path

import plyvel
import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ContentRedacted
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.session import SessionArchived, SessionPinned, SessionStarted
from helix_desktop.domain.redaction import RedactionRequest
from helix_desktop.domain.store import Commit
from helix_desktop.store.contents import holds_content
from helix_desktop.store.kinds import ROWS, RowDamaged, session_and_seq
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.opening import open_files
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.words.store_reports import repair_notice
from tests.support.store.builders import (
    WORKSPACE,
    closing_store,
    make_content,
    make_summary,
    tool_answer_event,
)
from tests.support.store.damage import (
    ExpectedState,
    check_reported,
    compact_tables,
    compare_store,
    damage_and_compare,
    damage_file,
    database_files,
    write_commits,
)

TORTURE = "HELIX_TORTURE" in os.environ  # set by tests/torture/damage.py
COMMITS = 60 if TORTURE else 16


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ExpectedState]:
    """A closed store, half of its commits in tables."""
    folder = tmp_path_factory.mktemp("original") / "store"
    expected = ExpectedState()
    asyncio.run(write_commits(folder, expected, COMMITS, 1))
    compact_tables(folder)
    asyncio.run(write_commits(folder, expected, COMMITS, 2))
    return folder, expected


@pytest.fixture
def expected(tmp_path: Path, original: tuple[Path, ExpectedState]) -> ExpectedState:
    """Return the content of the store in `store`."""
    shutil.copytree(original[0], tmp_path / "store")
    return original[1]


@pytest.mark.parametrize("gone", ["CURRENT", "MANIFEST-*", "LOG"])
async def test_a_lost_list_of_files_costs_nothing(tmp_path: Path, expected: ExpectedState, gone: str) -> None:
    folder = tmp_path / "store"
    for path in (folder / "db").glob(gone):
        path.unlink()
    before = database_files(folder)
    async with closing_store(await LevelDbStore.open(folder, WORKSPACE)) as store:
        assert not await compare_store(store, expected)
        if gone == "LOG":
            assert store.health.report is None
            return
        assert store.health.report is not None
        assert store.health.report.is_lossless
        assert gone.removesuffix("-*") in repair_notice(store.health.report).why
        assert store.health.report.copy == str(folder / "kept" / "1" / "db")
        assert before.items() <= database_files(folder / "kept" / "1").items()
        assert store.health.report.events == expected.event_count
        await store.health.acknowledge()
        assert store.health.report is None
    again = await LevelDbStore.open(folder, WORKSPACE)
    assert again.health.report is None
    assert not await compare_store(again, expected)
    await again.close()


@pytest.mark.parametrize("name", ["CURRENT", "MANIFEST-*", "*.log", "*.ldb"])
async def test_a_pipe_in_the_place_of_a_file_is_a_lost_file(
    tmp_path: Path, expected: ExpectedState, name: str
) -> None:
    """LevelDB would wait for ever to open it."""
    folder = tmp_path / "store"
    for path in (folder / "db").glob(name):
        path.unlink()
        os.mkfifo(path)
    async with asyncio.timeout(60):
        store = await LevelDbStore.open(folder, WORKSPACE)
    try:
        assert store.health.report is not None
        assert name.startswith("*") or not await compare_store(store, expected)
    finally:
        await store.close()


class Crash(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("done", range(3))
async def test_a_crash_between_two_renames_of_a_repair_is_resumed(
    tmp_path: Path, expected: ExpectedState, done: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new database gets its name, the old one goes aside, the new one takes its place."""
    folder = tmp_path / "store"
    left = done
    (folder / "db" / "CURRENT").unlink()
    rename = Path.rename

    def crashing(self: Path, to: Path) -> Path:
        nonlocal left
        if not left:
            raise Crash
        left -= 1
        return rename(self, to)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", crashing)
        with pytest.raises(Crash):
            open_files(folder, WORKSPACE)
    async with closing_store(await LevelDbStore.open(folder, WORKSPACE)) as store:
        assert not await compare_store(store, expected)
        assert store.health.report is not None
        assert store.health.report.copy == str(folder / "kept" / "1" / "db")
    assert not [name for name in ("db.new", "db.mend") if (folder / name).exists()]


@pytest.mark.parametrize("cut", [1, 60, 5000])
async def test_a_table_truncated_by_a_crash_is_repaired(
    tmp_path: Path, expected: ExpectedState, cut: int
) -> None:
    folder = tmp_path / "store"
    (folder / "clean").unlink()
    table = max((folder / "db").glob("*.ldb"), key=lambda path: path.stat().st_size)
    table.write_bytes(table.read_bytes()[:-cut])
    async with closing_store(await LevelDbStore.open(folder, WORKSPACE)) as store:
        missing = await compare_store(store, expected)
        assert store.health.report is not None
        assert f"{table.name} has" in repair_notice(store.health.report).why
        check_reported(store.health.report, missing)
        assert not (cut == 1 and missing)


async def test_a_repair_reports_progress_and_a_clean_open_reports_none(
    tmp_path: Path, expected: ExpectedState
) -> None:
    folder = tmp_path / "store"
    progress: list[tuple[int, int]] = []
    store = await LevelDbStore.open(folder, WORKSPACE, on_progress=lambda *counts: progress.append(counts))
    await store.close()
    assert progress == []
    (folder / "db" / "CURRENT").unlink()
    store = await LevelDbStore.open(folder, WORKSPACE, on_progress=lambda *counts: progress.append(counts))
    await store.close()
    assert store.health.report is not None
    assert progress == sorted(set(progress))
    assert {size for _, size in progress} == {progress[0][1]}
    assert len(progress) > len(expected.events)
    assert progress[-1][0] > 0.5 * progress[-1][1]


@pytest.mark.parametrize("pattern", ["*.ldb", "*.log"])
async def test_a_lost_table_or_log_is_reported_and_the_rest_is_there(
    tmp_path: Path, expected: ExpectedState, pattern: str
) -> None:
    folder = tmp_path / "store"
    largest = max((folder / "db").glob(pattern), key=lambda path: path.stat().st_size)
    largest.unlink()
    async with closing_store(await LevelDbStore.open(folder, WORKSPACE)) as store:
        missing = await compare_store(store, expected)
        assert missing
        assert store.health.report is not None
        assert largest.name in repair_notice(store.health.report).why
        check_reported(store.health.report, missing)


@pytest.mark.parametrize("seed", range(300 if TORTURE else 10))
async def test_damaged_bytes_are_reported_and_never_returned(
    tmp_path: Path, expected: ExpectedState, seed: int
) -> None:
    await damage_and_compare(tmp_path / "store", expected, random.Random(seed))


@pytest.mark.usefixtures("expected")
@pytest.mark.parametrize("seed", range(60 if TORTURE else 2))
async def test_repair_recovers_no_less_than_leveldbs_own(tmp_path: Path, seed: int) -> None:
    damage_file(tmp_path / "store", random.Random(f"repair {seed}"))
    shutil.copytree(tmp_path / "store", tmp_path / "repaired")
    plyvel.repair_db(str(tmp_path / "repaired" / "db"))
    theirs = sound_rows(tmp_path / "repaired" / "db")
    (tmp_path / "store" / "doubt").write_text("Asked for", encoding="utf-8")
    store = await LevelDbStore.open(tmp_path / "store", WORKSPACE)
    await store.close()
    ours = sound_rows(tmp_path / "store" / "db")
    assert theirs[0] <= ours[0]
    for session_id, log in theirs[1].items():
        assert unbroken(log) <= unbroken(ours[1].get(session_id, [])), session_id


def sound_rows(db: Path) -> tuple[set[bytes], dict[str, list[int]]]:
    """Return the contents in one row, and the events by session, that match what was written."""
    contents: set[bytes] = set()
    logs: dict[str, list[int]] = {}
    opened = plyvel.DB(str(db), compression=None)
    for key, row in opened.iterator():
        try:
            if key[:1] == b"b" and holds_content(key, row):
                contents.add(key)
            elif key[:1] == b"e":
                event = ROWS.event.decode(key, row)
                logs.setdefault(session_and_seq(key)[0], []).append(event.seq)
        except RowDamaged:
            continue
    opened.close()
    return contents, logs


def unbroken(log: list[int]) -> int:
    """Return how many events a log has without a gap, from the first on."""
    return next((number for number, seq in enumerate(log) if seq != number + 1), len(log))


KINDS = ["!last", "!totals", "R", "b", "e", "h", "m", "p", "r", "t"]


@pytest.mark.parametrize("how", ["deleted", "flipped"])
@pytest.mark.parametrize("kind", KINDS)
async def test_the_check_finds_each_missing_or_damaged_row_and_the_next_open_repairs_it(
    tmp_path: Path, expected: ExpectedState, kind: str, how: str
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
    report = await store.health.check()
    assert not report.is_sound or store.health.report  # the opening itself looks at the counters
    await store.close()
    async with closing_store(await LevelDbStore.open(folder, WORKSPACE)) as store:
        missing = await compare_store(store, expected)
        again = await store.health.check()
        assert again.problems == ()
        assert {damaged.digest for damaged in again.damaged} == missing.contents
        check_reported(store.health.report, missing) if report.problems else None
        assert bool(missing) == (kind in "be")


async def test_a_sound_store_is_checked_with_progress_while_others_write(
    tmp_path: Path, expected: ExpectedState
) -> None:
    store = await LevelDbStore.open(tmp_path / "store", WORKSPACE)
    progress: list[tuple[int, int]] = []
    try:
        writing = asyncio.gather(
            *(store.commit(Commit("new", contents=[make_content(b"%d" % number)])) for number in range(50))
        )
        report = await store.health.check(lambda *done: progress.append(done))
        await writing
        assert report.is_sound
        assert report.contents >= len(expected.contents)
        assert progress == sorted(progress)
        assert progress[-1][0] == report.contents
        report = await store.health.check()
        assert report.is_sound
        assert report.contents == len(expected.contents) + 50
    finally:
        await store.close()


async def test_a_check_can_be_canceled(tmp_path: Path, expected: ExpectedState) -> None:
    async with closing_store(await LevelDbStore.open(tmp_path / "store", WORKSPACE)) as store:
        progress: list[int] = []

        def stop(done: int, _: int) -> None:
            progress.append(done)
            checking.cancel()

        scope = TaskScope()
        checking = scope.start(store.health.check(stop), "check")
        with pytest.raises(asyncio.CancelledError):
            await checking
        await scope.close()
        assert len(progress) == 1
        assert not await compare_store(store, expected)


async def test_forgotten_and_removed_content_does_not_return_in_a_repair(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    secret = b"a secret " * 40
    unrelated = b"something else " * 40
    store = await LevelDbStore.open(folder, WORKSPACE)
    for session_id, data in (("s", secret), ("gone", b"x"), ("s2", unrelated)):
        await store.commit(
            Commit(
                session_id,
                [tool_answer_event(1, data)],
                [make_content(data)],
                summary=make_summary(session_id),
            )
        )
    await store.close()
    store = await LevelDbStore.open(folder, WORKSPACE)
    await store.redaction.redact(RedactionRequest(digests=(digest_of(secret),)))
    await store.retention.trash_session("gone")
    await store.retention.empty_trash()
    await store.close()
    (folder / "db" / "CURRENT").unlink()
    async with closing_store(await LevelDbStore.open(folder, WORKSPACE)) as store:
        assert store.health.report is not None
        assert store.health.report.is_lossless, store.health.report
        with pytest.raises(ContentRedacted):
            await store.get(digest_of(secret))
        assert [session.id for session in await store.sessions()] == ["s", "s2"]
        assert await store.get(digest_of(unrelated)) == unrelated
        assert (await store.health.check()).is_sound


async def test_a_lost_line_of_the_list_is_read_from_the_log_with_pin_and_archive(tmp_path: Path) -> None:
    store = await LevelDbStore.open(tmp_path / "store", WORKSPACE)
    events: tuple[Event, ...] = (SessionStarted("a title"), SessionPinned(), SessionArchived())
    log = [RecordedEvent(seq, 1_000 * seq, event) for seq, event in enumerate(events, 1)]
    await store.commit(Commit("s", log))
    await store.close()
    (tmp_path / "store" / "db" / "CURRENT").unlink()
    async with closing_store(await LevelDbStore.open(tmp_path / "store", WORKSPACE)) as store:
        (summary,) = await store.sessions()
        assert (summary.title, summary.pinned, summary.archived) == ("a title", True, True)
        assert summary.updated == 1_000


async def test_a_torn_end_of_the_log_is_dropped_and_nothing_else_is_rewritten(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    expected = ExpectedState()
    store = await write_commits(folder, expected, 12, close=False)
    for number in (1, 2):
        crashed = tmp_path / "crashed" if number == 1 else tmp_path / "again"
        shutil.copytree(folder if number == 1 else tmp_path / "crashed", crashed)
        (log,) = (crashed / "db").glob("*.log")
        # A plausible head, and noise: LevelDB treats an invalid head as the end.
        torn = log.read_bytes() + b"crc?" + (900).to_bytes(2, "little") + b"\1"
        torn += random.Random(number).randbytes(3000)
        log.write_bytes(torn)
        async with closing_store(await LevelDbStore.open(crashed, WORKSPACE)) as opened:
            assert opened.health.report is None
            assert not await compare_store(opened, expected)
            assert (crashed / "kept" / f"torn-{number}" / log.name).read_bytes() == torn
            assert not (crashed / "kept" / "1").exists()
    await store.close()


async def test_a_log_that_vanished_after_a_crash_is_noticed_and_never_called_no_loss(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    expected = ExpectedState()
    await write_commits(folder, expected, 10)
    store = await write_commits(folder, expected, 10, seed=2, close=False)
    crashed = Path(shutil.copytree(folder, tmp_path / "crashed"))
    await store.close()
    (log,) = (crashed / "db").glob("*.log")
    log.unlink()
    async with closing_store(await LevelDbStore.open(crashed, WORKSPACE)) as opened:
        report = opened.health.report
        assert report is not None
        assert f"{log.name} is missing" in repair_notice(report).why
        assert not report.is_lossless
        assert "how much is unknown" in repair_notice(report).why
        assert sum((await compare_store(opened, expected)).events.values()) == 10
        assert (await opened.health.check()).is_sound
