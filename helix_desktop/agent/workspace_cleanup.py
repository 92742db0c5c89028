"""Clean-up of an open workspace: its trash and quota, deleted sessions, and secrets."""

from __future__ import annotations

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.listeners import OnProgress, no_progress
from helix_desktop.domain.redaction.redaction import Redaction, RedactionMatches, RedactionRequest
from helix_desktop.domain.store.retention import DAY_MS, TRASH_DAYS, CleanupResult, RetentionRule


async def run_housekeeping(workspace: OpenWorkspace, rule: RetentionRule) -> CleanupResult:
    """Delete what was in the trash for 30 days, then trash what the workspace's rule selects.

    Return what was trashed: nothing if the rule has no quota and no age. Raises StoreError.
    """
    retention = workspace.store.retention
    await retention.empty_trash(workspace.clock() - TRASH_DAYS * DAY_MS)
    if not (rule.quota or rule.unused_ms):
        return CleanupResult()
    plan = await retention.plan(rule)
    return await retention.collect([entry.digest for entry in plan.to_trash])


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


async def delete_session(workspace: OpenWorkspace, session_id: str) -> tuple[str, ...]:
    """Close a session and its subagents', and move them to the trash; return the trashed ids."""
    subagents = [subagent.id for subagent in await workspace.sessions(session_id)]
    for each in (session_id, *subagents):
        await workspace.close_session(each)
    return await workspace.store.retention.trash_session(session_id)
