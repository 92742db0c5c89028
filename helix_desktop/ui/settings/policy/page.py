"""The page of the context policy: a slider, the session replayed under it, and the numbers of its story."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QLineEdit, QWidget

from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.form_field import FormField
from helix_desktop.ui.design.labels import label, show_text
from helix_desktop.ui.design.layout.boxes import card, clear_layout, column, row
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.layout.responsive_row import ResponsiveRow
from helix_desktop.ui.design.themed import Themed, retint
from helix_desktop.ui.settings.forms import PolicyField, PolicyForm, validate_policy_value
from helix_desktop.ui.settings.page_layout import scrolling_page
from helix_desktop.ui.settings.policy.apply_bar import ApplyBar, PolicyUse
from helix_desktop.ui.settings.policy.replay_card import ReplayCard
from helix_desktop.ui.settings.policy.slider import PolicySlider
from helix_desktop.words.translation import Translator

tr = Translator("Settings: Policy")

_NUMBER_PX = 110


class PolicyFieldInput(FormField):
    """One number of the policy: its field, its unit, and the way back to what the profile says."""

    changed = Signal(dict)

    def __init__(self, field: PolicyField) -> None:
        self._field = field
        self.control = self._create_control(field)
        self._reset_button = PushButton("", "link", "undo-2", px=13, name="reset")
        self._reset_button.clicked.connect(self._reset)
        trailing = QWidget()
        trailing.setLayout(row(label(field.unit, "faint") if field.unit else None, self._reset_button, gap=6))
        self._effect = label("", "note", wrap=True)
        self._effect.setObjectName(f"effect:{field.key}")
        self._effect.hide()
        super().__init__(field.label, self.control, trailing=trailing, below=self._effect)
        self.show_value(field)

    def show_value(self, field: PolicyField) -> None:
        """Show another value of the same field; what was typed and can't be used stays, to be corrected."""
        is_other = field.value != self._field.value
        self._field = field
        if self.error_text() and not is_other:
            return
        if self._typed_value() != field.value:
            self.control.setText(field.typed(field.value))
        self._reset_button.setVisible(field.is_changed)
        if field.default is not None:
            default = field.format_value(field.default)
            self._reset_button.setText(default)
            self._reset_button.setToolTip(tr("Reset to profile default ({value})", value=default))
            self._reset_button.setAccessibleName(
                tr("{name}: reset to profile default ({value})", name=field.label, value=default)
            )
        self.show_error("")

    def drop_typed(self) -> None:
        """Show the value of the policy in place of one that can't be used."""
        self.show_error("")
        self.show_value(self._field)

    def try_again(self) -> None:
        """Ask for what was typed once more: a change of another field may have ended the conflict."""
        value = self._typed_value() if self.error_text() else None
        if value is not None:
            self._emit(value)

    def show_effect(self, effect: str) -> None:
        """Say what the field does to the session on screen; an empty text removes it."""
        show_text(self._effect, effect)

    def _create_control(self, field: PolicyField) -> QLineEdit:
        number = QLineEdit(field.typed(field.value))
        number.setAlignment(Qt.AlignmentFlag.AlignRight)
        number.setMaximumWidth(_NUMBER_PX)
        number.setToolTip(field.note)
        number.setAccessibleDescription(field.note)
        number.textEdited.connect(self._on_typed)
        number.editingFinished.connect(self._on_edited)
        return number

    def _typed_value(self) -> int | float | None:
        """Return the number in the control; None while it is none that the field can have."""
        text = self.control.text()
        return None if validate_policy_value(self._field, text) else self._field.parse(text)

    def _on_typed(self, text: str) -> None:
        self.show_error(validate_policy_value(self._field, text))

    def _on_edited(self) -> None:
        value = self._typed_value()
        if value is not None and value != self._field.value:
            self._emit(value)

    def _reset(self) -> None:
        if self._field.default is not None:
            self._emit(self._field.default)

    def _emit(self, value: float) -> None:
        self.changed.emit({self._field.key: value})


class PolicyFields(Themed, QWidget):
    """The fields, a card for each group."""

    changed = Signal(dict)
    """Key and new value of each field that was changed and is valid."""

    def __init__(self) -> None:
        """Start without fields."""
        super().__init__()
        self._groups = column(gap=12)
        self._inputs: dict[str, PolicyFieldInput] = {}
        self.setLayout(self._groups)

    def show_form(self, form: PolicyForm) -> None:
        """Show the values of a form; fields that are there already keep the keyboard."""
        if list(self._inputs) != [field.key for field in form.fields]:
            self._build(form)
        for field in form.fields:
            self._inputs[field.key].show_value(field)
        self.setEnabled(form.profile != "off")

    def show_effects(self, effects: Mapping[str, str]) -> None:
        """Say at each field what it does to the session; fields without a text say nothing."""
        for key, field_input in self._inputs.items():
            field_input.show_effect(effects.get(key, ""))

    def field_input(self, key: str) -> PolicyFieldInput:
        """Return the input of a field; KeyError when the policy has none of that key."""
        return self._inputs[key]

    def drop_typed(self) -> None:
        """Show the policy's values in place of those that can't be used."""
        for field_input in self._inputs.values():
            field_input.drop_typed()

    def try_again(self, changed: Collection[str]) -> None:
        """Ask once more for what was typed elsewhere than in the `changed` fields and couldn't be used."""
        for key, field_input in self._inputs.items():
            if key not in changed:
                field_input.try_again()

    def focus_error(self) -> bool:
        """Put the keyboard into the first field whose value can't be used; return False if all can."""
        wrong = next((field_input for field_input in self._inputs.values() if field_input.error_text()), None)
        if wrong is None:
            return False
        wrong.control.setFocus(Qt.FocusReason.ShortcutFocusReason)
        return True

    def show_error(self, key: str, message: str) -> None:
        """Say at a field why its value cannot be used."""
        if key in self._inputs:
            self._inputs[key].show_error(message)

    def _build(self, form: PolicyForm) -> None:
        clear_layout(self._groups)
        self._inputs.clear()
        for group in form.groups:
            body = column(label(group.title, "strong"), margins=(16, 13, 16, 14), gap=9)
            for field in group.fields:
                field_input = PolicyFieldInput(field)
                field_input.changed.connect(self.changed)
                self._inputs[field.key] = field_input
                body.addWidget(field_input)
            framed = card(body)
            retint(framed, self._theme)
            self._groups.addWidget(framed)


class PolicyPage(Themed, QWidget):
    """The context policy of a session and its workspace: previewed here, then applied or discarded."""

    open_requested = Signal()
    """The policy file is to be opened in an editor."""
    replace_requested = Signal()
    """The policy file is to be replaced by the policy in use."""
    visibility_changed = Signal(bool)

    def __init__(self) -> None:
        """Start without a policy."""
        super().__init__()
        self.slider, self.replay_card = PolicySlider(), ReplayCard()
        self.fields, self.apply_bar = PolicyFields(), ApplyBar(self.slider.track)
        self._file_error = label("", "error", wrap=True)
        self._file_card = self._error_card()
        open_file = PushButton(
            tr("Open policy.toml"), "link", "external-link", px=13, name="open_policy_file"
        )
        open_file.setToolTip(tr("All numbers of the policy. They count as soon as the file is saved."))
        open_file.clicked.connect(self.open_requested)
        words = label(tr("These numbers change most. The file has all of them."), "faint", wrap=True)
        file_row = ResponsiveRow(words, [open_file])
        head = card(column(self.slider, margins=(16, 13, 16, 14)))
        self._of_workspace = QWidget()
        self._of_workspace.setLayout(
            column(self._file_card, head, self.replay_card, file_row, self.fields, gap=12)
        )
        page, self._lead = scrolling_page(tr("Context policy"), " ", column(self._of_workspace))
        self.setLayout(column(page, self.apply_bar, gap=0))
        self.show_no_workspace()

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

    def show_no_workspace(self) -> None:
        """Offer nothing: each workspace has a policy of its own."""
        self._lead.setText(tr("Open a workspace to see its policy."))
        for part in (self._of_workspace, self.apply_bar):
            part.hide()

    def show_policy(self, form: PolicyForm, use: PolicyUse) -> None:
        """Show a policy, and where it is or may be in use."""
        self._lead.setText(
            tr(
                "What leaves the context in {workspace}, and when. Changes apply from the next request.",
                workspace=form.workspace_name,
            )
        )
        self.slider.show_form(form)
        self.fields.show_form(form)
        self.apply_bar.show_use(use)
        for part in (self._of_workspace, self.apply_bar):
            part.show()

    def control(self, key: str) -> QWidget:
        """Return the control of a field; KeyError when the policy has none of that key."""
        return self.fields.field_input(key).control

    def error_text(self, key: str) -> str:
        """Return what is wrong with a field, or an empty text."""
        return self.fields.field_input(key).error_text()

    def showEvent(self, event: QShowEvent) -> None:
        """Say that the page is in sight: only then sessions are replayed."""
        super().showEvent(event)
        self.visibility_changed.emit(True)

    def hideEvent(self, event: QHideEvent) -> None:
        """Say that the page is out of sight."""
        super().hideEvent(event)
        self.visibility_changed.emit(False)
