"""What every store must find of contents and logs, in every order and filter, with an index or without."""

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
from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.events.foreign import ForeignCompaction
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.session import ChangesRecorded, SessionBranched, SessionStarted
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.passages import PASSAGE_KINDS, PassageHit, PassageKind, PassageQuery
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
from helix_desktop.domain.text_search import normalize
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.memory import MemoryStore
from tests.support.store.builders import (
    START_MS,
    WORKSPACE,
    AnyStore,
    TickingClock,
    checkpoint_event,
    make_summary,
    open_kind,
)
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
    folder = tmp_path_factory.mktemp("filled")
    clock = TickingClock()

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
    is_filled = request.param != "memory"
    is_indexed = request.param == "indexed"
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
        (EntryFilter(target="ÜNÏ"), 20),  # also without accents
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


async def test_accents_make_no_difference_in_outputs(store: AnyStore) -> None:
    """Nor in a large output, which is in no index."""
    accented = sample_content("crème brûlée à la façade".encode())
    plain = sample_content(b"creme brulee, plain facade")
    large = sample_content(b"x\n" * 700_000 + "une crème brûlée, sa façade".encode())
    await store.commit(Commit("s", contents=[accented, plain, large]))
    for query in ("crème brulée FACADE", "creme brulee façade"):
        found = await search_digests(store, query, 50)
        assert set(found) == {accented.digest, plain.digest, large.digest}


async def test_a_digest_or_its_first_digits_find_their_content_first(store: AnyStore) -> None:
    digest = digest_of(DATAS[7])
    for query in (digest, digest[:8], digest[:12].upper()):
        hit, *others = (await store.search(query)).hits
        assert (hit.entry.digest, hit.matches.lines) == (digest, 0)
        assert digest not in [other.entry.digest for other in others]
    quoting = sample_content(f"see {digest[:10]} for it".encode())
    await store.commit(Commit("s", contents=[quoting]))
    hits = (await store.search(digest[:10])).hits
    assert [found.entry.digest for found in hits] == [digest, quoting.digest]
    assert (await store.search("0" * 64)).hits == ()
    assert digest not in await search_digests(store, digest[:7], 50), "too few digits are words"


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
        durable = await open_store(Path(folder))
        twin = MemoryStore(TickingClock())
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


def said(text: str, *commands: str) -> AssistantSpoke:
    """An answer that runs commands or, where a path is given, reads files."""
    calls = tuple(
        ToolCall(f"c{number}", "read_file", f'{{"path": "{command}"}}')
        if "/" in command
        else ToolCall(f"c{number}", "run_command", f'{{"command": "{command}"}}')
        for number, command in enumerate(commands)
    )
    return AssistantSpoke(text, "m", 1, calls)


async def record(store: AnyStore, session: str, *events: Event, title: str = "a title") -> None:
    """Go on with a session's log; each event is a millisecond later than any before it."""
    seq = len(await store.events(session))
    recorded = [
        RecordedEvent(number, START_MS + _next_ms(store), event)
        for number, event in enumerate(events, seq + 1)
    ]
    await store.commit(Commit(session, recorded, summary=make_summary(session, title=title)))


def _next_ms(store: AnyStore) -> int:
    _CLOCKS[id(store)] = _CLOCKS.get(id(store), 0) + 1
    return _CLOCKS[id(store)]


_CLOCKS: dict[int, int] = {}


async def find(
    store: AnyStore,
    *words: str,
    kinds: tuple[PassageKind, ...] = PASSAGE_KINDS,
    session: str = "",
    since: int = 0,
    per_session: int = 0,
    limit: int = 100,
) -> list[PassageHit]:
    """Return all hits, page by page."""
    hits = list[PassageHit]()
    cursor = 0
    while True:
        query = PassageQuery(
            tuple(map(normalize, words)), kinds, since, session, per_session, limit, cursor, lead=10
        )
        page = await store.find_passages(query)
        hits += page.hits
        cursor = page.cursor
        if not cursor:
            return hits


@pytest.fixture(params=["leveldb", "memory", "socket"])
async def talks(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[AnyStore]:
    """Each kind of store, with two sessions; the durable one indexes when it is asked."""
    _CLOCKS.clear()
    async with open_kind(request.param, tmp_path, TickingClock()) as store:
        await record(
            store,
            "lexer",
            SessionStarted("p"),
            UserSpoke("Fix the LEXER\nit loops at the end of src/lexer.py", 1),
            said("I look at it.", "src/lexer.py", "pytest -q lexer"),
            ChangesRecorded("c", "d", "command", paths=("src/lexer.py", "docs/größe.md")),
        )
        await record(store, "gauge", SessionStarted("p"), UserSpoke("The gauge shows 日本 as 61 %.", 1))
        yield store


async def test_messages_calls_and_files_are_found_newest_first(talks: AnyStore) -> None:
    hits = await find(talks, "lexer")
    assert [(hit.kind, hit.seq, hit.speaker) for hit in hits] == [
        ("file", 3, ""),
        ("message", 3, "agent"),
        ("message", 2, "user"),
    ]
    assert {hit.session for hit in hits} == {"lexer"}
    by_kind = {(hit.kind, hit.seq): hit.excerpt for hit in hits}
    assert by_kind["message", 2] == "Fix the LEXER"
    assert by_kind["file", 3] == "src/lexer.py"
    assert "pytest -q lexer" in by_kind["message", 3] or "src/lexer.py" in by_kind["message", 3]


async def test_all_words_must_be_there_in_any_form(talks: AnyStore) -> None:
    assert [hit.seq for hit in await find(talks, "fix", "loops")] == [2]
    assert await find(talks, "fix", "gauge") == []
    assert [hit.excerpt for hit in await find(talks, "GRÖSSE")] == ["docs/größe.md"]
    assert [hit.session for hit in await find(talks, "日本")] == ["gauge"], "two characters have no trigram"
    assert [hit.session for hit in await find(talks, "%")] == ["gauge"]


async def test_accents_make_no_difference_in_messages(talks: AnyStore) -> None:
    await record(talks, "gauge", UserSpoke("Ein Café, naïve", 1), UserSpoke("a cafe, naive", 1))
    for words in (("café", "naive"), ("cafe", "naïve")):
        assert {hit.excerpt for hit in await find(talks, *words)} == {"Ein Café, naïve", "a cafe, naive"}


async def test_filters_narrow_it_down(talks: AnyStore) -> None:
    assert {hit.kind for hit in await find(talks, "lexer", kinds=("file",))} == {"file"}
    assert {hit.kind for hit in await find(talks, "lexer", kinds=("message", "handover"))} == {"message"}
    assert await find(talks, "lexer", session="gauge") == []
    assert await find(talks, "lexer", session="nobody") == []
    assert [hit.seq for hit in await find(talks, "le", session="lexer", kinds=("message",))] == [3, 2]
    newest = max(hit.at for hit in await find(talks, "lexer"))
    assert {hit.at for hit in await find(talks, "lexer", since=newest)} == {newest}
    assert {hit.at for hit in await find(talks, "le", since=newest)} <= {newest, newest + 1}


async def test_a_page_has_so_many_and_of_each_session_so_many(talks: AnyStore) -> None:
    for number in range(7):
        await record(talks, "gauge", UserSpoke(f"tide {number}", 1))
    await record(talks, "lexer", UserSpoke("tide of the lexer", 1))
    all_hits = [hit.excerpt for hit in await find(talks, "tide")]
    assert all_hits == ["tide of the lexer", *(f"tide {number}" for number in range(6, -1, -1))]
    page = await talks.find_passages(PassageQuery(("tide",), per_session=2))
    assert [hit.excerpt for hit in page.hits] == ["tide of the lexer", "tide 6", "tide 5"]
    assert page.more == ("gauge",)
    page = await talks.find_passages(PassageQuery(("tide",), limit=3))
    assert [hit.excerpt for hit in page.hits] == all_hits[:3]
    if not isinstance(talks, MemoryStore):  # which finds all in one page
        assert [hit.excerpt for hit in await find(talks, "tide", limit=3)] == all_hits


async def test_a_file_is_found_by_its_name_however_often_it_is_mentioned(talks: AnyStore) -> None:
    for number in range(4):
        await record(talks, "lexer", UserSpoke(f"lexer.py again, {number}", 1))
    page = await talks.find_passages(PassageQuery(("lexer.py",), per_session=2))
    assert [hit.excerpt for hit in page.hits] == ["lexer.py again, 3", "lexer.py again, 2", "src/lexer.py"]
    page = await talks.find_passages(PassageQuery(("exer.py",), per_session=2))
    assert [hit.excerpt for hit in page.hits] == ["lexer.py again, 3", "lexer.py again, 2"], "a part of it"


async def test_handovers_also_of_other_agents_are_found(talks: AnyStore) -> None:
    seq = len(await talks.events("lexer")) + 1
    made = handover_with_bullets(seq, "the zebra waits", ledger="touched zoo.py")
    index = [sample_content(b"index")]
    await talks.commit(Commit("lexer", [made], index, summary=make_summary("lexer")))
    await record(talks, "gauge", ForeignCompaction("a zebra was seen", 3))
    hits = await find(talks, "zebra", kinds=("handover",))
    assert {(hit.session, hit.kind) for hit in hits} == {("lexer", "handover"), ("gauge", "handover")}
    assert [hit.seq for hit in await find(talks, "zebra", "zoo.py")] == [seq]


async def test_what_is_in_the_trash_is_not_found_but_in_a_branch(talks: AnyStore) -> None:
    start = RecordedEvent(3, START_MS + _next_ms(talks), SessionBranched("lexer", 2, "branch"))
    await talks.commit(Commit("branch", [start], summary=make_summary("branch")))
    await talks.retention.trash_session("lexer")
    assert {(hit.session, hit.seq) for hit in await find(talks, "lexer")} == {("branch", 2)}
    await talks.retention.restore_session("lexer")
    assert {hit.session for hit in await find(talks, "lexer")} == {"lexer"}
    await talks.retention.trash_session("gauge")
    await talks.retention.empty_trash()
    assert await find(talks, "gauge") == []
    await record(talks, "gauge", SessionStarted("p"), UserSpoke("another gauge", 1))
    assert [hit.excerpt for hit in await find(talks, "gauge")] == ["another gauge"]


WORDS = st.text(st.sampled_from("aAbßİ\0\n \ud7ff日é\u0301"), max_size=12)
LOGS = st.lists(st.tuples(st.sampled_from("xyz"), WORDS), max_size=12)


async def _same_hits(log: list[tuple[str, str]], terms: list[str], position: int, per_session: int) -> None:
    _CLOCKS.clear()
    with tempfile.TemporaryDirectory() as folder:
        durable = await open_store(Path(folder))
        twin = MemoryStore(TickingClock())
        try:
            for number, (session, text) in enumerate(log):
                for each in (durable, twin):
                    event = UserSpoke(text, 1) if number % 2 else said(text, f"src/{number % 3}a.py")
                    await record(each, session, event)
                if number == position:
                    await durable.wait_until_indexed()
            for options in ({}, {"session": "x"}, {"kinds": ("file",)}, {"per_session": per_session}):
                found = [await find(each, *terms, **options) for each in (durable, twin)]
                assert sorted(found[0], key=repr) == sorted(found[1], key=repr)
                assert [hit.at for hit in found[0]] == [hit.at for hit in found[1]]
        finally:
            await durable.close()


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(LOGS, st.lists(WORDS.filter(str.strip), min_size=1, max_size=3), st.integers(0, 12), st.integers(1, 3))
def test_the_index_finds_what_a_scan_finds(
    log: list[tuple[str, str]], words: list[str], position: int, per_session: int
) -> None:
    terms = [line for word in words for line in normalize(word).splitlines() if line.strip()]
    if terms:
        asyncio.run(_same_hits(log, terms, position, per_session))
