"""Labels of a form stand beside the middle of their controls."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtWidgets import QLabel, QSpinBox, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.ui.design.buttons import Switch
from helix_desktop.ui.design.fields import Combo, TextField
from helix_desktop.ui.design.form_field import FormField


@pytest.mark.parametrize("control", [lambda: TextField("none"), Combo, QSpinBox, lambda: Switch("On")])
def test_a_label_stands_at_the_middle_of_its_control(qtbot: QtBot, control: Callable[[], QWidget]) -> None:
    made = control()
    field = FormField("Name", made, note="What it is for")
    qtbot.addWidget(field)
    with qtbot.waitExposed(field):
        field.show()
    (words,) = (found for found in field.findChildren(QLabel) if found.text() == "Name")
    middle = words.mapTo(field, words.contentsRect().center()).y()
    assert abs(middle - made.geometry().center().y()) <= 1
