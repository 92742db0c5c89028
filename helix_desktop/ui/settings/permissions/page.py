"""What the agent may do in a workspace: whether its folder is trusted, and every rule, each to be revoked."""

from __future__ import annotations

import re
from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QLabel, QLineEdit, QVBoxLayout, QWidget

from helix_desktop.domain.tools import RuleEffect, RuleKind
from helix_desktop.ui.design.buttons import PushButton, Switch
from helix_desktop.ui.design.fields import Combo
from helix_desktop.ui.design.labels import IconLabel, label
from helix_desktop.ui.design.layout.boxes import card, clear_layout, column, row
from helix_desktop.ui.design.pill import Badge
from helix_desktop.ui.design.safe_text import escape_invisible
from helix_desktop.ui.settings.forms import PermissionRow
from helix_desktop.ui.settings.page_layout import scrolling_page
from helix_desktop.ui.settings.permissions.sandbox_group import SandboxGroup
from helix_desktop.workspaces.record import DemoCalls

_EFFECTS: tuple[tuple[RuleEffect, str], ...] = (
    ("deny", "Never"),
    ("ask", "Always ask before"),
    ("allow", "Allow"),
)
_KINDS: tuple[tuple[RuleKind, str, str], ...] = (
    ("pattern", "commands like", "git push *"),
    ("folder", "changes of files in", "src/app"),
    ("host", "fetching from", "docs.python.org"),
)
_ICONS: dict[RuleEffect, tuple[str, str]] = {
    "allow": ("shield-check", "ok"),
    "ask": ("shield-question-mark", "accent_text"),
    "deny": ("shield-alert", "error"),
}
_MAX_RULE_CHARS = 320  # of a rule that are shown
_BREAK_POINTS = re.compile(r"(\S{24})(?=\S)")
_PRECEDENCE_NOTE = (
    "The strictest rule wins: never, before always ask, before allow. A rule that allows commands by their "
    "first words holds in the sandbox only."
)


_DEMO_TEXTS: dict[DemoCalls, str] = {
    "ask": "The offline demo model asks before each command and file change in this sample.",
    "once": "The offline demo model asks once in this sample. After you allow that call, its script runs on.",
    "allow": "The offline demo model runs the commands and file changes of its script without asking.",
}


class RuleForm(QWidget):
    """A rule written by hand."""

    submitted = Signal(str, str, str)
    """What it does, what it is about, and its words."""

    def __init__(self) -> None:
        super().__init__()
        self.effect, self.kind, self.pattern = Combo(), Combo(), QLineEdit()
        for effect, text in _EFFECTS:
            self.effect.addItem(text, effect)
        for kind, text, _ in _KINDS:
            self.kind.addItem(text, kind)
        self.effect.setAccessibleName("What the rule does")
        self.kind.setAccessibleName("What the rule is about")
        self.pattern.setAccessibleName("Which ones")
        self.add = PushButton("Add rule", name="add_rule")
        self.add.clicked.connect(self._submit)
        self.pattern.returnPressed.connect(self._submit)
        self.pattern.textChanged.connect(lambda _: self.show_error(""))
        self.kind.currentIndexChanged.connect(self._update_placeholder)
        self._error = label("", "error", wrap=True)
        self._error.hide()
        line = row(self.pattern, self.add)
        line.setStretch(0, 1)
        self.setLayout(column(row(self.effect, self.kind, None), line, self._error, gap=6))
        self._update_placeholder()

    def show_error(self, message: str) -> None:
        """Say why a rule cannot be; empty: nothing is wrong."""
        self._error.setText(message)
        self._error.setVisible(bool(message))

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
        self._heading = label("Rules", "strong")
        self._rules = QVBoxLayout()
        self._rules.setSpacing(8)
        self.form = RuleForm()
        self._undo = self._undo_line()
        self._trust = QVBoxLayout()
        self.sandbox = SandboxGroup()
        self._demo_text = label("", "faint", wrap=True)
        self.demo_calls = Switch("Run its calls without asking")
        self._demo = self._demo_group()
        body = column(
            self._trust, 6, self.sandbox, 14, self._heading, self._undo, self._rules, self._demo, 10,
            label("Write a rule", "strong"), self.form, label(_PRECEDENCE_NOTE, "note", wrap=True), gap=8,
        )  # fmt: skip
        page, self._lead = scrolling_page("Permissions", " ", body)
        self.setLayout(column(page))

    def _undo_line(self) -> QFrame:
        self._undo_text = label("", "muted", wrap=True)
        back = PushButton("Undo", "link", name="undo")
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
        rule = card(column(self.demo_calls, self._demo_text, margins=(14, 10, 10, 10), gap=5))
        group.setLayout(column(label("Demo model only", "strong"), rule, gap=8))
        group.hide()
        return group

    def show_demo_calls(self, calls: DemoCalls | None) -> None:
        """Show what happens to the demo model's calls in a sample; None elsewhere."""
        self._demo.setVisible(calls is not None)
        if calls is not None:
            self.demo_calls.blockSignals(True)
            self.demo_calls.setChecked(calls != "ask")
            self.demo_calls.blockSignals(False)
            self.demo_calls.update()
            self._demo_text.setText(f"{_DEMO_TEXTS[calls]} This does not apply to other models.")

    def show_trust(self, path: str, trusted: bool) -> None:
        """Show whether the folder is trusted."""
        clear_layout(self._trust)
        icon, color = ("shield-check", "ok") if trusted else ("shield-question-mark", "accent_text")
        text = "You trust this folder" if trusted else "You have not trusted this folder: nothing runs in it"
        change = PushButton(
            "Take trust back" if trusted else "Trust…",
            "danger" if trusted else "primary",
            name="change_trust",
        )
        change.clicked.connect(lambda: self.trust_requested.emit(not trusted))
        words = column(label(text, wrap=True), label(path, "faint", wrap=True), gap=3)
        parts = row(
            IconLabel(icon, px=18, color_token=color), words, change, margins=(14, 10, 10, 10), gap=12
        )
        parts.setStretch(1, 1)
        self._trust.addWidget(card(parts))

    def show_rules(self, workspace: str, rules: Sequence[PermissionRow]) -> None:
        """Show the rules of a workspace, and those of the session on screen."""
        self._lead.setText(self._lead_text(workspace, bool(rules)))
        self._heading.setVisible(bool(rules))
        clear_layout(self._rules)
        for rule in rules:
            self._rules.addWidget(self._card(rule))

    def _lead_text(self, workspace: str, has_rules: bool) -> str:
        if has_rules:
            return f"What the agent may do in {workspace}, and what it may not."
        if self.demo_calls.isChecked() and not self._demo.isHidden():
            return f"You have no rules in {workspace}. What runs without asking is listed below."
        return f"You have no rules in {workspace}: the agent asks each time."

    def show_revoked(self, rule: str) -> None:
        """Offer to take back that a rule was revoked; empty: no longer."""
        self._undo_text.setText(f"Revoked: {rule}")
        self._undo.setVisible(bool(rule))

    def _card(self, rule: PermissionRow) -> QFrame:
        revoke = PushButton("Revoke", "danger", name="revoke")
        revoke.setAccessibleName(f"Revoke: {rule.rule}")
        revoke.clicked.connect(lambda: self.revoke_requested.emit(rule.id))
        icon, color = _ICONS[rule.effect]
        about = " · ".join(part for part in (rule.saved, rule.used) if part)
        words = column(_rule_label(rule.rule), label(about, "faint", wrap=True), gap=3)
        parts = row(IconLabel(icon, px=18, color_token=color), words, margins=(14, 10, 10, 10), gap=12)
        parts.setStretch(1, 1)
        if rule.session:
            parts.addWidget(Badge("This session", "accent"))
        parts.addWidget(revoke)
        return card(parts)


def _rule_label(rule: str) -> QLabel:
    """Return a label of a rule, hidden characters escaped, its middle cut if it is very long."""
    escaped = escape_invisible(rule)
    cut = len(escaped) > _MAX_RULE_CHARS
    ends = f"{escaped[: _MAX_RULE_CHARS // 2]} … {escaped[-_MAX_RULE_CHARS // 2 :]}" if cut else escaped
    # A word longer than the page would widen it: let it break anywhere.
    rule_label = label(_BREAK_POINTS.sub("\\1\u200b", ends), "mono", wrap=True)
    rule_label.setToolTip(escaped if cut else "")
    rule_label.setAccessibleName(escaped)
    return rule_label
