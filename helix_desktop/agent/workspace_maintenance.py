"""Forgetting in an open workspace: nothing runs while a secret is removed, and nothing in memory keeps it."""

from __future__ import annotations

from collections.abc import Callable

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.redaction.redaction import Redaction, RedactionMatches, RedactionRequest


async def redact(
    workspace: OpenWorkspace,
    request: RedactionRequest,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> RedactionMatches:
    """Stop every turn of a room, let go of its conversations, and remove what is wanted from its store.

    Whoever shows a conversation opens it anew. Raises InputUnusable, StoreWriteFailed.
    """
    Redaction(request, 0)  # what cannot be looked for stops nothing
    for conversation in workspace.conversations:
        await workspace.close_session(conversation.session.id)
    return await workspace.store.redaction.carry_out(request, on_progress)


async def delete_session(workspace: OpenWorkspace, session: str) -> tuple[str, ...]:
    """Move a session and its subagents' to the trash, ended first; the ids that went there."""
    children = [one.id for one in await workspace.sessions(session)]
    for one in (session, *children):
        await workspace.close_session(one)
    return await workspace.store.retention.trash_session(session)
