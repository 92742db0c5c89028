"""Forms: fields that name a value, and the values, which are read, watched and written in one place.

A page or a dialog declares a table of fields; `Form` shows it over any `Values`. No field moves when a note
or an error appears: below each control that can have one there is room for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QMargins,
    QObject,
    QRect,
    QSignalBlocker,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QButtonGroup, QFrame, QLineEdit, QScrollArea, QSizePolicy, QWidget

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.buttons import SWITCH_TEXT_X, PushButton, Switch
from helix_desktop.ui.design.cards import Disclosure
from helix_desktop.ui.design.choice_fields import ComboBox
from helix_desktop.ui.design.labels import WrappedLabel, label
from helix_desktop.ui.design.layout import card, column, pane, row
from helix_desktop.ui.design.style.theme import restyle
from helix_desktop.ui.design.text_fields import TextArea
from helix_desktop.words.translation import error_text, translate

_text = TextContext("Forms")

_LABEL_PX = 190  # of the label's column on a page
_SHORT_LABEL_PX = 72  # the least of that column in a dialog
_LABEL_GAP_PX = 12  # from the longest label of a dialog to the controls, besides the gap that every field has
_TOP_PX = 6  # above the label beside a high control
_MANY_LINES = 3  # lines of text; a control that is higher is a high one
_LIST_PX = 140
_INDENT_PX = 24
_UNLIMITED_PX = 10_000
_MARK_MS = 3_000  # how long a field that was searched for stays marked
_RING_MARGINS = QMargins(9, 5, 9, 5)


class Values(QObject):
    """What a form edits, by name: the app's settings, a record of a workspace, what a dialog asks for."""

    changed = Signal(str)
    """A value is another one now, whoever changed it."""
    refused = Signal(str, str)
    """A value that was to be set can't be, and why: found out after `set`."""

    def get(self, name: str) -> Any:
        raise NotImplementedError

    def set(self, name: str, value: Any) -> None:
        """Change a value. Raises InvalidInput, or ValueError with a sentence, for one that can't be."""
        raise NotImplementedError

    def follow(self, name: str, use: Callable[[Any], object]) -> None:
        self.changed.connect(lambda changed: use(self.get(name)) if changed == name else None)
        use(self.get(name))


class Draft(Values):
    """Values that are stored nowhere yet: those of a dialog or an editor."""

    def __init__(self, values: Mapping[str, Any], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.values = dict(values)

    def get(self, name: str) -> Any:
        return self.values[name]

    def set(self, name: str, value: Any) -> None:
        if self.values[name] != value:
            self.values[name] = value
            self.changed.emit(name)


class Field(msgspec.Struct, frozen=True):
    """One value with its words. Without a label it stands below the field before it.

    `needs` names a value that must be on for the field to be enabled. `room` is the number of lines that stay
    free below the control for what is said there later. All texts are translated where they are shown.
    """

    name: str
    label: str = ""
    note: str = ""
    needs: str = ""
    unit: str = ""
    room: int = 0
    is_inside: bool = False
    """It belongs to the switch above it, in a form without labels."""
    is_beside: bool = False
    """What is said of it stands beside the control, in `room` lines, not below."""

    def make(self, form: Form) -> QWidget:
        raise NotImplementedError

    def show(self, control: Any, value: Any) -> None:
        raise NotImplementedError

    def beside(self, form: Form) -> QWidget | None:
        """Return what stands beside the control: its unit, and perhaps what is said of it."""
        unit = label(translate(self.unit), "faint") if self.unit else None
        if not self.is_beside:
            return unit
        below = _Below(translate(self.note), self.room, Qt.AlignmentFlag.AlignVCenter)
        said = pane(row(unit or 0, below, gap=6, stretch=1))
        said.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        return said

    def texts(self) -> tuple[str, ...]:
        return (self.label, self.note, self.unit)


class Toggle(Field, frozen=True):
    words: str = ""

    def make(self, form: Form) -> QWidget:
        switch = Switch(translate(self.words or self.label))
        switch.toggled.connect(lambda on: form.write(self.name, on))
        return switch

    def show(self, control: Any, value: Any) -> None:
        control.setChecked(bool(value))
        control.update()

    def texts(self) -> tuple[str, ...]:
        return (*Field.texts(self), self.words)


Choices = Sequence[tuple[Any, str]]


class Choice(Field, frozen=True):
    """One of several: a list of values with their words. `format` words a value that is none of them."""

    choices: Choices | Callable[[], Choices] = ()
    format: Callable[[Any], str] = str

    def all_choices(self) -> Choices:
        return self.choices() if callable(self.choices) else self.choices

    def make(self, form: Form) -> QWidget:
        box = ComboBox(_LIST_PX)
        self.fill(box)
        box.activated.connect(lambda _: form.write(self.name, box.currentData()))
        return box

    def fill(self, box: ComboBox) -> None:
        box.clear()
        for value, words in self.all_choices():
            box.addItem(translate(words), value)

    def show(self, control: Any, value: Any) -> None:
        if callable(self.choices):
            self.fill(control)
        if control.findData(value) < 0:
            control.addItem(self.format(value), value)
        control.setCurrentIndex(control.findData(value))

    def texts(self) -> tuple[str, ...]:
        fixed = () if callable(self.choices) else self.choices
        return (*Field.texts(self), *(words for _, words in fixed))


class Segments(Choice, frozen=True):
    """One of very few: buttons side by side, radio buttons for screen readers."""

    def make(self, form: Form) -> QWidget:
        frame = QFrame()
        group = QButtonGroup(form)
        frame.setProperty("role", "segments")
        inside = row(margins=(3, 3, 3, 3), gap=2)
        for value, words in self.all_choices():
            button = PushButton(translate(words), "segment", name=f"{self.name}:{value}")
            button.setCheckable(True)
            button.setAutoExclusive(True)
            button.clicked.connect(lambda _=False, value=value: form.write(self.name, value))
            group.addButton(button)
            inside.addWidget(button)
        frame.setLayout(inside)
        holder = QFrame()  # a group of its own for screen readers
        holder.setLayout(row(frame, None))
        return holder

    def show(self, control: Any, value: Any) -> None:
        for button in control.findChildren(PushButton):
            button.setChecked(button.objectName() == f"{self.name}:{value}")


class Line(Field, frozen=True, kw_only=True):
    """A line of text. What is typed is written when the user leaves it; `live`: with each letter.

    `parse` makes the value of the text, and raises ValueError with a sentence about one that is none.
    """

    parse: Callable[[str], Any] = str
    format: Callable[[Any], str] = str
    placeholder: str = ""
    live: bool = False
    secret: bool = False
    width_px: int = 0

    def read(self, text: str) -> Any:
        """Return the value of a typed text. Raises ValueError with a sentence about one that is none."""
        return self.parse(text)

    def typed(self, value: Any) -> str:
        return self.format(value)

    def make(self, form: Form) -> QWidget:
        line = QLineEdit()
        line.setPlaceholderText(translate(self.placeholder))
        if self.secret:
            line.setEchoMode(QLineEdit.EchoMode.Password)
        if self.width_px:
            line.setMaximumWidth(self.width_px)
            line.setAlignment(Qt.AlignmentFlag.AlignRight)
        line.textEdited.connect(lambda text: form.type(self.name, text, is_done=self.live))
        if not self.live:
            line.editingFinished.connect(lambda: form.type(self.name, line.text(), is_done=True))
        return line

    def show(self, control: Any, value: Any) -> None:
        try:
            is_shown = self.read(control.text()) == value and (control.text() or not value)
        except ValueError:
            is_shown = False
        if not is_shown:  # else "1.50" would become "1.5" under the cursor
            control.setText(self.typed(value))
            control.setCursorPosition(0)


class Lines(Line, frozen=True, kw_only=True):
    """A text of several lines, `height_px` high."""

    height_px: int = 84

    def make(self, form: Form) -> QWidget:
        area = TextArea(placeholder=translate(self.placeholder), height_px=self.height_px)
        area.textChanged.connect(lambda: form.type(self.name, area.toPlainText(), is_done=self.live))
        return area

    def show(self, control: Any, value: Any) -> None:
        words = self.typed(value)
        if control.toPlainText() != words:
            control.setPlainText(words)


class ShownLines(Field, frozen=True, kw_only=True):
    """A list of lines that a link shows; it is changed in a file."""

    link: str
    height_px: int = 180
    hint: str = ""
    """Stands below the lines."""

    def make(self, form: Form) -> QWidget:
        opener = PushButton(translate(self.link), "link", name=f"open:{self.name}")
        area = TextArea(words=translate(self.label), height_px=self.height_px)
        area.setObjectName(f"lines:{self.name}")
        area.setReadOnly(True)
        lines = pane(column(area, _Below(translate(self.hint), 2), gap=6))
        lines.hide()
        opener.clicked.connect(lambda: lines.setVisible(lines.isHidden()))
        whole = QFrame()  # a group of its own for screen readers
        whole.setLayout(column(row(opener, None), lines, gap=4))
        return whole

    def show(self, control: Any, value: Any) -> None:
        words = "\n".join(sorted(value))
        area = control.findChild(TextArea)
        if area.toPlainText() != words:
            area.setPlainText(words)

    def texts(self) -> tuple[str, ...]:
        return (*Field.texts(self), self.link, self.hint)


class CustomField(Field, frozen=True, kw_only=True):
    """A value with a control of its own kind."""

    control: Callable[[Form], QWidget]
    display: Callable[[Any, Any], object] = lambda control, value: None

    def make(self, form: Form) -> QWidget:
        return self.control(form)

    def show(self, control: Any, value: Any) -> None:
        self.display(control, value)


class Group(msgspec.Struct, frozen=True):
    title: str
    fields: Sequence[Field]


Fields = Sequence[Field | Group]


def _with_groups(fields: Fields) -> list[tuple[Field, str]]:
    parts = (part if isinstance(part, Group) else Group("", (part,)) for part in fields)
    return [(field, part.title) for part in parts for field in part.fields]


def all_fields(fields: Fields) -> list[Field]:
    return [field for field, _ in _with_groups(fields)]


def find_fields(fields: Fields, typed: str) -> list[Field]:
    words = typed.casefold().split()
    found = []
    for field, title in _with_groups(fields):
        text = " ".join(translate(own) for own in (title, *field.texts())).casefold()
        if words and all(word in text for word in words):
            found.append(field)
    return found


class _Below(WrappedLabel):
    """What is said below a control; as high as its note and as `room` lines, whatever it says now."""

    def __init__(self, note: str, room: int, place: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignTop) -> None:
        self._reserved = note
        self._room = room
        self._words = note
        self.note = note
        super().__init__(note)
        self.setProperty("role", "faint")
        self.setMinimumWidth(40)
        self.setAlignment((self.alignment() & Qt.AlignmentFlag.AlignHorizontal_Mask) | place)

    def say(self, words: str) -> None:
        """Say something; what there is no room for is in the tooltip."""
        self._words = words
        self._fit()

    def text(self) -> str:
        return self._words

    def _measure(self, words: str, width: int) -> int:
        flags = Qt.TextFlag.TextWordWrap | Qt.TextFlag.TextWrapAnywhere
        room = QRect(0, 0, max(1, width), 10_000)
        return self.fontMetrics().boundingRect(room, flags, words).height() if words else 0

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return max(self._measure(self._reserved, width), self._room * self.fontMetrics().lineSpacing())

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self.heightForWidth(max(self.width(), 40)))

    def minimumSizeHint(self) -> QSize:
        return QSize(40, self._room * self.fontMetrics().lineSpacing())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        shown = self._words
        room = self.heightForWidth(self.width())
        if self._measure(shown, self.width()) > room:
            low = 0
            high = len(self._words)
            while low < high:
                middle = (low + high + 1) // 2
                fits = self._measure(f"{self._words[:middle]}…", self.width()) <= room
                low, high = (middle, high) if fits else (low, middle - 1)
            shown = f"{self._words[:low].rstrip()}…"
        if shown != super().text():
            self.setText(shown)
        self.setAccessibleName(self._words)
        self.setToolTip(self._words if shown != self._words else "")


class FieldRow(QWidget):
    def __init__(
        self,
        name: str,
        control: QWidget,
        *,
        note: str = "",
        room: int = 0,
        trailing: QWidget | None = None,
        is_labeled: bool = True,
        indent_px: int = 0,
    ) -> None:
        """`trailing` stands beside the control. `room` lines stay free below it for what is said later."""
        super().__init__()
        self.control = control
        self.error = ""
        places = [place.findChild(_Below) for place in (control, trailing) if place is not None]
        own = next(filter(None, places), None)
        self._below = own or _Below(note, room)
        if not (note or room or own):
            self._below.hide()  # never shown here: without a parent it would be a window
        self._words = label(name, "muted", wrap=True)
        self._words.setFixedWidth(_LABEL_PX)
        if not is_labeled:
            self._words.hide()
        self._words.setBuddy(control)
        if name and not control.accessibleName():
            control.setAccessibleName(name)
        self._description = control.accessibleDescription()
        control.setAccessibleDescription(self._description or note)
        self._body = column(self._line(control, trailing), gap=3)
        if isinstance(control, Switch) and not is_labeled:
            self._below.setContentsMargins(SWITCH_TEXT_X, 0, 0, 0)
        if own is None:
            self._body.addWidget(self._below)
        across = row(self._words, self._body, margins=(indent_px, 0, 0, 0), gap=6, top=[self._words])
        across.setStretch(1, 1)
        self.setLayout(across)

    @staticmethod
    def _line(control: QWidget, trailing: QWidget | None) -> Any:
        line = row(control, gap=6)
        horizontal = control.sizePolicy().horizontalPolicy()
        fills = trailing is not None and trailing.findChild(_Below) is not None
        is_narrow = control.maximumWidth() < _UNLIMITED_PX or horizontal == QSizePolicy.Policy.Maximum
        line.setStretch(0, 0 if is_narrow or fills else 1)
        if trailing is not None:
            line.addWidget(trailing, int(fills))
        if is_narrow and not fills:
            line.addStretch(1)
        return line

    def own_area(self) -> QRect:
        """Return where label, control and note are, without the fields that have joined."""
        last = self.control if self._below.isHidden() else self._below
        bottom = last.mapTo(self, last.rect().bottomLeft()).y()
        return self.rect().adjusted(0, 0, 0, bottom - self.rect().bottom())

    def join(self, other: QWidget, indent: int) -> None:
        self._body.addSpacing(3)
        self._body.addLayout(row(other, margins=(indent, 0, 0, 0)))
        self.setAccessibleName(self._words.text())

    def label_width(self) -> int:
        return self._words.fontMetrics().horizontalAdvance(self._words.text())

    def event(self, event: QEvent) -> bool:
        if event.type() in {QEvent.Type.Show, QEvent.Type.LayoutRequest}:
            text = self._words.fontMetrics().height()
            room = self.control.sizeHint().height()
            above = _TOP_PX if room > _MANY_LINES * text else max(0, room - text) // 2
            self._words.setContentsMargins(0, above, 0, _TOP_PX)
        return super().event(event)

    def show_error(self, message: str) -> None:
        """Mark the control as wrong and say why; an empty text takes the mark away."""
        if message and message != self.error:
            announce(self.control, message)
        self.error = message
        restyle(self.control, "invalid", bool(message))
        restyle(self._below, "role", "error" if message else "faint")
        self._below.say(message or self._below.note)
        self.control.setAccessibleDescription(message or self._description or self._below.note)

    def show_note(self, note: str) -> None:
        """Say something else below the control, where there is no error."""
        self._below.note = note
        if not self.error:
            self._below.say(note)
            self.control.setAccessibleDescription(self._description or note)

    def note_text(self) -> str:
        return self._below.text()


def align_labels(*rows: FieldRow) -> tuple[FieldRow, ...]:
    """Give the labels of a dialog's fields the width of the longest one; return the fields.

    A page of settings has one column of labels for all its cards: dialogs are too narrow for that.
    """
    width = max(field.label_width() for field in rows) + _LABEL_GAP_PX
    for field in rows:
        field._words.setFixedWidth(max(_SHORT_LABEL_PX, min(width, _LABEL_PX)))
    return rows


def _open_around(place: QWidget) -> None:
    """Open what a control is folded in, with its layout done."""
    parent = place.parentWidget()
    while parent is not None:
        if isinstance(parent, Disclosure) and not parent.head.isChecked():
            parent.head.setChecked(True)
            QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
        parent = parent.parentWidget()


def show_control(control: QWidget, line: QWidget | None = None, *, is_marked: bool = False) -> None:
    """Bring a control into sight, with all of `line` around it, and give it the keyboard.

    `is_marked`: it stands in a ring for a moment, for an eye that searches it.
    """
    place = line or control
    _open_around(place)
    parts = (control, *control.findChildren(QWidget))
    tab_stops = (part for part in parts if part.focusPolicy() & Qt.FocusPolicy.TabFocus)
    target = next((part for part in tab_stops if part.isVisibleTo(control)), control)
    parent = control.parentWidget()
    while parent is not None:
        if isinstance(parent, QScrollArea):
            parent.ensureWidgetVisible(place, 0, 40)
            page = parent.widget()
            if is_marked and page is not None and place.isVisible():
                ring = QFrame(page)
                ring.setObjectName("found_ring")
                ring.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
                area = line.own_area() if isinstance(line, FieldRow) else place.rect()
                ring.setGeometry(QRect(place.mapTo(page, area.topLeft()), area.size()) + _RING_MARGINS)
                ring.show()
                QTimer.singleShot(_MARK_MS, ring, ring.deleteLater)
        parent = parent.parentWidget()
    target.setFocus(Qt.FocusReason.ShortcutFocusReason)


class Form(QWidget):
    edited = Signal(str)
    """The user typed or chose something in a field; it may not be usable."""

    def __init__(
        self, fields: Fields, values: Values, *, labels: bool = True, is_dialog: bool = False, gap: int = 14
    ) -> None:
        """Without `labels` controls begin at the left edge. In a dialog labels take what they need."""
        super().__init__()
        self.values = values
        self.table = fields
        self.fields = {field.name: field for field in all_fields(fields)}
        self.group_titles = {field.name: translate(title) for field, title in _with_groups(fields) if title}
        self.controls: dict[str, QWidget] = {}
        self.rows: dict[str, FieldRow] = {}
        self.trailing: dict[str, QWidget] = {}
        """What stands beside the controls."""
        body = column(gap=gap)
        for part in fields:
            if isinstance(part, Group):
                inside = column(label(translate(part.title), "strong"), 9, margins=(16, 13, 16, 14), gap=0)
                for field, line in zip(part.fields, self._make_rows(part.fields, labels), strict=True):
                    inside.addWidget(line)
                    inside.addSpacing(6 if field.room and not field.note else 9)  # its room is a gap as well
                body.addWidget(card(inside))
            else:
                for line in self._make_rows([part], labels):
                    body.addWidget(line)
        self.setLayout(body)
        if is_dialog:
            align_labels(*(line for line in self.rows.values() if line.label_width()))
        self.refresh()
        values.changed.connect(self._show)
        values.refused.connect(self._refuse)

    def _make_rows(self, fields: Iterable[Field], labels: bool) -> list[FieldRow]:
        """Return the rows of some fields; one without a label joins the row before it."""
        rows = []
        for field in fields:
            control = field.make(self)
            name = field.name
            control.setObjectName(control.objectName() or name)
            trailing = field.beside(self)
            is_labeled = labels and bool(field.label)
            line = FieldRow(
                translate(field.label), control, note=translate(field.note), room=field.room,
                trailing=trailing, is_labeled=is_labeled, indent_px=SWITCH_TEXT_X if field.is_inside else 0,
            )  # fmt: skip
            self.controls[name] = control
            self.rows[name] = line
            if trailing is not None:
                self.trailing[name] = trailing
            if is_labeled:
                self._last = line
            if is_labeled or not labels:
                rows.append(line)
            else:
                self._last.join(line, _INDENT_PX if field.needs else 0)
        return rows

    def write(self, name: str, value: Any) -> None:
        """Write what the user chose; what can't be is said at the field."""
        try:
            self.values.set(name, value)
        except InvalidInput as error:
            self._refuse(name, error_text(error))
        except ValueError as error:
            self._refuse(name, str(error))
        else:
            self.show_error(name, "")
        self.edited.emit(name)

    def _refuse(self, name: str, why: str) -> None:
        if name not in self.fields:
            return
        if isinstance(self.fields[name], Toggle | Choice):  # what is typed stays, to be corrected
            self._show(name)
        self.show_error(name, why)

    def type(self, name: str, text: str, *, is_done: bool) -> None:
        """Say whether a typed text can be used; write its value once the user is done."""
        field = self.fields[name]
        assert isinstance(field, Line)
        try:
            value = field.read(text)
        except ValueError as error:
            self.show_error(name, str(error))
            self.edited.emit(name)
            return
        self.show_error(name, "")
        if is_done and value != self.values.get(name):
            self.write(name, value)
        else:
            self.edited.emit(name)

    def line(self, name: str) -> QLineEdit:
        control = self.controls[name]
        assert isinstance(control, QLineEdit)
        return control

    def show_error(self, name: str, why: str) -> None:
        """Say at a field why its value can't be used; empty: it can."""
        self.rows[name].show_error(why)

    def errors(self) -> dict[str, str]:
        return {name: line.error for name, line in self.rows.items() if line.error}

    def focus_error(self) -> bool:
        """Put the keyboard into the first field whose value can't be used; return False if all can."""
        for name in self.errors():
            self.show_field(name)
            return True
        return False

    def show_field(self, name: str, *, is_marked: bool = False) -> None:
        """Bring a field into sight and give it the keyboard; the switch that it needs, while that is off."""
        line = self.rows[name]
        control = self.controls[name]
        if not control.isEnabled():
            control = self.controls.get(self.fields[name].needs, control)
        show_control(control, line, is_marked=is_marked)

    def field_title(self, name: str) -> str:
        """Return what a field is called where it stands alone: its label, or its own words."""
        field = self.fields[name]
        return next((translate(words) for words in (field.label, *field.texts()[3:]) if words), name)

    def retry(self, name: str) -> None:
        """Write once more what was typed and refused: another value may have ended the conflict."""
        control = self.controls[name]
        if isinstance(control, QLineEdit):
            self.type(name, control.text(), is_done=True)

    def refresh(self) -> None:
        """Show all values as they are now, in place of what was typed and can't be used."""
        for name in self.fields:
            self._show(name)

    def _show(self, name: str) -> None:
        if name in self.fields:
            control = self.controls[name]
            blockers = [QSignalBlocker(part) for part in (control, *control.findChildren(QWidget))]
            self.fields[name].show(control, self.values.get(name))
            del blockers
            self.show_error(name, "")
        for field in self.fields.values():
            if field.needs and name in (field.needs, field.name):
                self.controls[field.name].setEnabled(bool(self.values.get(field.needs)))
