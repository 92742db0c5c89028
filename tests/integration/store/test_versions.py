"""What a released version wrote opens; what a later one wrote is left as it is, and said."""

from __future__ import annotations

import io
import json
import os
import shutil
import tarfile
from pathlib import Path
from typing import get_args

import msgspec
import plyvel
import pytest
import zstandard

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ContentDamaged, StoreUnreadable
from helix_desktop.domain.events.conversation import Attachment, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent, digests_in
from helix_desktop.domain.store import Commit, ContentKind
from helix_desktop.domain.text_format import utc_day
from helix_desktop.store import kinds
from helix_desktop.store.archive_file import ArchivedLog
from helix_desktop.store.archive_transfer import export_store, import_store
from helix_desktop.store.kinds import RowType
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.interface_golden import WRITE_GOLDEN_VARIABLE
from tests.support.store.builders import (
    START_MS,
    WORKSPACE,
    TickingClock,
    closing_store,
    handover_event,
    make_content,
    make_summary,
    user_message_event,
)
from tests.support.store.damage import database_files
from tests.support.store.golden import (
    ARCHIVE,
    HELD,
    STORE,
    golden_contents,
    golden_log,
    held_by,
    write_golden_store,
)


@pytest.fixture
async def golden_files() -> None:
    """Write the golden files of stores again, if that is asked for."""
    if os.environ.get(WRITE_GOLDEN_VARIABLE):
        await write_golden_store()


async def _check_contents(store: LevelDbStore) -> None:
    """Fail unless each content has the bytes that the golden log was written with."""
    contents = golden_contents()
    for content in contents:
        assert await store.get(content.digest) == content.data
    checked = await store.health.check()
    assert (checked.contents, checked.problems, checked.damaged) == (len(contents), (), ())


async def test_the_golden_store_gives_the_same_answers(golden_files: None, tmp_path: Path) -> None:
    """Every kind of event with every field, contents of each kind, a branch, drafts and pins."""
    shutil.copytree(STORE, tmp_path / "store")
    async with closing_store(await LevelDbStore.open(tmp_path / "store", WORKSPACE)) as store:
        assert store.health.report is None
        assert await held_by(store) == json.loads(HELD.read_text(encoding="utf-8"))
        events = await store.events("every-kind")
        assert len(events) == len(golden_log()), "run this file with HELIX_WRITE_GOLDEN=1 after log.json grew"
        assert events == golden_log()
        assert [session.id for session in (await store.retention.trash()).sessions] == ["trashed"]
        await _check_contents(store)
        log = await store.events("branch")
        await store.commit(Commit("branch", [user_message_event(len(log) + 1)]))


async def test_the_golden_archive_is_imported_whole(golden_files: None, tmp_path: Path) -> None:
    """What it holds is what the golden store holds, but for when it was used and stored."""
    async with closing_store(await LevelDbStore.open(tmp_path / "new", WORKSPACE)) as store:
        await import_store(store, str(ARCHIVE))
        held = await held_by(store)
        expected = json.loads(HELD.read_text(encoding="utf-8"))
        assert sorted(held["logs"]) == sorted(expected["logs"])
        assert sorted(map(str, held["drafts"])) == sorted(map(str, expected["drafts"]))
        assert {entry["digest"] for entry in held["entries"]} == {
            entry["digest"] for entry in expected["entries"]
        }
        await _check_contents(store)
        again = tmp_path / "again.helix"
        await export_store(store, str(again), "golden", START_MS)
    assert _members(again) == _members(ARCHIVE)


def _members(archive: Path) -> dict[str, bytes]:
    """Return logs and contents in an archive by their names."""
    with archive.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
        packed = io.BytesIO(stream.read())
    with tarfile.open(fileobj=packed) as tar:
        files = {member.name: tar.extractfile(member) for member in tar}
        return {
            name: file.read()
            for name, file in files.items()
            if file is not None and not name.endswith(".json")
        }


def test_the_golden_files_are_small_and_have_real_contents() -> None:
    """Tables and a log of the database, contents in one piece and in chunks, one of each kind."""
    files = [path for path in STORE.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in (*files, ARCHIVE, HELD)) < 500_000
    assert {".ldb", ".log"} <= {path.suffix for path in files}
    contents = golden_contents()
    sizes = [len(content.data) for content in contents]
    assert (min(sizes), max(sizes) > 1024 * 1024) == (0, True)
    assert {content.kind for content in contents} == set(get_args(ContentKind))
    named = {digest for recorded in golden_log() for digest in digests_in(recorded.event)}
    assert {content.digest for content in contents} == named


def as_a_later_version_writes_it(folder: Path, key: bytes, old: str, new: str) -> bytes:
    """Rename something in a row; return the row."""
    db = plyvel.DB(str(folder / "db"), create_if_missing=False, compression=None)
    body = msgspec.json.encode(kinds.decode(key, db.get(key), RowType(object)))
    assert old.encode() in body
    row = kinds.encode(key, msgspec.json.decode(body.replace(old.encode(), new.encode())))
    db.put(key, row, sync=True)
    db.close()
    return row


@pytest.mark.parametrize("what", ["an event", "a kind of content"])
async def test_it_is_said_and_nothing_is_changed(tmp_path: Path, what: str) -> None:
    store = await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())
    content = make_content(b"all of it", kind="record")
    for session in ("known", "later"):
        said = RecordedEvent(1, START_MS, UserSpoke("Hello.", 1))
        await store.commit(Commit(session, [said], [content], summary=make_summary(session)))
    await store.close()
    key, old, new = (
        (kinds.event_key("later", 1), "user-spoke", "user-of-tomorrow")
        if what == "an event"
        else (kinds.record_key(content.digest), "record", "record-of-tomorrow")
    )
    row = as_a_later_version_writes_it(tmp_path, key, f'"{old}"', f'"{new}"')
    for _ in range(2):
        store = await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())
        assert len(await store.events("known")) == 1
        if what == "an event":
            with pytest.raises(StoreUnreadable, match="another version of Helix Desktop") as caught:
                await store.events("later")
            assert "newest version" in str(caught.value.fix)
        else:
            with pytest.raises(ContentDamaged, match="record-of-tomorrow"):
                await store.entry(content.digest)
        found = await store.health.check()
        assert found.is_of_another_version
        assert any("not understood" in str(problem) for problem in found.problems)
        await store.close()
    db = plyvel.DB(str(tmp_path / "db"), create_if_missing=False, compression=None)
    assert db.get(key) == row
    db.close()
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"text_version":5', '"text_version":3', "its summary has text version 3, not 5"),
        ('"trigger":"threshold"', '"trigger":"85 %"', "Invalid enum value '85 %'"),
    ],
)
async def test_a_log_of_an_older_format_is_refused_by_title_and_day(
    tmp_path: Path, old: str, new: str, why: str
) -> None:
    """Neither read in part nor changed, from the store as from an exported line; other sessions open."""
    index = b"e1 read_file a.py"
    digest = digest_of(index)
    store = await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())
    events = [user_message_event(1), handover_event(2, index)]
    await store.commit(Commit("older", events, [make_content(index)], summary=make_summary("older")))
    await store.commit(Commit("new", [user_message_event(1)], summary=make_summary("new")))
    await store.close()
    key = kinds.event_key("older", 2)
    row = as_a_later_version_writes_it(tmp_path, key, old, new)
    for _ in range(2):
        store = await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())
        assert len(await store.events("new")) == 1
        assert await store.get(digest) == index
        with pytest.raises(StoreUnreadable, match="another version of Helix Desktop") as caught:
            await store.events("older")
        said = str(caught.value.why)
        assert said.startswith(f"Session “a title”, event 2 of {utc_day(START_MS)}")
        assert why in said
        assert "the one that wrote it" in str(caught.value.fix)
        assert (await store.health.check()).is_of_another_version
        await store.close()
    db = plyvel.DB(str(tmp_path / "db"), create_if_missing=False, compression=None)
    assert db.get(key) == row
    db.close()
    line = msgspec.json.encode(handover_event(2, index)).replace(old.encode(), new.encode())
    with pytest.raises(msgspec.ValidationError, match=f"event 2 of {utc_day(START_MS)}") as refused:
        ArchivedLog().add(line)
    assert why in str(refused.value)


async def test_its_draft_is_not_replaced_and_what_it_may_name_stays(tmp_path: Path) -> None:
    store = await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())
    content = make_content(b"all of it")
    await store.commit(Commit("later", contents=[content], summary=make_summary("later")))
    await store.save_draft(
        "later", "typed", [Attachment(content.digest, "a.txt", "all of it", 3, len(content.data))]
    )
    await store.close()
    key = kinds.draft_key("later")
    row = as_a_later_version_writes_it(tmp_path, key, '"typed"', '{"markdown":"typed"}')
    store = await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())
    for refused in (
        store.save_draft("later", "t"),
        store.save_partial_outputs("later", ()),
        store.retention.collect([content.digest], grace_ms=0),
    ):
        with pytest.raises(StoreUnreadable, match="another version of Helix Desktop"):
            await refused
    assert not (await store.retention.trash()).entries
    await store.close()
    db = plyvel.DB(str(tmp_path / "db"), create_if_missing=False, compression=None)
    assert db.get(key) == row
    db.close()


@pytest.mark.parametrize("damage", ["a file is lost", "the end of the log is damaged"])
async def test_a_repair_leaves_it_to_the_other_version(tmp_path: Path, damage: str) -> None:
    store = await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())
    said = RecordedEvent(1, START_MS, UserSpoke("Hello.", 1))
    await store.commit(Commit("later", [said], summary=make_summary("later")))
    await store.close()
    db = plyvel.DB(str(tmp_path / "db"), create_if_missing=False, compression=None)
    key = kinds.event_key("later", 2)
    db.put(key, kinds.encode(key, [2, START_MS, {"type": "user-of-tomorrow"}]), sync=True)
    db.close()
    if damage == "a file is lost":
        (tmp_path / "db" / "CURRENT").unlink()
    else:
        (log,) = (tmp_path / "db").glob("*.log")
        data = bytearray(log.read_bytes())
        data[0] ^= 1  # of the checksum of its only record
        log.write_bytes(data)
    before = database_files(tmp_path, "*.l??")
    for _ in range(2):
        with pytest.raises(StoreUnreadable, match="another version of Helix Desktop"):
            await LevelDbStore.open(tmp_path, WORKSPACE, TickingClock())
    assert before.items() <= database_files(tmp_path).items()
