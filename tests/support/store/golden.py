"""Makes a golden store: a small real one with every kind of row, and the answers it must always give.

Run as a script with the path of a folder that does not exist, once for each number of the stored schema.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.recorded_event import RecordedEvent, digests_in
from helix_desktop.domain.store import Commit, Content, SessionSummary
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store.builders import START_MS, WORKSPACE, TickingClock

EVENTS_DIR = Path(__file__).parents[2] / "golden" / "events"
_LARGE_CONTENT = b"a line of a large output\n" * 60_000  # in chunks, and small on disk


def contents_by_placeholder() -> dict[str, bytes]:
    """Return the contents by their placeholder digest in the golden events: 64 times the same digit."""
    rng = random.Random(1)
    contents = {digit * 64: f"output {digit}\n".encode() * 40 for digit in "0123456789abcdef"}
    return contents | {"a" * 64: rng.randbytes(3000), "b" * 64: _LARGE_CONTENT, "c" * 64: b""}


def session_events() -> dict[str, list[RecordedEvent]]:
    """The golden events as sessions whose digests are those of real contents."""
    events = {}
    for path in sorted(EVENTS_DIR.glob("v*.json")):
        text = path.read_text(encoding="utf-8")
        for stand_in, data in contents_by_placeholder().items():
            text = text.replace(stand_in, digest_of(data))
        rows = [{**row, "seq": seq} for seq, row in enumerate(json.loads(text), 1)]
        events[path.stem] = [msgspec.convert(row, RecordedEvent) for row in rows]
    return events


async def write_golden_store(folder: Path) -> None:
    """Write the store into `folder`, half in tables and half in the log, and `expected.json` next to it."""
    contents_by_digest = {digest_of(data): data for data in contents_by_placeholder().values()}
    clock = TickingClock()
    answers: dict[str, Any] = {}
    for half in (0, 1):
        store = await LevelDbStore.open(folder, WORKSPACE, clock)
        for session_id, log in list(session_events().items())[half::2]:
            for entry in log:
                digests = digests_in(entry.event)
                contents = [
                    Content(digest, contents_by_digest[digest], "read_file", "src/app.py")
                    for digest in digests
                ]
                line = SessionSummary(
                    session_id, f"session {session_id}", START_MS, entry.at, events=entry.seq
                )
                await store.commit(Commit(session_id, [entry], contents, recalls=digests[:1], summary=line))
        await store.save_draft("v1", f"typed in half {half}")
        answers = await _read_answers(store)
        await store.close()
    for name in ("owner.lock", "db/LOCK", "db/LOG", "db/LOG.old"):
        (folder / name).unlink(missing_ok=True)
    (folder / "expected.json").write_text(json.dumps(answers, indent=1), encoding="utf-8")


async def _read_answers(store: LevelDbStore) -> dict[str, Any]:
    listed = await store.sessions()
    answers = {
        "totals": await store.totals(),
        "sessions": listed,
        "events": {session.id: await store.events(session.id) for session in listed},
        "entries": (await store.page(limit=1000)).entries,
        "drafts": {session.id: (await store.draft(session.id)).text for session in listed},
    }
    values: dict[str, Any] = msgspec.to_builtins(answers)
    return values


if __name__ == "__main__":
    asyncio.run(write_golden_store(Path(sys.argv[1])))
