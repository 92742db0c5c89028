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


def demo_calls(record: WorkspaceRecord) -> DemoCalls:
    return record.demo_calls if record.demo else "ask"


def demo_calls_run(record: WorkspaceRecord, demo: bool) -> bool:
    """Return True if calls run without asking because `demo`, the offline demo model, makes them."""
    return demo and demo_calls(record) == "allow"


class SavedRules:
    def __init__(self, registry: WorkspaceRegistry, workspace_id: str) -> None:
        self._registry = registry
        self._workspace_id = workspace_id

    def rules(self, demo: bool = False) -> tuple[PermissionRule, ...]:
        """Return the rules that apply, in order; `demo` says that the offline demo model makes the call."""
        record = self._registry.get(self._workspace_id)
        return (*record.rules, *(DEMO_RULES if demo_calls_run(record, demo) else ()))

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
        self._registry.change(self._workspace_id, demo_calls=calls)

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
