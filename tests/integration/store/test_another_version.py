"""What a later version wrote, and this one does not know, is left as it is, and said; nothing is repaired."""

from __future__ import annotations

from pathlib import Path

import msgspec
import plyvel
import pytest

from helix_desktop.domain.errors import ContentDamaged, StoreUnreadable
from helix_desktop.domain.events.conversation import Attachment, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.store import Commit
from helix_desktop.store import kinds
from helix_desktop.store.kinds import RowType
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store.builders import START_MS, WORKSPACE, TickingClock, make_content, make_summary
from tests.support.store.damage import database_files


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
