"""Search over everything in a store of 100,000 messages: p95 of many words, against reading all logs.

Run as a script for a table; with a number, of that many messages (`1000000` takes ten minutes).
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.passages import PassageQuery
from helix_desktop.domain.store import Commit
from helix_desktop.domain.text_search import parse_query
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.passage_index import scan_passages
from tests.support.store.builders import START_MS, WORKSPACE, TickingClock, make_summary

MESSAGES = 100_000
_PER_SESSION = 2_000
_AT_ONCE = 500
_ROUNDS = 20
_WORDS = Path(statistics.__file__).read_text(encoding="utf-8").split()
_QUERIES = ("quetzalcoatl", "distribution sample", "return", "zzzz", "median grouped data", "variance")

Figure = tuple[str, float, str]


def main(count: int = MESSAGES) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measure(Path(folder), count))


async def _measure(folder: Path, count: int) -> list[Figure]:
    store = await LevelDbStore.open(folder, WORKSPACE, TickingClock(), index_after_s=None)
    try:
        await _fill(store, count)
        started = time.perf_counter()
        await store.wait_until_indexed()
        indexed = time.perf_counter() - started
        durations = []
        for _ in range(_ROUNDS):
            for words in _QUERIES:
                query = PassageQuery(parse_query(words), per_session=6)
                started = time.perf_counter()
                await store.find_passages(query)
                durations.append((time.perf_counter() - started) * 1e3)
        rare = PassageQuery(("quetzalcoatl",))
        started = time.perf_counter()
        await store._run_query(lambda view: scan_passages(view, rare))
        scan = (time.perf_counter() - started) * 1e3
        started = time.perf_counter()
        assert len((await store.find_passages(rare)).hits) == 1
        found = (time.perf_counter() - started) * 1e3
        index_bytes = (folder / "search.db").stat().st_size
    finally:
        await store.close()
    return [
        (f"search of {count:,} messages, p50 ms", statistics.median(durations), ""),
        (f"search of {count:,} messages, p95 ms", statistics.quantiles(durations, n=20)[-1], "<= 100"),
        ("reading all logs / search, a rare word", scan / found, ">= 100"),
        ("messages indexed per second", count / indexed, ""),
        ("index, bytes per message", index_bytes / count, ""),
    ]


async def _fill(store: LevelDbStore, count: int) -> None:
    rng = random.Random(count)
    for number in range(0, count, _AT_ONCE):
        session = f"session-{number // _PER_SESSION}"
        first = number % _PER_SESSION + 1
        events = []
        for seq in range(first, first + _AT_ONCE):
            at = rng.randrange(len(_WORDS) - 120)
            text = " ".join(_WORDS[at : at + rng.randrange(20, 110)])
            if number == 0 and seq == 1:
                text += " quetzalcoatl"
            said = UserSpoke(text, 1) if seq % 4 == 1 else AssistantSpoke(text, "m", 1)
            events.append(RecordedEvent(seq, START_MS + 1_000 * (number + seq), said))
        await store.commit(Commit(session, events, summary=make_summary(session)))


if __name__ == "__main__":
    for figure, value, target in main(int(sys.argv[1]) if sys.argv[1:] else MESSAGES):
        sys.stdout.write(f"{figure:<56} {value:>12.3f}   {target}\n")
