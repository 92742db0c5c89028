"""What every store must find of its sessions' logs: messages, handovers and names of files."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.events.foreign import ForeignCompaction
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.session import ChangesRecorded, SessionBranched, SessionStarted
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.passages import PASSAGE_KINDS, PassageHit, PassageKind, PassageQuery
from helix_desktop.domain.store import Commit
from helix_desktop.domain.text_search import normalize
from helix_desktop.store.memory import MemoryStore
from tests.support.store.builders import START_MS, AnyStore, TickingClock, make_summary, open_kind
from tests.support.store.search_samples import handover_with_bullets, open_store, sample_content


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
    hits, cursor = list[PassageHit](), 0
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
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[AnyStore]:
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


async def test_messages_calls_and_files_are_found_newest_first(store: AnyStore) -> None:
    hits = await find(store, "lexer")
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


async def test_all_words_must_be_there_in_any_form(store: AnyStore) -> None:
    assert [hit.seq for hit in await find(store, "fix", "loops")] == [2]
    assert await find(store, "fix", "gauge") == []
    assert [hit.excerpt for hit in await find(store, "GRÖSSE")] == ["docs/größe.md"]
    assert [hit.session for hit in await find(store, "日本")] == ["gauge"], "two characters have no trigram"
    assert [hit.session for hit in await find(store, "%")] == ["gauge"]


async def test_filters_narrow_it_down(store: AnyStore) -> None:
    assert {hit.kind for hit in await find(store, "lexer", kinds=("file",))} == {"file"}
    assert {hit.kind for hit in await find(store, "lexer", kinds=("message", "handover"))} == {"message"}
    assert await find(store, "lexer", session="gauge") == []
    assert await find(store, "lexer", session="nobody") == []
    assert [hit.seq for hit in await find(store, "le", session="lexer", kinds=("message",))] == [3, 2]
    newest = max(hit.at for hit in await find(store, "lexer"))
    assert {hit.at for hit in await find(store, "lexer", since=newest)} == {newest}
    assert {hit.at for hit in await find(store, "le", since=newest)} <= {newest, newest + 1}


async def test_a_page_has_so_many_and_of_each_session_so_many(store: AnyStore) -> None:
    for number in range(7):
        await record(store, "gauge", UserSpoke(f"tide {number}", 1))
    await record(store, "lexer", UserSpoke("tide of the lexer", 1))
    all_hits = [hit.excerpt for hit in await find(store, "tide")]
    assert all_hits == ["tide of the lexer", *(f"tide {number}" for number in range(6, -1, -1))]
    page = await store.find_passages(PassageQuery(("tide",), per_session=2))
    assert [hit.excerpt for hit in page.hits] == ["tide of the lexer", "tide 6", "tide 5"]
    assert page.more == ("gauge",)
    page = await store.find_passages(PassageQuery(("tide",), limit=3))
    assert [hit.excerpt for hit in page.hits] == all_hits[:3]
    if not isinstance(store, MemoryStore):  # which finds all in one page
        assert [hit.excerpt for hit in await find(store, "tide", limit=3)] == all_hits


async def test_handovers_also_of_other_agents_are_found(store: AnyStore) -> None:
    seq = len(await store.events("lexer")) + 1
    made = handover_with_bullets(seq, "the zebra waits", ledger="touched zoo.py")
    index = [sample_content(b"index")]
    await store.commit(Commit("lexer", [made], index, summary=make_summary("lexer")))
    await record(store, "gauge", ForeignCompaction("a zebra was seen", 3))
    hits = await find(store, "zebra", kinds=("handover",))
    assert {(hit.session, hit.kind) for hit in hits} == {("lexer", "handover"), ("gauge", "handover")}
    assert [hit.seq for hit in await find(store, "zebra", "zoo.py")] == [seq]


async def test_what_is_in_the_trash_is_not_found_but_in_a_branch(store: AnyStore) -> None:
    start = RecordedEvent(3, START_MS + _next_ms(store), SessionBranched("lexer", 2, "branch"))
    await store.commit(Commit("branch", [start], summary=make_summary("branch")))
    await store.retention.trash_session("lexer")
    assert {(hit.session, hit.seq) for hit in await find(store, "lexer")} == {("branch", 2)}
    await store.retention.restore_session("lexer")
    assert {hit.session for hit in await find(store, "lexer")} == {"lexer"}
    await store.retention.trash_session("gauge")
    await store.retention.empty_trash()
    assert await find(store, "gauge") == []
    await record(store, "gauge", SessionStarted("p"), UserSpoke("another gauge", 1))
    assert [hit.excerpt for hit in await find(store, "gauge")] == ["another gauge"]


WORDS = st.text(st.sampled_from("aAbßİ\0\n \ud7ff日é\u0301"), max_size=12)
LOGS = st.lists(st.tuples(st.sampled_from("xyz"), WORDS), max_size=12)


async def _same(log: list[tuple[str, str]], terms: list[str], position: int, per_session: int) -> None:
    _CLOCKS.clear()
    with tempfile.TemporaryDirectory() as folder:
        durable, twin = await open_store(Path(folder)), MemoryStore(TickingClock())
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
        asyncio.run(_same(log, terms, position, per_session))
