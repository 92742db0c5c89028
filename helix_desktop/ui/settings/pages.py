"""The smaller pages of the settings: appearance, context policy, permissions, about."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QButtonGroup, QFrame, QLineEdit, QPushButton, QVBoxLayout, QWidget

from helix_desktop.ui.settings.form import Field, page
from helix_desktop.ui.settings.rows import (
    AboutInfo,
    PermissionRow,
    PolicyField,
    PolicyForm,
    PolicyValue,
    policy_fault,
)
from helix_desktop.ui.style import MODES, TEXT_PX
from helix_desktop.ui.theme import LIGHT, Theme
from helix_desktop.ui.widgets import (
    Combo,
    PushButton,
    Switch,
    card,
    column,
    empty_layout,
    label,
    line,
    retint,
    row,
)

_SIZE_PX = 140  # width of the list of text sizes, like that of a field for a number


class AppearancePage(QWidget):
    """Theme, text size, and what Enter does."""

    mode_chosen = Signal(str)
    text_px_chosen = Signal(int)
    enter_sends_chosen = Signal(bool)

    def __init__(self) -> None:
        """Start with the defaults."""
        super().__init__()
        segments = QFrame()
        segments.setProperty("role", "segments")
        inside = row(margins=(3, 3, 3, 3), gap=2)
        self._group = QButtonGroup(self)
        self._modes: dict[str, QPushButton] = {}
        for mode in MODES:
            button = PushButton(mode.capitalize(), "segment")
            button.setCheckable(True)
            button.clicked.connect(lambda _=False, chosen=mode: self.mode_chosen.emit(chosen))
            self._group.addButton(button)
            self._modes[mode] = button
            inside.addWidget(button)
        segments.setLayout(inside)
        holder = QWidget()
        holder.setLayout(row(segments, None))
        holder.setAccessibleName("Theme")
        self._size = Combo()
        self._size.setMaximumWidth(_SIZE_PX)
        for px in TEXT_PX:
            self._size.addItem(f"{px} px", px)
        self._size.activated.connect(lambda _: self.text_px_chosen.emit(self._size.currentData()))
        self._enter = Switch("Enter sends, Shift+Enter begins a new line", on=True)
        self._enter.toggled.connect(self.enter_sends_chosen)
        note = "When off, Ctrl+Enter sends."
        body = column(
            Field("Theme", holder),
            Field("Text size", self._size),
            Field("Sending", self._enter, note=note),
            gap=14,
        )
        whole, _ = page("Appearance", "", body)
        self.setLayout(column(whole))

    def show_appearance(self, mode: str, text_px: int, enter_sends: bool) -> None:
        """Show what is in force."""
        self._modes[mode].setChecked(True)
        self._size.setCurrentIndex(max(0, self._size.findData(text_px)))
        self._enter.blockSignals(True)
        self._enter.setChecked(enter_sends)
        self._enter.blockSignals(False)
        self._enter.update()


class PolicyPage(QWidget):
    """The context policy of a workspace: a profile, and each of its numbers."""

    profile_chosen = Signal(str)
    changed = Signal(dict)
    """Key and new value of each field that was changed and is valid."""

    def __init__(self) -> None:
        """Start without a policy."""
        super().__init__()
        self._theme = LIGHT
        self._profile = Combo()
        self._profile.textActivated.connect(self.profile_chosen)
        self._groups = QVBoxLayout()
        self._groups.setSpacing(12)
        head = Field(
            "Profile", self._profile, note="A profile sets all numbers below; each can be changed alone."
        )
        whole, self._lead = page("Context policy", " ", column(head, 6, self._groups, gap=6))
        self._inputs: dict[str, QWidget] = {}
        self._fields: dict[str, Field] = {}
        self.setLayout(column(whole))

    def show_policy(self, form: PolicyForm) -> None:
        """Show the policy of a workspace."""
        self._lead.setText(
            f"What leaves the window of {form.workspace}, and when. Applies from the next request on."
        )
        self._profile.clear()
        own = [] if form.profile in form.profiles else [form.profile]
        self._profile.addItems([*form.profiles, *own])
        self._profile.setCurrentText(form.profile)
        empty_layout(self._groups)
        self._inputs.clear()
        self._fields.clear()
        for group in form.groups:
            body = column(label(group.title, "strong"), margins=(16, 13, 16, 14), gap=9)
            for field in group.fields:
                body.addWidget(self._make(field))
            framed = card(body)
            retint(framed, self._theme)
            self._groups.addWidget(framed)

    def input(self, key: str) -> QWidget:
        """The control of a field; KeyError when the policy has none of that key."""
        return self._inputs[key]

    def fault(self, key: str) -> str:
        """What is wrong with a field, or an empty text."""
        return self._fields[key].fault()

    def tint(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self._theme = theme

    def _make(self, field: PolicyField) -> Field:
        control = self._control(field)
        unit = label(field.unit, "faint") if field.unit else None
        shown = Field(field.label, control, note=field.note, beside=unit)
        self._inputs[field.key] = control
        self._fields[field.key] = shown
        return shown

    def _control(self, field: PolicyField) -> QWidget:
        if isinstance(field.value, bool):
            switch = Switch("On" if field.value else "Off", on=field.value)
            switch.setAccessibleName(field.label)
            switch.toggled.connect(lambda on: self._switched(switch, field.key, on))
            return switch
        if field.choices:
            choice = Combo()
            choice.addItems(list(field.choices))
            choice.setCurrentText(str(field.value))
            choice.textActivated.connect(lambda text: self._emit(field.key, text))
            return choice
        entry = QLineEdit(f"{field.value:g}" if isinstance(field.value, float) else str(field.value))
        entry.setMaximumWidth(130)
        entry.textEdited.connect(lambda text: self._fields[field.key].show_fault(policy_fault(field, text)))
        entry.editingFinished.connect(lambda: self._typed(field, entry.text()))
        return entry

    def _switched(self, switch: Switch, key: str, on: bool) -> None:
        switch.setText("On" if on else "Off")
        self._emit(key, on)

    def _typed(self, field: PolicyField, text: str) -> None:
        if policy_fault(field, text):
            return
        number = float(text.replace(",", ""))
        value = int(number) if isinstance(field.value, int) else number
        if value != field.value:
            self._emit(field.key, value)

    def _emit(self, key: str, value: PolicyValue) -> None:
        self.changed.emit({key: value})


class PermissionsPage(QWidget):
    """The saved rules of a workspace, each with a way to take it back."""

    revoke_requested = Signal(str)

    def __init__(self) -> None:
        """Start without rules."""
        super().__init__()
        self._rules = QVBoxLayout()
        self._rules.setSpacing(8)
        whole, self._lead = page("Permissions", " ", self._rules)
        self.setLayout(column(whole))

    def show_rules(self, workspace: str, rules: Sequence[PermissionRow]) -> None:
        """Show the rules of a workspace."""
        self._lead.setText(
            f"What the agent may do in {workspace} without asking."
            if rules
            else f"No rule is saved for {workspace}: the agent asks each time."
        )
        empty_layout(self._rules)
        for rule in rules:
            self._rules.addWidget(self._card(rule))

    def _card(self, rule: PermissionRow) -> QFrame:
        revoke = PushButton("Revoke", "danger")
        revoke.setAccessibleName(f"Revoke: {rule.rule}")
        revoke.clicked.connect(lambda: self.revoke_requested.emit(rule.id))
        used = f" · last used {rule.last_used}" if rule.last_used else ""
        words = column(
            label(rule.rule, "mono", wrap=True), label(f"Saved {rule.saved}{used}", "faint"), gap=3
        )
        body = row(words, revoke, margins=(14, 10, 10, 10), gap=10)
        body.setStretch(0, 1)
        return card(body)


class AboutPage(QWidget):
    """Version, data folder, licences."""

    def __init__(self) -> None:
        """Start without figures."""
        super().__init__()
        self._version = label("", "muted")
        self._folder = label("", "mono", wrap=True)
        self._folder.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._show = PushButton("Show folder", "", "folder-open")
        self._path = ""
        self._show.clicked.connect(self._open_folder)
        self._licences = QVBoxLayout()
        self._licences.setSpacing(6)
        body = column(
            self._version, 8, label("Data", "strong"), self._folder, row(self._show, None), 10, line(), 10,
            label("What is bundled, and its terms", "strong"), self._licences, gap=6,
        )  # fmt: skip
        whole, _ = page(
            "About Helix Desktop", "An agent whose context is kept small, whole, and in sight.", body
        )
        self.setLayout(column(whole))

    def show_about(self, info: AboutInfo) -> None:
        """Show version, places and licences."""
        self._version.setText(f"Version {info.version} · Python {info.python} · Qt {info.qt}")
        self._path = info.data_folder
        self._folder.setText(info.data_folder)
        empty_layout(self._licences)
        for name, terms in info.licences:
            pair = QWidget()
            pair.setLayout(row(label(name), None, label(terms, "faint")))
            self._licences.addWidget(pair)

    def _open_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(Path(self._path))))
