"""What the agent may do in a workspace: whether its folder is trusted, and every rule, each to be revoked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from PySide6.QtWidgets import QFrame, QLabel, QLineEdit, QVBoxLayout, QWidget

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.rule_usage import RuleUsage, read_rule_usage
from helix_desktop.domain.errors import HelixError, InvalidInput, StoreError
from helix_desktop.domain.tools import McpChange, PermissionRule, RuleEffect, RuleKind
from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.permissions.home_folder import home_faults
from helix_desktop.permissions.reading_programs import reading_faults
from helix_desktop.permissions.rules import parse_rule
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.cards import Pill
from helix_desktop.ui.design.labels import IconLabel, label
from helix_desktop.ui.design.layout import ResponsiveRow, card, clear_layout, column, pane, row
from helix_desktop.ui.design.safe_text import escape_command
from helix_desktop.ui.kit.forms import Choice, Draft, Form, Line, ShownLines, Toggle, Values
from helix_desktop.ui.kit.intents import Intent
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.settings.page_layout import SettingsFileLine, UndoLine, scrolling_page
from helix_desktop.words.times import format_date_and_time
from helix_desktop.words.translation import Translator, error_text, translate
from helix_desktop.workspaces.registry import DemoCalls
from helix_desktop.workspaces.saved_rules import SavedRules

tr = Translator("Settings: Permissions")
text = TextContext("Settings: Permissions")

_EFFECTS: dict[RuleEffect, tuple[str, tuple[str, str]]] = {
    "deny": (text("Never"), ("shield-alert", "error")),
    "ask": (text("Always ask"), ("shield-question-mark", "accent_text")),
    "allow": (text("Allow"), ("shield-check", "ok")),
}
"""Their names, and the icon and color of their rules."""
_KINDS: dict[RuleKind, tuple[str, str]] = {
    "pattern": (text("Commands like"), "git push *"),
    "path": (text("Changes to the file"), ".envrc"),
    "folder": (text("Changes to files in"), "src/app"),
    "host": (text("Web pages from"), "docs.python.org"),
}
"""What rules are about, and an example of it."""
_OUTDATED: dict[McpChange, str] = {
    "server": text("The server has changed since you allowed this. The agent asks again."),
    "tool": text("The server describes a tool differently since you allowed this. The agent asks again."),
    "new": text("The server has new tools since you allowed this. The agent asks before it uses them."),
}
_MAX_RULE_CHARS = 320  # of a rule that are shown
_BREAK_POINTS = re.compile(r"(\S{24})(?=\S)")
_DEMO_TEXTS: dict[DemoCalls, str] = {
    "ask": text("The offline demo model asks before each command and file change in this sample."),
    "once": text("The offline demo model asks before each command and file change, or for all at once."),
    "allow": text("The offline demo model runs the commands and file changes of its script without asking."),
}

SANDBOX = (
    Toggle("sandbox", words=text("Run commands in a sandbox"), note=text(
        "Commands can write only in the workspace, and read all its files, such as .env. Of your home folder "
        "they see only the listed toolchains and caches, and what the project is built with.")),
    ShownLines(
        "home_names", text("Files and folders of your home folder that commands see"), is_inside=True,
        link=text("Home folder: what commands see…"),
        hint=text(
            "In settings.toml, home_shown adds names and home_hidden takes some away, for all workspaces. "
            "Known places of keys, such as .ssh, stay hidden.")),
    Toggle("network", needs="is_confined", words=text("Let commands use the network"),
           note=text("Off: the agent asks for each command that needs it.")),
    Toggle("fetch", words=text("Let the agent fetch web pages"),
           note=text("The agent asks for each host. It never contacts machines in your own network.")),
)  # fmt: skip
READING = (
    Toggle("reading_commands", words=text("Run reading commands without asking"), note=text(
        "They run in a sandbox where they can't write or use the network. The agent still asks about "
        "other options, redirections to files, paths outside the workspace, and files that may hold keys.")),
    ShownLines(
        "reading_lines", text("Programs that only read, with their options"), is_inside=True,
        needs="reading_commands", link=text("Programs and options…"),
        hint=text(
            "In settings.toml, reading_added adds lines such as “mytool list FILES --json --depth=N”, and "
            "reading_removed takes programs away, for all workspaces. The guide says what a line may have.")),
)  # fmt: skip

DEMO_CALLS = (Toggle("runs_demo_calls", words=text("Run demo calls without asking"), room=2),)


class _Rule(Line, frozen=True, kw_only=True):
    """What a rule is about, beside the button that adds the rule."""

    def make(self, form: Form) -> QWidget:
        line = Line.make(self, form)
        assert isinstance(line, QLineEdit)
        form.values.follow("kind", lambda kind: line.setPlaceholderText(_KINDS[kind][1]))
        return line

    def beside(self, form: Form) -> QWidget:
        return PushButton(tr("Add rule"), name="add_rule")


NEW_RULE = (
    Choice("effect", text("Effect"), choices=[(key, words) for key, (words, _) in _EFFECTS.items()]),
    Choice("kind", text("Applies to"), choices=[(key, words) for key, (words, _) in _KINDS.items()]),
    _Rule("pattern", text("Name or pattern"), live=True, room=1),
)


class ChangeTrust(Intent, frozen=True):
    """Asks whether the folder of the workspace on screen is trusted, or takes the trust away."""

    is_trusted: bool


class PermissionsPage(QWidget):
    def __init__(self, session: Session, settings: Values) -> None:
        super().__init__()
        self._session = session
        self._settings = settings
        self._start = session.start
        self._revoked: PermissionRule | None = None
        self._heading = label(tr("Rules"), "strong")
        self._rules = column(gap=8)
        self.new_rule = Form(NEW_RULE, Draft({"effect": "deny", "kind": "pattern", "pattern": ""}), gap=8)
        self._undo = UndoLine(self._restore)
        self._trust = QVBoxLayout()
        self._git = QVBoxLayout()
        self.sandbox, self.reading, self.demo_calls = (
            Form(fields, settings, labels=False, gap=8) for fields in (SANDBOX, READING, DEMO_CALLS)
        )
        self._shield = IconLabel("shield-check", px=18, color_token="ok")
        self._status = label("", "muted", wrap=True)
        self._file_line = SettingsFileLine(session, tr("Both lists are changed in the file."))
        sentence = row(self._shield, self._status, gap=10, stretch=1)
        groups = column(
            label(tr("Agent access"), "strong"),
            card(column(sentence, self.sandbox, margins=(14, 10, 14, 10))), 14,
            label(tr("Reading commands"), "strong"), card(column(self.reading, margins=(14, 10, 14, 10))),
            self._file_line,
        )  # fmt: skip
        demo_card = card(column(self.demo_calls, margins=(14, 10, 10, 10)))
        self._demo = pane(column(label(tr("Demo model only"), "strong"), demo_card, gap=8), "demo_rules")
        settings.follow("demo_calls", self._show_demo_calls)
        precedence = tr(
            "The strictest rule wins: Never, then Always ask, then Allow. A rule that allows commands like a "
            "pattern applies only in a sandbox without network access."
        )
        body = column(
            self._trust, self._git, 6, groups, 14,
            self._heading, self._undo, self._rules, self._demo, 10,
            label(tr("New rule"), "strong"), self.new_rule, label(precedence, "note", wrap=True), gap=8,
        )  # fmt: skip
        page, self._lead = scrolling_page(tr("Permissions"), " ", body)
        self.setLayout(column(page))
        add = self.new_rule.trailing["pattern"]
        assert isinstance(add, PushButton)
        add.clicked.connect(self._add_rule)
        self.new_rule.line("pattern").returnPressed.connect(self._add_rule)
        settings.changed.connect(self._on_setting)

    async def refresh(self) -> None:
        """Show the page as things are now; what takes counting comes a moment later."""
        self._refresh({})
        self.sandbox.refresh()
        self.demo_calls.refresh()
        self._show_demo_calls(self._settings.get("demo_calls"))
        await self.read_files()
        await self._read_sandbox()
        workspace = self._session.opened
        if workspace is not None and (rules := self._all_rules(workspace)):
            try:
                usage = await read_rule_usage(workspace, rules)
            except StoreError:  # it was closed meanwhile
                return
            if workspace is self._session.opened:
                self._refresh(usage)

    async def read_files(self) -> None:
        """Read the file of the settings again, and say what is wrong with it, or with the lists in it."""
        services = self._session.app
        error = await services.read_settings()
        settings = services.settings
        faults: list[HelixError] = [error] if error is not None else []
        faults += home_faults((*settings.home_shown, *settings.home_hidden))
        faults += reading_faults(settings.reading_added)
        self._file_line.show_errors(faults)

    def _all_rules(self, workspace: OpenWorkspace) -> tuple[PermissionRule, ...]:
        conversation = self._session.find_conversation()
        of_session = conversation.permissions.rules if conversation is not None else ()
        return (*self._session.app.registry.get(workspace.id).rules, *of_session)

    def _refresh(self, usage: Mapping[str, RuleUsage]) -> None:
        workspace = self._session.opened
        services = self._session.app
        if workspace is None:
            return
        record = services.registry.get(workspace.id)
        rules = self._all_rules(workspace)
        self.show_trust(record.path, record.trusted)
        rule_change = services.mcp_servers.rule_change
        changes: dict[str, McpChange] = {rule.text: rule_change(workspace.id, rule) for rule in rules}
        self.show_rules(record.name, rules, usage, changes)
        self.show_revoked(self._revoked.text if self._revoked else "")

    async def _read_sandbox(self) -> None:
        workspace_id = self._session.workspace_id
        if self._session.opened is None:
            return
        folders = await self._session.app.tools.git_folders_outside(workspace_id)
        if workspace_id == self._session.workspace_id:
            allowed = self._session.app.registry.get(workspace_id).git_folders
            self.show_git(folders, is_allowed=set(folders) <= set(allowed))
        status, is_confined = await self._session.app.tools.sandbox_status(workspace_id)
        if workspace_id == self._session.workspace_id:
            self._settings.set("is_confined", is_confined)
            self.show_sandbox(status, is_confined)

    def _on_setting(self, name: str) -> None:
        if name in ("sandbox", "network"):
            self._start(self._read_sandbox(), "sandbox")
        elif name == "demo_calls":
            self._start(self.refresh(), "permissions")

    def _saved_rules(self) -> SavedRules:
        return SavedRules(self._session.app.registry, self._session.workspace_id)

    def _revoke(self, rule: PermissionRule) -> None:
        conversation = self._session.find_conversation()
        self._revoked = rule
        if rule.scope != "session":
            self._saved_rules().revoke(rule)
        elif conversation is not None:
            conversation.permissions.revoke(rule)
        self._start(self.refresh(), "permissions")

    def _restore(self) -> None:
        conversation = self._session.find_conversation()
        rule = self._revoked
        self._revoked = None
        if rule is not None and rule.scope != "session":
            self._saved_rules().restore(rule)
        elif rule is not None and conversation is not None:
            conversation.permissions.rules = (*conversation.permissions.rules, rule)
        self._start(self.refresh(), "permissions")

    def _add_rule(self) -> None:
        values = self.new_rule.values
        try:
            rule = parse_rule(values.get("effect"), values.get("kind"), values.get("pattern"))
        except InvalidInput as error:
            self.new_rule.show_error("pattern", error_text(error))
            return
        values.set("pattern", "")

        async def save() -> None:
            await self._saved_rules().add(rule)
            await self.refresh()

        self._start(save(), "save rule")

    def _change_trust(self, is_trusted: bool) -> None:
        async def change() -> None:
            await self._session.run(ChangeTrust(is_trusted))
            await self.refresh()

        self._start(change(), "trust")

    def _show_demo_calls(self, calls: DemoCalls | Literal[""]) -> None:
        """Say what happens to the demo model's calls in a sample; nothing elsewhere."""
        self._demo.setVisible(bool(calls))
        if calls:
            words = join_sentences(translate(_DEMO_TEXTS[calls]), tr("Other models still ask."))
            self.demo_calls.rows["runs_demo_calls"].show_note(words)

    def show_sandbox(self, status: str, is_confined: bool) -> None:
        self._status.setText(translate(status))
        self._shield.show_icon(*(("shield-check", "ok") if is_confined else ("shield-alert", "warn")))

    def show_trust(self, path: str, trusted: bool) -> None:
        clear_layout(self._trust)
        if trusted:
            icon = _EFFECTS["allow"][1]
            status = tr("This folder is trusted.")
            offer = tr("Revoke trust")
        else:
            icon = _EFFECTS["ask"][1]
            offer = tr("Trust folder…")
            status = tr("This folder isn't trusted. Nothing runs in it.")
        change = PushButton(offer, "danger" if trusted else "primary", name="change_trust")
        change.clicked.connect(lambda: self._change_trust(not trusted))
        words = pane(column(label(status, wrap=True), label(path, "faint", wrap=True), gap=3))
        parts = row(
            IconLabel(icon[0], px=18, color_token=icon[1]), ResponsiveRow(words, [change]),
            margins=(14, 10, 10, 10), gap=12, stretch=1,
        )  # fmt: skip
        self._trust.addWidget(card(parts))

    def show_git(self, folders: Sequence[str], *, is_allowed: bool) -> None:
        """Show the git folders outside of the workspace, and whether commands may change them."""
        clear_layout(self._git)
        if not folders:
            return
        icon, color = _EFFECTS["allow" if is_allowed else "ask"][1]
        status = (
            tr("Commands can commit in the git folder outside of the workspace.")
            if is_allowed
            else tr("The git folder is outside of the workspace. Commands can read it, but not commit.")
        )
        change = PushButton(
            tr("Revoke") if is_allowed else tr("Allow commits"),
            "danger" if is_allowed else "primary",
            name="change_git",
            on_click=lambda: self._start(self._change_git(not is_allowed), "git"),
        )
        places = "\n".join(map(escape_hidden_name, folders))
        words = pane(column(label(status, wrap=True), label(places, "faint", wrap=True), gap=3))
        parts = row(
            IconLabel(icon, px=18, color_token=color), ResponsiveRow(words, [change]),
            margins=(14, 10, 10, 10), gap=12, stretch=1,
        )  # fmt: skip
        self._git.addWidget(card(parts))

    async def _change_git(self, is_allowed: bool) -> None:
        tools = self._session.app.tools
        workspace_id = self._session.workspace_id
        if is_allowed:
            await tools.allow_git(workspace_id)
        else:
            tools.forbid_git(workspace_id)
        await self._read_sandbox()

    def show_rules(
        self,
        workspace_name: str,
        rules: Sequence[PermissionRule],
        usage: Mapping[str, RuleUsage],
        changes: Mapping[str, McpChange],
    ) -> None:
        """Show the rules of a workspace, and those of the session on screen.

        `usage` and `changes` are by a rule's text; without usage that is still being counted.
        """
        self._lead.setText(self._lead_text(workspace_name, bool(rules)))
        self._heading.setVisible(bool(rules))
        clear_layout(self._rules)
        for rule in rules:
            self._rules.addWidget(self._card(rule, usage.get(rule.text), changes.get(rule.text, "")))

    def _lead_text(self, workspace_name: str, has_rules: bool) -> str:
        if has_rules:
            return tr("What the agent may do in {workspace}.", workspace=workspace_name)
        if self._settings.get("demo_calls") == "allow":
            return tr(
                "No rules in {workspace} yet. See below what runs without asking.", workspace=workspace_name
            )
        return tr(
            "No rules in {workspace}. In Ask mode, the agent asks before what may change something.",
            workspace=workspace_name,
        )

    def show_revoked(self, rule: str) -> None:
        """Offer to undo that a rule was revoked; empty: no longer."""
        self._undo.say(tr("Revoked: {rule}", rule=rule) if rule else "")

    def _card(self, rule: PermissionRule, usage: RuleUsage | None, change: McpChange) -> QFrame:
        revoke = PushButton(tr("Revoke"), "danger", name="revoke", on_click=lambda: self._revoke(rule))
        revoke.setAccessibleName(tr("Revoke: {rule}", rule=rule.text))
        icon, color = ("shield-question-mark", "warn") if change else _EFFECTS[rule.effect][1]
        is_of_session = rule.scope == "session"
        saved = tr("Saved {time}", time=format_date_and_time(rule.saved))
        saved = tr("In this session, until Helix Desktop closes") if is_of_session else saved
        outdated = [label(translate(_OUTDATED[change]), "warn", wrap=True)] if change else []
        about = label(" · ".join(filter(None, (saved, _usage_text(usage)))), "faint", wrap=True)
        words = pane(column(_rule_label(rule.text), *outdated, about, gap=3))
        end = [Pill(tr("This session"), "accent"), revoke] if is_of_session else [revoke]
        parts = row(
            IconLabel(icon, px=18, color_token=color), ResponsiveRow(words, end),
            margins=(14, 10, 10, 10), gap=12, stretch=1,
        )  # fmt: skip
        return card(parts)


def _usage_text(usage: RuleUsage | None) -> str:
    if usage is None:
        return ""
    if not usage.count:
        return tr("not used yet")
    time = format_date_and_time(usage.last_at_ms)
    return tr.plural(usage.count, "used once, {time}", "used %n times, last {time}", time=time)


def _rule_label(rule: str) -> QLabel:
    """Return a label of a rule, hidden characters escaped, its middle cut if it is very long."""
    escaped = escape_command(rule)
    cut = len(escaped) > _MAX_RULE_CHARS
    ends = f"{escaped[: _MAX_RULE_CHARS // 2]} … {escaped[-_MAX_RULE_CHARS // 2 :]}" if cut else escaped
    # A word longer than the page would widen it: let it break anywhere.
    rule_label = label(_BREAK_POINTS.sub("\\1\u200b", ends), "mono", wrap=True)
    rule_label.setToolTip(escaped if cut else "")
    rule_label.setAccessibleName(escaped)
    return rule_label
