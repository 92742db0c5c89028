"""Redaction and session deletion in an open workspace, with every affected session closed first."""

from __future__ import annotations

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.progress import OnProgress, no_progress
from helix_desktop.domain.redaction.redaction import Redaction, RedactionMatches, RedactionRequest


async def redact(
    workspace: OpenWorkspace,
    request: RedactionRequest,
    on_progress: OnProgress = no_progress,
) -> RedactionMatches:
    """Close every conversation of a workspace, then remove the requested secret from its store.

    Nothing runs meanwhile, and nothing in memory keeps the secret. Views must open their conversation
    again. Raises InvalidInput, StoreWriteFailed.
    """
    Redaction(request, 0)  # raises for an invalid request before any turn is stopped
    for conversation in workspace.conversations:
        await workspace.close_session(conversation.session.id)
    return await workspace.store.redaction.redact(request, on_progress)


async def delete_session(workspace: OpenWorkspace, session: str) -> tuple[str, ...]:
    """Close a session and its subagents', and move them to the trash; return the trashed ids."""
    subagents = [session_id.id for session_id in await workspace.sessions(session)]
    for session_id in (session, *subagents):
        await workspace.close_session(session_id)
    return await workspace.store.retention.trash_session(session)
