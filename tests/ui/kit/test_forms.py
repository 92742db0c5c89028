"""A form shows values and changes them; nothing in it moves when something is said at a field."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QSpinBox, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.design.buttons import Switch
from helix_desktop.ui.design.choice_fields import ComboBox
from helix_desktop.ui.design.text_fields import TextField
from helix_desktop.ui.kit.forms import (
    Choice,
    Draft,
    FieldRow,
    Form,
    Group,
    Line,
    Lines,
    Segments,
    Toggle,
    align_labels,
    find_fields,
)

text = TextContext("Test")


def whole_number(typed: str) -> int:
    try:
        number = int(typed)
    except ValueError:
        raise ValueError("Enter a whole number, without a unit and without a sign before it.") from None
    if number > 100:
        raise ValueError("Enter a number up to 100.")
    return number


FIELDS = (
    Segments("theme", text("Theme"), choices=(("light", text("Light")), ("dark", text("Dark")))),
    Line("count", text("Count"), unit=text("steps"), room=1, parse=whole_number, width_px=90),
    Toggle("notify", text("Notifications"), words=text("Notify me")),
    Toggle("sound", needs="notify", words=text("Play a sound")),
    Group(text("Limits"), (
        Choice("size", text("Largest file"), text("Larger ones can't be undone."), choices=((1, "1 MB"),)),
        Lines("names", text("Names"), live=True),
    )),
)  # fmt: skip


@pytest.fixture
def form(qtbot: QtBot) -> Form:
    values = {"theme": "dark", "count": 7, "notify": True, "sound": False, "size": 5, "names": "a\nb"}
    made = Form(FIELDS, Draft(values))
    qtbot.addWidget(made)
    made.resize(520, 460)
    with qtbot.waitExposed(made):
        made.show()
    return made


def positions(form: Form) -> dict[str, tuple[int, int, int]]:
    places = {name: row.mapTo(form, row.rect().topLeft()) for name, row in form.rows.items()}
    return {name: (place.x(), place.y(), form.rows[name].height()) for name, place in places.items()}


def line(form: Form, name: str) -> QLineEdit:
    """The control of a field that is typed into."""
    control = form.controls[name]
    assert isinstance(control, QLineEdit)
    return control


def test_a_form_shows_values_as_they_are_whoever_changed_them(form: Form) -> None:
    size = form.controls["size"]
    sound = form.controls["sound"]
    assert isinstance(size, ComboBox)
    assert (line(form, "count").text(), size.currentText()) == ("7", "5"), (
        "a value that is no choice is shown too"
    )
    form.values.set("count", 9)
    form.values.set("notify", False)
    assert line(form, "count").text() == "9"
    assert not sound.isEnabled()


def test_what_is_typed_is_written_when_the_user_is_done(form: Form) -> None:
    count = line(form, "count")
    count.selectAll()
    QTest.keyClicks(count, "12")
    assert form.values.get("count") == 7
    QTest.keyClick(count, Qt.Key.Key_Return)
    assert form.values.get("count") == 12


def test_no_field_moves_when_an_error_appears_or_a_long_note(form: Form, qtbot: QtBot) -> None:
    """A long error is cut where there is no room for it; the tooltip and a screen reader have all of it."""
    before = positions(form)
    count = line(form, "count")
    count.selectAll()
    QTest.keyClicks(count, "many")
    why = "Enter a whole number, without a unit and without a sign before it."
    assert form.errors() == {"count": why}
    QTest.qWait(0)
    assert positions(form) == before
    below = next(part for part in form.rows["count"].findChildren(QLabel) if part.property("role") == "error")
    assert (below.toolTip(), below.accessibleName()) == (why, why)
    assert count.accessibleDescription() == why
    form.resize(700, 460)
    assert not below.toolTip(), "there is room for all of it"
    form.values.set("count", 8)
    assert form.errors() == {}
    form.resize(520, 460)
    form.rows["count"].show_note(
        "A note of more words than there is room for in a window that is as narrow as this"
    )
    QTest.qWait(0)
    assert positions(form) == before


def test_a_refused_number_stays_to_be_corrected(form: Form) -> None:
    count = line(form, "count")
    count.selectAll()
    QTest.keyClicks(count, "101")
    QTest.keyClick(count, Qt.Key.Key_Return)
    assert (form.errors(), count.text()) == ({"count": "Enter a number up to 100."}, "101")
    assert form.values.get("count") == 7
    assert form.focus_error()
    form.refresh()
    assert (form.errors(), count.text()) == ({}, "7")
    assert not form.focus_error()


def test_a_screen_reader_hears_label_and_note(form: Form) -> None:
    size = QAccessible.queryAccessibleInterface(form.controls["size"])
    labels = [part for part, relation in size.relations() if relation == QAccessible.RelationFlag.Label]
    assert [part.text(QAccessible.Text.Name) for part in labels] == ["Largest file"]
    assert size.text(QAccessible.Text.Description) == "Larger ones can't be undone."
    assert form.rows["notify"].accessibleName() == "Notifications"


def test_tab_goes_through_the_fields_in_their_order(form: Form, qtbot: QtBot) -> None:
    form.activateWindow()
    qtbot.waitUntil(form.isActiveWindow)
    form.show_field("theme")
    seen = []
    for _ in range(6):
        focused = form.focusWidget()
        seen.append(next(name for name, row in reversed(form.rows.items()) if row.isAncestorOf(focused)))
        QTest.keyClick(focused, Qt.Key.Key_Tab)
    assert seen == ["theme", "count", "notify", "sound", "size", "names"]


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("sound", ["sound"]),
        ("undone", ["size"]),
        ("limits", ["size", "names"]),
        ("DARK theme", ["theme"]),
        (" ", []),
    ],
)
def test_fields_are_found_by_their_words(typed: str, names: list[str]) -> None:
    """By label, note, choices, unit, and the title of their group; all that is typed has to be there."""
    assert [field.name for field in find_fields(FIELDS, typed)] == names


@pytest.mark.parametrize("control", [lambda: TextField("none"), ComboBox, QSpinBox, lambda: Switch("On")])
def test_a_label_stands_at_the_middle_of_its_control(qtbot: QtBot, control: Callable[[], QWidget]) -> None:
    widget = control()
    field = FieldRow("Name", widget, note="What it is for")
    qtbot.addWidget(field)
    with qtbot.waitExposed(field):
        field.show()
    (words,) = (found for found in field.findChildren(QLabel) if found.text() == "Name")
    middle = words.mapTo(field, words.contentsRect().center()).y()
    assert abs(middle - widget.geometry().center().y()) <= 1


def test_a_dialog_gives_its_labels_the_room_of_the_longest(qtbot: QtBot) -> None:
    """A page's column of labels leaves a dialog's choices too little room."""
    fields = align_labels(FieldRow("Age", ComboBox()), FieldRow("Maximum size", ComboBox()))
    page = FieldRow("Age", ComboBox())
    for field in (*fields, page):
        qtbot.addWidget(field)
        field.resize(400, 60)
        field.show()
    starts = [field.findChildren(ComboBox)[0].x() for field in (*fields, page)]
    assert starts[0] == starts[1] < starts[2]
    (words,) = (found for found in fields[1].findChildren(QLabel) if found.text() == "Maximum size")
    assert words.width() >= words.fontMetrics().horizontalAdvance(words.text())
