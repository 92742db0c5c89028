"""Labels of a form stand beside the middle of their controls."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtWidgets import QLabel, QSpinBox, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.ui.design.buttons import Switch
from helix_desktop.ui.design.fields import ComboBox, TextField
from helix_desktop.ui.design.form_field import FormField, align_labels


@pytest.mark.parametrize("control", [lambda: TextField("none"), ComboBox, QSpinBox, lambda: Switch("On")])
def test_a_label_stands_at_the_middle_of_its_control(qtbot: QtBot, control: Callable[[], QWidget]) -> None:
    widget = control()
    field = FormField("Name", widget, note="What it is for")
    qtbot.addWidget(field)
    with qtbot.waitExposed(field):
        field.show()
    (words,) = (found for found in field.findChildren(QLabel) if found.text() == "Name")
    middle = words.mapTo(field, words.contentsRect().center()).y()
    assert abs(middle - widget.geometry().center().y()) <= 1


def test_a_dialog_gives_its_labels_the_room_of_the_longest(qtbot: QtBot) -> None:
    """A page's column of labels leaves a dialog's choices too little room."""
    fields = align_labels(FormField("Age", ComboBox()), FormField("Maximum size", ComboBox()))
    page = FormField("Age", ComboBox())
    for field in (*fields, page):
        qtbot.addWidget(field)
        field.resize(400, 60)
        field.show()
    starts = [field.findChildren(ComboBox)[0].x() for field in (*fields, page)]
    assert starts[0] == starts[1] < starts[2]
    (words,) = (found for found in fields[1].findChildren(QLabel) if found.text() == "Maximum size")
    assert words.width() >= words.fontMetrics().horizontalAdvance(words.text())
