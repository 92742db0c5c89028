"""Stores full of different entries, and every way to list them, for tests of finding."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from hypothesis import strategies as st

from helix_desktop.agent.ports import Store
from helix_desktop.domain.choices import SortColumn
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import HandoverTrigger
from helix_desktop.domain.events.summary import SUMMARY_TEXT_VERSION, Bullet, HandoverMade, Section
from helix_desktop.domain.store import (
    CacheEntry,
    Commit,
    Content,
    ContentKind,
    EntryFilter,
    EntryOrder,
    EntrySort,
)
from helix_desktop.domain.text_format import first_line
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store.builders import START_MS, WORKSPACE, TickingClock, tool_answer_event

COLUMNS: tuple[SortColumn, ...] = get_args(SortColumn)
TOOLS = ("read_file", "run_command", "search_cached_content")
TARGETS = ("src/App.py", "src/ünï.py", "pytest -q tests/unit", "")
_NO_FILTER = EntryFilter()
KINDS: tuple[ContentKind, ...] = get_args(ContentKind)

orders = st.sampled_from(["newest", "oldest"]) | st.builds(EntrySort, st.sampled_from(COLUMNS), st.booleans())
filters = st.builds(
    EntryFilter,
    prefix=st.sampled_from(["", "", "a", "0", "3f"]),
    tool=st.sampled_from(["", "", *TOOLS, "none"]),
    except_tools=st.sampled_from([(), (), ("read_file",), TOOLS[:2]]),
    kinds=st.sampled_from([(), (), ("output",), ("index", "argument")]),
    session=st.sampled_from(["", "", "s", "ß"]),
    target=st.sampled_from(["", "", "APP", "ÜN", "q"]),
    min_size=st.sampled_from([0, 0, 40, 2_000]),
    max_size=st.sampled_from([None, None, 60, 2_000_000]),
    since=st.sampled_from([0, 0, START_MS + 5_000]),
    until=st.sampled_from([None, None, START_MS + 9_000]),
    unused=st.booleans(),
    orphan=st.booleans(),
    pinned=st.sampled_from([None, None, False, True]),
    trashed=st.sampled_from([None, None, False, True]),
)


def sample_content(data: bytes, number: int = 0) -> Content:
    """A content whose tool, target and kind go by its number."""
    line = first_line(data[:200].decode(errors="replace"))
    tool = TOOLS[number % 3]
    target = TARGETS[number % 4]
    kind = KINDS[number % 5] if number % 5 < len(KINDS) else "output"
    return Content(digest_of(data), data, tool, target, line, number * 7 % 5, kind)


async def fill_store(store: Store, blobs: Sequence[bytes]) -> None:
    """Store contents, several per commit and per session; some are referenced by events, some recalled."""
    for at in range(0, len(blobs), 3):
        part = [sample_content(data, at + place) for place, data in enumerate(blobs[at : at + 3])]
        session_id = ("s", "ß", "t")[at % 3 if at % 2 else 0]
        seq = len(await store.events(session_id)) + 1
        answers = [tool_answer_event(seq, blobs[at])] if at % 2 else []
        await store.commit(Commit(session_id, answers, part, [part[-1].digest] if at % 4 == 0 else []))


async def collect_entries(
    store: Store,
    limit: int,
    order: EntryOrder = "newest",
    entry_filter: EntryFilter = _NO_FILTER,
    prefix: str = "",
) -> list[CacheEntry]:
    """All entries that pass, page by page."""
    entries: list[CacheEntry] = []
    cursor = ""
    while True:
        page = await store.page(cursor, limit, order, prefix, entry_filter)
        assert len(page.entries) <= limit
        entries += page.entries
        cursor = page.cursor
        if not cursor:
            return entries


async def search_digests(
    store: Store, query: str, limit: int = 3, entry_filter: EntryFilter = _NO_FILTER
) -> list[str]:
    """The digests of all hits, by following the cursors."""
    digests: list[str] = []
    cursor = ""
    while True:
        part = await store.search(query, entry_filter, limit, cursor)
        assert len(part.hits) <= limit
        digests += [hit.entry.digest for hit in part.hits]
        cursor = part.cursor
        if not cursor:
            return digests


def handover_with_bullets(seq: int, *sentences: str, ledger: str = "") -> RecordedEvent:
    bullets = tuple(Bullet(words, ()) for words in sentences)
    index = digest_of(b"index")
    sections = (Section("Current Issues", bullets),)
    fact = HandoverMade(
        *(seq - 1, 0, sections, ledger, index, 1, 9, 100, 50, 3, "m", HandoverTrigger.THRESHOLD),
        text_version=SUMMARY_TEXT_VERSION,
    )
    return RecordedEvent(seq, START_MS + seq, fact)


async def open_store(folder: Path, index_after: float | None = None) -> LevelDbStore:
    """A store on disk with a ticking clock; it indexes texts when `indexed` is awaited."""
    return await LevelDbStore.open(folder, WORKSPACE, TickingClock(), index_after_s=index_after)
