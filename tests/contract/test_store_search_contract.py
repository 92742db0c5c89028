"""What every store must find, in every order and through every filter; an index makes no difference."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helix_desktop.domain.choices import SortColumn
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import InvalidInput, StoreClosed
from helix_desktop.domain.passages import PassageQuery
from helix_desktop.domain.store import (
    CacheEntry,
    Commit,
    Content,
    EntryFilter,
    EntryOrder,
    EntrySort,
    matches_filter,
    sort_position,
)
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.memory import MemoryStore
from tests.support.store.builders import WORKSPACE, AnyStore, TickingClock, checkpoint_event, open_kind
from tests.support.store.search_samples import (
    COLUMNS,
    collect_entries,
    fill_store,
    filters,
    handover_with_bullets,
    open_store,
    orders,
    sample_content,
    search_digests,
)

DATAS = [f"number {n} {'x' * (n * n)}\nTide {n % 7} Straße\n".encode() for n in range(40)]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """Return a folder with two durable stores of forty entries, one indexed, and what time it is then."""
    folder, clock = tmp_path_factory.mktemp("filled"), TickingClock()

    async def fill() -> None:
        store = await LevelDbStore.open(folder / "leveldb", WORKSPACE, clock, index_after_s=None)
        await fill_store(store, DATAS)
        await store.close()
        shutil.copytree(folder / "leveldb", folder / "indexed")
        indexed = await open_store(folder / "indexed")
        await indexed.wait_until_indexed()
        await indexed.close()

    asyncio.run(fill())
    return folder, clock.now


@pytest.fixture(params=["leveldb", "indexed", "memory", "socket"])
async def store(
    request: pytest.FixtureRequest, tmp_path: Path, filled: tuple[Path, int]
) -> AsyncIterator[AnyStore]:
    """Each store with forty entries; the durable one with an index, without, and through a client."""
    is_filled, is_indexed = request.param != "memory", request.param == "indexed"
    if is_filled:
        shutil.copytree(filled[0] / ("indexed" if is_indexed else "leveldb"), tmp_path / "s")
    clock = TickingClock(filled[1]) if is_filled else TickingClock()
    async with open_kind("leveldb" if is_indexed else request.param, tmp_path / "s", clock) as store:
        if not is_filled:
            await fill_store(store, DATAS)
        yield store


@pytest.mark.parametrize("column", COLUMNS)
async def test_every_column_sorts_both_ways_page_by_page(store: AnyStore, column: SortColumn) -> None:
    for descending in (False, True):
        sort = EntrySort(column, descending)
        entries = await collect_entries(store, 7, sort)
        assert len(entries) == len(DATAS)
        positions = [sort_position(entry, sort.column) for entry in entries]
        assert positions == sorted(positions, reverse=descending)
        assert b"".join(bytes.fromhex(entry.digest) for entry in entries) == await store.digests(sort)


async def test_the_previous_version_is_the_newest_before_of_the_same_tool_and_target(store: AnyStore) -> None:
    entries = await collect_entries(store, 50)
    found = 0
    for position, entry in enumerate(entries):
        names = (entry.kind, entry.tool, entry.target)
        older = [
            other for other in entries[position + 1 :] if (other.kind, other.tool, other.target) == names
        ]
        expected = older[0] if older and entry.target else None
        assert await store.previous_version(entry.digest) == expected
        found += expected is not None
    assert found >= 3


async def test_equal_entries_come_newest_first_when_descending(store: AnyStore) -> None:
    entries = await collect_entries(store, 9, EntrySort("tool", True), EntryFilter(tool="read_file"))
    assert [entry.created for entry in entries] == sorted((entry.created for entry in entries), reverse=True)


@pytest.mark.parametrize(
    ("entry_filter", "count"),
    [
        (EntryFilter(tool="run_command"), 13),
        (EntryFilter(except_tools=("run_command",)), 27),
        (EntryFilter(kinds=("index",)), 8),
        (EntryFilter(target="SRC/APP"), 10),
        (EntryFilter(target="ÜNÏ"), 10),
        (EntryFilter(min_size=1000), 8),
        (EntryFilter(max_size=27), 2),
        (EntryFilter(unused=True), 36),
        (EntryFilter(orphan=True), 33),
        (EntryFilter(session="t"), 0),
        (EntryFilter(pinned=True), 0),
        (EntryFilter(pinned=False, trashed=False), 40),
        (EntryFilter(trashed=True), 0),
    ],
)
async def test_a_filter_passes_only_matching_entries(
    store: AnyStore, entry_filter: EntryFilter, count: int
) -> None:
    everything = await collect_entries(store, 50)
    entries = await collect_entries(store, 4, "newest", entry_filter)
    assert entries == [entry for entry in everything if matches_filter(entry, entry_filter)]
    assert len(entries) == count


async def test_the_session_that_stored_an_entry_first_stays(store: AnyStore) -> None:
    again = sample_content(DATAS[0])
    before = await store.entry(again.digest)
    assert before.session == "s"
    await store.commit(Commit("other", contents=[again]))
    assert (await store.entry(again.digest)).session == "s"
    await store.commit(Commit("other", contents=[sample_content(b"its own")]))
    assert [
        entry.digest for entry in await collect_entries(store, 5, entry_filter=EntryFilter(session="other"))
    ] == [digest_of(b"its own")]


async def test_a_hash_prefix_combines_with_any_order(store: AnyStore) -> None:
    everything = await collect_entries(store, 50, EntrySort("size"))
    for prefix in "0123456789abcdef":
        entries = await collect_entries(store, 2, EntrySort("size"), EntryFilter(prefix=prefix))
        assert entries == [entry for entry in everything if entry.digest.startswith(prefix)]
    digest = everything[3].digest
    assert [
        entry.digest for entry in await collect_entries(store, 2, entry_filter=EntryFilter(prefix=digest))
    ] == [digest]
    for wrong in ("xy", "A", "0" * 65):
        with pytest.raises(ValueError, match="hex digits"):
            await store.page(entry_filter=EntryFilter(prefix=wrong))


async def test_a_cursor_of_another_order_is_refused(store: AnyStore) -> None:
    by_size = (await store.page(limit=2, order=EntrySort("size"))).cursor
    newest = (await store.page(limit=2)).cursor
    wrong: list[tuple[str, EntryOrder]] = [
        (by_size, "newest"),
        (newest, EntrySort("size")),
        (by_size, EntrySort("size", True)),
        (by_size, EntrySort("tool")),
        (by_size[:-4], EntrySort("size")),
        ("zz", EntrySort("size")),
        ("93", EntrySort("size")),
    ]
    for cursor, order in wrong:
        with pytest.raises(ValueError, match="cursor"):
            await store.page(cursor, order=order)


@pytest.mark.parametrize(
    "order", ["newest", "oldest", EntrySort("size", True), EntrySort("tool"), EntrySort("digest")]
)
async def test_writes_between_two_pages_move_nothing(store: AnyStore, order: EntryOrder) -> None:
    before = await collect_entries(store, 50, order)
    entries: list[CacheEntry] = []
    cursor = ""
    for number in range(100):
        page = await store.page(cursor, 7, order)
        entries += page.entries
        await store.commit(Commit("s", contents=[sample_content(b"later %d" % number, number)]))
        cursor = page.cursor
        if not cursor or len(entries) > 3 * len(before):
            break
    known_digests = {entry.digest for entry in before}
    assert [entry.digest for entry in entries if entry.digest in known_digests] == [
        entry.digest for entry in before
    ][: len(entries)]


async def test_words_are_found_with_their_lines(store: AnyStore) -> None:
    results = await store.search("TIDE strasse", limit=50)
    assert len(results.hits) == 40
    assert results.cursor == ""
    hit = (await store.search('"number 12"')).hits[0]
    assert [(position.line, position.excerpt[:9]) for position in hit.matches.best] == [(1, "number 12")]
    assert hit.entry.digest == digest_of(DATAS[12])
    assert (await store.search("number zebra")).hits == ()


async def test_contents_are_read_together_in_order(store: AnyStore) -> None:
    digests = [digest_of(DATAS[3]), digest_of(b"never stored"), digest_of(DATAS[1])]
    assert await store.read_contents(digests) == [DATAS[3], None, DATAS[1]]
    assert await store.read_contents([]) == []


async def test_a_search_continues_after_its_cursor_and_counts_every_hit(store: AnyStore) -> None:
    everything = await search_digests(store, "tide", 50)
    part = await store.search("tide", limit=5)
    assert [hit.entry.digest for hit in part.hits] == everything[:5]
    rest = await store.search("tide", limit=50, cursor=part.hits[2].cursor)
    assert [hit.entry.digest for hit in rest.hits] == everything[3:]
    for cursor in ("x", "6d00", (await store.page(limit=1, order=EntrySort("size"))).cursor):
        with pytest.raises(ValueError, match="cursor"):
            await store.search("tide", cursor=cursor)


async def test_a_search_stops_when_its_callback_says_so(store: AnyStore) -> None:
    sizes: list[int] = []

    def should_continue(size: int) -> bool:
        sizes.append(size)
        return len(sizes) < 4

    results = await store.search("tide", should_continue=should_continue)
    assert len(results.hits) == 4
    assert results.cursor
    assert sizes == [hit.entry.size for hit in (await store.search("tide", limit=5)).hits][1:]
    assert len((await store.search("tide", should_continue=lambda _: False)).hits) == 1, (
        "it always goes on by one"
    )


async def test_a_query_without_words_is_refused(store: AnyStore) -> None:
    for query in ("", "  ", "x" * 201):
        with pytest.raises(InvalidInput):
            await store.search(query)
        with pytest.raises(InvalidInput):
            await store.search_handovers(query)


async def test_large_and_binary_contents_are_found(store: AnyStore) -> None:
    large = b"a line of it\n" * 100_000 + b"the Needle\n"
    binary = b"\0\1\2 Needle \0"
    await store.commit(Commit("s", contents=[sample_content(large), sample_content(binary, 1)]))
    await store.wait_until_indexed()
    assert await search_digests(store, "needle") == sorted([digest_of(large), digest_of(binary)])
    assert (await store.search('"the needle"')).hits[0].matches.best[0].line == 100_001


async def test_nul_and_astral_characters_are_found(store: AnyStore) -> None:
    odd = 'a\0b 🌊🌊🌊 \ufffe\uffff "quoted" it\'s 100%_\n'.encode() * 700
    data = b"x" * 8192 + odd
    await store.commit(Commit("s", contents=[sample_content(data)]))
    for query in ("🌊🌊🌊", "\ufffe\uffff", "it's", "100%_", "a\0b"):
        assert await search_digests(store, query) == [digest_of(data)], query


async def test_pins_and_trash_are_filters(store: AnyStore) -> None:
    everything = await collect_entries(store, 50)
    pinned = everything[3].digest
    trashed_digests = [
        entry.digest for entry in everything if not entry.references and entry.digest != pinned
    ][:2]
    await store.retention.pin(pinned, True)
    assert [
        entry.digest for entry in await collect_entries(store, 5, EntrySort("size"), EntryFilter(pinned=True))
    ] == [pinned]
    assert len(await collect_entries(store, 9, "newest", EntryFilter(pinned=False))) == 39
    await store.retention.collect(trashed_digests, 0)
    orders: list[EntryOrder] = ["newest", EntrySort("size")]
    for order in orders:
        remaining = await collect_entries(store, 9, order)
        assert {entry.digest for entry in everything} - {entry.digest for entry in remaining} == set(
            trashed_digests
        )
        trashed = await collect_entries(store, 1, order, EntryFilter(trashed=True))
        assert {entry.digest for entry in trashed} == set(trashed_digests)
    assert not set(trashed_digests) & set(await search_digests(store, "tide"))
    await store.retention.restore(trashed_digests)
    assert len(await search_digests(store, "tide", 50)) == 40


async def test_handovers_are_found_newest_first(store: AnyStore) -> None:
    await store.commit(
        Commit(
            "h",
            [
                handover_with_bullets(1, "The Tide gauge is broken."),
                handover_with_bullets(2, "All is well.", ledger="src/tide.py w"),
            ],
            [Content(digest_of(b"index"), b"index", kind="index")],
        )
    )
    hits = await store.search_handovers("tide")
    assert [(hit.session, hit.seq) for hit in hits] == [("h", 2), ("h", 1)]
    assert hits[1].matches.best[0].excerpt == "- The Tide gauge is broken."
    assert [hit.seq for hit in await store.search_handovers("tide", limit=1)] == [2]
    assert await store.search_handovers("zebra") == ()


async def test_of_checkpoints_the_newest_that_says_it_is_found(store: AnyStore) -> None:
    """Each repeats what the one before said; a handover that was made from one speaks for it too."""
    handover = handover_with_bullets(5, "The tide gauge is mended.")
    made = msgspec.structs.replace(handover.event, checkpoint=4)
    log = [
        checkpoint_event(1, "The Tide gauge is broken.", "Ask Ann about the fence."),
        checkpoint_event(2, "The tide gauge drifts.", updates=1),
        checkpoint_event(3, "The tide gauge drifts.", "So the user says."),
        checkpoint_event(4, "The tide gauge is mended.", updates=2),
        msgspec.structs.replace(handover, event=made),
        checkpoint_event(6, "The tide gauge is mended.", "Now the buoy.", updates=5),
        checkpoint_event(7, "The tide gauge is mended.", "Now the lamp.", revises=6),
    ]
    await store.commit(Commit("h", log, [Content(digest_of(b"index"), b"index", kind="index")]))

    async def found(words: str) -> list[tuple[int, bool]]:
        hits = await store.search_handovers(words)
        assert {hit.session for hit in hits} <= {"h"}
        return [(hit.seq, hit.is_checkpoint) for hit in hits]

    assert await found("tide") == [(7, True), (5, False), (3, True)]
    assert await found("fence") == [(1, True)], "the ones after it left that out"
    assert await found("buoy") == [(6, True)]
    assert [hit.seq for hit in await store.search_handovers("tide", limit=2)] == [7, 5]
    assert {recorded.seq for _, recorded in await store.handovers()} == {5}
    assert {recorded.seq for _, recorded in await store.handovers(with_checkpoints=True)} == set(range(1, 8))


async def test_a_closed_store_finds_nothing(store: AnyStore) -> None:
    await store.close()
    calls = (
        store.page(order=EntrySort("size")),
        store.digests(),
        store.tools(),
        store.search("tide"),
        store.search_handovers("tide"),
        store.find_passages(PassageQuery(("tide",))),
    )
    for call in calls:
        with pytest.raises(StoreClosed):
            await call


texts = st.lists(
    st.text(st.sampled_from('aAbß\u0301İ\0\n "ﬁé日x'), max_size=24).map(str.encode) | st.binary(max_size=9),
    unique=True,
    max_size=12,
)
queries = st.text(st.sampled_from('aAbßé\u0301İ\0" ﬁ日x'), min_size=1, max_size=6)


async def _same(
    datas: list[bytes], order: EntryOrder, entry_filter: EntryFilter, query: str, limit: int, position: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        durable, twin = await open_store(Path(folder)), MemoryStore(TickingClock())
        try:
            for part in (datas[:position], datas[position:]):
                for store in (durable, twin):
                    await fill_store(store, part)
                if part is datas[:position]:
                    await durable.wait_until_indexed()
            digests = [await search_digests(each, query, limit, entry_filter) for each in (durable, twin)]
            assert digests[0] == digests[1]
            for listing_filter in (EntryFilter(), entry_filter):
                pages = [
                    [entry.digest for entry in await collect_entries(store, limit, order, listing_filter)]
                    for store in (durable, twin)
                ]
                if isinstance(order, EntrySort) and order.column == "stored":
                    pages = [sorted(page) for page in pages]  # only one of them compresses
                assert pages[0] == pages[1]
            assert await durable.tools() == await twin.tools()
        finally:
            await durable.close()


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(texts, orders, filters, queries, st.integers(1, 5), st.integers(0, 12))
def test_index_scan_and_twin_find_the_same_entries(
    datas: list[bytes], order: EntryOrder, entry_filter: EntryFilter, query: str, limit: int, position: int
) -> None:
    if not query.split() or not query.replace('"', "").strip():
        return
    asyncio.run(_same(datas, order, entry_filter, query, limit, position))
