"""Fills the page of permissions and does what it asks for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from PySide6.QtCore import QObject

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.errors import HelixError, StoreError
from helix_desktop.domain.events.conversation import ApprovalGiven
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.permissions.rules import parse_rule, rule_names
from helix_desktop.domain.tools import McpChange, PermissionRule, RuleEffect, RuleKind
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.design.themed import retint
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.settings.app_settings import WorkspaceSettings
from helix_desktop.ui.settings.forms import PermissionRow
from helix_desktop.ui.settings.permissions_page import PermissionsPage
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.workspaces.trust import TrustController
from helix_desktop.words.errors import error_text
from helix_desktop.words.times import format_date_and_time
from helix_desktop.words.translation import Translator, translate
from helix_desktop.workspaces.saved_rules import SavedRules, demo_calls, user_rules

tr = Translator("Settings: Permissions")
text = TextContext("Settings: Permissions")
_OUTDATED: dict[McpChange, str] = {
    "server": text("The server has changed since you allowed this. The agent asks again."),
    "tool": text("The server describes a tool differently since you allowed this. The agent asks again."),
    "new": text("The server has new tools since you allowed this. The agent asks before it uses them."),
}


class RuleUsage(msgspec.Struct):
    """How often a rule answered, and when last, in milliseconds since 1970."""

    count: int = 0
    last_at_ms: int = 0


class PermissionsPresenter(QObject):
    """Binds the page to the workspace, and the session, on screen."""

    def __init__(
        self,
        page: PermissionsPage,
        window: MainWindow,
        session: Session,
        settings: WorkspaceSettings,
        trust: TrustController,
    ) -> None:
        super().__init__(page)
        self._page, self._window, self._services = page, window, session.app
        self._async_actions, self._session = session.actions, session
        self._trust_controller = trust
        start = session.actions.start
        self._rules_by_key: dict[str, PermissionRule] = {}
        self._revoked: PermissionRule | None = None
        page.revoke_requested.connect(self._revoke)
        page.undo_requested.connect(self._undo)
        page.form.submitted.connect(self._add_rule)
        self._settings = settings
        self._settings.changed.connect(self._on_setting)
        page.demo_calls_changed.connect(self._set_demo_calls)
        page.trust_requested.connect(lambda trusted: start(self._trust(trusted), "trust"))

    async def show(self) -> None:
        """Show the page as things are now; what takes counting comes a moment later."""
        self._show({})
        self._page.sandbox.refresh()
        await self._show_sandbox()
        workspace = self._session.opened
        if workspace is not None and self._rules_by_key:
            try:
                counted = await _read_usage(workspace, self._rules_by_key.values())
            except StoreError:  # it was closed meanwhile
                return
            if workspace is self._session.opened:
                self._show(counted)

    def _show(self, usage: dict[str, RuleUsage]) -> None:
        workspace = self._session.opened
        if workspace is None:
            return
        record = self._services.registry.get(workspace.id)
        rules = (*user_rules(record), *self._session_rules())
        self._page.show_demo_calls(demo_calls(record) if record.demo else None)
        self._rules_by_key = {str(number): rule for number, rule in enumerate(rules)}
        servers = self._services.mcp_servers
        rows = [
            _permission_row(key, rule, usage.get(rule.text), servers.rule_change(workspace.id, rule))
            for key, rule in self._rules_by_key.items()
        ]
        self._page.show_trust(record.path, record.trusted)
        self._page.show_rules(record.name, rows)
        self._page.show_revoked(self._revoked.text if self._revoked else "")
        retint(self._page, self._window.theme)

    @property
    def _conversation(self) -> Conversation | None:
        return self._session.find_conversation()

    def _session_rules(self) -> Sequence[PermissionRule]:
        return self._conversation.permissions.rules if self._conversation is not None else ()

    def _saved_rules(self) -> SavedRules:
        return SavedRules(self._services.registry, self._session.workspace_id)

    def _reload(self) -> None:
        self._async_actions.start(self.show(), "permissions")

    def _revoke(self, key: str) -> None:
        rule = self._rules_by_key.get(key)
        if rule is None:
            return
        if rule.scope == "session":
            if self._conversation is not None:
                self._conversation.permissions.revoke(rule)
        else:
            self._saved_rules().revoke(rule)
        self._revoked = rule
        self._reload()

    def _undo(self) -> None:
        rule, self._revoked = self._revoked, None
        if rule is not None and rule.scope == "session":
            if self._conversation is not None:
                self._conversation.permissions.rules = (*self._conversation.permissions.rules, rule)
        elif rule is not None:
            self._saved_rules().restore(rule)
        self._reload()

    def _set_demo_calls(self, allow: bool) -> None:
        self._saved_rules().set_demo_calls("allow" if allow else "ask")
        self._reload()
        self._async_actions.start(self._session.show_model(), "demo calls")

    def _add_rule(self, effect: RuleEffect, kind: RuleKind, text: str) -> None:
        try:
            rule = parse_rule(effect, kind, text)
        except HelixError as error:
            self._page.form.show_error(error_text(error))
            return
        self._page.form.pattern.clear()
        self._async_actions.start(self._save(rule), "save rule")

    async def _save(self, rule: PermissionRule) -> None:
        await self._saved_rules().add(rule)
        await self.show()

    async def _show_sandbox(self) -> None:
        workspace_id = self._session.workspace_id
        if self._session.opened is None:
            return
        status, is_confined = await self._services.tools.sandbox_status(workspace_id)
        if workspace_id == self._session.workspace_id:
            self._settings.is_confined = is_confined
            self._settings.changed.emit("is_confined")
            self._page.show_sandbox(status, is_confined)

    def _on_setting(self, name: str) -> None:
        if name in ("sandbox", "network"):
            self._async_actions.start(self._show_sandbox(), "sandbox")

    async def _trust(self, trusted: bool) -> None:
        workspace_id = self._session.workspace_id
        if trusted:
            await self._trust_controller.ask(workspace_id)
        else:
            await self._trust_controller.set_trusted(workspace_id, trusted=False)
        await self.show()


async def _read_usage(workspace: OpenWorkspace, rules: Iterable[PermissionRule]) -> dict[str, RuleUsage]:
    """Return how often each rule answered, by its text, in all sessions of a workspace."""
    rules_by_name: dict[str, str] = {name: rule.text for rule in rules for name in rule_names(rule)}
    uses = {text: RuleUsage() for text in rules_by_name.values()}
    here = {conversation.session.id: conversation.session.log for conversation in workspace.conversations}
    for session in await workspace.store.sessions():
        log = here.get(session.id)
        if log is None:
            log = await workspace.store.events(session.id)
        _count_usage(log[session.branch_seq :], rules_by_name, uses)  # what is shared counts in the parent
    return uses


def _count_usage(
    log: Iterable[RecordedEvent], text_by_name: dict[str, str], usage: dict[str, RuleUsage]
) -> None:
    for entry in log:
        if isinstance(entry.event, ApprovalGiven) and entry.event.rule in text_by_name:
            use = usage[text_by_name[entry.event.rule]]
            use.count += 1
            use.last_at_ms = max(use.last_at_ms, entry.at)


def _permission_row(
    key: str, rule: PermissionRule, usage: RuleUsage | None, change: McpChange
) -> PermissionRow:
    session = rule.scope == "session"
    saved = (
        tr("In this session, until Helix Desktop closes")
        if session
        else tr("Saved {time}", time=format_date_and_time(rule.saved))
    )
    outdated = translate(_OUTDATED[change]) if change else ""
    return PermissionRow(key, rule.text, saved, _usage_text(usage), rule.effect, session, outdated)


def _usage_text(usage: RuleUsage | None) -> str:
    if usage is None:
        return ""
    if not usage.count:
        return tr("not used yet")
    time = format_date_and_time(usage.last_at_ms)
    return tr.plural(usage.count, "used once, {time}", "used %n times, last {time}", time=time)
