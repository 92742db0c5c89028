"""Damage on disk: never wrong bytes, always reported, nothing deleted, healed by storing again."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
from pathlib import Path

import msgspec
import plyvel
import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ContentDamaged, StoreDamaged, StoreFormatUnknown, StoreUnreadable
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.store import Commit
from helix_desktop.domain.store_reports import RepairReport, TruncatedSession
from helix_desktop.store import kinds
from helix_desktop.store.database import Database
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.repair.leveldb_files import BLOCK_BYTES
from helix_desktop.store.threads import WriteBatch
from helix_desktop.words.store_reports import repair_notice
from tests.support.store.builders import (
    OTHER_WORKSPACE,
    START_MS,
    WORKSPACE,
    closing_store,
    make_content,
    make_summary,
    tool_answer_event,
    user_message_event,
)
from tests.support.store.damage import compact_tables, database_files, flip_bit_near, flip_last_bit

# Incompressible, so that its bytes are in the file unchanged.
BODY = random.Random(1).randbytes(5000)
NEIGHBOR = random.Random(2).randbytes(5000)


async def opened(folder: Path) -> LevelDbStore:
    """The open store. Its index reads no contents: it would find and quarantine damage at any moment."""
    return await LevelDbStore.open(folder, WORKSPACE, index_after_s=None)


async def stored(folder: Path, *bodies: bytes) -> None:
    """A closed store with these contents, each referenced by an event."""
    store = await opened(folder)
    for seq, data in enumerate(bodies, 1):
        await store.commit(
            Commit("s", [tool_answer_event(seq, data)], [make_content(data)], summary=make_summary("s"))
        )
    await store.close()
    compact_tables(folder)


async def test_a_flipped_bit_is_reported_once_quarantined_and_repaired(tmp_path: Path) -> None:
    await stored(tmp_path, BODY, NEIGHBOR)
    assert flip_bit_near(tmp_path, BODY[100:120], 10) == 1
    digest = digest_of(BODY)
    warnings = list[str]()
    quarantined = tmp_path / "quarantine" / f"{digest}.row"
    async with closing_store(await opened(tmp_path)) as store:
        unsubscribe = store.health.listen(lambda error: warnings.append(error.what))
        store.health.listen(lambda error: warnings.append(error.fix))
        for _ in range(3):
            with pytest.raises(ContentDamaged, match="repairs") as caught:
                await store.get(digest)
            assert quarantined.name in str(caught.value)
        assert len(warnings) == 2
        assert digest in warnings[0]
        damaged = quarantined.read_bytes()
        assert len(damaged) > len(BODY)
        assert BODY[:100] in damaged
        assert await store.get(digest_of(NEIGHBOR)) == NEIGHBOR
        before = await store.entry(digest)

        await store.commit(Commit("s", contents=[make_content(BODY)]))
        assert await store.get(digest) == BODY
        after = await store.entry(digest)
        assert after.last_used > before.last_used, "to store it again is a use"
        assert msgspec.structs.replace(after, last_used=before.last_used) == before
        assert (await store.totals()).entries == 2
        assert not quarantined.exists()
        assert quarantined.with_suffix(".healed").read_bytes() == damaged

    compact_tables(tmp_path)
    assert flip_bit_near(tmp_path, BODY[100:120]) >= 1
    async with closing_store(await opened(tmp_path)) as store:
        store.health.listen(lambda error: warnings.append(error.what))
        unsubscribe()
        with pytest.raises(ContentDamaged):
            await store.get(digest)
        assert len(warnings) == 3, "each damage is reported"


async def test_damage_that_refuses_writes_is_named_and_repaired_at_the_next_opening(tmp_path: Path) -> None:
    await stored(tmp_path, BODY, NEIGHBOR)
    assert flip_bit_near(tmp_path, BODY[100:120], 10) == 1
    store = await opened(tmp_path)
    await store.save_draft("s", "before")
    store._files.database._db.compact_range(start=b"\x00", stop=b"\xff")  # as LevelDB does at any time
    with pytest.raises(StoreDamaged, match="Close and reopen"):
        await store.save_draft("s", "typed")
    await store.close()
    store = await opened(tmp_path)
    await store.save_draft("s", "typed")
    assert await store.get(digest_of(NEIGHBOR)) == NEIGHBOR
    await store.close()


async def test_a_read_during_a_repair_is_not_quarantined_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stored(tmp_path, BODY, NEIGHBOR)
    assert flip_bit_near(tmp_path, BODY[100:120], 10) == 1
    digest = digest_of(BODY)
    store = await opened(tmp_path)
    loop = asyncio.get_running_loop()
    write = Database.write

    def read_then_write(handle: Database, batch: WriteBatch) -> None:
        with pytest.raises(ContentDamaged):
            asyncio.run_coroutine_threadsafe(store.get(digest), loop).result(60)
        write(handle, batch)

    try:
        with pytest.raises(ContentDamaged):
            await store.get(digest)
        monkeypatch.setattr(Database, "write", read_then_write)
        await store.commit(Commit("s", contents=[make_content(BODY)]))
        assert await store.get(digest) == BODY
        assert not (tmp_path / "quarantine" / f"{digest}.row").exists()
    finally:
        monkeypatch.undo()
        await store.close()


async def test_damage_that_could_not_be_quarantined_is_repaired_too(tmp_path: Path) -> None:
    """Only reading detects that a valid row has other bytes; the disk accepts no copy of it."""
    await stored(tmp_path, BODY, NEIGHBOR)
    digest = digest_of(BODY)
    db = plyvel.DB(str(tmp_path / "db"), compression=None)
    db.put(kinds.content_key(digest), db.get(kinds.content_key(digest_of(NEIGHBOR))))
    db.close()
    store = await opened(tmp_path)
    shutil.rmtree(tmp_path / "quarantine")
    (tmp_path / "quarantine").write_text("in the way")
    try:
        with pytest.raises(ContentDamaged):
            await store.get(digest)
        await store.commit(Commit("s", contents=[make_content(BODY)]))
        assert await store.get(digest) == BODY
    finally:
        await store.close()


async def test_storing_again_repairs_unread_damage(tmp_path: Path) -> None:
    await stored(tmp_path, BODY)
    assert flip_bit_near(tmp_path, BODY[100:120]) == 1
    async with closing_store(await opened(tmp_path)) as store:
        await store.commit(Commit("s", contents=[make_content(BODY)]))
        assert await store.get(digest_of(BODY)) == BODY
        assert len((await store.page()).entries) == 1


@pytest.mark.parametrize("place", [100, 700_000, 1_999_900])
async def test_a_damaged_chunk_is_reported_and_healed(tmp_path: Path, place: int) -> None:
    large = random.Random(3).randbytes(2_000_000)
    await stored(tmp_path, large, BODY)
    assert flip_bit_near(tmp_path, large[place : place + 20]) == 1
    async with closing_store(await opened(tmp_path)) as store:
        with pytest.raises(ContentDamaged):
            await store.get(digest_of(large))
        assert await store.get(digest_of(BODY)) == BODY
        await store.commit(Commit("s", contents=[make_content(large)]))
        assert await store.get(digest_of(large)) == large


@pytest.mark.parametrize("missing", ["content", "chunk"])
async def test_missing_bytes_are_damage_and_not_an_unknown_digest(tmp_path: Path, missing: str) -> None:
    large = random.Random(4).randbytes(1_500_000)
    digest = digest_of(large)
    await stored(tmp_path, large)
    db = plyvel.DB(str(tmp_path / "db"), compression=None)
    db.delete(kinds.content_key(digest) if missing == "content" else kinds.chunk_key(digest, 1), sync=True)
    db.close()
    async with closing_store(await opened(tmp_path)) as store:
        with pytest.raises(ContentDamaged, match="missing"):
            await store.get(digest)
        await store.commit(Commit("s", contents=[make_content(large)]))
        assert await store.get(digest) == large
        assert (await store.totals()).entries == 1


async def test_a_damaged_record_hides_neither_its_content_nor_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await stored(tmp_path, BODY, NEIGHBOR)
    digest = digest_of(BODY)
    flip_last_bit(tmp_path, kinds.record_key(digest))
    (tmp_path / "search.db").unlink()  # lists are read from it; it is made of the rows
    async with closing_store(await opened(tmp_path)) as store:
        assert await store.get(digest) == BODY
        assert len((await store.page()).entries) == 2
        with pytest.raises(ContentDamaged, match="record"):
            await store.entry(digest)
        assert [entry.digest for entry in (await store.page(prefix=digest[:8])).entries] == [digest]
        assert digest in caplog.text
        # References to it still work; storing it again rebuilds the record in place, with its references
        # counted.
        await store.commit(Commit("s", [tool_answer_event(3, BODY)]))
        await store.commit(Commit("s", contents=[make_content(BODY)]))
        rebuilt = await store.entry(digest)
        assert rebuilt.references == 2
        assert rebuilt.last_used > rebuilt.created, "to store it again is a use"
        assert len((await store.page()).entries) == 2
        assert (await store.totals()).entries == 2


def quarantined_lines(report: RepairReport) -> list[RecordedEvent]:
    (path,) = Path(report.aside).glob("*.jsonl")
    return [msgspec.json.decode(line, type=RecordedEvent) for line in path.read_bytes().splitlines()]


@pytest.mark.parametrize("how", ["flipped", "deleted"])
async def test_a_damaged_event_is_reported_never_skipped_and_cut_off_later(tmp_path: Path, how: str) -> None:
    events = [tool_answer_event(1, BODY), tool_answer_event(2, NEIGHBOR), tool_answer_event(3, BODY)]
    await stored(tmp_path, BODY, NEIGHBOR, BODY)
    key = kinds.event_key("s", 2)
    db = plyvel.DB(str(tmp_path / "db"), compression=None)
    if how == "deleted":
        db.delete(key, sync=True)
    else:
        row = db.get(key)
        db.put(key, row[:9] + bytes([row[9] ^ 1]) + row[10:], sync=True)
    db.close()
    compact_tables(tmp_path)  # else the sound row is found behind the damaged one
    store = await opened(tmp_path)
    with pytest.raises(StoreDamaged, match=r"checksum|2 of 3 events"):
        await store.events("s")
    await store.close()

    async with closing_store(await opened(tmp_path)) as store:
        assert store.health.report is not None
        assert store.health.report.cut == (TruncatedSession("s", "a title", 1, aside=1, lost=1),)
        assert "a title (1 of 3 events left)" in str(repair_notice(store.health.report))
        assert await store.events("s") == events[:1]
        assert quarantined_lines(store.health.report) == events[2:]
        await store.commit(Commit("s", [tool_answer_event(2, BODY)]))
        assert (await store.entry(digest_of(BODY))).references == 2


async def test_a_damaged_index_block_is_reported_and_repaired_later(tmp_path: Path) -> None:
    bodies = [b"%d" % number for number in range(50)]
    await stored(tmp_path, *bodies)
    assert flip_bit_near(tmp_path, kinds.time_index_key(0, digest_of(b"7"))[9:], patterns=("*.ldb",)) > 0
    store = await opened(tmp_path)
    assert not (await store.health.check()).is_sound
    await store.close()
    async with closing_store(await opened(tmp_path)) as store:
        assert {entry.digest for entry in (await store.page()).entries} == set(map(digest_of, bodies))
        assert len(await store.events("s")) == len(bodies)


@pytest.mark.parametrize("gone", ["*.ldb", "*"])
async def test_a_store_without_any_row_is_refused_and_left_unchanged(tmp_path: Path, gone: str) -> None:
    await stored(tmp_path, BODY)
    for path in (tmp_path / "db").glob(gone):
        path.unlink()
    before = database_files(tmp_path, "*.ldb")
    with pytest.raises(StoreUnreadable, match="Nothing was changed") as refused:
        await opened(tmp_path)
    assert "move it away, reopen the workspace, and import" in refused.value.fix
    assert str(tmp_path) in refused.value.fix
    assert database_files(tmp_path, "*.ldb") == before


@pytest.mark.parametrize("text", [None, "", "{", '{"schema": "one"}'])
async def test_a_lost_or_damaged_format_file_is_rewritten(tmp_path: Path, text: str | None) -> None:
    await stored(tmp_path, BODY)
    path = tmp_path / "format"
    before = path.read_bytes()
    path.unlink() if text is None else path.write_text(text)
    store = await opened(tmp_path)
    assert await store.get(digest_of(BODY)) == BODY
    await store.close()
    assert path.read_bytes() == before
    path.unlink()
    with pytest.raises(StoreUnreadable, match="another workspace"):
        await LevelDbStore.open(tmp_path, OTHER_WORKSPACE)


@pytest.mark.parametrize(
    ("text", "problem"), [(None, "must not be overwritten"), ("{", "format file is damaged")]
)
async def test_tables_of_unknown_owner_are_left_unchanged(
    tmp_path: Path, text: str | None, problem: str
) -> None:
    await stored(tmp_path, BODY)
    path = tmp_path / "format"
    path.unlink() if text is None else path.write_text(text)
    (tmp_path / "db" / "CURRENT").unlink()
    before = database_files(tmp_path, "*.ldb")
    with pytest.raises(StoreUnreadable, match=problem):
        await opened(tmp_path)
    assert database_files(tmp_path, "*.ldb") == before


async def test_the_store_of_another_workspace_is_refused(tmp_path: Path) -> None:
    await stored(tmp_path / "one", BODY)
    with pytest.raises(StoreUnreadable, match="another workspace"):
        await LevelDbStore.open(tmp_path / "one", OTHER_WORKSPACE)
    # Also when only the LevelDB was put under another store's format file.
    other = await LevelDbStore.open(tmp_path / "two", OTHER_WORKSPACE)
    await other.close()
    (tmp_path / "two" / "db").rename(tmp_path / "aside")
    (tmp_path / "one" / "db").rename(tmp_path / "two" / "db")
    with pytest.raises(StoreUnreadable, match="another workspace"):
        await LevelDbStore.open(tmp_path / "two", OTHER_WORKSPACE)


@pytest.mark.parametrize("schema", [0, 2])
async def test_another_schema_is_refused_by_number_and_day_and_left_whole(
    tmp_path: Path, schema: int
) -> None:
    await stored(tmp_path, BODY)
    path = tmp_path / "format"
    path.write_text(path.read_text().replace('"schema":1', f'"schema":{schema}'))
    for part in (tmp_path / "db").iterdir():
        os.utime(part, (START_MS / 1000, START_MS / 1000))
    before = database_files(tmp_path)
    with pytest.raises(StoreFormatUnknown, match=f"schema {schema} of 2025-06-15") as caught:
        await opened(tmp_path)
    assert "the one that wrote it" in str(caught.value.fix)
    assert database_files(tmp_path) == before


async def test_an_interrupted_creation_is_resumed(tmp_path: Path) -> None:
    store = await opened(tmp_path)
    await store.close()
    # Cut off before the new LevelDB got its name.
    (tmp_path / "db").rename(tmp_path / "db.new")
    store = await opened(tmp_path)
    await store.commit(Commit("s", [user_message_event(1)]))
    await store.close()
    # Cut off while the new LevelDB was made.
    early = tmp_path / "early"
    (early / "db.new").mkdir(parents=True)
    (early / "db.new" / "LOG").write_text("half")
    store = await opened(early)
    assert (await store.totals()).entries == 0
    await store.close()


async def test_a_lost_log_is_noticed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = await opened(tmp_path)
    for seq in range(1, 6):
        await store.commit(Commit("s", [user_message_event(seq)]))
    await store.close()
    store = await opened(tmp_path)
    assert store.health.report is None
    for seq in range(6, 9):
        await store.commit(Commit("s", [user_message_event(seq)]))
    await store.close()
    for path in (tmp_path / "db").glob("*.log"):
        path.unlink()
    store = await opened(tmp_path)
    assert store.health.report is not None
    assert store.health.report.writes == 3
    assert store.health.report.cut == (TruncatedSession("s", "", 5, lost=3),)
    assert ".log is missing" in repair_notice(store.health.report).why
    assert "being mended" in caplog.text
    assert await store.events("s") == [user_message_event(seq) for seq in range(1, 6)]
    await store.close()


@pytest.mark.parametrize("ended_well", [True, False])
async def test_a_write_that_became_zeros_is_noticed(tmp_path: Path, ended_well: bool) -> None:
    store = await opened(tmp_path)
    (log,) = (tmp_path / "db").glob("*.log")
    rng = random.Random(1)
    first = 0
    # LevelDB passes over zeros in silence when the next write begins with a block.
    while not first or log.stat().st_size % BLOCK_BYTES:
        before = log.stat().st_size
        await store.commit(Commit("s", contents=[make_content(rng.randbytes(6000))]))
        first = log.stat().st_size
        grown = first - before
        space = BLOCK_BYTES - first % BLOCK_BYTES
        if grown < space < 2 * grown:
            await store.commit(Commit("s", contents=[make_content(rng.randbytes(6000 + space - grown))]))
    lost = log.stat().st_size - first
    for _ in range(3):
        await store.commit(Commit("s", contents=[make_content(rng.randbytes(6000))]))
    entries = (await store.totals()).entries
    await store.close()
    with log.open("r+b") as file:
        file.seek(first)
        file.write(bytes(lost))
    if not ended_well:
        (tmp_path / "clean").unlink()
    store = await opened(tmp_path)
    report = store.health.report
    assert report is not None
    assert "is missing" in repair_notice(report).why
    assert (report.vanished, report.entries, (await store.totals()).entries) == (1, entries - 1, entries - 1)
    await store.close()


NO_KEYS = [b"e1", b"h1", b"r1", b"R1", b"t1", b"m1", b"b1", b"c1", b"s", b"d\xff", b"f1", b"e\xff\xff"]


async def test_invalid_keys_are_reported_in_printable_text_and_repaired(tmp_path: Path) -> None:
    await stored(tmp_path, BODY)
    db = plyvel.DB(str(tmp_path / "db"), compression=None)
    for key in (*NO_KEYS, b"!last\0\xff", b"m" + bytes(40), b"t" + bytes(50)):
        db.put(key, b"junk")
    db.close()
    async with closing_store(await opened(tmp_path)) as store:
        report = await store.health.check()
        assert len(report.problems) >= len(NO_KEYS)
        assert all(problem.isprintable() for problem in report.problems), report.problems
    async with closing_store(await opened(tmp_path)) as store:
        assert store.health.report is not None
        assert await store.get(digest_of(BODY)) == BODY
        assert (await store.health.check()).is_sound
