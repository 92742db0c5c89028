"""Housekeeping when a workspace is opened: empty old trash, keep to the quota."""

from __future__ import annotations

from helix_desktop.agent.open_workspace import OpenWorkspace
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
