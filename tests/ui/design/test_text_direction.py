"""Texts from right to left in controls: a paragraph has the direction of its own letters."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.text_fields import TextArea


def test_all_lines_of_a_paragraph_end_at_the_same_edge(qtbot: QtBot) -> None:
    """The space between two lines takes no room at their beginning."""
    words = label("שורה ארוכה שנשברת לכמה שורות בתוך תווית אחת", wrap=True)
    qtbot.addWidget(words)
    words.resize(120, words.heightForWidth(120))
    image = words.grab().toImage()
    tall = words.fontMetrics().height()
    edges = []
    for top in range(0, image.height() - tall + 1, tall):
        line = image.copy(0, top, image.width(), tall)
        dark = [
            x for x in range(line.width()) for y in range(tall) if line.pixelColor(x, y).lightness() < 128
        ]
        edges.append(max(dark))
    assert len(edges) > 1
    assert max(edges) - min(edges) <= 2
    assert max(edges) >= image.width() - 3


def test_lines_that_are_typed_begin_on_the_side_of_their_first_letter(qtbot: QtBot) -> None:
    field = TextArea()
    qtbot.addWidget(field)
    field.resize(300, 90)
    with qtbot.waitExposed(field):
        field.show()
    for text, begins_at_right in (("שלום, README.md", True), ("12: hello שלום", False), ("", False)):
        field.setPlainText(text)
        assert (field.cursorRect().x() > 150) == begins_at_right
    field.insertPlainText("مرحبا")
    assert field.cursorRect().x() > 150
