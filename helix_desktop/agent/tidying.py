"""What a workspace does by itself when it is opened: empty what lay long in the trash, keep to its quota."""

from __future__ import annotations

from helix_desktop.agent.room import Room
from helix_desktop.context.keeping import DAY_MS, TRASH_DAYS, CleanUp, Swept


async def tidy(room: Room, asked: CleanUp) -> Swept:
    """Empty the trash of what lay there for 30 days, then move there what the workspace's rule names.

    What went to the trash. Without a quota or an age nothing goes there by itself. Raises StoreError.
    """
    keep = room.store.keep
    await keep.empty_trash(room.clock() - TRASH_DAYS * DAY_MS)
    if not (asked.quota or asked.unused_ms):
        return Swept()
    plan = await keep.plan(asked)
    return await keep.collect([one.digest for one in plan.going])
