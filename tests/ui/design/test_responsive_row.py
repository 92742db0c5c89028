"""What stands beside a text, or below it."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtWidgets import QLabel, QPushButton
from pytestqt.qtbot import QtBot

from helix_desktop.ui.design.labels import SelectableText
from helix_desktop.ui.design.layout.responsive_row import ResponsiveRow

SENTENCE = "Compacted as observations 2 · \N{MINUS SIGN}22.9k tokens · context above the threshold"


def _boxes(line: ResponsiveRow, width: int) -> list[QRect]:
    line.resize(width, line.heightForWidth(width))
    line.show()
    others = line.findChildren(QPushButton)
    return [QRect(part.mapTo(line, part.rect().topLeft()), part.size()) for part in others]


def test_a_text_that_would_wrap_in_a_narrow_rest_has_the_whole_width(qtbot: QtBot) -> None:
    """A label that wraps asks for little; that is no reason to break it into five lines."""
    words, undo = SelectableText(SENTENCE), QPushButton("Undo")
    line = ResponsiveRow(words, [QLabel("9 minutes ago"), undo])
    qtbot.addWidget(line)
    (box,) = _boxes(line, 300)
    assert words.width() == 300
    assert box.top() >= words.geometry().bottom()
    (box,) = _boxes(line, 900)
    assert box.top() <= words.geometry().bottom()


def test_it_makes_room_for_a_part_that_grows_on_screen(qtbot: QtBot) -> None:
    """Sizes are measured once; what changes is measured again."""
    undo = QPushButton("Undo")
    line = ResponsiveRow(SelectableText("Handover 3"), [QLabel("now"), undo], least_px=100)
    qtbot.addWidget(line)
    with qtbot.waitExposed(line):
        _boxes(line, 300)
    height, label = line.heightForWidth(300), undo.text()
    undo.setText("Undo this handover and the two before it")
    qtbot.waitUntil(lambda: line.heightForWidth(300) > height and undo.width() == undo.sizeHint().width())
    undo.setText(label)
    qtbot.waitUntil(lambda: line.heightForWidth(300) == height and undo.width() == undo.sizeHint().width())


@pytest.mark.parametrize("width", [300, 900])
def test_a_corner_ends_the_first_line_at_every_width(qtbot: QtBot, width: int) -> None:
    """It never stands alone in a line of its own."""
    words, more = SelectableText(SENTENCE), QPushButton("…")
    line = ResponsiveRow(words, [QPushButton("Compare…"), QPushButton("Undo")], corner=more)
    qtbot.addWidget(line)
    _boxes(line, width)
    assert more.geometry().right() == width - 1
    assert more.geometry().intersects(QRect(0, words.y(), width, words.height()))
    assert not more.geometry().intersects(words.geometry())


def test_what_stands_beside_it_is_mirrored(qtbot: QtBot) -> None:
    words, more = SelectableText("Handover 3"), QPushButton("…")
    line = ResponsiveRow(words, [QPushButton("Undo")], corner=more)
    line.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    qtbot.addWidget(line)
    _boxes(line, 600)
    assert more.geometry().left() == 0
    assert words.geometry().right() == 599
