"""Forgetting in an open workspace: nothing runs while a secret is removed, and nothing in memory keeps it."""

from __future__ import annotations

from collections.abc import Callable

from helix_desktop.agent.room import Room
from helix_desktop.context.forgetting import Finds, Redaction, Wanted


async def forget(
    room: Room, wanted: Wanted, told: Callable[[int, int], None] = lambda done, total: None
) -> Finds:
    """Stop every turn of a room, let go of its conversations, and remove what is wanted from its store.

    Whoever shows a conversation opens it anew. Raises InputUnusable, StoreWriteFailed.
    """
    Redaction(wanted, 0)  # what cannot be looked for stops nothing
    for conversation in room.conversations:
        await room.shut(conversation.session.id)
    return await room.store.forgetting.carry_out(wanted, told)


async def delete_session(room: Room, session: str) -> tuple[str, ...]:
    """Move a session and its subagents' to the trash, ended first; the ids that went there."""
    children = [one.id for one in await room.sessions(session)]
    for one in (session, *children):
        await room.shut(one)
    return await room.store.keep.trash_session(session)
