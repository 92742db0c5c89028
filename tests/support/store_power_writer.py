"""A process that commits in groups, says what was acknowledged, and waits for a word before it goes on.

Run as a script: folder, workspace, largest content in bytes. Prints one line for each acknowledged group.
"""

from __future__ import annotations

import asyncio
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store_making import answered, content, summary

SESSIONS = ("one", "two", "three")


def body(session: str, seq: int, largest: int) -> bytes:
    """The content that a session's event of this seq names: half of it compresses."""
    rnd = random.Random(f"{session}/{seq}")
    size = rnd.choice([0, 60, 2000, 30_000, largest])
    return f"{session} {seq} ".encode() + rnd.randbytes(size // 2) + b"abcd" * (size // 8)


async def main() -> None:
    """Commit to several sessions at once, for ever."""
    folder, workspace, largest = sys.argv[1:]
    store = await LevelDbStore.open(Path(folder), workspace)

    async def write(session: str, seq: int) -> None:
        data = body(session, seq, int(largest))
        line = summary(session, seq)
        await store.commit(session, [answered(seq, data)], [content(data)], summary=line)

    seq = 0
    while sys.stdin.readline():
        seq += 1
        await asyncio.gather(*(write(session, seq) for session in SESSIONS))
        sys.stdout.write(f"{seq}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
