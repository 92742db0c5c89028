"""How often the rules of a workspace answered, counted in the logs of its sessions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.events.conversation import ApprovalGiven
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.tools import PermissionRule


class RuleUsage(msgspec.Struct):
    """How often a rule answered, and when last, in milliseconds since 1970."""

    count: int = 0
    last_at_ms: int = 0


async def read_rule_usage(workspace: OpenWorkspace, rules: Iterable[PermissionRule]) -> dict[str, RuleUsage]:
    """Return how often each rule answered, by its text, in all sessions of a workspace."""
    usage: dict[str, RuleUsage] = {rule.text: RuleUsage() for rule in rules}
    here = {conversation.session.id: conversation.session.log for conversation in workspace.conversations}
    for session in await workspace.store.sessions():
        log: Sequence[RecordedEvent] | None = here.get(session.id)
        if log is None:
            log = await workspace.store.events(session.id)
        for entry in log[session.branch_seq :]:  # what is shared counts in the parent
            if isinstance(entry.event, ApprovalGiven) and entry.event.rule in usage:
                use = usage[entry.event.rule]
                use.count += 1
                use.last_at_ms = max(use.last_at_ms, entry.at)
    return usage
