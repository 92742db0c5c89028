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
from helix_desktop.ui.design.fields import ComboBox, TextArea
from helix_desktop.ui.design.labels import IconLabel, label, show_text
from helix_desktop.ui.design.layout.boxes import card, clear_layout, column, row
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.layout.responsive_row import ResponsiveRow
from helix_desktop.ui.design.mirror import set_margins
from helix_desktop.ui.design.pill import Badge
from helix_desktop.ui.design.safe_text import escape_command
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

_LIST_PX = 180
_SWITCHES = (
    (
        "sandbox",
        text("Run commands in a sandbox"),
        text(
            "Commands can write only in the workspace, and read all its files, such as .env. Of your home "
            "folder they see only the listed toolchains and caches, and what the project is built with."
        ),
    ),
    (
        "network",
        text("Let commands use the network"),
        text("Off: the agent asks for each command that needs it."),
    ),
    (
        "fetch",
        text("Let the agent fetch web pages"),
        text("The agent asks for each host. It never contacts machines in your own network."),
    ),
)


class SandboxGroup(QWidget):
    """Three switches, and a sentence that says what holds commands back now."""

    changed = Signal(str, bool)
    """Which of `sandbox`, `network` and `fetch` is to be on or off."""

    home_names_changed = Signal(list)
    """The names of files and folders of the home folder that commands are to see."""

    def __init__(self) -> None:
        super().__init__()
        self.switches: dict[str, Switch] = {}
        self._parts: dict[str, QWidget] = {}
        self._shield = IconLabel("shield-check", px=18, color_token="ok")
        self._status = label("", "muted", wrap=True)
        sentence = row(self._shield, self._status, gap=10)
        sentence.setStretch(1, 1)
        body = column(sentence, gap=8, margins=(14, 10, 14, 10))
        for name, words, note in _SWITCHES:
            switch = Switch(translate(words))
            switch.toggled.connect(lambda on, name=name: self.changed.emit(name, on))
            self.switches[name] = switch
            below = label(translate(note), "faint", wrap=True)
            set_margins(below, SWITCH_TEXT_X, 0, 0, 0)
            part = QWidget()
            home_list = (self._home_list(),) if name == "sandbox" else ()
            part.setLayout(column(switch, below, *home_list, gap=1))
            body.addWidget(part)
            self._parts[name] = part
        self.setLayout(column(label(tr("Agent access"), "strong"), card(body), gap=8))

    def _home_list(self) -> QWidget:
        self.home_link = PushButton(tr("Home folder: what commands see…"), "link", name="home_names")
        self.home_names = TextArea()
        self.home_names.setAccessibleName(tr("Files and folders of your home folder that commands see"))
        self.home_names.setTabChangesFocus(True)
        self.home_names.setFixedHeight(_LIST_PX)
        self.home_save = PushButton(tr("Save"), name="save_home_names")
        self.home_reset = PushButton(tr("Restore defaults"), "link", name="reset_home_names")
        note = label(
            tr("One name per line, for all workspaces. Known places of keys, such as .ssh, stay hidden."),
            "faint",
            wrap=True,
        )
        buttons = row(self.home_reset, self.home_save, gap=8)
        editor = QWidget()
        editor.setLayout(column(self.home_names, note, row(None, buttons), gap=6))
        editor.hide()
        self.home_link.clicked.connect(lambda: editor.setVisible(editor.isHidden()))
        self.home_save.clicked.connect(self._save_home_names)
        self.home_reset.clicked.connect(lambda: self._show_names(DEFAULT_HOME_NAMES))
        whole = QWidget()
        whole.setLayout(column(row(self.home_link, None), editor, gap=4))
        set_margins(whole, SWITCH_TEXT_X, 0, 0, 0)
        return whole

    def show_home_names(self, names: Sequence[str]) -> None:
        """Show what commands see of the home folder, unless the user is changing it."""
        if not self.home_names.document().isModified():
            self._show_names(names)
            self.home_names.document().setModified(False)

    def _show_names(self, names: Sequence[str]) -> None:
        self.home_names.setPlainText("\n".join(sorted(names)))
        self.home_names.document().setModified(True)

    def _save_home_names(self) -> None:
        self.home_names.document().setModified(False)
        self.home_names_changed.emit(self.home_names.toPlainText().splitlines())

    @property
    def status_text(self) -> str:
        """Return what it says holds commands back."""
        return self._status.text()

    def show_sandbox(self, enabled: dict[str, bool], status: str, is_confined: bool) -> None:
        """Show which are on, and what that comes to; `is_confined`: something holds commands back."""
        for name, switch in self.switches.items():
            switch.blockSignals(True)
            switch.setChecked(enabled[name])
            switch.blockSignals(False)
            switch.update()
        self._parts["network"].setVisible(is_confined)  # without a sandbox nothing keeps commands off it
        self._status.setText(translate(status))
        self._shield.show_icon(*(("shield-check", "ok") if is_confined else ("shield-alert", "warn")))


class ReadingGroup(QWidget):
    """Whether commands that only read run without asking, and the list of their programs."""

    switched = Signal(bool)
    lines_changed = Signal(list)
    """The lines of the list as the user wants them."""

    def __init__(self) -> None:
        super().__init__()
        self.switch = Switch(tr("Run reading commands without asking"))
        self.switch.toggled.connect(self.switched)
        note = label(
            tr(
                "They run in a sandbox where they can't write or use the network. The agent still asks about "
                "other options, redirections to files, paths outside the workspace, and files that may hold "
                "keys."
            ),
            "faint",
            wrap=True,
        )
        set_margins(note, SWITCH_TEXT_X, 0, 0, 0)
        self.list_link = PushButton(tr("Programs and options…"), "link", name="reading_lines")
        self.lines = TextArea()
        self.lines.setAccessibleName(tr("Programs that only read, with their options"))
        self.lines.setTabChangesFocus(True)
        self.lines.setFixedHeight(_LIST_PX)
        self.save = PushButton(tr("Save"), name="save_reading_lines")
        self.reset = PushButton(tr("Restore defaults"), "link", name="reset_reading_lines")
        self.save.clicked.connect(self._save)
        self.reset.clicked.connect(lambda: self._fill(DEFAULT_LINES))
        self.lines.textChanged.connect(lambda: self.show_error(""))
        self._error = label("", "error", wrap=True)
        self._error.hide()
        form = tr(
            "One program per line, for all workspaces: its name, a subcommand if any, then what may follow. "
            "FILES: paths in the workspace. TEXT: one other word. --depth=N, --format=TEXT, --from=PATH: "
            "options with a value. -NUM: such as -20."
        )
        editor = QWidget()
        buttons = row(self.reset, self.save, gap=8)
        editor.setLayout(
            column(self.lines, self._error, label(form, "faint", wrap=True), row(None, buttons), gap=6)
        )
        editor.hide()
        self.list_link.clicked.connect(lambda: editor.setVisible(editor.isHidden()))
        self._list = QWidget()
        self._list.setLayout(column(row(self.list_link, None), editor, gap=4))
        set_margins(self._list, SWITCH_TEXT_X, 0, 0, 0)
        body = column(self.switch, note, self._list, gap=1, margins=(14, 10, 14, 10))
        self.setLayout(column(label(tr("Reading commands"), "strong"), card(body), gap=8))

    def show_lines(self, is_on: bool, lines: Sequence[str]) -> None:
        """Show whether they run without asking, and the list, unless the user is changing that."""
        self.switch.blockSignals(True)
        self.switch.setChecked(is_on)
        self.switch.blockSignals(False)
        self.switch.update()
        self._list.setVisible(is_on)
        if not self.lines.document().isModified():
            self._fill(lines)
            self.lines.document().setModified(False)

    def show_saved(self, lines: Sequence[str]) -> None:
        """Show the list as it was understood."""
        self.lines.document().setModified(False)
        self.show_lines(self.switch.isChecked(), lines)

    @property
    def error_text(self) -> str:
        """Return what it says is wrong; empty: nothing."""
        return "" if self._error.isHidden() else self._error.text()

    def show_error(self, message: str) -> None:
        """Say which line cannot be, and why; empty: nothing is wrong."""
        show_text(self._error, message)

    def _fill(self, lines: Sequence[str]) -> None:
        self.lines.setPlainText("\n".join(sorted(lines)))
        self.lines.document().setModified(True)

    def _save(self) -> None:
        self.lines_changed.emit(self.lines.toPlainText().splitlines())


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
        self._error = label("", "error", wrap=True)
        self._error.hide()
        line = row(self.pattern, self.add)
        line.setStretch(0, 1)
        self.setLayout(column(FlowBox([self.effect, self.kind]), line, self._error, gap=6))
        self._update_placeholder()

    def show_error(self, message: str) -> None:
        """Say why a rule cannot be; empty: nothing is wrong."""
        show_text(self._error, message)

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

    def __init__(self) -> None:
        """Start without rules."""
        super().__init__()
        self._heading = label(tr("Rules"), "strong")
        self._rules = QVBoxLayout()
        self._rules.setSpacing(8)
        self.form = RuleForm()
        self._undo = self._undo_line()
        self._trust = QVBoxLayout()
        self.sandbox = SandboxGroup()
        self.reading = ReadingGroup()
        self._demo_text = label("", "faint", wrap=True)
        self.demo_calls = Switch(tr("Run demo calls without asking"))
        self._demo = self._demo_group()
        precedence = tr(
            "The strictest rule wins: Never, then Always ask, then Allow. A rule that allows commands like a "
            "pattern applies only in a sandbox without network access."
        )
        body = column(
            self._trust, 6, self.sandbox, 14, self.reading, 14,
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
