"""Where texts run from right to left, places are mirrored, and words and icons are not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QGuiApplication, QImage, QPainter
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.ui.changes.reverts.merge_dialog import CodeEdit
from helix_desktop.ui.chat.composer.attachment_chips import AttachmentChip
from helix_desktop.ui.design.choice_fields import ComboBox
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout import FlowBox
from helix_desktop.ui.design.mirror import (
    draw_chevron,
    draw_pixmap,
    draw_text,
    keep_left_to_right,
    mirror,
    set_margins,
    turn_back,
)
from helix_desktop.ui.design.style.icons import pixmap
from helix_desktop.ui.design.style.stylesheet import stylesheet
from helix_desktop.ui.design.style.theme import LIGHT
from helix_desktop.ui.design.text_fields import TextArea
from tests.support.window.chips import sample_chip

_SIZE = 120, 20


def _picture(paint: Callable[[QPainter], object], *, is_mirrored: bool = False) -> QImage:
    image = QImage(*_SIZE, QImage.Format.Format_ARGB32)
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    painter.setLayoutDirection(
        Qt.LayoutDirection.RightToLeft if is_mirrored else Qt.LayoutDirection.LeftToRight
    )
    mirror(painter, QRectF(0, 0, *_SIZE))
    paint(painter)
    painter.end()
    return image


def test_places_are_mirrored() -> None:
    image = _picture(
        lambda painter: painter.fillRect(QRectF(0, 0, 30, 20), QColor("black")), is_mirrored=True
    )
    assert [image.pixelColor(x, 10).name() for x in (15, 105)] == ["#ffffff", "#000000"]


@pytest.mark.parametrize("text", ["read_file", "שלום"])
def test_words_stand_at_the_mirrored_place_and_can_be_read(qapp: QGuiApplication, text: str) -> None:
    """They begin where lines begin: at the right end of the mirrored place."""
    left, right = Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignAbsolute
    mirrored = _picture(lambda p: draw_text(p, QRectF(0, 0, 80, 20), left, text), is_mirrored=True)
    plain = _picture(lambda p: p.drawText(QRectF(40, 0, 80, 20), int(right), text))
    assert mirrored == plain


@pytest.mark.parametrize("text", ["read_file", "שלום"])
def test_what_keeps_its_order_begins_at_the_left_in_every_language(qapp: QGuiApplication, text: str) -> None:
    def paint(painter: QPainter) -> None:
        keep_left_to_right(painter)
        painter.drawText(QRectF(0, 0, 120, 20), Qt.AlignmentFlag.AlignLeft, text)

    image = QImage(*_SIZE, QImage.Format.Format_ARGB32)
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    painter.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    paint(painter)
    painter.end()
    assert image == _picture(paint)
    dark = [x for x in range(120) for y in range(20) if image.pixelColor(x, y).lightness() < 128]
    assert max(dark) < 80


@pytest.mark.usefixtures("right_to_left")
@pytest.mark.parametrize("name", ["history", "search", "check", "terminal"])
def test_icons_are_not_mirrored(name: str) -> None:
    icon = pixmap(name, "#000000", 14)
    mirrored = _picture(lambda p: draw_pixmap(p, 0, 3, icon), is_mirrored=True)
    assert mirrored == _picture(lambda p: p.drawPixmap(120 - 14, 3, icon))
    QGuiApplication.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
    assert icon.toImage() == pixmap(name, "#000000", 14).toImage()


@pytest.mark.parametrize("name", ["chevron-right", "undo-2", "panel-right"])
def test_icons_that_point_the_way_of_texts_are_mirrored_with_them(qapp: QGuiApplication, name: str) -> None:
    usual = pixmap(name, "#000000", 14).toImage()
    qapp.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    turned = pixmap(name, "#000000", 14).toImage()
    qapp.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
    assert _rows_of_ink(turned) == [[13 - x for x in reversed(row)] for row in _rows_of_ink(usual)]
    assert _rows_of_ink(turned) != _rows_of_ink(usual)


def _rows_of_ink(image: QImage) -> list[list[int]]:
    """Return the columns of each row of a picture that are painted."""
    return [
        [x for x in range(image.width()) if image.pixelColor(x, y).alpha() > 100]
        for y in range(image.height())
    ]


@pytest.mark.usefixtures("right_to_left")
def test_a_fold_points_where_texts_run() -> None:
    closed = _picture(lambda p: draw_chevron(p, 0, 3, "#000000", 14, is_open=False), is_mirrored=True)
    assert closed == _picture(lambda p: p.drawPixmap(120 - 14, 3, pixmap("chevron-right", "#000000", 14)))


@pytest.mark.usefixtures("right_to_left")
def test_rows_of_widgets_margins_and_labels_begin_at_the_right(qtbot: QtBot) -> None:
    parts = [QWidget(), QWidget(), QWidget()]
    for part in parts:
        part.setFixedSize(30, 20)
    box = FlowBox(parts, right_from=2)
    qtbot.addWidget(box)
    box.resize(200, 20)
    box.show()
    assert [part.x() for part in parts] == [170, 134, 0]
    layout = QHBoxLayout()
    set_margins(layout, 20, 1, 4, 2)
    assert layout.contentsMargins().right() == 20
    path = label("/home/mara")
    qtbot.addWidget(path)
    assert path.alignment() & Qt.AlignmentFlag.AlignRight


def test_what_is_turned_back_reads_from_left_to_right_at_the_mirrored_place() -> None:
    def paint(painter: QPainter) -> None:
        turn_back(painter, QRectF(10, 0, 40, 20))
        painter.fillRect(QRectF(10, 0, 10, 20), Qt.GlobalColor.black)

    picture = _picture(paint, is_mirrored=True)
    dark = [x for x in range(_SIZE[0]) if picture.pixelColor(x, 10) == Qt.GlobalColor.black]
    assert (dark[0], dark[-1]) == (70, 79)


@pytest.mark.usefixtures("right_to_left")
def test_the_button_of_a_chip_stands_where_its_line_ends(qtbot: QtBot) -> None:
    board = QWidget()
    qtbot.addWidget(board)
    chip = AttachmentChip(sample_chip("notes.md", "1.2k", kind="cached"), board)
    chip.fit(400)
    (remove,) = chip.findChildren(QToolButton)
    assert remove.toolTip() == "Remove"
    assert remove.geometry().right() < chip.width() / 2


@pytest.mark.usefixtures("right_to_left")
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


@pytest.mark.usefixtures("right_to_left")
def test_the_chevron_of_a_combo_stands_where_its_line_ends(qtbot: QtBot) -> None:
    combo = ComboBox()
    qtbot.addWidget(combo)
    combo.addItem("a")
    combo.setStyleSheet(stylesheet(LIGHT))
    combo.resize(200, 32)
    image = combo.grab().toImage()
    inside = range(12, 188)
    dark = [x for x in inside if any(image.pixelColor(x, y).lightness() < 140 for y in range(10, 22))]
    assert min(dark) < 30  # the chevron
    assert max(dark) > 170  # the word


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


@pytest.mark.usefixtures("right_to_left")
def test_code_that_is_edited_has_its_scroll_bar_at_the_right(qtbot: QtBot) -> None:
    editor = CodeEdit("Result")
    qtbot.addWidget(editor)
    editor.resize(300, 60)
    editor.setPlainText("value = 1\n" * 20)
    with qtbot.waitExposed(editor):
        editor.show()
    bar = editor.verticalScrollBar()
    assert bar.mapTo(editor, bar.rect().center()).x() > 150
