"""What the agent may do in a workspace: whether its folder is trusted, and every rule, each to be revoked."""

from __future__ import annotations

import re
from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QLabel, QLineEdit, QVBoxLayout, QWidget

from helix_desktop.domain.permissions.home_folder import DEFAULT_HOME_NAMES
from helix_desktop.domain.permissions.reading_programs import DEFAULT_LINES
from helix_desktop.domain.tools import RuleEffect, RuleKind
from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.ui.design.buttons import SWITCH_TEXT_X, PushButton, Switch
from helix_desktop.ui.design.fields import ComboBox
from helix_desktop.ui.design.labels import IconLabel, label
from helix_desktop.ui.design.layout.boxes import card, clear_layout, column, row
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.layout.responsive_row import ResponsiveRow
from helix_desktop.ui.design.mirror import set_margins
from helix_desktop.ui.design.pill import Badge
from helix_desktop.ui.design.safe_text import escape_command
from helix_desktop.ui.kit.forms import FieldRow, Form, SavedLines, Toggle, Values
from helix_desktop.ui.settings.forms import PermissionRow
from helix_desktop.ui.settings.page_layout import scrolling_page
from helix_desktop.words.translation import Translator, translate
from helix_desktop.workspaces.registry import DemoCalls

tr = Translator("Settings: Permissions")
text = TextContext("Settings: Permissions")

_EFFECTS: tuple[tuple[RuleEffect, str], ...] = (
    ("deny", text("Never")),
    ("ask", text("Always ask")),
    ("allow", text("Allow")),
)
_KINDS: tuple[tuple[RuleKind, str, str], ...] = (
    ("pattern", text("Commands like"), "git push *"),
    ("path", text("Changes to the file"), ".envrc"),
    ("folder", text("Changes to files in"), "src/app"),
    ("host", text("Web pages from"), "docs.python.org"),
)
_ICONS: dict[RuleEffect, tuple[str, str]] = {
    "allow": ("shield-check", "ok"),
    "ask": ("shield-question-mark", "accent_text"),
    "deny": ("shield-alert", "error"),
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
    SavedLines(
        "home_names", text("Files and folders of your home folder that commands see"), is_inside=True,
        link=text("Home folder: what commands see…"), defaults=tuple(DEFAULT_HOME_NAMES),
        hint=text("One name per line, for all workspaces. Known places of keys, such as .ssh, stay hidden.")),
    Toggle("network", needs="is_confined", words=text("Let commands use the network"),
           note=text("Off: the agent asks for each command that needs it.")),
    Toggle("fetch", words=text("Let the agent fetch web pages"),
           note=text("The agent asks for each host. It never contacts machines in your own network.")),
)  # fmt: skip
READING = (
    Toggle("reading_commands", words=text("Run reading commands without asking"), note=text(
        "They run in a sandbox where they can't write or use the network. The agent still asks about "
        "other options, redirections to files, paths outside the workspace, and files that may hold keys.")),
    SavedLines(
        "reading_lines", text("Programs that only read, with their options"), is_inside=True,
        needs="reading_commands", link=text("Programs and options…"), defaults=tuple(DEFAULT_LINES),
        hint=text(
            "One program per line, for all workspaces: its name, a subcommand if any, then what may follow. "
            "FILES: paths in the workspace. TEXT: one other word. --depth=N, --format=TEXT, --from=PATH: "
            "options with a value. -NUM: such as -20.")),
)  # fmt: skip


class RuleForm(QWidget):
    """A rule that the user writes."""

    submitted = Signal(str, str, str)
    """What it does, what it is about, and its words."""

    def __init__(self) -> None:
        super().__init__()
        self.effect, self.kind, self.pattern = ComboBox(), ComboBox(), QLineEdit()
        for effect, title in _EFFECTS:
            self.effect.addItem(translate(title), effect)
        for kind, title, _ in _KINDS:
            self.kind.addItem(translate(title), kind)
        self.effect.setAccessibleName(tr("Effect of the rule"))
        self.kind.setAccessibleName(tr("What the rule applies to"))
        self.pattern.setAccessibleName(tr("Command, file, folder or host"))
        self.add = PushButton(tr("Add rule"), name="add_rule")
        self.add.clicked.connect(self._submit)
        self.pattern.returnPressed.connect(self._submit)
        self.pattern.textChanged.connect(lambda _: self.show_error(""))
        self.kind.currentIndexChanged.connect(self._update_placeholder)
        self._line = FieldRow("", self.pattern, room=1, trailing=self.add, is_labeled=False)
        self.setLayout(column(FlowBox([self.effect, self.kind]), self._line, gap=6))
        self._update_placeholder()

    def show_error(self, message: str) -> None:
        """Say why a rule cannot be; empty: nothing is wrong."""
        self._line.show_error(message)

    def _update_placeholder(self) -> None:
        self.pattern.setPlaceholderText(_KINDS[max(0, self.kind.currentIndex())][2])

    def _submit(self) -> None:
        self.submitted.emit(self.effect.currentData(), self.kind.currentData(), self.pattern.text())


class PermissionsPage(QWidget):
    """Trust and rules of a workspace; emits what the user asks for as signals."""

    revoke_requested = Signal(str)
    undo_requested = Signal()
    trust_requested = Signal(bool)
    demo_calls_changed = Signal(bool)
    """Whether the demo model's calls in a sample are to run without asking."""

    def __init__(self, settings: Values) -> None:
        """Start without rules. `settings` are those of the workspace on screen and of the app."""
        super().__init__()
        self._heading = label(tr("Rules"), "strong")
        self._rules = QVBoxLayout()
        self._rules.setSpacing(8)
        self.form = RuleForm()
        self._undo = self._undo_line()
        self._trust = QVBoxLayout()
        self.sandbox, self.reading = (
            Form(fields, settings, labels=False, gap=8) for fields in (SANDBOX, READING)
        )
        self._shield = IconLabel("shield-check", px=18, color_token="ok")
        self._status = label("", "muted", wrap=True)
        sentence = row(self._shield, self._status, gap=10)
        sentence.setStretch(1, 1)
        groups = column(
            label(tr("Agent access"), "strong"),
            card(column(sentence, self.sandbox, margins=(14, 10, 14, 10))), 14,
            label(tr("Reading commands"), "strong"), card(column(self.reading, margins=(14, 10, 14, 10))),
        )  # fmt: skip
        self._demo_text = label("", "faint", wrap=True)
        self.demo_calls = Switch(tr("Run demo calls without asking"))
        self._demo = self._demo_group()
        precedence = tr(
            "The strictest rule wins: Never, then Always ask, then Allow. A rule that allows commands like a "
            "pattern applies only in a sandbox without network access."
        )
        body = column(
            self._trust, 6, groups, 14,
            self._heading, self._undo, self._rules, self._demo, 10,
            label(tr("New rule"), "strong"), self.form, label(precedence, "note", wrap=True), gap=8,
        )  # fmt: skip
        page, self._lead = scrolling_page(tr("Permissions"), " ", body)
        self.setLayout(column(page))

    def _undo_line(self) -> QFrame:
        self._undo_text = label("", "muted", wrap=True)
        back = PushButton(tr("Undo"), "link", name="undo")
        back.clicked.connect(self.undo_requested)
        parts = row(self._undo_text, back, margins=(14, 6, 8, 6))
        parts.setStretch(0, 1)
        frame = card(parts)
        frame.hide()
        return frame

    def _demo_group(self) -> QWidget:
        self.demo_calls.toggled.connect(self.demo_calls_changed)
        group = QWidget()
        group.setObjectName("demo_rules")
        set_margins(self._demo_text, SWITCH_TEXT_X, 0, 0, 0)
        rule = card(column(self.demo_calls, self._demo_text, margins=(14, 10, 10, 10), gap=1))
        group.setLayout(column(label(tr("Demo model only"), "strong"), rule, gap=8))
        group.hide()
        return group

    def show_demo_calls(self, calls: DemoCalls | None) -> None:
        """Show what happens to the demo model's calls in a sample; None elsewhere."""
        self._demo.setVisible(calls is not None)
        if calls is not None:
            self.demo_calls.blockSignals(True)
            self.demo_calls.setChecked(calls == "allow")
            self.demo_calls.blockSignals(False)
            self.demo_calls.update()
            self._demo_text.setText(
                join_sentences(translate(_DEMO_TEXTS[calls]), tr("Other models still ask."))
            )

    @property
    def status_text(self) -> str:
        """Return what it says holds commands back."""
        return self._status.text()

    def show_sandbox(self, status: str, is_confined: bool) -> None:
        """Say what holds commands back now; `is_confined`: something does."""
        self._status.setText(translate(status))
        self._shield.show_icon(*(("shield-check", "ok") if is_confined else ("shield-alert", "warn")))

    def show_trust(self, path: str, trusted: bool) -> None:
        """Show whether the folder is trusted."""
        clear_layout(self._trust)
        icon, color = ("shield-check", "ok") if trusted else ("shield-question-mark", "accent_text")
        status = (
            tr("This folder is trusted.") if trusted else tr("This folder isn't trusted. Nothing runs in it.")
        )
        change = PushButton(
            tr("Revoke trust") if trusted else tr("Trust folder…"),
            "danger" if trusted else "primary",
            name="change_trust",
        )
        change.clicked.connect(lambda: self.trust_requested.emit(not trusted))
        words = QWidget()
        words.setLayout(column(label(status, wrap=True), label(path, "faint", wrap=True), gap=3))
        parts = row(
            IconLabel(icon, px=18, color_token=color), ResponsiveRow(words, [change]),
            margins=(14, 10, 10, 10), gap=12,
        )  # fmt: skip
        parts.setStretch(1, 1)
        self._trust.addWidget(card(parts))

    def show_rules(self, workspace_name: str, rules: Sequence[PermissionRow]) -> None:
        """Show the rules of a workspace, and those of the session on screen."""
        self._lead.setText(self._lead_text(workspace_name, bool(rules)))
        self._heading.setVisible(bool(rules))
        clear_layout(self._rules)
        for rule in rules:
            self._rules.addWidget(self._card(rule))

    def _lead_text(self, workspace_name: str, has_rules: bool) -> str:
        if has_rules:
            return tr("What the agent may do in {workspace}.", workspace=workspace_name)
        if self.demo_calls.isChecked() and not self._demo.isHidden():
            return tr(
                "No rules in {workspace} yet. See below what runs without asking.", workspace=workspace_name
            )
        return tr(
            "No rules in {workspace}. In Ask mode, the agent asks before what may change something.",
            workspace=workspace_name,
        )

    def show_revoked(self, rule: str) -> None:
        """Offer to undo that a rule was revoked; empty: no longer."""
        self._undo_text.setText(tr("Revoked: {rule}", rule=rule))
        self._undo.setVisible(bool(rule))

    def _card(self, rule: PermissionRow) -> QFrame:
        revoke = PushButton(tr("Revoke"), "danger", name="revoke")
        revoke.setAccessibleName(tr("Revoke: {rule}", rule=rule.rule))
        revoke.clicked.connect(lambda: self.revoke_requested.emit(rule.id))
        icon, color = ("shield-question-mark", "warn") if rule.outdated else _ICONS[rule.effect]
        about = " · ".join(part for part in (rule.saved, rule.used) if part)
        words = QWidget()
        outdated = [label(rule.outdated, "warn", wrap=True)] if rule.outdated else []
        words.setLayout(
            column(_rule_label(translate(rule.rule)), *outdated, label(about, "faint", wrap=True), gap=3)
        )
        end = [Badge(tr("This session"), "accent"), revoke] if rule.session else [revoke]
        parts = row(
            IconLabel(icon, px=18, color_token=color), ResponsiveRow(words, end),
            margins=(14, 10, 10, 10), gap=12,
        )  # fmt: skip
        parts.setStretch(1, 1)
        return card(parts)


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
