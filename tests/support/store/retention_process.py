"""A process that commits, cleans up, empties the trash and redacts endlessly, until it is killed.

Run as a script: folder, workspace, seed. Prints `<session> <seq> <digest> <length>` for each acknowledged
commit. A clock that runs fast makes contents old.
"""

from __future__ import annotations

import asyncio
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from helix_desktop.domain.redaction import RedactionRequest
from helix_desktop.domain.retention import RetentionRule
from helix_desktop.domain.store import Commit
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store.builders import TickingClock, make_content, make_summary, tool_answer_event
from tests.support.store.writer_process import append_commits, content_bytes

_HOUR_MS = 3_600_000


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
    """Write to two sessions during everything else."""
    folder, workspace, seed = sys.argv[1:]
    random.seed(seed)
    store = await LevelDbStore.open(Path(folder), workspace, TickingClock(step=_HOUR_MS))
    writing = (append_commits(store, f"{seed}-{number}") for number in range(2))
    await asyncio.gather(*writing, write_unreferenced(store, seed), run_cleanups(store, seed))


if __name__ == "__main__":
    asyncio.run(main())
