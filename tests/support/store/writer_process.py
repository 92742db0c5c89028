"""A process that commits endlessly and reports acknowledged commits, until it is killed.

With "cleanup" it also cleans up, empties the trash and redacts; a clock that runs fast makes contents old.
Run as a script: folder, workspace, seed, perhaps "cleanup". Prints `<session> <seq> <digest> <length>` for
each acknowledged commit.
"""

from __future__ import annotations

import asyncio
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from helix_desktop.domain.redaction import RedactionRequest
from helix_desktop.domain.retention import HOUR_MS, RetentionRule
from helix_desktop.domain.store import Commit
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.system.clock import wall_clock_ms
from tests.support.store.builders import TickingClock, make_content, make_summary, tool_answer_event


def content_bytes(session_id: str, seq: int) -> bytes:
    """The content that a session's event of this seq names; now and then large enough for chunks."""
    rng = random.Random(f"{session_id}/{seq}")
    size = rng.choice([50, 3000, 40_000, 40_000, 1_500_000 if seq % 10 == 0 else 9000])
    return f"{session_id} {seq} ".encode() + rng.randbytes(size // 4) * 4


async def append_commits(store: LevelDbStore, session_id: str) -> None:
    seq = len(await store.events(session_id))
    while True:
        seq += 1
        data = content_bytes(session_id, seq)
        content = make_content(data)
        line = make_summary(session_id, seq)
        await store.commit(
            Commit(session_id, [tool_answer_event(seq, data)], [content], [content.digest], line)
        )
        sys.stdout.write(f"{session_id} {seq} {content.digest} {len(data)}\n")
        sys.stdout.flush()


async def write_unreferenced(store: LevelDbStore, seed: str) -> None:
    """Store unreferenced contents, sometimes the same again, and sessions that are deleted."""
    number = 0
    while True:
        number += 1
        loose = [make_content(content_bytes(f"litter {seed}", number % 40 + n)) for n in range(8)]
        await store.commit(Commit("litter", contents=loose))
        session_id = f"brief-{seed}-{number}"
        await store.commit(
            Commit(session_id, [tool_answer_event(1, loose[0].data)], summary=make_summary(session_id))
        )
        await store.retention.trash_session(session_id)


async def run_cleanups(store: LevelDbStore, seed: str) -> None:
    """Collect, bring some back, empty the trash, forget."""
    number = 0
    while True:
        number += 1
        plan = await store.retention.plan(RetentionRule())
        await store.retention.collect([content.digest for content in plan.to_trash])
        lying = (await store.retention.trash()).entries
        await store.retention.restore([content.digest for content in lying[::5]])
        deleted = (await store.retention.trash()).sessions[:2]
        await store.retention.delete_permanently((), [session.id for session in deleted])
        await store.retention.empty_trash()
        if number % 5 == 0:
            await store.redaction.redact(RedactionRequest(f"litter {seed} {number % 40} "))


async def main() -> None:
    """Write to several sessions at once, so that groups form."""
    folder, workspace, seed, *mode = sys.argv[1:]
    random.seed(seed)
    clock = TickingClock(step=HOUR_MS) if mode else wall_clock_ms
    store = await LevelDbStore.open(Path(folder), workspace, clock)
    writing = (append_commits(store, f"{seed}-{number}") for number in range(2 if mode else 4))
    others = (write_unreferenced(store, seed), run_cleanups(store, seed)) if mode else ()
    await asyncio.gather(*writing, *others)


if __name__ == "__main__":
    asyncio.run(main())
