"""A process that commits endlessly and reports acknowledged commits, until it is killed.

Run as a script: folder, workspace, seed. Prints `<session> <seq> <digest> <length>` for each acknowledged
commit.
"""

from __future__ import annotations

import asyncio
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from helix_desktop.domain.store import Commit
from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store.builders import make_content, make_summary, tool_answer_event


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


async def main() -> None:
    """Write to several sessions at once, so that groups form."""
    folder, workspace, seed = sys.argv[1:]
    store = await LevelDbStore.open(Path(folder), workspace)
    await asyncio.gather(*(append_commits(store, f"{seed}-{number}") for number in range(4)))


if __name__ == "__main__":
    asyncio.run(main())
