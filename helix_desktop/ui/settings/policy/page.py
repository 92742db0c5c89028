"""The page of the context policy: a slider, the session replayed under it, and all numbers by mechanism."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain, zip_longest
from math import ceil, floor, log10
from typing import cast

from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QHideEvent, QKeyEvent, QPainter, QPaintEvent, QPen, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QAbstractButton, QFrame, QLineEdit, QSizePolicy, QVBoxLayout, QWidget

from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.ui.design.buttons import PushButton, Switch
from helix_desktop.ui.design.fields import ComboBox
from helix_desktop.ui.design.form_field import FormField
from helix_desktop.ui.design.labels import label, show_text
from helix_desktop.ui.design.layout.boxes import card, clear_layout, column, row
from helix_desktop.ui.design.layout.disclosure import DisclosureHead
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.themed import Themed, retint
from helix_desktop.ui.settings.forms import PolicyField, PolicyForm, PolicyValue, validate_policy_value
from helix_desktop.ui.settings.page_layout import scrolling_page
from helix_desktop.ui.settings.policy.apply_bar import ApplyBar, PolicyUse
from helix_desktop.ui.settings.policy.replay_card import ReplayCard
from helix_desktop.ui.settings.policy.slider import PolicySlider
from helix_desktop.words.translation import Translator

tr = Translator("Settings: Policy")

_STEPS_EACH_WAY = 3
_PARTS = 8  # a step is about so small a part of a number


def next_value(field: PolicyField, value: float, direction: int) -> int | float | None:
    """Return the next round value above (1) or below (-1) a number; None at the end of what is allowed."""
    scale = 100 if field.is_percent else 1
    number = round(value * scale, 6)
    step = field.step or (1 if field.is_percent else _round_step(max(number, _default(field))))
    steps = floor(number / step) + 1 if direction > 0 else ceil(number / step) - 1
    following = min(max(steps * step, field.minimum * scale), field.maximum * scale)
    return field.parse(str(following)) if (following - number) * direction > 0 else None


def near_values(field: PolicyField, direction: int = 0) -> tuple[PolicyValue, ...]:
    """Return what a field may be changed to next, likeliest first.

    The last step went in a `direction`, and the next one probably does too; 0: there was none.
    """
    if isinstance(field.value, bool):
        return (not field.value,)
    if isinstance(field.value, str):
        return tuple(value for value, _ in field.choices if value != field.value)
    ways = [_steps(field, field.value, way) for way in (direction or 1, -direction or -1)]
    in_turns = chain(*ways) if direction else chain.from_iterable(zip_longest(*ways))
    return tuple(value for value in in_turns if value is not None)


def _steps(field: PolicyField, value: float, direction: int) -> tuple[int | float, ...]:
    """Return the next values in a direction."""
    values: list[int | float] = []
    while len(values) < _STEPS_EACH_WAY:
        following = next_value(field, values[-1] if values else value, direction)
        if following is None:
            break
        values.append(following)
    return tuple(values)


def _default(field: PolicyField) -> float:
    return field.default if isinstance(field.default, int | float) else 0


def _round_step(number: float) -> int:
    """Return 1, 2 or 5 times a power of ten: at most an eighth of a number, and at least 1."""
    max_step = max(number / _PARTS, 1)
    power: int = 10 ** floor(log10(max_step))
    return next(factor * power for factor in (5, 2, 1) if factor * power <= max_step)


_ARROW_PX = 18  # the width of the arrows
_INSET_PX = 2  # between them and the field's outline
_DIRECTIONS = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}


class _StepArrow(Themed, QAbstractButton):
    """Half of the end of a number field; it goes on as long as it is pressed, and takes no keyboard."""

    def __init__(self, field: QWidget, direction: int) -> None:
        super().__init__(field)
        self._direction = direction
        self.setAutoRepeat(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self.setAccessibleName(tr("Increase") if direction > 0 else tr("Decrease"))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the arrow, on a background of its own below the mouse."""
        theme, painter = self._theme, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.isEnabled() and self.underMouse():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.border_strong if self.isDown() else theme.border))
            painter.drawRoundedRect(QRectF(self.rect()), 3, 3)
        color = QColor(theme.muted if self.isEnabled() else theme.faint)
        painter.setPen(QPen(color, 1.4, c=Qt.PenCapStyle.RoundCap, j=Qt.PenJoinStyle.RoundJoin))
        x, y, rise = self.width() / 2, self.height() / 2, 1.5 * self._direction
        painter.drawPolyline([QPointF(x - 3, y + rise), QPointF(x, y - rise), QPointF(x + 3, y + rise)])


class NumberField(QLineEdit):
    """A line edit with two arrows at its end; the Up and Down keys do the same."""

    stepped = Signal(int)
    """1: to the next number above, -1: below."""

    def __init__(self, text: str) -> None:
        """Start with a text."""
        super().__init__(text)
        self.setAlignment(Qt.AlignmentFlag.AlignRight)
        self._arrows = [_StepArrow(self, direction) for direction in (1, -1)]
        for arrow, direction in zip(self._arrows, (1, -1), strict=True):
            arrow.clicked.connect(lambda _, direction=direction: self.stepped.emit(direction))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the arrows at the end of the line, one above the other."""
        super().resizeEvent(event)
        width, half = scaled(_ARROW_PX), (self.height() - 2 * _INSET_PX) // 2
        is_mirrored = self.isRightToLeft()
        left = _INSET_PX if is_mirrored else self.width() - width - _INSET_PX
        for place, arrow in enumerate(self._arrows):
            arrow.setGeometry(left, _INSET_PX + place * half, width, half)
        margin = width - _INSET_PX
        self.setTextMargins(margin if is_mirrored else 0, 0, 0 if is_mirrored else margin, 0)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go to the next number with Up and Down."""
        direction = _DIRECTIONS.get(Qt.Key(event.key()), 0)
        if direction and event.modifiers() in (
            Qt.KeyboardModifier.NoModifier,
            Qt.KeyboardModifier.KeypadModifier,
        ):
            self.stepped.emit(direction)
        else:
            super().keyPressEvent(event)


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
        self.advanced, self.apply_bar = AdvancedFields(), ApplyBar(self.slider.track)
        self._file_error = label("", "error", wrap=True)
        self._file_card = self._error_card()
        head = card(column(self.slider, margins=(16, 13, 16, 14)))
        page, self._lead = scrolling_page(
            tr("Context policy"),
            " ",
            column(self._file_card, head, self.replay_card, self.advanced, gap=12),
        )
        self.setLayout(column(page, self.apply_bar, gap=0))

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

    def show_policy(self, form: PolicyForm, use: PolicyUse) -> None:
        """Show a policy, and where it is or may be in use."""
        self._lead.setText(
            tr(
                "What leaves the context in {workspace}, and when. Changes apply from the next request.",
                workspace=form.workspace_name,
            )
        )
        self.slider.show_form(form)
        self.advanced.show_form(form)
        self.apply_bar.show_use(use)

    def control(self, key: str) -> QWidget:
        """Return the control of a field; KeyError when the policy has none of that key."""
        return self.advanced.field_input(key).control

    def error_text(self, key: str) -> str:
        """Return what is wrong with a field, or an empty text."""
        return self.advanced.field_input(key).error_text()

    def showEvent(self, event: QShowEvent) -> None:
        """Say that the page is in sight: only then sessions are replayed."""
        super().showEvent(event)
        self.visibility_changed.emit(True)

    def hideEvent(self, event: QHideEvent) -> None:
        """Say that the page is out of sight."""
        super().hideEvent(event)
        self.visibility_changed.emit(False)
