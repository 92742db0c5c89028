"""What a workspace does by itself when it is opened: empty what lay long in the trash, keep to its quota."""

from __future__ import annotations

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.store.retention import DAY_MS, TRASH_DAYS, CleanupResult, RetentionRule


async def run_housekeeping(workspace: OpenWorkspace, rule: RetentionRule) -> CleanupResult:
    """Empty the trash of what lay there for 30 days, then move there what the workspace's rule names.

    What went to the trash. Without a quota or an age nothing goes there by itself. Raises StoreError.
    """
    keep = workspace.store.retention
    await keep.empty_trash(workspace.clock() - TRASH_DAYS * DAY_MS)
    if not (rule.quota or rule.unused_ms):
        return CleanupResult()
    plan = await keep.plan(rule)
    return await keep.collect([one.digest for one in plan.going])
