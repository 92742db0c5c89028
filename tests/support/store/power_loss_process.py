"""A process that commits in groups, reports acknowledged ones, and waits for a line before it continues.

Run as a script: folder, workspace, largest content in bytes. Prints one line for each acknowledged group.
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

SESSIONS = ("one", "two", "three")


def content_bytes(session_id: str, seq: int, max_bytes: int) -> bytes:
    """The content that a session's event of this seq names: half of it compresses."""
    rng = random.Random(f"{session_id}/{seq}")
    size = rng.choice([0, 60, 2000, 30_000, max_bytes])
    return f"{session_id} {seq} ".encode() + rng.randbytes(size // 2) + b"abcd" * (size // 8)


async def main() -> None:
    """Commit to several sessions at once, for ever."""
    folder, workspace, largest = sys.argv[1:]
    store = await LevelDbStore.open(Path(folder), workspace)

    async def write(session_id: str, seq: int) -> None:
        data = content_bytes(session_id, seq, int(largest))
        line = make_summary(session_id, seq)
        await store.commit(
            Commit(session_id, [tool_answer_event(seq, data)], [make_content(data)], summary=line)
        )

    seq = 0
    while sys.stdin.readline():
        seq += 1
        await asyncio.gather(*(write(session_id, seq) for session_id in SESSIONS))
        sys.stdout.write(f"{seq}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
