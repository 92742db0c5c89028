"""What was forgotten is gone from the files, whatever a store had gone through."""

from __future__ import annotations

import asyncio
import random
import shutil
from pathlib import Path

import msgspec
import plyvel
import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ContentRedacted, StoreDamaged, StoreWriteFailed
from helix_desktop.domain.events.session import RecordedEvent, UserSpoke
from helix_desktop.domain.redaction.redaction import RedactionRequest
from helix_desktop.domain.store.commit import Commit
from helix_desktop.domain.store.entries import Content
from helix_desktop.store.core import keys, row_codec
from helix_desktop.store.files.store_files import StoreFiles
from helix_desktop.store.leveldb.database import Database
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.redaction import leveldb_redaction
from helix_desktop.store.redaction.secure_delete import rewrite_all_files
from tests.support.store.builders import (
    START_MS,
    WORKSPACE,
    TickingClock,
    make_content,
    make_summary,
    tool_answer_event,
    user_message_event,
)
from tests.support.store.damage import compact_tables, flip_bit_near

SECRET = "".join(random.Random(7).choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789", k=48))


def files_with(folder: Path, data: bytes = SECRET.encode()) -> list[str]:
    """The files below a folder in which these bytes stand as they are."""
    files = (one for one in sorted(folder.rglob("*")) if one.is_file())
    return [str(one.relative_to(folder)) for one in files if data in one.read_bytes()]


def holding(size: int, seed: int) -> bytes:
    """Bytes that do not compress, with the secret among them."""
    noise = random.Random(seed).randbytes(size)
    return noise[: size // 2] + SECRET.encode() + noise[size // 2 :]


def compressible() -> bytes:
    """Bytes with the secret in a form that only unpacking shows."""
    return b"".join(f"{number} key={SECRET}\n".encode() for number in range(400))[7:]


async def filled(folder: Path) -> LevelDbStore:
    """A store that holds the secret in every way, live and in old versions of rows."""
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


async def test_no_file_holds_it_any_more(tmp_path: Path) -> None:
    store = await filled(tmp_path)
    try:
        noise = [make_content(random.Random(n).randbytes(400_000)) for n in range(60)]  # enough for tables
        for one in noise:
            await store.commit(Commit("t", contents=[one]))
        packed = row_codec.compress(compressible())
        assert packed is not None
        assert SECRET.encode() not in packed
        await store.commit(Commit("t", contents=[make_content(compressible())]))
        assert files_with(tmp_path) != []
        assert files_with(tmp_path, packed) != []
        await store.redaction.redact(RedactionRequest(SECRET))
        assert files_with(tmp_path) == []
        assert files_with(tmp_path, packed) == []
        assert (await store.totals()).entries == len(noise)
        for one in noise:
            assert await store.get(one.digest) == one.data
        await store.commit(Commit("s", [user_message_event(7)]))
        assert len(await store.events("s")) == 7
    finally:
        await store.close()
    assert files_with(tmp_path) == []
    again = await LevelDbStore.open(tmp_path, WORKSPACE)
    try:
        assert again.health.report is None
        assert len(await again.events("s")) == 7
        with pytest.raises(ContentRedacted):
            await again.get(digest_of(holding(900, 2)))
    finally:
        await again.close()


async def test_the_search_index_does_not_remember_it(tmp_path: Path) -> None:
    store = await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())
    labelled = msgspec.structs.replace(make_content(b"clean"), target=f"login {SECRET}", first_line="clean")
    try:
        await store.commit(Commit("s", contents=[labelled, make_content(holding(200, 3))]))
        await store.indexed()
        assert [one for one in files_with(tmp_path) if one.startswith("search.db")] != []
        await store.redaction.redact(RedactionRequest(SECRET))
        assert files_with(tmp_path) == []
        await store.indexed()
        assert files_with(tmp_path) == []
        (entry,) = (await store.page()).entries
        assert entry.target.startswith("login [FORGOTTEN ")
    finally:
        await store.close()
    assert files_with(tmp_path) == []


async def test_old_versions_go_also_when_nothing_live_holds_it(tmp_path: Path) -> None:
    store = await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())
    try:
        await store.save_draft("s", f"my key is {SECRET}")
        await store.save_draft("s", "")
        assert files_with(tmp_path) != []
        assert (await store.redaction.redact(RedactionRequest(SECRET))).is_empty
        assert files_with(tmp_path) == []
    finally:
        await store.close()


async def test_damaged_rows_and_copies_kept_aside_go_too(tmp_path: Path) -> None:
    store = await filled(tmp_path)
    await store.close()
    shutil.copytree(tmp_path / "db", tmp_path / "db before repair")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("not of the store")
    (tmp_path / "quarantine" / f"{digest_of(b'x')}.row").write_bytes(b"unreadable")
    (tmp_path / "quarantine" / f"{digest_of(b'y')}.row.healed").write_bytes(holding(100, 9))
    store = await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())
    try:
        finds = await store.redaction.preview(RedactionRequest(SECRET))
        assert (len(finds.damaged), finds.store_copies) == (2, ("db before repair",))
        await store.redaction.redact(RedactionRequest(SECRET))
        assert files_with(tmp_path) == []
        assert (tmp_path / "notes" / "mine.txt").exists()
    finally:
        await store.close()


async def test_what_is_said_of_a_lost_content_is_clean_too(tmp_path: Path) -> None:
    lost = msgspec.structs.replace(make_content(b"clean"), first_line=f"key {SECRET}")
    await _stored(tmp_path, lost)
    db = plyvel.DB(str(tmp_path / "db"), compression=None)
    db.delete(keys.content(lost.digest))
    db.close()
    store = await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())
    try:
        finds = await store.redaction.redact(RedactionRequest(SECRET))
        assert (finds.labels, finds.unreadable) == ((lost.digest,), (lost.digest,))
        assert (await store.entry(lost.digest)).first_line.startswith("key [FORGOTTEN ")
        await store.indexed()
        assert files_with(tmp_path) == []
    finally:
        await store.close()
    assert files_with(tmp_path) == []


async def test_a_content_that_has_other_bytes_does_not_keep_a_secret_from_being_forgotten(
    tmp_path: Path,
) -> None:
    other = make_content(b"clean words " * 400)
    await _stored(tmp_path, other)
    key = keys.content(other.digest)
    db = plyvel.DB(str(tmp_path / "db"), compression=None)
    db.put(key, db.get(key)[:-10])
    db.close()
    store = await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())
    try:
        await store.commit(
            Commit("s", [RecordedEvent(1, START_MS, UserSpoke(SECRET, 1))], [make_content(holding(900, 2))])
        )
        finds = await store.redaction.redact(RedactionRequest(SECRET))
        assert (len(finds.contents), len(finds.events)) == (1, 1)
        assert finds.unreadable == (other.digest,)
        assert files_with(tmp_path) == []
    finally:
        await store.close()


async def test_in_a_damaged_store_it_is_said_that_it_has_to_be_done_again(tmp_path: Path) -> None:
    data = holding(5000, 3)
    await _stored(tmp_path, make_content(data))
    compact_tables(tmp_path)
    assert flip_bit_near(tmp_path, data[100:140], 5) == 1
    store = await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())
    with pytest.raises(StoreDamaged, match="forget it once more"):
        await store.redaction.redact(RedactionRequest(SECRET))
    await store.close()
    store = await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())
    assert files_with(tmp_path) != []  # the damaged files were kept
    await store.redaction.redact(RedactionRequest(SECRET))
    assert files_with(tmp_path) == []
    await store.close()
    assert files_with(tmp_path) == []


async def test_the_report_of_a_mending_that_nobody_was_told_is_clean_too(tmp_path: Path) -> None:
    lost = msgspec.structs.replace(make_content(random.Random(1).randbytes(5000)), first_line=f"key {SECRET}")
    await _stored(tmp_path, lost)
    compact_tables(tmp_path)
    assert flip_bit_near(tmp_path, lost.data[100:140], 5) == 1
    (tmp_path / "db" / "CURRENT").unlink()
    store = await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())
    try:
        assert "untold" in files_with(tmp_path)
        await store.redaction.redact(RedactionRequest(SECRET))
        assert files_with(tmp_path) == []
        assert store.health.report is not None  # it is told all the same
    finally:
        await store.close()


async def test_a_description_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    named = msgspec.structs.replace(make_content(b"clean"), first_line=f"key {SECRET}")
    await _stored(tmp_path, named)
    key = keys.record(named.digest)
    db = plyvel.DB(str(tmp_path / "db"), compression=None)
    db.put(key, db.get(key)[:-1] + b"?")
    db.close()
    store = await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())
    try:
        assert (await store.redaction.preview(RedactionRequest(SECRET))).unreadable == (named.digest,)
    finally:
        await store.close()


async def _stored(folder: Path, one: Content) -> None:
    """A closed store that holds one content."""
    store = await LevelDbStore.open(folder, WORKSPACE, TickingClock())
    await store.commit(Commit("s", contents=[one]))
    await store.close()


async def test_without_room_it_is_done_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await filled(tmp_path)
    usage = shutil.disk_usage(tmp_path)
    with monkeypatch.context() as full:
        full.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1))
        with pytest.raises(StoreWriteFailed, match="next start"):
            await store.redaction.redact(RedactionRequest(SECRET))
    assert (await store.redaction.preview(RedactionRequest(SECRET))).is_empty
    await store.close()
    assert files_with(tmp_path) != []
    again = await LevelDbStore.open(tmp_path, WORKSPACE)
    await again.close()
    assert files_with(tmp_path) == []


async def test_what_was_kept_aside_goes_at_the_next_start_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await filled(tmp_path)
    (tmp_path / "quarantine" / f"{'ab' * 32}.row").write_bytes(holding(100, 5))
    shutil.copytree(tmp_path / "db", tmp_path / "kept" / "1" / "db")

    def cut_off(*_: object) -> None:
        raise OSError("cut off")

    with monkeypatch.context() as cut:
        cut.setattr(leveldb_redaction, "delete_copies", cut_off)
        with pytest.raises(OSError, match="cut off"):
            await store.redaction.redact(RedactionRequest(SECRET))
    assert (await store.redaction.preview(RedactionRequest(SECRET))).damaged != ()
    await store.close()
    again = await LevelDbStore.open(tmp_path, WORKSPACE)
    await again.close()
    assert files_with(tmp_path) == []


async def test_the_index_is_clean_before_the_last_note_of_it_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())
    named = msgspec.structs.replace(make_content(b"a"), first_line=f"key {SECRET}")
    await store.commit(Commit("s", contents=[named]))
    await store.indexed()
    seen: list[list[str]] = []

    def look_and_scour(handle: Database, layout: StoreFiles) -> None:
        seen.append([one for one in files_with(tmp_path) if one.startswith("search.db")])
        rewrite_all_files(handle, layout)

    try:
        assert "search.db" in "".join(files_with(tmp_path))
        monkeypatch.setattr(leveldb_redaction, "rewrite_all_files", look_and_scour)
        await store.redaction.redact(RedactionRequest(SECRET))
        assert seen == [[]]
    finally:
        await store.close()


async def test_what_a_write_left_that_was_cut_off_goes_too(tmp_path: Path) -> None:
    store = await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())
    whole, cut = make_content(holding(2_000_000, 1)[::-1]), make_content(holding(2_000_000, 2))
    await store.commit(Commit("s", contents=[whole, cut]))
    await store.close()
    db = plyvel.DB(str(tmp_path / "db"), compression=None)
    created = next(one for one, _ in db.iterator(prefix=b"t") if one.endswith(keys.digest_bytes(cut.digest)))
    for key in (keys.content(cut.digest), keys.record(cut.digest), created):  # they are written last
        db.delete(key)
    db.close()
    store = await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())
    try:
        await store.redaction.redact(RedactionRequest(SECRET))
        assert files_with(tmp_path) == []
        assert await store.get(whole.digest) == whole.data
    finally:
        await store.close()


async def test_a_crash_between_the_files_is_mended_at_the_next_start(tmp_path: Path) -> None:
    store = await filled(tmp_path)
    events = await store.events("s")
    await store.close()
    layout = StoreFiles(tmp_path)
    shutil.copytree(layout.db, layout.new_db)
    layout.db.rename(layout.old_db)
    again = await LevelDbStore.open(tmp_path, WORKSPACE)
    try:
        assert await again.events("s") == events
        assert not layout.old_db.exists()
    finally:
        await again.close()


async def test_a_crash_after_it_is_no_damage(tmp_path: Path) -> None:
    folder, copy = tmp_path / "store", tmp_path / "crashed"
    store = await filled(folder)
    await store.close()
    store = await LevelDbStore.open(folder, WORKSPACE, TickingClock())
    try:
        await store.redaction.redact(RedactionRequest(SECRET))
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("LOCK"))
        events = await store.events("s")
    finally:
        await store.close()
    again = await LevelDbStore.open(copy, WORKSPACE)
    try:
        assert again.health.report is None
        assert await again.events("s") == events
    finally:
        await again.close()


async def test_readers_and_writers_go_on_meanwhile(tmp_path: Path) -> None:
    store = await filled(tmp_path)
    kept = make_content(random.Random(1).randbytes(100_000))
    await store.commit(Commit("t", contents=[kept]))
    done = asyncio.Event()

    async def read() -> int:
        times = 0
        while not done.is_set():
            assert await store.get(kept.digest) == kept.data
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
            reading, writing = group.create_task(read()), group.create_task(write())
            await store.redaction.redact(RedactionRequest(SECRET))
            done.set()
        assert reading.result() > 0
        assert len(await store.events("w")) == writing.result() > 0
        assert files_with(tmp_path) == []
    finally:
        await store.close()
