"""A process that commits without end and says what was acknowledged, until somebody kills it.

Run as a script: folder, workspace, seed. Prints `<session> <seq> <digest> <length>` for each acknowledged
commit.
"""

from __future__ import annotations

import asyncio
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from helix_desktop.store.leveldb_store import LevelDbStore
from tests.support.store_making import answered, content, summary


def body(session: str, seq: int) -> bytes:
    """The content that a session's event of this seq names; now and then large enough for chunks."""
    rnd = random.Random(f"{session}/{seq}")
    size = rnd.choice([50, 3000, 40_000, 40_000, 1_500_000 if seq % 10 == 0 else 9000])
    return f"{session} {seq} ".encode() + rnd.randbytes(size // 4) * 4


async def write(store: LevelDbStore, session: str) -> None:
    """Append to one session for ever."""
    seq = len(await store.events(session))
    while True:
        seq += 1
        data = body(session, seq)
        one = content(data)
        line = summary(session, seq)
        await store.commit(session, [answered(seq, data)], [one], [one.digest], line)
        sys.stdout.write(f"{session} {seq} {one.digest} {len(data)}\n")
        sys.stdout.flush()


async def main() -> None:
    """Write to several sessions at once, so that groups form."""
    folder, workspace, seed = sys.argv[1:]
    store = await LevelDbStore.open(Path(folder), workspace)
    await asyncio.gather(*(write(store, f"{seed}-{number}") for number in range(4)))


if __name__ == "__main__":
    asyncio.run(main())
