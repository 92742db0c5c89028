"""The page of the context policy: a profile, and each of its numbers by mechanism."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QFrame, QLineEdit, QRadioButton, QVBoxLayout, QWidget

from helix_desktop.ui.field import Field
from helix_desktop.ui.settings.form import page
from helix_desktop.ui.settings.rows import PolicyField, PolicyForm, PolicyValue, Profile, policy_fault
from helix_desktop.ui.theme import LIGHT, Theme
from helix_desktop.ui.widgets import Combo, PushButton, Switch, card, column, empty_layout, label, retint, row

_NUMBER_PX = 110


class ProfileChoice(QWidget):
    """The profiles, one of which is chosen; each with a sentence that says what it means."""

    chosen = Signal(str)
    restore_requested = Signal(str)
    """The profile whose stored changes are to be restored."""

    def __init__(self) -> None:
        """Start without profiles."""
        super().__init__()
        self._group = QButtonGroup(self)
        self._buttons: dict[str, QRadioButton] = {}
        self._restore: dict[str, PushButton] = {}
        self._theme = LIGHT
        self._rows = QVBoxLayout(self)
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._rows.setSpacing(7)
        self.setAccessibleName("Profile")

    def show_profiles(
        self, profiles: tuple[Profile, ...], chosen: str, changed: int, restorable: Mapping[str, int]
    ) -> None:
        """Show these; `changed` says how many numbers differ from the chosen one's.

        `restorable` counts, by profile, the changes that can be restored.
        """
        if list(self._buttons) != [one.name for one in profiles]:
            self._make(profiles)
        for name, button in self._buttons.items():
            own = ""
            if name == chosen and changed:
                own = f", with {changed} change{'s' if changed != 1 else ''} of your own"
            button.setText(f"{name.capitalize()}{own}")
            stored = restorable.get(name, 0)
            self._restore[name].setText(f" Restore my changes ({stored})")
            self._restore[name].setVisible(bool(stored))
        self._buttons[chosen].setChecked(True)

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme for buttons that come later."""
        self._theme = theme

    def button(self, name: str) -> QRadioButton:
        """The button of a profile; KeyError when there is none."""
        return self._buttons[name]

    def _make(self, profiles: tuple[Profile, ...]) -> None:
        empty_layout(self._rows)
        self._buttons.clear()
        self._restore.clear()
        for one in profiles:
            button = QRadioButton(one.name.capitalize())
            button.setAccessibleDescription(one.sentence)
            button.clicked.connect(lambda _=False, name=one.name: self.chosen.emit(name))
            self._group.addButton(button)
            self._buttons[one.name] = button
            words = label(one.sentence, "faint", wrap=True)
            words.setContentsMargins(25, 0, 0, 0)
            restore = PushButton("", "link", "undo-2", px=13)
            restore.setObjectName(f"restore:{one.name}")
            restore.setAccessibleName(f"Restore my changes to {one.name.capitalize()}")
            restore.setToolTip(f"Use {one.name.capitalize()} with the values you had set there")
            restore.clicked.connect(lambda _=False, name=one.name: self.restore_requested.emit(name))
            restore.tint(self._theme)
            self._restore[one.name] = restore
            self._rows.addLayout(column(row(button, restore, None, gap=8), words, gap=1))


class PolicyInput(Field):
    """One field of the policy: its control, its unit, and the way back to what the profile says."""

    changed = Signal(dict)

    def __init__(self, field: PolicyField) -> None:
        self._field = field
        self.control = self._make(field)
        self._back = PushButton("", "link", "undo-2", px=13)
        self._back.clicked.connect(self._reset)
        beside = QWidget()
        beside.setLayout(row(label(field.unit, "faint") if field.unit else None, self._back, gap=6))
        super().__init__(field.label, self.control, note=field.note, beside=beside)
        self.show_value(field)

    def show_value(self, field: PolicyField) -> None:
        """Show another value of the same field."""
        self._field = field
        control = self.control
        control.blockSignals(True)
        if isinstance(control, Switch):
            control.setChecked(bool(field.value))
            control.setText("On" if field.value else "Off")
        elif isinstance(control, Combo):
            control.setCurrentText(str(field.value))
        elif isinstance(control, QLineEdit) and policy_fault(field, control.text()) == "":
            if field.value_of(control.text()) != field.value:
                control.setText(field.text(field.value))
        elif isinstance(control, QLineEdit):
            control.setText(field.text(field.value))
        control.blockSignals(False)
        self._back.setVisible(field.changed)
        if field.usual is not None:
            self._back.setText(f" {field.text(field.usual)}")
            self._back.setToolTip(f"The profile says {field.text(field.usual)}: back to it")
            self._back.setAccessibleName(f"{field.label}: back to {field.text(field.usual)}")
        self.show_fault("")

    def _make(self, field: PolicyField) -> QWidget:
        if isinstance(field.value, bool):
            switch = Switch("On" if field.value else "Off", on=field.value)
            switch.setAccessibleName(field.label)
            switch.setMaximumWidth(_NUMBER_PX)
            switch.toggled.connect(self._emit)
            return switch
        if field.choices:
            choice = Combo()
            choice.setMaximumWidth(_NUMBER_PX + 30)
            choice.addItems(list(field.choices))
            choice.textActivated.connect(self._emit)
            return choice
        entry = QLineEdit(field.text(field.value))
        entry.setMaximumWidth(_NUMBER_PX)
        entry.setAlignment(Qt.AlignmentFlag.AlignRight)
        entry.textEdited.connect(lambda text: self.show_fault(policy_fault(self._field, text)))
        entry.editingFinished.connect(lambda: self._typed(entry.text()))
        return entry

    def _typed(self, text: str) -> None:
        if not policy_fault(self._field, text):
            value = self._field.value_of(text)
            if value != self._field.value:
                self._emit(value)

    def _reset(self) -> None:
        if self._field.usual is not None:
            self._emit(self._field.usual)

    def _emit(self, value: PolicyValue) -> None:
        self.changed.emit({self._field.key: value})


class PolicyPage(QWidget):
    """The context policy of a workspace."""

    profile_chosen = Signal(str)
    restore_requested = Signal(str)
    """The profile whose stored changes are to be restored."""
    open_requested = Signal()
    """The policy file is to be opened in an editor."""
    replace_requested = Signal()
    """The policy file is to be replaced by the policy in use."""
    changed = Signal(dict)
    """Key and new value of each field that was changed and is valid."""

    def __init__(self) -> None:
        """Start without a policy."""
        super().__init__()
        self._theme = LIGHT
        self.profiles = ProfileChoice()
        self.profiles.chosen.connect(self.profile_chosen)
        self.profiles.restore_requested.connect(self.restore_requested)
        self._file_error = label("", "error", wrap=True)
        self._file_card = self._error_card()
        self._groups = QVBoxLayout()
        self._groups.setSpacing(12)
        head = card(column(label("Profile", "strong"), self.profiles, margins=(16, 13, 16, 14), gap=9))
        whole, self._lead = page("Context policy", " ", column(self._file_card, head, 6, self._groups, gap=6))
        self._inputs: dict[str, PolicyInput] = {}
        self._managed: list[QFrame] = []
        self.setLayout(column(whole))

    def _error_card(self) -> QFrame:
        open_file, replace = PushButton("Open file"), PushButton("Replace file")
        open_file.clicked.connect(self.open_requested)
        replace.clicked.connect(self.replace_requested)
        replace.setToolTip("Write the policy in use to the file; a copy of the file is kept beside it")
        note = label("The previous policy stays in use until you fix the file.", "note", wrap=True)
        parts = (self._file_error, note, row(open_file, replace, None, gap=6))
        framed = card(column(*parts, margins=(16, 13, 16, 14), gap=7))
        framed.setObjectName("policy_file_error")
        framed.hide()
        return framed

    def show_file_error(self, why: str) -> None:
        """Say what is wrong with the policy file; an empty text takes it away."""
        self._file_error.setText(f"The policy file has an error. {why}")
        self._file_card.setVisible(bool(why))

    def show_policy(self, form: PolicyForm) -> None:
        """Show the policy of a workspace; fields that are there already keep the keyboard."""
        self._lead.setText(
            f"What leaves the window of {form.workspace}, and when. Applies from the next request on."
        )
        changed = sum(field.changed for field in form.fields)
        self.profiles.show_profiles(form.profiles, form.profile, changed, form.restorable)
        if list(self._inputs) != [field.key for field in form.fields]:
            self._make(form)
        for field in form.fields:
            self._inputs[field.key].show_value(field)
        for framed in self._managed:
            framed.setEnabled(form.managed)

    def input(self, key: str) -> QWidget:
        """The control of a field; KeyError when the policy has none of that key."""
        return self._inputs[key].control

    def fault(self, key: str) -> str:
        """What is wrong with a field, or an empty text."""
        return self._inputs[key].fault()

    def refuse(self, key: str, why: str) -> None:
        """Say at a field why what was typed cannot be taken."""
        if key in self._inputs:
            self._inputs[key].show_fault(why)

    def tint(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self._theme = theme

    def _make(self, form: PolicyForm) -> None:
        empty_layout(self._groups)
        self._inputs.clear()
        self._managed.clear()
        for group in form.groups:
            body = column(label(group.title, "strong"), margins=(16, 13, 16, 14), gap=9)
            if group.lead:
                body.addWidget(label(group.lead, "faint", wrap=True))
            for field in group.fields:
                shown = PolicyInput(field)
                shown.changed.connect(self.changed)
                self._inputs[field.key] = shown
                body.addWidget(shown)
            framed = card(body)
            retint(framed, self._theme)
            self._groups.addWidget(framed)
            if not any(field.key == "enabled" for field in group.fields):
                self._managed.append(framed)
