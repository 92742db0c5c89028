"""The policy's fields: each with its control, its unit, the way back, and its effect on the session."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import cast

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import QFrame, QSizePolicy, QVBoxLayout, QWidget

from helix_desktop.ui.design.buttons import PushButton, Switch
from helix_desktop.ui.design.fields import ComboBox
from helix_desktop.ui.design.form_field import FormField
from helix_desktop.ui.design.labels import label, show_text
from helix_desktop.ui.design.layout.boxes import card, clear_layout, column, row
from helix_desktop.ui.design.layout.disclosure import DisclosureHead
from helix_desktop.ui.design.themed import Themed, retint
from helix_desktop.ui.settings.forms import PolicyField, PolicyForm, PolicyValue, validate_policy_value
from helix_desktop.ui.settings.policy.next_values import near_values, next_value
from helix_desktop.ui.settings.policy.number_field import NumberField
from helix_desktop.words.translation import Translator

tr = Translator("Settings: Policy")
_NUMBER_PX, _CHOICE_PX = 110, 190
_ATTENTION = (QEvent.Type.Enter, QEvent.Type.Leave, QEvent.Type.FocusIn, QEvent.Type.FocusOut)


class PolicyFieldInput(FormField):
    """One field of the policy: its control, its unit, and the way back to what the profile says."""

    changed = Signal(dict)
    attention_changed = Signal()
    """The keyboard or the pointer came to the control or left it, or what it may have next is another."""

    def __init__(self, field: PolicyField) -> None:
        self._field, self._direction = field, 0  # of the last step
        self.control = self._create_control(field)
        self._reset_button = PushButton("", "link", "undo-2", px=13, name="reset")
        self._reset_button.clicked.connect(self._reset)
        trailing = QWidget()
        trailing.setLayout(row(label(field.unit, "faint") if field.unit else None, self._reset_button, gap=6))
        self._effect = label("", "note", wrap=True)
        self._effect.setObjectName(f"effect:{field.key}")
        self._effect.hide()
        super().__init__(field.label, self.control, note=field.note, trailing=trailing, below=self._effect)
        self.control.installEventFilter(self)
        self.show_value(field)

    @property
    def near_values(self) -> tuple[PolicyValue, ...]:
        """Return what it may have next, likeliest first: what is being typed, else the next steps."""
        if isinstance(self.control, NumberField):
            typed = self._typed_value()
            if typed not in (None, self._field.value):
                return (typed,)
        return near_values(self._field, self._direction)

    @property
    def is_pointed_at(self) -> bool:
        """Return True while the pointer rests on the control."""
        return self.control.underMouse()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Notice the keyboard and the pointer; nothing is kept from the control."""
        if watched is self.control and event.type() in _ATTENTION:
            self.attention_changed.emit()
        return super().eventFilter(watched, event)

    def show_value(self, field: PolicyField) -> None:
        """Show another value of the same field; what was typed and can't be used stays, to be corrected."""
        is_other = field.value != self._field.value
        self._field = field
        if self.error_text() and not is_other:
            return
        control = self.control
        control.blockSignals(True)
        if isinstance(control, Switch):
            control.setChecked(bool(field.value))
            control.setText(field.format_value(field.value))
        elif isinstance(control, ComboBox):
            control.setCurrentIndex(control.findData(field.value))
        elif isinstance(control, NumberField) and self._typed_value() != field.value:
            control.setText(field.typed(cast("float", field.value)))
        control.blockSignals(False)
        self._reset_button.setVisible(field.is_changed)
        if field.default is not None:
            default = field.format_value(field.default)
            self._reset_button.setText(default)
            self._reset_button.setToolTip(tr("Reset to profile default ({value})", value=default))
            self._reset_button.setAccessibleName(
                tr("{name}: reset to profile default ({value})", name=field.label, value=default)
            )
        self.show_error("")
        if is_other and (control.hasFocus() or self.is_pointed_at):
            self.attention_changed.emit()

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

    def _create_control(self, field: PolicyField) -> QWidget:
        if isinstance(field.value, bool):
            switch = Switch(field.format_value(field.value), on=field.value)
            switch.setAccessibleName(field.label)
            switch.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)  # its text is one word
            switch.toggled.connect(self._emit)
            return switch
        if isinstance(field.value, str):
            choice = ComboBox(_CHOICE_PX)
            for value, title in field.choices:
                choice.addItem(title, value)
            choice.activated.connect(lambda _: self._emit(choice.currentData()))
            return choice
        number = NumberField(field.typed(field.value))
        number.setMaximumWidth(_NUMBER_PX)
        number.textEdited.connect(self._on_typed)
        number.editingFinished.connect(self._on_edited)
        number.stepped.connect(self._step)
        return number

    def _typed_value(self) -> int | float | None:
        """Return the number in the control; None while it is none that the field can have."""
        text = self.control.text() if isinstance(self.control, NumberField) else ""
        return None if validate_policy_value(self._field, text) else self._field.parse(text)

    def _on_typed(self, text: str) -> None:
        self.show_error(validate_policy_value(self._field, text))
        self.attention_changed.emit()

    def _on_edited(self) -> None:
        value = self._typed_value()
        if value is not None and value != self._field.value:
            self._emit(value)

    def _step(self, direction: int) -> None:
        value = self._typed_value()
        following = next_value(self._field, value, direction) if value is not None else None
        self._direction = direction
        if following is not None:
            self._emit(following)

    def _reset(self) -> None:
        if self._field.default is not None:
            self._emit(self._field.default)

    def _emit(self, value: PolicyValue) -> None:
        self.changed.emit({self._field.key: value})


class AdvancedFields(Themed, QWidget):
    """All fields by mechanism, behind a heading that opens and closes them."""

    changed = Signal(dict)
    """Key and new value of each field that was changed and is valid."""
    opened = Signal(bool)
    near_values_changed = Signal(str, object)
    """Key of the field that the pointer or else the keyboard is at, and what it may have next; or none."""

    def __init__(self) -> None:
        """Start closed, without fields."""
        super().__init__()
        self.head = DisclosureHead(tr("Advanced"), tr("Every number of the policy"))
        self.head.setObjectName("advanced")
        self.head.toggled.connect(self._on_toggled)
        self._body = QWidget()
        self._groups = QVBoxLayout()
        self._groups.setSpacing(12)
        lead = tr("Change a number to see what it does to this session, compared with the profile's own.")
        self._body.setLayout(column(label(lead, "faint", wrap=True), self._groups, gap=10))
        self._body.hide()
        self._inputs: dict[str, PolicyFieldInput] = {}
        self._managed_cards: list[QFrame] = []
        self._near: tuple[str, Sequence[PolicyValue]] = ("", ())
        self.setLayout(column(self.head, self._body, gap=6))

    @property
    def is_open(self) -> bool:
        """Return True if the fields are in sight."""
        return self.head.isChecked()

    def show_form(self, form: PolicyForm) -> None:
        """Show the values of a form; fields that are there already keep the keyboard."""
        if list(self._inputs) != [field.key for field in form.fields]:
            self._build(form)
        for field in form.fields:
            self._inputs[field.key].show_value(field)
        for framed in self._managed_cards:
            framed.setEnabled(form.is_managed)

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
        self.head.setChecked(True)
        wrong.control.setFocus(Qt.FocusReason.ShortcutFocusReason)
        return True

    def show_error(self, key: str, message: str) -> None:
        """Open the fields, and say at one why its value cannot be used."""
        if key in self._inputs:
            self.head.setChecked(True)
            self._inputs[key].show_error(message)

    def _on_attention(self) -> None:
        inputs = self._inputs.items()
        pointed_at = (item for item in inputs if item[1].is_pointed_at)
        focused = next((item for item in inputs if item[1].control.hasFocus()), None)
        near = next(pointed_at, focused)
        key, values = (near[0], near[1].near_values) if near is not None else ("", ())
        if (key, values) != self._near:
            self._near = key, values
            self.near_values_changed.emit(key, values)

    def _on_toggled(self, is_open: bool) -> None:
        self._body.setVisible(is_open)
        self.opened.emit(is_open)

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
                field_input.attention_changed.connect(self._on_attention)
                self._inputs[field.key] = field_input
                body.addWidget(field_input)
            framed = card(body)
            retint(framed, self._theme)
            self._groups.addWidget(framed)
            if not any(field.key == "enabled" for field in group.fields):
                self._managed_cards.append(framed)
