"""The permission rules of a workspace: the user's, and in a sample's copy those of the demo model."""

from __future__ import annotations

import logging

import msgspec

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.tools import ANY, PermissionRule
from helix_desktop.workspaces.registry import DemoCalls, WorkspaceRecord, WorkspaceRegistry

log = logging.getLogger(__name__)

DEMO_RULES = (
    PermissionRule("run_command", ANY),
    PermissionRule("write_file", ANY),
    PermissionRule("edit_file", ANY),
)
"""What the demo model may do without asking in a sample's copy: its script is known.

Never stored: another model in the same workspace may do nothing that nobody agreed to.
"""

_WRITTEN_WITH_RECORD_MS = 60_000  # earlier versions stored DEMO_RULES right after they added a sample


def user_rules(record: WorkspaceRecord) -> tuple[PermissionRule, ...]:
    """Return the rules that the user agreed to, in order, without those that earlier samples came with."""
    return tuple(rule for rule in record.rules if not _came_with_sample(record, rule))


def demo_calls(record: WorkspaceRecord) -> DemoCalls:
    if not record.demo:
        return "ask"
    return "allow" if len(user_rules(record)) < len(record.rules) else record.demo_calls


def demo_calls_run(record: WorkspaceRecord, demo: bool) -> bool:
    """Return True if calls run without asking because `demo`, the offline demo model, makes them."""
    return demo and demo_calls(record) == "allow"


def _came_with_sample(record: WorkspaceRecord, rule: PermissionRule) -> bool:
    is_demo_rule = (
        PermissionRule(rule.tool, rule.subject) in DEMO_RULES
        and rule.kind == "exact"
        and rule.effect == "allow"
    )
    return record.demo and is_demo_rule and rule.saved - record.added < _WRITTEN_WITH_RECORD_MS


class SavedRules:
    def __init__(self, registry: WorkspaceRegistry, workspace_id: str) -> None:
        self._registry, self._workspace_id = registry, workspace_id

    def rules(self, demo: bool = False) -> tuple[PermissionRule, ...]:
        """Return the rules that apply, in order; `demo` says that the offline demo model makes the call."""
        record = self._registry.get(self._workspace_id)
        return (*user_rules(record), *(DEMO_RULES if demo_calls_run(record, demo) else ()))

    def offers_demo_calls(self) -> bool:
        """Return True if one answer may allow all calls of the demo model."""
        return demo_calls(self._registry.get(self._workspace_id)) == "once"

    def allow_demo_calls(self) -> bool:
        """Allow all calls of the demo model. Return False if that could not be saved."""
        try:
            self._registry.change(self._workspace_id, demo_calls="allow")
        except HelixError as error:
            log.warning("the demo model will ask again: %s", error)
            return False
        return True

    def set_demo_calls(self, calls: DemoCalls) -> None:
        """Set how calls of the demo model are approved here. Raises HelixError."""
        rules = user_rules(self._registry.get(self._workspace_id))
        self._registry.change(self._workspace_id, demo_calls=calls, rules=rules)

    async def add(self, rule: PermissionRule) -> None:
        """Save a rule, once; it replaces a rule with the same text for another definition."""
        self._save_rule(msgspec.structs.replace(rule, saved=self._registry.clock()))

    def restore(self, rule: PermissionRule) -> None:
        self._save_rule(rule)

    def _save_rule(self, rule: PermissionRule) -> None:
        saved = self._registry.get(self._workspace_id).rules
        if all(msgspec.structs.replace(other, saved=rule.saved) != rule for other in saved):
            others = tuple(other for other in saved if other.text != rule.text)
            self._registry.change(self._workspace_id, rules=(*others, rule))

    def revoke(self, rule: PermissionRule) -> None:
        saved = self._registry.get(self._workspace_id).rules
        self._registry.change(self._workspace_id, rules=tuple(other for other in saved if other != rule))
