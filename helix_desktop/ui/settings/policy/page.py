"""The page of the context policy: a profile, and each of its numbers by mechanism."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QFrame, QLineEdit, QRadioButton, QSizePolicy, QVBoxLayout, QWidget

from helix_desktop.domain.user_text import join_sentences
from helix_desktop.ui.design.buttons import PushButton, Switch
from helix_desktop.ui.design.fields import Combo
from helix_desktop.ui.design.form_field import FormField
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import card, clear_layout, column, row
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.themed import Themed, retint
from helix_desktop.ui.design.what_is_this import WhatIsThis
from helix_desktop.ui.settings.forms import (
    PolicyField,
    PolicyForm,
    PolicyValue,
    Profile,
    validate_policy_value,
)
from helix_desktop.ui.settings.page_layout import scrolling_page
from helix_desktop.words.translation import Translator

tr = Translator("Settings: Policy")
_NUMBER_PX, _CHOICE_PX = 110, 190


class ProfileChoice(Themed, QWidget):
    """The profiles, one of which is chosen; each with a sentence that says what it means."""

    profile_selected = Signal(str)
    restore_requested = Signal(str)
    """The profile whose stored changes are to be restored."""

    def __init__(self) -> None:
        """Start without profiles."""
        super().__init__()
        self._group = QButtonGroup(self)
        self._buttons: dict[str, QRadioButton] = {}
        self._restore: dict[str, PushButton] = {}
        self._rows = QVBoxLayout(self)
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._rows.setSpacing(7)
        self.setAccessibleName(tr("Profile"))

    def show_profiles(
        self, profiles: tuple[Profile, ...], selected: str, changed: int, restorable: Mapping[str, int]
    ) -> None:
        """Show these; `changed` says how many numbers differ from the chosen one's.

        `restorable` counts, by profile, the changes that can be restored.
        """
        if list(self._buttons) != [profile.name for profile in profiles]:
            self._build(profiles)
        for profile in profiles:
            name, stored = profile.name, restorable.get(profile.name, 0)
            self._buttons[name].setText(
                tr.plural(
                    changed,
                    "{profile}, with %n change of yours",
                    "{profile}, with %n changes of yours",
                    profile=profile.title,
                )
                if name == selected and changed
                else profile.title
            )
            self._restore[name].setText(" " + tr("Restore my changes ({count})", count=stored))
            self._restore[name].setVisible(bool(stored))
        self._buttons[selected].setChecked(True)

    def button(self, name: str) -> QRadioButton:
        """Return the button of a profile; KeyError when there is none."""
        return self._buttons[name]

    def _build(self, profiles: tuple[Profile, ...]) -> None:
        clear_layout(self._rows)
        self._buttons.clear()
        self._restore.clear()
        for profile in profiles:
            button = QRadioButton(profile.title)
            button.setAccessibleDescription(profile.description)
            button.clicked.connect(lambda _=False, name=profile.name: self.profile_selected.emit(name))
            self._group.addButton(button)
            self._buttons[profile.name] = button
            words = label(profile.description, "faint", wrap=True)
            words.setContentsMargins(25, 0, 0, 0)
            restore = PushButton("", "link", "undo-2", px=13)
            restore.setObjectName(f"restore:{profile.name}")
            restore.setAccessibleName(tr("Restore my changes to {profile}", profile=profile.title))
            restore.setToolTip(tr("Use {profile} with your earlier changes", profile=profile.title))
            restore.clicked.connect(lambda _=False, name=profile.name: self.restore_requested.emit(name))
            restore.tint(self._theme)
            self._restore[profile.name] = restore
            self._rows.addLayout(column(row(button, restore, None, gap=8), words, gap=1))


class PolicyFieldInput(FormField):
    """One field of the policy: its control, its unit, and the way back to what the profile says."""

    changed = Signal(dict)

    def __init__(self, field: PolicyField) -> None:
        self._field = field
        self.control = self._create_control(field)
        self._reset_button = PushButton("", "link", "undo-2", px=13, name="reset")
        self._reset_button.clicked.connect(self._reset)
        trailing = QWidget()
        trailing.setLayout(row(label(field.unit, "faint") if field.unit else None, self._reset_button, gap=6))
        super().__init__(field.label, self.control, note=field.note, trailing=trailing)
        self.show_value(field)

    def show_value(self, field: PolicyField) -> None:
        """Show another value of the same field."""
        self._field = field
        control = self.control
        control.blockSignals(True)
        if isinstance(control, Switch):
            control.setChecked(bool(field.value))
            control.setText(field.format_value(field.value))
        elif isinstance(control, Combo):
            control.setCurrentIndex(control.findData(field.value))
        elif isinstance(control, QLineEdit) and not isinstance(field.value, str):
            is_valid = validate_policy_value(field, control.text()) == ""
            if not is_valid or field.parse(control.text()) != field.value:
                control.setText(field.typed(field.value))
        control.blockSignals(False)
        self._reset_button.setVisible(field.is_changed)
        if field.default is not None:
            default = field.format_value(field.default)
            self._reset_button.setText(f" {default}")
            self._reset_button.setToolTip(tr("Reset to profile default ({value})", value=default))
            self._reset_button.setAccessibleName(
                tr("{name}: reset to profile default ({value})", name=field.label, value=default)
            )
        self.show_error("")

    def _create_control(self, field: PolicyField) -> QWidget:
        if isinstance(field.value, bool):
            switch = Switch(field.format_value(field.value), on=field.value)
            switch.setAccessibleName(field.label)
            switch.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)  # its text is one word
            switch.toggled.connect(self._emit)
            return switch
        if isinstance(field.value, str):
            choice = Combo(_CHOICE_PX)
            for value, title in field.choices:
                choice.addItem(title, value)
            choice.activated.connect(lambda _: self._emit(choice.currentData()))
            return choice
        entry = QLineEdit(field.typed(field.value))
        entry.setMaximumWidth(_NUMBER_PX)
        entry.setAlignment(Qt.AlignmentFlag.AlignRight)
        entry.textEdited.connect(lambda text: self.show_error(validate_policy_value(self._field, text)))
        entry.editingFinished.connect(lambda: self._on_edited(entry.text()))
        return entry

    def _on_edited(self, text: str) -> None:
        if not validate_policy_value(self._field, text):
            value = self._field.parse(text)
            if value != self._field.value:
                self._emit(value)

    def _reset(self) -> None:
        if self._field.default is not None:
            self._emit(self._field.default)

    def _emit(self, value: PolicyValue) -> None:
        self.changed.emit({self._field.key: value})


class PolicyPage(Themed, QWidget):
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
        self.profiles = ProfileChoice()
        self.profiles.profile_selected.connect(self.profile_chosen)
        self.profiles.restore_requested.connect(self.restore_requested)
        self._file_error = label("", "error", wrap=True)
        self._file_card = self._error_card()
        self._groups = QVBoxLayout()
        self._groups.setSpacing(12)
        title = row(label(tr("Profile"), "strong"), None, WhatIsThis("policy"))
        head = card(column(title, self.profiles, margins=(16, 13, 16, 14), gap=9))
        page, self._lead = scrolling_page(
            tr("Context policy"), " ", column(self._file_card, head, 6, self._groups, gap=6)
        )
        self._inputs: dict[str, PolicyFieldInput] = {}
        self._managed_cards: list[QFrame] = []
        self.setLayout(column(page))

    def _error_card(self) -> QFrame:
        open_file, replace = (
            PushButton(tr("Open file"), name="open_file"),
            PushButton(tr("Replace file"), name="replace_file"),
        )
        open_file.clicked.connect(self.open_requested)
        replace.clicked.connect(self.replace_requested)
        replace.setToolTip(tr("Overwrite the file with the policy in use. A copy of the file is kept."))
        note = label(tr("The previous policy stays in use until you fix the file."), "note", wrap=True)
        parts = (self._file_error, note, FlowBox([open_file, replace]))
        framed = card(column(*parts, margins=(16, 13, 16, 14), gap=7))
        framed.setObjectName("policy_file_error")
        framed.hide()
        return framed

    def show_file_error(self, message: str) -> None:
        """Say what is wrong with the policy file; an empty text takes it away."""
        self._file_error.setText(join_sentences(tr("The policy file has an error."), message))
        self._file_card.setVisible(bool(message))

    def show_policy(self, form: PolicyForm) -> None:
        """Show the policy of a workspace; fields that are there already keep the keyboard."""
        self._lead.setText(
            tr(
                "What leaves the context in {workspace}, and when. Changes apply from the next request.",
                workspace=form.workspace,
            )
        )
        changed = sum(field.is_changed for field in form.fields)
        self.profiles.show_profiles(form.profiles, form.profile, changed, form.restorable)
        if list(self._inputs) != [field.key for field in form.fields]:
            self._build(form)
        for field in form.fields:
            self._inputs[field.key].show_value(field)
        for framed in self._managed_cards:
            framed.setEnabled(form.is_managed)

    def control(self, key: str) -> QWidget:
        """Return the control of a field; KeyError when the policy has none of that key."""
        return self._inputs[key].control

    def error_text(self, key: str) -> str:
        """Return what is wrong with a field, or an empty text."""
        return self._inputs[key].error_text()

    def show_error(self, key: str, message: str) -> None:
        """Say at a field why what was typed cannot be taken."""
        if key in self._inputs:
            self._inputs[key].show_error(message)

    def _build(self, form: PolicyForm) -> None:
        clear_layout(self._groups)
        self._inputs.clear()
        self._managed_cards.clear()
        for group in form.groups:
            body = column(label(group.title, "strong"), margins=(16, 13, 16, 14), gap=9)
            if group.lead:
                body.addWidget(label(group.lead, "faint", wrap=True))
            for field in group.fields:
                field_input = PolicyFieldInput(field)
                field_input.changed.connect(self.changed)
                self._inputs[field.key] = field_input
                body.addWidget(field_input)
            framed = card(body)
            retint(framed, self._theme)
            self._groups.addWidget(framed)
            if not any(field.key == "enabled" for field in group.fields):
                self._managed_cards.append(framed)
