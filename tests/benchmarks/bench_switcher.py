"""Ctrl+K over 100,000 messages in 50 sessions of a real store: first search, one more letter, a free loop."""

from __future__ import annotations

import asyncio
import gc
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from helix_desktop.app.run import collect_due_generation
from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.store import Commit
from helix_desktop.domain.text_search import parse_query
from helix_desktop.services.message_search import MessageSearch, SearchedSession
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.system.task_scope import TaskScope
from tests.support.store.builders import WORKSPACE, TickingClock, make_summary

MESSAGES, SESSIONS = 100_000, 50
_WORDS = Path(statistics.__file__).read_text(encoding="utf-8").split()
_RARE = "quetzalcoatl"  # once, in the oldest session
_TYPED = (_RARE, "quetz", "distribution sample", "zzzz", "e")
_LIMIT = 30

Figure = tuple[str, float, str]


def main() -> list[Figure]:
    """Measure on this machine."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measure(Path(folder)))


async def _measure(folder: Path) -> list[Figure]:
    store = await LevelDbStore.open(folder, WORKSPACE, TickingClock(), index_after_s=None)
    await _fill(store)
    sessions = await store.sessions()
    started = time.perf_counter()
    for session in sessions:
        await store.events(session.id)
    read = time.perf_counter() - started
    gc.collect()
    gc.freeze()  # as app.gc_policy does: garbage is looked for on the loop, among what is new
    gc.disable()
    pauses: list[float] = []
    scope = TaskScope()
    scope.start(_watch_loop(pauses), "watch the loop")
    search = MessageSearch(SearchedSession("w", session, _reader(store, session.id)) for session in sessions)
    first = await _search(search, _RARE)
    times = [await _search(search, typed) for typed in _TYPED for _ in range(5)]
    await search.forget()
    await scope.close()
    await store.close()
    return [
        ("read 100,000 messages from the store", read * 1e3, "ms"),
        ("first search of all", first * 1e3, "ms"),
        ("first search of all / read", first / read, "times (at most 3)"),
        ("search again, median", statistics.median(times) * 1e3, "ms (at most 100)"),
        ("search again, slowest", max(times) * 1e3, "ms"),
        ("search again, slowest / read", max(times) / read, "times"),
        ("longest pause of the loop", max(pauses) * 1e3, "ms (at most 16)"),
    ]


async def _fill(store: LevelDbStore) -> None:
    chance = random.Random(20)
    per_session = MESSAGES // SESSIONS
    for number in range(SESSIONS):
        events: list[RecordedEvent] = []
        for seq in range(1, per_session + 1):
            text = " ".join(chance.choices(_WORDS, k=chance.randint(5, 60)))
            if not number and seq == 1:
                text += f" {_RARE}"
            event = UserSpoke(text, 9) if seq % 2 else AssistantSpoke(text, "m", 9)
            events.append(RecordedEvent(seq, seq, event))
        name = f"session-{number:03}"
        await store.commit(Commit(name, events=events, summary=make_summary(name, updated=number)))


def _reader(store: LevelDbStore, session_id: str) -> Callable[[], Awaitable[list[RecordedEvent]]]:
    return lambda: store.events(session_id)


async def _search(search: MessageSearch, query: str) -> float:
    """Return how long all hits of a query take, in seconds."""
    started = time.perf_counter()
    async for _ in search.find(parse_query(query), _LIMIT):
        pass
    return time.perf_counter() - started


async def _watch_loop(pauses: list[float]) -> None:
    """Note how long each pass takes, without what other processes take meanwhile."""
    while True:
        started, started_cpu = time.perf_counter(), time.process_time()
        await asyncio.sleep(0.001)
        collect_due_generation()
        waited_s = time.perf_counter() - started - 0.001
        pauses.append(min(waited_s, time.process_time() - started_cpu))
