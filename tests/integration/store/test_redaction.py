"""Redacted content is gone from the files, whatever the store's history."""

from __future__ import annotations

import asyncio
import random
import shutil
from contextlib import suppress
from pathlib import Path

import msgspec
import plyvel
import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ContentRedacted, StoreDamaged, StoreWriteFailed
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.redaction import RedactionRequest
from helix_desktop.domain.store import Commit, Content
from helix_desktop.store import kinds, redaction
from helix_desktop.store.database import Database
from helix_desktop.store.files import StoreFiles
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.redaction import rewrite_all_files
from tests.support.store.builders import (
    START_MS,
    WORKSPACE,
    TickingClock,
    closing_store,
    make_content,
    make_summary,
    tool_answer_event,
    user_message_event,
)
from tests.support.store.damage import compact_tables, flip_bit_near, flip_last_bit

SECRET = "".join(random.Random(7).choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789", k=48))


def files_with(folder: Path, data: bytes = SECRET.encode()) -> list[str]:
    """Return the files below a folder that contain these bytes unchanged.

    The journal of the search database comes and goes while a store is open: a file that is gone has nothing.
    """
    found = []
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        with suppress(FileNotFoundError):
            if data in file.read_bytes():
                found.append(str(file.relative_to(folder)))
    return found


def holding(size: int, seed: int) -> bytes:
    """Bytes that do not compress, with the secret among them."""
    noise = random.Random(seed).randbytes(size)
    return noise[: size // 2] + SECRET.encode() + noise[size // 2 :]


def compressible() -> bytes:
    """Bytes with the secret in a form that only unpacking shows."""
    return b"".join(f"{number} key={SECRET}\n".encode() for number in range(400))[7:]


async def filled(folder: Path) -> LevelDbStore:
    """A store that contains the secret in every way, live and in old versions of rows."""
    store = await LevelDbStore.open(folder, WORKSPACE, TickingClock())
    for seq, size in enumerate((0, 900, 1_500_000), 1):
        data = holding(size, seq)
        fact = RecordedEvent(2 * seq - 1, START_MS, UserSpoke(f"see {SECRET}", 1))
        line = make_summary("s", seq, f"about {SECRET}")
        await store.commit(
            Commit("s", [fact, tool_answer_event(2 * seq, data)], [make_content(data)], summary=line)
        )
    for typed in (SECRET[:10], SECRET, ""):
        await store.save_draft("s", typed)
    await store.commit(
        Commit("gone", [RecordedEvent(1, START_MS, UserSpoke(SECRET, 1))], summary=make_summary("gone"))
    )
    await store.retention.trash_session("gone")
    await store.retention.empty_trash()
    return store


async def test_no_file_contains_the_secret_any_more(tmp_path: Path) -> None:
    async with closing_store(await filled(tmp_path)) as store:
        noise = [make_content(random.Random(n).randbytes(400_000)) for n in range(60)]  # enough for tables
        for content in noise:
            await store.commit(Commit("t", contents=[content]))
        packed = kinds.compress(compressible())
        assert packed is not None
        assert SECRET.encode() not in packed
        await store.commit(Commit("t", contents=[make_content(compressible())]))
        assert files_with(tmp_path) != []
        assert files_with(tmp_path, packed) != []
        await store.redaction.redact(RedactionRequest(SECRET))
        assert files_with(tmp_path) == []
        assert files_with(tmp_path, packed) == []
        assert (await store.totals()).entries == len(noise)
        for content in noise:
            assert await store.get(content.digest) == content.data
        await store.commit(Commit("s", [user_message_event(7)]))
        assert len(await store.events("s")) == 7
    assert files_with(tmp_path) == []
    async with closing_store(await LevelDbStore.open(tmp_path, WORKSPACE)) as again:
        assert again.health.report is None
        assert len(await again.events("s")) == 7
        with pytest.raises(ContentRedacted):
            await again.get(digest_of(holding(900, 2)))


async def test_the_search_index_does_not_contain_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does it any more when the last record that leads to it is removed."""
    store = await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())
    labeled = msgspec.structs.replace(make_content(b"clean"), target=f"login {SECRET}", first_line="clean")
    leftovers: list[list[str]] = []

    def check_and_redact(handle: Database, layout: StoreFiles) -> None:
        leftovers.append([name for name in files_with(tmp_path) if name.startswith("search.db")])
        rewrite_all_files(handle, layout)

    try:
        await store.commit(Commit("s", contents=[labeled, make_content(holding(200, 3))]))
        await store.wait_until_indexed()
        assert [name for name in files_with(tmp_path) if name.startswith("search.db")] != []
        monkeypatch.setattr(redaction, "rewrite_all_files", check_and_redact)
        await store.redaction.redact(RedactionRequest(SECRET))
        assert leftovers == [[]]
        assert files_with(tmp_path) == []
        await store.wait_until_indexed()
        assert files_with(tmp_path) == []
        (entry,) = (await store.page()).entries
        assert entry.target.startswith("login [FORGOTTEN ")
    finally:
        await store.close()
    assert files_with(tmp_path) == []


async def test_old_versions_are_removed_even_when_no_live_row_contains_it(tmp_path: Path) -> None:
    async with closing_store(await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())) as store:
        await store.save_draft("s", f"my key is {SECRET}")
        await store.save_draft("s", "")
        assert files_with(tmp_path) != []
        assert (await store.redaction.redact(RedactionRequest(SECRET))).is_empty
        assert files_with(tmp_path) == []


async def test_damaged_rows_and_quarantined_copies_are_removed_too(tmp_path: Path) -> None:
    store = await filled(tmp_path)
    await store.close()
    shutil.copytree(tmp_path / "db", tmp_path / "db before repair")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("not of the store")
    (tmp_path / "quarantine" / f"{digest_of(b'x')}.row").write_bytes(b"unreadable")
    (tmp_path / "quarantine" / f"{digest_of(b'y')}.row.healed").write_bytes(holding(100, 9))
    async with closing_store(await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())) as store:
        finds = await store.redaction.preview(RedactionRequest(SECRET))
        assert (len(finds.damaged), finds.store_copies) == (2, ("db before repair",))
        await store.redaction.redact(RedactionRequest(SECRET))
        assert files_with(tmp_path) == []
        assert (tmp_path / "notes" / "mine.txt").exists()


async def test_reports_of_lost_content_are_redacted_too(tmp_path: Path) -> None:
    lost = msgspec.structs.replace(make_content(b"clean"), first_line=f"key {SECRET}")
    await _stored(tmp_path, lost)
    db = plyvel.DB(str(tmp_path / "db"), compression=None)
    db.delete(kinds.content_key(lost.digest))
    db.close()
    async with closing_store(await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())) as store:
        finds = await store.redaction.redact(RedactionRequest(SECRET))
        assert (finds.labels, finds.unreadable) == ((lost.digest,), (lost.digest,))
        assert (await store.entry(lost.digest)).first_line.startswith("key [FORGOTTEN ")
        await store.wait_until_indexed()
        assert files_with(tmp_path) == []
    assert files_with(tmp_path) == []


async def test_content_with_other_bytes_does_not_block_a_redaction(
    tmp_path: Path,
) -> None:
    other = make_content(b"clean words " * 400)
    await _stored(tmp_path, other)
    key = kinds.content_key(other.digest)
    db = plyvel.DB(str(tmp_path / "db"), compression=None)
    db.put(key, db.get(key)[:-10])
    db.close()
    async with closing_store(await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())) as store:
        await store.commit(
            Commit("s", [RecordedEvent(1, START_MS, UserSpoke(SECRET, 1))], [make_content(holding(900, 2))])
        )
        finds = await store.redaction.redact(RedactionRequest(SECRET))
        assert (len(finds.contents), len(finds.events)) == (1, 1)
        assert finds.unreadable == (other.digest,)
        assert files_with(tmp_path) == []


async def test_in_a_damaged_store_a_second_run_is_reported_as_needed(tmp_path: Path) -> None:
    data = holding(5000, 3)
    await _stored(tmp_path, make_content(data))
    compact_tables(tmp_path)
    assert flip_bit_near(tmp_path, data[100:140], 5) == 1
    store = await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())
    with pytest.raises(StoreDamaged, match="then remove the text again"):
        await store.redaction.redact(RedactionRequest(SECRET))
    await store.close()
    store = await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())
    assert files_with(tmp_path) != []  # the damaged files were preserved
    await store.redaction.redact(RedactionRequest(SECRET))
    assert files_with(tmp_path) == []
    await store.close()
    assert files_with(tmp_path) == []


async def test_the_report_of_an_unseen_repair_is_redacted_too(tmp_path: Path) -> None:
    lost = msgspec.structs.replace(make_content(random.Random(1).randbytes(5000)), first_line=f"key {SECRET}")
    await _stored(tmp_path, lost)
    compact_tables(tmp_path)
    assert flip_bit_near(tmp_path, lost.data[100:140], 5) == 1
    (tmp_path / "db" / "CURRENT").unlink()
    async with closing_store(await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())) as store:
        assert "untold" in files_with(tmp_path)
        await store.redaction.redact(RedactionRequest(SECRET))
        assert files_with(tmp_path) == []
        assert store.health.report is not None  # it is still reported


async def test_an_unreadable_description_is_reported(tmp_path: Path) -> None:
    description = msgspec.structs.replace(make_content(b"clean"), first_line=f"key {SECRET}")
    await _stored(tmp_path, description)
    flip_last_bit(tmp_path, kinds.record_key(description.digest))
    async with closing_store(await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())) as store:
        assert (await store.redaction.preview(RedactionRequest(SECRET))).unreadable == (description.digest,)


async def _stored(folder: Path, content: Content) -> None:
    store = await LevelDbStore.open(folder, WORKSPACE, TickingClock())
    await store.commit(Commit("s", contents=[content]))
    await store.close()


async def test_without_disk_space_it_runs_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await filled(tmp_path)
    usage = shutil.disk_usage(tmp_path)
    with monkeypatch.context() as full:
        full.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1))
        with pytest.raises(StoreWriteFailed, match="opens next"):
            await store.redaction.redact(RedactionRequest(SECRET))
    assert (await store.redaction.preview(RedactionRequest(SECRET))).is_empty
    await store.close()
    assert files_with(tmp_path) != []
    again = await LevelDbStore.open(tmp_path, WORKSPACE)
    await again.close()
    assert files_with(tmp_path) == []


async def test_quarantined_files_are_removed_at_the_next_start_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await filled(tmp_path)
    (tmp_path / "quarantine" / f"{'ab' * 32}.row").write_bytes(holding(100, 5))
    shutil.copytree(tmp_path / "db", tmp_path / "kept" / "1" / "db")

    def cut_off(*_: object) -> None:
        raise OSError("cut off")

    with monkeypatch.context() as cut:
        cut.setattr(redaction, "delete_copies", cut_off)
        with pytest.raises(OSError, match="cut off"):
            await store.redaction.redact(RedactionRequest(SECRET))
    assert (await store.redaction.preview(RedactionRequest(SECRET))).damaged != ()
    await store.close()
    again = await LevelDbStore.open(tmp_path, WORKSPACE)
    await again.close()
    assert files_with(tmp_path) == []


async def test_the_remains_of_an_interrupted_write_are_removed_too(tmp_path: Path) -> None:
    store = await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())
    complete = make_content(holding(2_000_000, 1)[::-1])
    cut = make_content(holding(2_000_000, 2))
    await store.commit(Commit("s", contents=[complete, cut]))
    await store.close()
    db = plyvel.DB(str(tmp_path / "db"), compression=None)
    created = next(key for key, _ in db.iterator(prefix=b"t") if key.endswith(kinds.digest_bytes(cut.digest)))
    for key in (
        kinds.content_key(cut.digest),
        kinds.record_key(cut.digest),
        created,
    ):  # they are written last
        db.delete(key)
    db.close()
    async with closing_store(await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())) as store:
        await store.redaction.redact(RedactionRequest(SECRET))
        assert files_with(tmp_path) == []
        assert await store.get(complete.digest) == complete.data


async def test_a_crash_between_the_files_is_repaired_at_the_next_start(tmp_path: Path) -> None:
    store = await filled(tmp_path)
    events = await store.events("s")
    await store.close()
    layout = StoreFiles(tmp_path)
    shutil.copytree(layout.db, layout.new_db)
    layout.db.rename(layout.old_db)
    async with closing_store(await LevelDbStore.open(tmp_path, WORKSPACE)) as again:
        assert await again.events("s") == events
        assert not layout.old_db.exists()


async def test_a_crash_afterwards_does_no_damage(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    copy = tmp_path / "crashed"
    store = await filled(folder)
    await store.close()
    async with closing_store(await LevelDbStore.open(folder, WORKSPACE, TickingClock())) as store:
        await store.redaction.redact(RedactionRequest(SECRET))
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("LOCK"))
        events = await store.events("s")
    async with closing_store(await LevelDbStore.open(copy, WORKSPACE)) as again:
        assert again.health.report is None
        assert await again.events("s") == events


async def test_readers_and_writers_continue_during_it(tmp_path: Path) -> None:
    store = await filled(tmp_path)
    unrelated = make_content(random.Random(1).randbytes(100_000))
    await store.commit(Commit("t", contents=[unrelated]))
    done = asyncio.Event()

    async def read() -> int:
        times = 0
        while not done.is_set():
            assert await store.get(unrelated.digest) == unrelated.data
            times += 1
        return times

    async def write() -> int:
        seq = 0
        while not done.is_set():
            seq += 1
            await store.commit(Commit("w", [user_message_event(seq)]))
        return seq

    try:
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(read())
            writing = group.create_task(write())
            await store.redaction.redact(RedactionRequest(SECRET))
            done.set()
        assert reading.result() > 0
        assert len(await store.events("w")) == writing.result() > 0
        assert files_with(tmp_path) == []
    finally:
        await store.close()
