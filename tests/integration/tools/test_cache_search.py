"""The search of a workspace's cache: its results, its limits, what it leaves out."""

from __future__ import annotations

import asyncio
import random
import re
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from helix_desktop.agent.ports import Store
from helix_desktop.config.paths import resources_dir
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import StoreClosed, ToolError
from helix_desktop.domain.store import Commit, Content, ContentKind, ContentReader
from helix_desktop.domain.text_format import first_line
from helix_desktop.providers.tiktoken_counter import TiktokenCounter
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.memory import MemoryStore
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.tools.cache.search_tools import SearchCacheArguments, SearchCachedContent, SearchLimits
from tests.support.store.builders import OTHER_WORKSPACE, WORKSPACE, TickingClock
from tests.support.store.damage import compact_tables, flip_bit_near
from tests.support.tool_rig import estimate_tokens, make_call, make_tools

HIT = re.compile(r"^([0-9a-f]{12})\b(.*)$", re.MULTILINE)
CURSOR = re.compile(r"cursor='([0-9a-f.]+)'")
WIDE = SearchLimits(max_seconds=1e9)
LONGEST_TURN = 0.25  # of the processor time that the search takes elsewhere; on the loop it would be one turn


@pytest.fixture
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[LevelDbStore]:
    """An empty store on disk; its texts are indexed, if a test does not say otherwise."""
    after = getattr(request, "param", 0.0)
    store = await LevelDbStore.open(tmp_path / "store", WORKSPACE, TickingClock(), index_after_s=after)
    yield store
    await store.close()


async def keep(
    store: Store,
    *datas: bytes,
    tool: str = "read_file",
    target: str = "a.txt",
    kind: ContentKind = "output",
) -> list[str]:
    for data in datas:
        line = first_line(data.decode(errors="replace"))
        content = Content(digest_of(data), data, tool, target, line, len(data) // 4, kind)
        await store.commit(Commit("s", contents=[content]))
    return [handle(data) for data in datas]


def handle(data: bytes) -> str:
    """The digits by which an answer names a content."""
    return digest_of(data)[:12]


async def search(store: ContentReader, query: str, bounds: SearchLimits = WIDE, **more: object) -> str:
    tool = SearchCachedContent(store, estimate_tokens, bounds)
    arguments = msgspec.convert({"query": query, **more}, SearchCacheArguments)
    return (await tool.run("c", arguments)).content.decode()


def hits(text: str) -> list[str]:
    return [digest for digest, _ in HIT.findall(text)]


async def test_a_hit_has_everything_that_recall_needs(store: Store, tmp_path: Path) -> None:
    body = b"one\n" * 40 + b"the High  water mark\n" + b"two\n" * 9 + b"low water\n" + b"four\n" * 9
    (digest,) = await keep(store, body, target="tide.log")
    await keep(store, b"nothing of it")
    box = make_tools(tmp_path, store)
    result = await box.run(make_call("search_cached_content", query="WATER high"))
    assert (result.target, result.recalled, result.model_text) == ("WATER high", "", "")
    text = result.content.decode()
    assert text == (
        "1 hit for 'WATER high':\n"
        f"{digest} read_file tide.log, 272 B, 15 Jun 2025 15:06: 2 matching lines\n"
        "  39- one\n  40- one\n  41: the High  water mark\n  42- two\n  43- two\n  44- two\n  45- two\n"
        "All outputs were searched, among 2 entries.\n"
    )
    recalled = await box.run(
        make_call("recall_cached_content", hash=hits(text)[0], start_line=41, end_line=41)
    )
    assert recalled.model_text.endswith("\n41:the High  water mark\n")


async def test_words_match_anywhere_and_a_phrase_matches_in_order(store: Store) -> None:
    first, second = await keep(store, b"low tide\nand high water\n", b"water, high\n")
    assert hits(await search(store, "high WATER")) == [second, first], "newest first"
    assert hits(await search(store, '"High Water"')) == [first]
    assert hits(await search(store, "tide water")) == [first]
    partial = await search(store, "water zebra tide")
    assert partial.startswith("Nothing has all of 'water zebra tide'; 1 hit with some of it")
    assert hits(partial) == [first], "two of the words, where the other has one"


async def test_letters_of_other_scripts_and_spellings_match(store: Store) -> None:
    greek, german, french, binary = await keep(
        store,
        "ΌΛΑ ΚΑΛΆ ☃\n".encode(),
        "Die STRASSE am Fluß\n".encode(),
        "cafe\u0301 au lait\n".encode(),
        b"\x89PNG\r\n\x1a\n\0\0\xff\xfe SURGE \x00\n",
    )
    assert hits(await search(store, "όλα ☃")) == [greek]
    assert hits(await search(store, "straße FLUSS")) == [german]
    assert hits(await search(store, "CAFÉ")) == [french]
    result = await search(store, "surge")
    assert hits(result) == [binary]
    assert "\n  3: \ufffd\ufffd\ufffd\ufffd SURGE \ufffd\n" in result


async def test_a_search_can_be_limited_to_one_tool(store: Store) -> None:
    await keep(store, b"tide one\n")
    (run,) = await keep(store, b"tide two\n", tool="run_command")
    text = await search(store, "tide", tool="run_command")
    assert hits(text) == [run]
    assert text.endswith("All outputs of 'run_command' were searched, among 2 entries.\n")
    none = await search(store, "tide", tool="bash")
    assert none.startswith("Nothing found for 'tide' among the outputs of 'bash'.\n")
    assert none.endswith("There are outputs of read_file, run_command.\n")


async def test_indexes_and_its_own_answers_are_no_results(store: Store) -> None:
    (read,) = await keep(store, b"tide\n")
    await keep(store, b"index of tide", kind="index", tool="", target="")
    (own,) = await keep(store, b"1 hit for 'tide'", tool="search_cached_content", target="tide")
    text = await search(store, "tide")
    assert hits(text) == [read]
    assert text.endswith("All outputs were searched, among 3 entries.\n")
    assert hits(await search(store, "tide", tool="search_cached_content")) == [own]


async def test_lines_of_a_described_command_have_the_numbers_that_recall_takes(store: Store) -> None:
    """An entry says what a command came to, not its header, below which the lines are numbered."""
    data = b"exit code 0 (sandboxed, no network):\n" + b"".join(b"row %d\n" % n for n in range(1, 400))
    about = 'exit 0, "row 399"'
    content = Content(digest_of(data), data, "run_command", "seq", about, 900, "output")
    await store.commit(Commit("s", contents=[content]))
    assert "\n  77: row 77\n" in f"\n{await search(store, 'row 77')}"


async def test_no_hit_is_reported_with_what_was_searched(store: Store) -> None:
    assert await search(store, "zebra") == (
        "Nothing found for 'zebra'.\nNothing at all is stored in this workspace.\n"
    )
    await keep(store, b"tide\n", b"level\n")
    assert await search(store, "zebra") == (
        "Nothing found for 'zebra'.\nAll outputs were searched, among 2 entries.\n"
    )


async def walk(store: Store, query: str, bounds: SearchLimits, **more: object) -> tuple[list[str], int]:
    """All hits by following the cursors, and how many calls that took."""
    digests: list[str] = []
    cursor = ""
    calls = 0
    while True:
        text = await search(store, query, bounds, cursor=cursor, **more)
        calls += 1
        digests += hits(text)
        following = CURSOR.search(text)
        if not following:
            return digests, calls
        cursor = following[1]


async def test_a_thousand_entries_are_searched_part_by_part(store: Store) -> None:
    datas = [
        f"{number} {'SURGE' if number % 100 == 7 else 'tide'} {'x' * 90}\n".encode() for number in range(1000)
    ]
    for part in range(0, 1000, 500):
        contents = [Content(digest_of(data), data, "read_file", "log") for data in datas[part : part + 500]]
        await store.commit(Commit("s", contents=contents))
    expected = {handle(data) for data in datas if b"SURGE" in data}

    digests, calls = await walk(store, "surge", SearchLimits(max_bytes=20_000, max_seconds=1e9))
    assert (sorted(digests), len(digests)) == (sorted(expected), 10)
    assert calls <= 6
    digests, calls = await walk(store, "surge", WIDE, limit=3)
    assert (set(digests), len(digests), calls) == (expected, 10, 4)


async def test_hits_are_paged_by_tokens_and_none_is_lost(store: Store) -> None:
    expected = await keep(store, *(f"{number} tide {'level ' * 30}\n".encode() * 4 for number in range(60)))
    text = await search(store, "tide level", limit=50)
    (tokens,) = await estimate_tokens([text])
    assert 1_000 < tokens < 2_000
    digests, calls = await walk(store, "tide level", WIDE, limit=50)
    assert digests == expected[::-1]
    assert calls >= 5


async def test_content_stored_between_pages_hides_no_hit(store: Store) -> None:
    expected = await keep(store, *(f"tide {number}\n".encode() for number in range(7)))
    digests = list[str]()
    cursor = ""
    for number in range(4):
        text = await search(store, "tide", cursor=cursor, limit=2)
        digests += hits(text)
        await keep(store, f"later tide {number}\n".encode())
        cursor = CURSOR.findall(text)[0] if number < 3 else ""
    assert digests == expected[::-1]


async def test_a_call_ends_at_its_time_limit(store: Store) -> None:
    expected = await keep(store, *(f"tide {number}\n".encode() for number in range(6)))
    ticks = iter([0.0, 1.0, 2.0, 5.0])  # the start, then before each entry but the first
    tool = SearchCachedContent(store, estimate_tokens, SearchLimits(max_seconds=5.0), lambda: next(ticks))
    text = (await tool.run("c", SearchCacheArguments("tide"))).content.decode()
    assert hits(text) == expected[:2:-1]
    assert "There are more outputs still to be searched; to go on: cursor='" in text
    late = SearchCachedContent(store, estimate_tokens, SearchLimits(max_seconds=0.0), lambda: 0.0)
    note = (await late.run("c", SearchCacheArguments("tide"))).content.decode()
    assert hits(note) == expected[:4:-1], "each call goes on by one at least"


async def test_a_wrong_cursor_is_refused(store: Store) -> None:
    await keep(store, b"tide\n")
    for cursor in ("x", "12", "-1-74", "6d00", "zz", "7" * 5000, "75", "7" * 82):
        with pytest.raises(ToolError, match=r"is not a cursor of this search\. Copy it from the answer befo"):
            await search(store, "tide", cursor=cursor)


async def test_invalid_arguments_are_named(store: Store, tmp_path: Path) -> None:
    box = make_tools(tmp_path, store)
    assert await box.approval(make_call("search_cached_content", query="x")) is None
    with pytest.raises(ToolError, match="The query is empty"):
        await box.run(make_call("search_cached_content", query=" "))
    for wrong in ({}, {"query": "x", "limit": 0}, {"query": "x", "limit": 51}, {"query": 3}):
        with pytest.raises(ToolError, match="It takes query, tool\\?, limit\\?, cursor\\?"):
            await box.run(make_call("search_cached_content", **wrong))


async def test_damaged_contents_are_skipped_and_counted(tmp_path: Path) -> None:
    store = await LevelDbStore.open(tmp_path, WORKSPACE)
    await keep(store, b"tide, sound\n", target="sound.txt")
    noise = random.Random(1).randbytes(4000) + b" tide\n"  # stored as it is: it cannot be compressed
    await keep(store, noise, target="broken.txt")
    await store.close()
    compact_tables(tmp_path)
    assert flip_bit_near(tmp_path, noise[100:120], 10) == 1
    store = await LevelDbStore.open(tmp_path, WORKSPACE)
    try:
        text = await search(store, "tide")
        assert hits(text) == [handle(b"tide, sound\n")]
        assert text.endswith("All outputs were searched, among 2 entries. 1 skipped as damaged.\n")
        assert hits(await search(store, "broken.txt")) == [], "what cannot be recalled is no hit"
    finally:
        await store.close()


async def test_another_workspaces_contents_cannot_be_reached(tmp_path: Path) -> None:
    mine = await LevelDbStore.open(tmp_path / "mine", WORKSPACE)
    theirs = await LevelDbStore.open(tmp_path / "theirs", OTHER_WORKSPACE)
    try:
        await keep(theirs, *(f"secret tide {number}\n".encode() for number in range(5)), target="secret.txt")
        (own,) = await keep(mine, b"my tide\n")
        foreign = CURSOR.findall(await search(theirs, "tide", limit=2))[0]
        for cursor in ("", foreign):
            for query in ("tide", "secret", "secret.txt"):
                text = await search(mine, query, cursor=cursor)
                assert set(hits(text)) <= {own}
                assert "secret tide" not in text
        assert "among 1 entries" in await search(mine, "secret")
    finally:
        await mine.close()
        await theirs.close()


async def test_a_closed_store_is_reported(store: Store) -> None:
    await keep(store, b"tide\n")
    await store.close()
    with pytest.raises(ToolError, match="workspace is closed") as caught:
        await search(store, "tide")
    assert isinstance(caught.value.__cause__, StoreClosed)


class WatchedBytes(bytes):
    """Bytes that count how often a part of them is read, and pause the first read until a signal."""

    was_read = threading.Event()
    go_on = threading.Event()
    takes = 0

    def __getitem__(self, key: Any) -> Any:
        WatchedBytes.takes += 1
        self.was_read.set()
        self.go_on.wait(60)
        return super().__getitem__(key)


class WatchedStore(MemoryStore):
    """A store that counts its reads, which all return the same watched bytes."""

    def __init__(self) -> None:
        super().__init__(TickingClock())
        self.reads = 0

    async def get(self, digest: str) -> bytes:
        self.reads += 1
        return WatchedBytes(b"level\n" * 1_000_000)


async def test_a_canceled_search_ends_its_thread_and_stops_reading() -> None:
    store = WatchedStore()
    await keep(store, b"one\n" * 80_000, b"two\n" * 80_000)  # too large to be read together
    scope = TaskScope()
    task = scope.start(search(store, "zebra"), "search")
    assert await asyncio.to_thread(WatchedBytes.was_read.wait, 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    WatchedBytes.go_on.set()
    await asyncio.get_running_loop().shutdown_default_executor()
    assert (store.reads, WatchedBytes.takes) == (1, 1)
    await scope.close()


@pytest.mark.parametrize("store", [0.0, None], ids=["indexed", "scanned"], indirect=True)
async def test_the_loop_stays_responsive_while_large_content_is_searched(store: Store) -> None:
    await keep(store, b"the level of the tide\n" * 300_000)
    scope = TaskScope()
    task = scope.start(search(store, "tide level zebra"), "search")
    turns_s = list[float]()
    began_s = time.process_time()
    while not task.done():
        started_s = time.thread_time()  # of this thread alone, however busy the machine is
        await asyncio.sleep(0)
        turns_s.append(time.thread_time() - started_s)
    in_threads_s = time.process_time() - began_s - sum(turns_s)
    assert max(turns_s) < LONGEST_TURN * in_threads_s
    assert "Nothing has all of" in await task
    await scope.close()


async def test_the_densest_answer_stays_under_2000_real_tokens(store: Store) -> None:
    counter = TiktokenCounter(resources_dir() / "tokenizers" / "o200k_base.tiktoken")
    dense = "".join(chr(0x12000 + (number * 7) % 900) for number in range(400))
    lines = "\n".join(f"tide {dense}" for _ in range(5))
    await keep(store, *(f"{number}{lines}".encode() for number in range(30)), target=dense)
    tool = SearchCachedContent(store, counter.count, WIDE)
    query = f"tide {dense[:190]}"
    result = await tool.run("c", SearchCacheArguments(query, limit=50))
    assert hits(result.content.decode())
    (tokens,) = await counter.count([result.content.decode()])
    assert tokens < 2_000
