"""A process that commits, cleans up, empties the trash and forgets without end, until somebody kills it.

Run as a script: folder, workspace, seed. Prints `<session> <seq> <digest> <length>` for each acknowledged
commit. A clock that runs fast makes contents old.
"""

from __future__ import annotations

import asyncio
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from helix_desktop.context.forgetting import Wanted
from helix_desktop.context.keeping import CleanUp
from helix_desktop.store.leveldb import LevelStore
from tests.support.store_kill_writer import body, write
from tests.support.store_making import TickingClock, answered, content, summary

_HOUR_MS = 3_600_000


async def litter(store: LevelStore, seed: str) -> None:
    """Store what nobody names, now and then the same again, and sessions that are deleted."""
    number = 0
    while True:
        number += 1
        loose = [content(body(f"litter {seed}", number % 40 + n)) for n in range(8)]
        await store.commit("litter", contents=loose)
        session = f"brief-{seed}-{number}"
        await store.commit(session, [answered(1, loose[0].data)], summary=summary(session))
        await store.keep.trash_session(session)


async def clean(store: LevelStore, seed: str) -> None:
    """Collect, bring some back, empty the trash, forget."""
    number = 0
    while True:
        number += 1
        plan = await store.keep.plan(CleanUp())
        await store.keep.collect([one.digest for one in plan.going])
        lying = (await store.keep.trash()).entries
        await store.keep.restore([one.digest for one in lying[::5]])
        await store.keep.empty_trash()
        if number % 5 == 0:
            await store.forgetting.carry_out(Wanted(f"litter {seed} {number % 40} "))


async def main() -> None:
    """Write to two sessions while everything else goes on."""
    folder, workspace, seed = sys.argv[1:]
    random.seed(seed)
    store = await LevelStore.open(Path(folder), workspace, TickingClock(step=_HOUR_MS))
    writing = (write(store, f"{seed}-{number}") for number in range(2))
    await asyncio.gather(*writing, litter(store, seed), clean(store, seed))


if __name__ == "__main__":
    asyncio.run(main())
