"""The passages of sessions in the index on disk: built in the background, rebuilt, caught up."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.passages import PassageQuery
from helix_desktop.domain.redaction import RedactionRequest
from helix_desktop.domain.store import Commit
from helix_desktop.store import passage_index
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store.builders import START_MS, closing_store, make_summary
from tests.support.store.search_samples import open_store


async def say(store: LevelDbStore, session: str, *texts: str) -> None:
    seq = len(await store.events(session))
    events = [
        RecordedEvent(number, START_MS + number, UserSpoke(text, 1))
        for number, text in enumerate(texts, seq + 1)
    ]
    await store.commit(Commit(session, events, summary=make_summary(session)))


async def seqs(store: LevelDbStore, word: str) -> list[int]:
    """Where a word is found, newest first."""
    return [hit.seq for hit in (await store.find_passages(PassageQuery((word,)))).hits]


def count(folder: Path, sql: str) -> int:
    """A number out of a closed index."""
    with closing(sqlite3.connect(folder / "search.db")) as db:
        return int(db.execute(sql).fetchone()[0])


@pytest.mark.parametrize("damage", ["missing", "garbled", "sound"])
async def test_a_restart_finds_what_was_said_before_and_after(tmp_path: Path, damage: str) -> None:
    store = await open_store(tmp_path)
    await say(store, "s", "the tide", "a wave")
    assert await seqs(store, "tide") == [1]
    await say(store, "s", "no tide")  # not indexed when it closes
    await store.close()
    if damage == "missing":
        (tmp_path / "search.db").unlink()
    elif damage == "garbled":
        (tmp_path / "search.db").write_bytes(b"not a database" * 400)
    async with closing_store(await open_store(tmp_path)) as store:
        assert await seqs(store, "tide") == [3, 1]
        await say(store, "s", "one more tide")
        assert await seqs(store, "tide") == [4, 3, 1]
    assert count(tmp_path, "SELECT count(*) FROM passages") == 4, "each once"


async def test_what_is_there_is_indexed_in_steps_and_the_rest_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await open_store(tmp_path)
    for session in ("a", "b", "c"):
        await say(store, session, *(f"wave {number}" for number in range(20)))
    await store.close()
    (tmp_path / "search.db").unlink()
    monkeypatch.setattr(passage_index, "_BATCH_EVENTS", 8)
    monkeypatch.setattr("helix_desktop.store.indexer._CATCH_UP_S", 0.0)
    async with closing_store(await open_store(tmp_path)) as store:
        page = await store.find_passages(PassageQuery(("wave",)))
        assert (page.hits, page.unindexed, page.events) == ((), 60, 60)
        await store.wait_until_indexed()
        page = await store.find_passages(PassageQuery(("wave",)))
        assert (len(page.hits), page.unindexed, page.events) == (60, 0, 60)


async def test_a_page_that_takes_too_long_goes_on_at_its_cursor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passage_index, "_SLICE_S", 0.0)
    async with closing_store(await open_store(tmp_path)) as store:
        await say(store, "s", *(f"wave {number}" for number in range(150)))
        found, cursor, pages = list[int](), 0, 0
        while cursor or not pages:
            page = await store.find_passages(PassageQuery(("wave",), limit=1000, cursor=cursor))
            found += [hit.seq for hit in page.hits]
            cursor, pages = page.cursor, pages + 1
        assert found == list(range(150, 0, -1))
        assert pages > 1


async def test_a_secret_that_was_removed_is_in_no_index(tmp_path: Path) -> None:
    store = await open_store(tmp_path)
    await say(store, "s", "the key is xylophone-42 here", "nothing of it")
    assert await seqs(store, "xylophone") == [1]
    await store.redaction.redact(RedactionRequest("xylophone-42"))
    assert await seqs(store, "xylophone") == []
    assert await seqs(store, "nothing") == [2]
    await store.close()
    assert count(tmp_path, "SELECT count(*) FROM passage_words WHERE passage_words MATCH 'xyl'") == 0
    assert count(tmp_path, "SELECT count(*) FROM passage_words WHERE passage_words MATCH 'not'") == 1


async def test_a_log_that_is_another_one_now_is_indexed_again(tmp_path: Path) -> None:
    """An index that was copied back beside a store that went on without it."""
    store = await open_store(tmp_path)
    await say(store, "s", "the old tide", "a wave")
    assert await seqs(store, "tide") == [1]
    await store.close()
    older = (tmp_path / "search.db").read_bytes()
    store = await open_store(tmp_path)
    await store.retention.trash_session("s")
    await store.retention.empty_trash()
    await say(store, "s", "nothing", "here", "but a zebra")
    await store.close()
    (tmp_path / "search.db").write_bytes(older)
    async with closing_store(await open_store(tmp_path)) as store:
        assert await seqs(store, "tide") == []
        assert await seqs(store, "zebra") == [3]
        assert await seqs(store, "nothing") == [1]


async def test_hits_are_read_in_the_store_before_they_are_returned(tmp_path: Path) -> None:
    store = await open_store(tmp_path)
    await say(store, "s", "a wave")
    assert await seqs(store, "wave") == [1]
    await store.close()
    with closing(sqlite3.connect(tmp_path / "search.db")) as db, db:
        db.execute("INSERT INTO passages SELECT id + 1, log, seq, kind, path FROM passages")
        db.execute("INSERT INTO passage_words(rowid, text) SELECT max(id), 'xylophone' FROM passages")
    async with closing_store(await open_store(tmp_path)) as store:
        assert await seqs(store, "xylophone") == []


async def test_no_text_of_a_message_is_in_the_index(tmp_path: Path) -> None:
    store = await open_store(tmp_path)
    await say(store, "s", "a very particular sentence")
    assert await seqs(store, "particular") == [1]
    await store.close()
    assert b"particular" not in (tmp_path / "search.db").read_bytes()
