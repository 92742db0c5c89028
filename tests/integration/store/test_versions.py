"""What a released version wrote opens; what a later one wrote is left as it is, and said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import plyvel
import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ContentDamaged, StoreUnreadable
from helix_desktop.domain.events.conversation import AssistantSpoke, Attachment, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.store import Commit
from helix_desktop.domain.text_format import utc_day
from helix_desktop.store import kinds
from helix_desktop.store.archive_file import ArchivedLog
from helix_desktop.store.archive_transfer import export_store, import_store
from helix_desktop.store.kinds import RowType
from helix_desktop.store.leveldb_store import LevelDbStore
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
from tests.unit.domain.test_events import holds

FOLDER = Path(__file__).parents[2] / "golden" / "stores"
STORES = sorted(FOLDER.iterdir())


def plain(value: object) -> Any:
    """Return a value as JSON represents it."""
    return json.loads(msgspec.json.encode(value))


@pytest.mark.parametrize("golden", STORES, ids=lambda path: path.name)
async def test_a_golden_store_gives_the_same_answers(golden: Path, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    shutil.copytree(golden, folder)
    expected: dict[str, Any] = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    async with closing_store(await LevelDbStore.open(folder, WORKSPACE)) as store:
        assert store.health.report is None
        assert holds(plain(await store.totals()), expected["totals"])
        assert holds(plain(await store.sessions()), expected["sessions"])
        for session, log in expected["events"].items():
            assert holds(plain(await store.events(session)), log)
            assert (await store.draft(session)).text == expected["drafts"][session]
        entries = plain((await store.page(limit=1000)).entries)
        assert holds(entries, expected["entries"])
        for entry in expected["entries"]:
            data = await store.get(entry["digest"])
            assert (digest_of(data), len(data)) == (entry["digest"], entry["size"])
        session = expected["sessions"][0]["id"]
        await store.commit(Commit(session, [user_message_event(len(expected["events"][session]) + 1)]))


def test_the_golden_stores_are_unchanged() -> None:
    """Each is small, and contains tables, a log, and contents in one piece and in chunks."""
    assert [path.name for path in STORES] == ["schema-1"]
    for golden in STORES:
        files = [path for path in golden.rglob("*") if path.is_file()]
        assert sum(path.stat().st_size for path in files) < 200_000
        assert {".ldb", ".log"} <= {path.suffix for path in files}
        sizes = [entry["size"] for entry in json.loads((golden / "expected.json").read_text())["entries"]]
        assert min(sizes) == 0
        assert max(sizes) > 1024 * 1024


_LARGE = Path(__file__).parents[2] / "golden" / "large_rows"
_LINE = "The quick brown fox jumps over the lazy dog.\n"
_LONG = _LINE * 1_600_000  # 72 MB


def _require_same(found: str, expected: str) -> None:
    """Fail unless both are equal; their difference would be 72 MB of text."""
    if found != expected:
        pytest.fail("The text is not what was stored.")


async def _check_large_rows(store: LevelDbStore) -> None:
    events = [recorded.event for recorded in await store.events("large")]
    kinds_of_events = [type(event).__name__ for event in events]
    step = ["UserSpoke", "AssistantSpoke"]
    assert kinds_of_events == [*step, "TurnEnded", *step, "ToolAnswered", "TurnEnded"]
    answer, with_call = events[1], events[4]
    assert isinstance(answer, AssistantSpoke)
    _require_same(answer.text, _LONG)
    assert answer.verbatim is not None
    _require_same(answer.verbatim["message"]["content"], _LONG)
    assert isinstance(with_call, AssistantSpoke)
    assert len(with_call.calls[0].arguments) > 70_000_000
    partial = (await store.draft("small")).partial_answer
    assert partial is not None
    assert isinstance(partial.event, AssistantSpoke)
    _require_same(partial.event.text, _LONG)
    checked = await store.health.check()
    assert checked.problems == ()
    assert checked.damaged == ()


async def test_rows_that_an_older_version_wrote_too_large_for_itself_are_whole(tmp_path: Path) -> None:
    """They open, verify, go on, and come back from an export."""
    shutil.copytree(_LARGE, tmp_path / "first")
    archive = str(tmp_path / "all.helix")
    async with closing_store(await LevelDbStore.open(tmp_path / "first", WORKSPACE)) as store:
        assert store.health.report is None
        await _check_large_rows(store)
        exported = await export_store(store, archive, "Name", START_MS)
        assert (exported.totals.sessions, exported.totals.events) == (2, 8)
        assert exported.totals.left_out == ()
    async with closing_store(await LevelDbStore.open(tmp_path / "second", WORKSPACE)) as copy:
        await import_store(copy, archive)
        await _check_large_rows(copy)
        await copy.commit(Commit("large", [user_message_event(8)]))
    async with closing_store(await LevelDbStore.open(tmp_path / "second", WORKSPACE)) as copy:
        assert copy.health.report is None
        assert len(await copy.events("large")) == 8


async def test_a_repair_keeps_rows_that_are_larger_than_new_ones_may_be(tmp_path: Path) -> None:
    shutil.copytree(_LARGE, tmp_path / "store")
    (tmp_path / "store" / "db" / "CURRENT").unlink()
    async with closing_store(await LevelDbStore.open(tmp_path / "store", WORKSPACE)) as store:
        assert store.health.report is not None
        assert store.health.report.cut == ()
        await _check_large_rows(store)


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
