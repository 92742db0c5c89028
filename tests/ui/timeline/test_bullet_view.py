"""Sentences of a handover with the words that differ from another one."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QTextLayout
from pytestqt.qtbot import QtBot

from helix_desktop.domain.events.summary import Bullet
from helix_desktop.domain.file_history.line_match import Span
from helix_desktop.ui.timeline.bullet_view import BulletView

_TEXT = "Run `make test` for **every**  block."


@pytest.mark.parametrize(
    ("marks", "shown", "marked"),
    [
        (((30, 35),), "Run make test for every block.", ["block"]),
        (((5, 9), (20, 29)), "Run make test for every block.", ["make", "every"]),
        (((4, 5), (14, 15)), "Run `make test` for **every** block.", ["`", "`"]),
    ],
    ids=["behind", "inside", "only markup differs"],
)
def test_marks_stay_on_their_words_where_markup_is_drawn(
    qtbot: QtBot, marks: tuple[Span, ...], shown: str, marked: list[str]
) -> None:
    view = BulletView(Bullet(_TEXT), marks=marks)
    qtbot.addWidget(view)
    view.resize(600, view.heightForWidth(600))
    assert view.accessibleName() == shown
    (layout,) = (part for part in vars(view).values() if isinstance(part, QTextLayout))
    underlined = [part for part in layout.formats() if part.format.fontUnderline()]
    assert [shown[part.start : part.start + part.length] for part in underlined] == marked
