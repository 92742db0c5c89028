"""The search index on disk: reused, rebuilt, caught up, dropped; results never depend on it."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import StoreClosed
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.passages import PassageQuery
from helix_desktop.domain.redaction import RedactionRequest
from helix_desktop.domain.store import Commit, EntryFilter, EntrySort, matches_filter
from helix_desktop.store import indexer, passage_index, search_index
from helix_desktop.store.contents import ContentStore
from helix_desktop.store.files import Quarantine
from helix_desktop.store.indexer import Indexer, SearchThread
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.memory import MemoryStore
from helix_desktop.store.opening import open_files
from helix_desktop.store.search_index import SearchIndex
from tests.support.store.builders import (
    OTHER_WORKSPACE,
    START_MS,
    WORKSPACE,
    TickingClock,
    closing_store,
    make_summary,
)
from tests.support.store.search_samples import (
    collect_entries,
    fill_store,
    open_store,
    sample_content,
    search_digests,
)

DATAS = [f"number {i} {'wave ' * (i % 50)}\nTide {i % 7}\n".encode() for i in range(90)]
QUERIES = ("tide", "wave tide", "number 77", "zebra", "e")
Fill = Callable[[Path], list[list[str]]]
PAGE = 4096  # bytes of the index file that are damaged at once


async def answers(store: LevelDbStore) -> list[list[str]]:
    listed = [
        [entry.digest for entry in await collect_entries(store, 50, order, entry_filter)]
        for order in (EntrySort("size"), EntrySort("tool", True), EntrySort("recalls"))
        for entry_filter in (EntryFilter(), EntryFilter(tool="read_file", orphan=True))
    ]
    joined = [(await store.digests(EntrySort("line"))).hex(), ",".join(await store.tools())]
    return [*listed, *[await search_digests(store, query, 30) for query in QUERIES], joined]


async def fill(folder: Path) -> list[list[str]]:
    """Leave a closed store with a complete index; return its results."""
    store = await open_store(folder)
    await fill_store(store, DATAS)
    scanned = await answers(store)
    await store.wait_until_indexed()
    expected = await answers(store)
    await store.close()
    assert expected == scanned
    return expected


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Fill:
    """Put a copy of one closed store with a complete index into a folder; return its results."""
    original = tmp_path_factory.mktemp("filled")
    expected = asyncio.run(fill(original))

    def copy(folder: Path) -> list[list[str]]:
        shutil.copytree(original, folder, dirs_exist_ok=True)
        return expected

    return copy


async def search_results(folder: Path) -> list[list[str]]:
    """Return the results right after opening, and the same once all is indexed."""
    async with closing_store(await open_store(folder)) as store:
        at_once = await answers(store)
        await store.wait_until_indexed()
        assert await answers(store) == at_once
        return at_once


def hit_count(folder: Path, question: str) -> int:
    """A number out of a closed index."""
    with closing(sqlite3.connect(folder / "search.db")) as db:
        return int(db.execute(question).fetchone()[0])


async def test_an_index_that_fails_with_its_store_still_reports_that_it_cannot_answer(
    tmp_path: Path, filled: Fill
) -> None:
    filled(tmp_path)
    files = open_files(tmp_path, WORKSPACE)
    contents = ContentStore(files.database, Quarantine(files.store_files.quarantine))
    work = Indexer(files.store_files.search_index, files.database, contents)
    thread = SearchThread("index", work, None)
    try:
        assert thread.submit(lambda index: index.sequence).result(60)
        files.database.close()  # like a full disk, until there is space
        for _ in range(2):
            with pytest.raises(StoreClosed):
                thread.submit(fail_as_the_disk).result(60)
        thread.when_indexed().result(60)
    finally:
        thread.close()
        files.lock.release()


def fail_as_the_disk(_: SearchIndex) -> None:
    raise sqlite3.OperationalError("disk I/O error")


@pytest.mark.parametrize(
    "entry_filter",
    [
        EntryFilter(min_size=2**63),
        EntryFilter(max_size=2**80),
        EntryFilter(until=-(2**64)),
        EntryFilter(tool="\ud800"),
    ],
)
async def test_a_query_that_sqlite_cannot_run_does_not_drop_the_index(
    tmp_path: Path, filled: Fill, entry_filter: EntryFilter
) -> None:
    filled(tmp_path)
    async with closing_store(await open_store(tmp_path)) as store:
        first = (tmp_path / "search.db").stat().st_ino
        passing = [
            entry.digest
            for entry in await collect_entries(store, 50, EntrySort("size"), EntryFilter())
            if matches_filter(entry, entry_filter)
        ]
        for _ in range(3):  # rebuilt twice, it would be dropped
            assert [
                entry.digest for entry in await collect_entries(store, 50, EntrySort("size"), entry_filter)
            ] == passing
        assert await store._ask_index(lambda index: True)  # it still answers
        assert (tmp_path / "search.db").stat().st_ino == first


async def test_an_index_with_the_last_write_is_reused(tmp_path: Path, filled: Fill) -> None:
    expected = filled(tmp_path)
    assert hit_count(tmp_path, "SELECT count(*) FROM entries WHERE text = 1") == len(DATAS)
    last = hit_count(tmp_path, "SELECT max(id) FROM entries")
    store = await open_store(tmp_path)
    assert await answers(store) == expected
    await store.commit(Commit("s", contents=[sample_content(b"one more tide")]))
    await store.close()
    assert hit_count(tmp_path, "SELECT max(id) FROM entries") == last + 1
    assert hit_count(tmp_path, "SELECT count(*) FROM entries WHERE text = 0") == 1
    async with closing_store(await open_store(tmp_path)) as store:
        assert (await search_digests(store, "more tide")) == [digest_of(b"one more tide")], (
            "before it is indexed"
        )
        await store.wait_until_indexed()
        assert (await search_digests(store, "more tide")) == [digest_of(b"one more tide")]


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _garble_head(path: Path) -> None:
    path.write_bytes(b"not a database" * 50 + path.read_bytes()[700:])


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _make_folder(path: Path) -> None:
    path.unlink()
    (path / "in the way").mkdir(parents=True)


@pytest.mark.parametrize("spoil", [Path.unlink, _cut, _garble_head, _empty, _make_folder])
async def test_a_missing_or_damaged_index_loses_nothing(
    tmp_path: Path, filled: Fill, spoil: Callable[[Path], None]
) -> None:
    expected = filled(tmp_path)
    spoil(tmp_path / "search.db")
    assert await search_results(tmp_path) == expected


async def test_no_damaged_page_changes_an_answer(
    tmp_path: Path, filled: Fill, caplog: pytest.LogCaptureFixture
) -> None:
    expected = filled(tmp_path / "kept")
    size = (tmp_path / "kept" / "search.db").stat().st_size
    for at in range(0, size, PAGE * 11):
        folder = tmp_path / f"at-{at}"
        shutil.copytree(tmp_path / "kept", folder)
        with (folder / "search.db").open("r+b") as file:
            file.seek(at)
            file.write(b"\xee" * PAGE)
        assert await search_results(folder) == expected, f"page at {at}"
        shutil.rmtree(folder)
    assert caplog.text.count("is made again") > 1, "damage that is met is noticed"


@pytest.mark.parametrize("spoil", [Path.unlink, _garble_head, _empty])
async def test_an_index_corrupted_while_open_loses_nothing(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    twin = MemoryStore(TickingClock())
    store = await open_store(tmp_path)
    for each in (store, twin):
        await fill_store(each, DATAS[:60])
    await store.wait_until_indexed()
    spoil(tmp_path / "search.db")
    for each in (store, twin):
        await fill_store(each, DATAS[60:])
    assert await search_digests(store, "tide wave", 50) == await search_digests(twin, "tide wave", 50)
    await store.wait_until_indexed()
    assert await search_digests(store, "tide wave", 50) == await search_digests(twin, "tide wave", 50)
    for order in (EntrySort("size"), EntrySort("tool", True)):
        assert await store.digests(order) == await twin.digests(order)
    await store.close()
    assert await search_results(tmp_path)


async def test_an_older_and_a_newer_index_are_brought_into_line(tmp_path: Path, filled: Fill) -> None:
    filled(tmp_path / "a")
    older = (tmp_path / "a" / "search.db").read_bytes()
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    store = await open_store(tmp_path / "a")
    more = [sample_content(b"later tide %d" % number, number) for number in range(30)]
    await store.commit(Commit("s", contents=more, recalls=[digest_of(DATAS[5])] * 3))
    await store.wait_until_indexed()
    expected = await answers(store)
    await store.close()
    newer = (tmp_path / "a" / "search.db").read_bytes()

    (tmp_path / "a" / "search.db").write_bytes(older)
    assert await search_results(tmp_path / "a") == expected
    before = await search_results(tmp_path / "b")
    (tmp_path / "b" / "search.db").write_bytes(newer)
    assert await search_results(tmp_path / "b") == before


async def test_the_index_of_another_workspace_is_thrown_away(tmp_path: Path, filled: Fill) -> None:
    filled(tmp_path / "mine")
    theirs = await LevelDbStore.open(tmp_path / "theirs", OTHER_WORKSPACE, TickingClock(), index_after_s=None)
    await theirs.close()
    shutil.copy(tmp_path / "mine" / "search.db", tmp_path / "theirs" / "search.db")
    async with closing_store(
        await LevelDbStore.open(tmp_path / "theirs", OTHER_WORKSPACE, TickingClock(), index_after_s=None)
    ) as theirs:
        assert await theirs.digests(EntrySort("size")) == b""
        assert await search_digests(theirs, "tide") == []
        assert await theirs.tools() == ()


async def test_searches_are_complete_while_the_index_is_built(
    tmp_path: Path, filled: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = filled(tmp_path)
    (tmp_path / "search.db").unlink()
    monkeypatch.setattr(indexer, "_RECORDS_AT_ONCE", 3)
    store = await open_store(tmp_path)
    twin = MemoryStore(TickingClock())
    await fill_store(twin, DATAS)
    try:
        for number in range(30):
            for each in (store, twin):
                await each.commit(Commit("t", contents=[sample_content(b"meanwhile %d" % number, number)]))
            assert await store.digests(EntrySort("size")) == await twin.digests(EntrySort("size"))
        await store.wait_until_indexed()
        assert await store.digests(EntrySort("line")) == await twin.digests(EntrySort("line"))
        assert len(await search_digests(store, "meanwhile")) == 30
        assert len((await answers(store))[0]) == len(expected[0]) + 30
    finally:
        await store.close()


async def test_without_trigrams_contents_are_scanned_and_lists_are_sorted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(
        search_index, "_WORDS_TABLES", ["CREATE VIRTUAL TABLE words USING fts5(text, tokenize='none')"]
    )
    expected = await fill(tmp_path)
    assert "has no trigrams: searching scans" in caplog.text
    assert hit_count(tmp_path, "SELECT count(*) FROM entries") == len(DATAS)
    assert await search_results(tmp_path) == expected


async def test_hits_of_the_index_are_checked_in_the_store_before_they_are_returned(
    tmp_path: Path, filled: Fill
) -> None:
    filled(tmp_path)
    with closing(sqlite3.connect(tmp_path / "search.db")) as db, db:
        db.execute("INSERT INTO words(rowid, text) SELECT id + 1, 'xylophone' FROM entries")
    assert hit_count(tmp_path, "SELECT count(*) FROM words WHERE words MATCH 'xyl'") == len(DATAS)
    async with closing_store(await open_store(tmp_path)) as store:
        assert await search_digests(store, "xylophone") == []


async def test_texts_are_indexed_when_the_store_is_idle(tmp_path: Path) -> None:
    store = await open_store(tmp_path, index_after=0.0)
    await fill_store(store, DATAS)
    await asyncio.wrap_future(store._index.submit(lambda _: None))  # then its tables are there
    with closing(sqlite3.connect(tmp_path / "search.db")) as db:
        async with asyncio.timeout(300):
            while db.execute("SELECT count(*) FROM entries WHERE text <> 0").fetchone() != (len(DATAS),):
                await store.totals()
                await asyncio.sleep(0.01)  # lets the index work: nothing tells when it is done
    await store.close()
    assert hit_count(tmp_path, "SELECT count(*) FROM words WHERE words MATCH '\"tid\"'") == len(DATAS)


async def test_writes_that_change_no_record_leave_the_index_valid(tmp_path: Path, filled: Fill) -> None:
    """A draft, say: the next start must not compare every record with the store's, nor one after a crash."""
    filled(tmp_path)
    before = hit_count(tmp_path, "SELECT sequence FROM state")
    store = await open_store(tmp_path)
    await store.search("tide")  # the index has been opened
    await store.save_draft("s", "a draft")
    async with asyncio.timeout(300):
        while hit_count(tmp_path, "SELECT sequence FROM state") <= before:  # noqa: ASYNC110 - another thread
            await asyncio.sleep(0.01)
    await store.save_draft("s", "another draft")
    await store.close()
    assert hit_count(tmp_path, "SELECT sequence FROM state") == before + 2
    files = open_files(tmp_path, WORKSPACE)
    contents = ContentStore(files.database, Quarantine(files.store_files.quarantine))
    work = Indexer(files.store_files.search_index, files.database, contents)
    work.open()
    assert not work.is_syncing
    work.close()
    files.close()


async def test_a_search_counts_the_texts_that_are_not_indexed_yet(tmp_path: Path) -> None:
    async with closing_store(await open_store(tmp_path)) as store:
        await fill_store(store, DATAS)
        assert (await store.search("wave", limit=3)).unindexed == len(DATAS)
        await store.wait_until_indexed()
        assert (await store.search("wave", limit=3)).unindexed == 0
        await store.commit(Commit("s", contents=[sample_content(b"a later wave")]))
        results = await store.search("wave", limit=3)
        assert (results.hits[0].entry.digest, results.unindexed) == (digest_of(b"a later wave"), 1)


async def test_texts_are_indexed_while_a_search_goes_on(tmp_path: Path) -> None:
    """Its parts follow each other faster than the time of quiet after which texts are indexed."""
    async with closing_store(await open_store(tmp_path, index_after=0.3)) as store:
        await fill_store(store, DATAS)
        expected = await search_digests(store, "wave tide", 100)
        async with asyncio.timeout(300):
            while (results := await store.search("wave tide", limit=100)).unindexed:
                assert [hit.entry.digest for hit in results.hits] == expected
        assert [hit.entry.digest for hit in results.hits] == expected


async def test_many_texts_that_are_not_indexed_are_searched_in_order(
    tmp_path: Path, filled: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above a number, candidates are looked up in the order of the listing instead of being sorted."""
    expected = filled(tmp_path)
    monkeypatch.setattr(search_index, "_MAX_SORTED_MATCHES", 2)
    async with closing_store(await open_store(tmp_path)) as store:
        assert await answers(store) == expected
        later = [sample_content(b"wave tide number 77, later %d" % number, number) for number in range(5)]
        await store.commit(Commit("s", contents=later))
        found = await search_digests(store, "wave tide", 30)
        earlier = [digest for digest in found if digest not in {content.digest for content in later}]
        assert earlier == expected[7]
        assert len(found) == len(earlier) + len(later)


async def test_closing_does_not_wait_for_the_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_index, "_MAX_BATCH_BYTES", 1)
    store = await open_store(tmp_path, index_after=0.0)
    await asyncio.wrap_future(store._index.submit(lambda _: None))
    is_free = threading.Event()
    busy = store._index.submit(lambda _: is_free.wait())
    await fill_store(store, DATAS[: indexer._AT_ONCE // 2])
    indexed = store._index.when_indexed()
    async with asyncio.TaskGroup() as group:
        group.create_task(store.close())
        assert await asyncio.to_thread(store._index._ending.wait, 60)
        is_free.set()
    assert (busy.result(), indexed.result()) == (True, None)
    waiting = hit_count(tmp_path, "SELECT count(*) FROM entries WHERE text = 0")
    assert waiting > 0
    assert hit_count(tmp_path, "SELECT sequence FROM state") > 0, "the entries are known all the same"
    assert await search_results(tmp_path)


async def test_closing_does_not_wait_for_very_many_changes(
    tmp_path: Path, filled: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A million entries that were just moved to the trash: the next start finds them by comparing."""
    monkeypatch.setattr(indexer, "_AT_ONCE", 3)
    filled(tmp_path)
    store = await open_store(tmp_path)
    is_busy = threading.Event()
    is_free = threading.Event()

    def hold(_: SearchIndex) -> int:
        """Return the last write that the index knows: one of opening may have changed no record."""
        sequence = store._index._indexer._sequence
        is_busy.set()
        assert is_free.wait(60)
        return sequence

    busy = store._index.submit(hold)
    assert await asyncio.to_thread(is_busy.wait, 60)
    await fill_store(store, [b"late tide %d" % number for number in range(30)])
    closing_thread = threading.Thread(target=store._index.close)
    closing_thread.start()
    assert store._index._ending.wait(60)
    is_free.set()
    closing_thread.join()
    await store.close()
    assert hit_count(tmp_path, "SELECT sequence FROM state") == busy.result()
    results = await search_results(tmp_path)
    assert len(results[0]) == len(DATAS) + 30


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
    assert hit_count(tmp_path, "SELECT count(*) FROM passages") == 4, "each once"


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
        found = list[int]()
        cursor = 0
        pages = 0
        while cursor or not pages:
            page = await store.find_passages(PassageQuery(("wave",), limit=1000, cursor=cursor))
            found += [hit.seq for hit in page.hits]
            cursor = page.cursor
            pages = pages + 1
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
    assert hit_count(tmp_path, "SELECT count(*) FROM passage_words WHERE passage_words MATCH 'xyl'") == 0
    assert hit_count(tmp_path, "SELECT count(*) FROM passage_words WHERE passage_words MATCH 'not'") == 1


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
    """The index has no text of a message."""
    store = await open_store(tmp_path)
    await say(store, "s", "a very particular wave")
    assert await seqs(store, "particular") == [1]
    await store.close()
    assert b"particular" not in (tmp_path / "search.db").read_bytes()
    with closing(sqlite3.connect(tmp_path / "search.db")) as db, db:
        db.execute("INSERT INTO passages SELECT id + 1, log, seq, kind, path FROM passages")
        db.execute("INSERT INTO passage_words(rowid, text) SELECT max(id), 'xylophone' FROM passages")
    async with closing_store(await open_store(tmp_path)) as store:
        assert await seqs(store, "xylophone") == []
