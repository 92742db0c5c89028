"""Dialogs: one way to ask, report and pick, and no larger than the screen."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Literal, TypeVar

import pytest
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QLineEdit, QMessageBox, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.app.window_frame import set_application_identity
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.ui.design.dialogs import (
    DialogChoice,
    ErrorDialog,
    QuestionDialog,
    TextInputDialog,
    ask,
    get_text,
    pick_folder,
    pick_save_file,
    show_error_dialog,
)
from helix_desktop.ui.design.layout import column
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.ui.design.style.stylesheet import Appearance
from helix_desktop.ui.design.style.theme import DARK, LIGHT
from tests.support.window.buttons import find_button
from tests.support.window.window_rig import until

CHOICES = (DialogChoice("keep", "Keep"), DialogChoice("drop", "Drop", "danger"))


Dialog = TypeVar("Dialog", bound=QWidget)


async def opened(parent: QWidget, kind: type[Dialog]) -> Dialog:
    while True:
        for child in parent.findChildren(kind):
            if child.isVisible():
                return child
        await asyncio.sleep(0)


@pytest.fixture
def parent(qtbot: QtBot) -> QWidget:
    widget = QWidget()
    qtbot.addWidget(widget)
    with qtbot.waitExposed(widget):
        widget.show()
    return widget


@pytest.mark.parametrize(("kind", "answer"), [("primary", "do"), ("danger", "no"), ("", "no")])
def test_the_primary_answer_has_the_keyboard_and_else_the_first(
    qtbot: QtBot, parent: QWidget, kind: Literal["", "primary", "danger"], answer: str
) -> None:
    question = QuestionDialog(
        parent, "Do it?", "", (DialogChoice("no", "No"), DialogChoice("do", "Do", kind))
    )
    qtbot.addWidget(question)
    with qtbot.waitExposed(question):
        question.show()
    assert question.focusWidget() is find_button(question, answer)


@pytest.mark.qt_loop
async def test_esc_returns_no_answer(qtbot: QtBot, parent: QWidget) -> None:
    async with asyncio.TaskGroup() as tasks:
        answer = tasks.create_task(ask(parent, "Remove it?", "", CHOICES))
        QTest.keyClick(await opened(parent, QuestionDialog), Qt.Key.Key_Escape)

    assert answer.result() == ""


def _notices(app: QApplication) -> list[ErrorDialog]:
    return [widget for widget in app.topLevelWidgets() if isinstance(widget, ErrorDialog)]


@pytest.mark.qt_loop
@pytest.mark.parametrize("mode", ["light", "dark"])
async def test_an_error_dialog_matches_the_other_dialogs_and_cuts_no_text(
    qapp: QApplication, mode: Literal["light", "dark"]
) -> None:
    name = "/somewhere/" + "aNameWithoutABreak" * 8 + ".helix"
    error = HelixError(
        verbatim(f"{name} is not a file."), verbatim("It was moved."), verbatim("Look for it.")
    )
    set_application_identity(qapp)  # without it, closing the last window stops the loop
    appearance = Appearance(qapp, mode)
    appearance.apply_stylesheet()
    async with asyncio.TaskGroup() as tasks:
        read = tasks.create_task(show_error_dialog(error, appearance))
        await until(lambda: [notice for notice in _notices(qapp) if notice.isVisible()], "the notice")
        (notice,) = _notices(qapp)
        words = [label for label in notice.findChildren(QLabel) if label.text()]
        assert [label.text() for label in words] == [error.what, "It was moved.\n\nLook for it."]
        assert [label.accessibleName() for label in words] == [error.what, ""]
        for label in words:
            assert label.minimumSizeHint().width() <= label.width(), "cut at the right"
            assert label.heightForWidth(label.width()) <= label.height(), "cut below"
        background = notice.grab().toImage().pixelColor(3, 3).name()
        assert background == {"light": LIGHT, "dark": DARK}[mode].canvas.lower()
        assert not read.done()
        QTest.keyClick(notice, Qt.Key.Key_Return)


@pytest.mark.qt_loop
async def test_a_canceled_question_leaves_the_screen(qtbot: QtBot, parent: QWidget) -> None:
    async with asyncio.TaskGroup() as tasks:
        answer = tasks.create_task(ask(parent, "Remove it?", "", CHOICES))
        await opened(parent, QuestionDialog)
        answer.cancel()
        await asyncio.wait([answer])

    assert not any(dialog.isVisible() for dialog in parent.findChildren(QuestionDialog))


@pytest.mark.qt_loop
async def test_text_is_stripped_and_never_empty(qtbot: QtBot, parent: QWidget) -> None:
    async with asyncio.TaskGroup() as tasks:
        name = tasks.create_task(get_text(parent, "Rename", "Old", "Rename"))
        dialog = await opened(parent, TextInputDialog)
        accept = find_button(dialog, "accept")
        dialog.field.setText("   ")
        assert not accept.isEnabled()
        dialog.field.setText(" New ")
        QTest.keyClick(dialog.field, Qt.Key.Key_Return)

    assert name.result() == "New"


@pytest.mark.qt_loop
async def test_a_file_dialog_that_warns_can_be_ended_from_outside(
    qtbot: QtBot, parent: QWidget, tmp_path: Path
) -> None:
    async with asyncio.TaskGroup() as tasks:
        picked = tasks.create_task(pick_folder(parent, "Open folder", tmp_path))
        dialog = await opened(parent, QFileDialog)
        gone: list[str] = []
        dialog.destroyed.connect(lambda: gone.append("dialog"))
        dialog.findChildren(QLineEdit)[0].setText("no such folder")
        QTimer.singleShot(0, dialog.accept)  # as a click does: Qt warns in an event loop of its own
        warning = await opened(dialog, QMessageBox)
        warning.destroyed.connect(lambda: gone.append("warning"))
        del warning, dialog
        picked.cancel()
        async with asyncio.timeout(300):
            while not gone[1:]:  # noqa: ASYNC110 - Qt deletes it when its own loop has ended
                await asyncio.sleep(0)

    assert picked.cancelled()
    assert gone == ["warning", "dialog"]


@pytest.mark.qt_loop
async def test_a_file_is_saved_at_home_first_and_then_in_the_last_folder(
    qtbot: QtBot, parent: QWidget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    other = tmp_path / "other"
    home.mkdir()
    other.mkdir()
    monkeypatch.setattr(Path, "home", lambda: home)
    folders: list[Path] = []
    for _ in range(2):
        async with asyncio.TaskGroup() as tasks:
            picked = tasks.create_task(pick_save_file(parent, "Save", "notes.md"))
            dialog = await opened(parent, QFileDialog)
            folders.append(Path(dialog.directory().absolutePath()))
            dialog.selectFile(str(other / "notes.md"))
            dialog.accept()
        assert picked.result() == other / "notes.md"

    assert folders == [home, other]


@pytest.mark.qt_loop
async def test_a_file_is_not_replaced_unasked_where_its_ending_is_added(
    parent: QWidget, tmp_path: Path
) -> None:
    existing = tmp_path / "notes 1.2.md"
    existing.touch()
    async with asyncio.TaskGroup() as tasks:
        picked = tasks.create_task(pick_save_file(parent, "Save", "notes.md", ".md"))
        dialog = await opened(parent, QFileDialog)
        assert dialog.defaultSuffix() == "md"
        dialog.selectFile(str(tmp_path / "notes 1.2"))
        dialog.accept()
        again = await opened(parent, QFileDialog)
        assert again is not dialog
        assert again.selectedFiles() == [str(existing)]
        again.reject()
    assert picked.result() is None


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter])
def test_enter_presses_the_button_with_the_keyboard_and_no_other(
    qtbot: QtBot, parent: QWidget, key: Qt.Key
) -> None:
    for choice in CHOICES:
        question = QuestionDialog(parent, "Remove it?", "Its data is kept.", CHOICES)
        qtbot.addWidget(question)
        with qtbot.waitExposed(question):
            question.show()
        QTest.keyClick(question, key)
        assert question.isVisible(), "Enter answers nothing by itself"
        button = find_button(question, choice.id)
        button.setFocus()
        QTest.keyClick(button, key)
        assert not question.isVisible()
        assert question.answer == choice.id


def test_enter_on_cancel_cancels_despite_a_default_button(qtbot: QtBot, parent: QWidget) -> None:
    question = TextInputDialog(parent, "Name?", "text", "Rename")
    qtbot.addWidget(question)
    with qtbot.waitExposed(question):
        question.show()
    cancel = find_button(question, "cancel")
    cancel.setFocus()
    with qtbot.waitSignal(question.rejected):
        QTest.keyClick(cancel, Qt.Key.Key_Return)


def test_a_dialog_opens_no_larger_than_its_screen(qtbot: QtBot) -> None:
    """Else its buttons would be out of reach."""
    parent = QWidget()
    qtbot.addWidget(parent)
    screen = parent.screen().availableSize()
    dialog = SizedDialog(parent, "Dialog", (400, screen.height() + 200), (300, 200))
    with qtbot.waitExposed(dialog):
        dialog.show()
    assert dialog.height() <= screen.height()
    assert dialog.width() == 400
    dialog.close()


def test_it_shrinks_from_its_own_height_and_grows_from_any(qtbot: QtBot) -> None:
    """A height that the user chose stays as long as everything fits; the middle, if the screen allows."""
    parent = QWidget()
    qtbot.addWidget(parent)
    dialog = SizedDialog(parent, "Dialog", (300, 400), (200, 100))
    with qtbot.waitExposed(dialog):
        dialog.show()
    dialog.move(100, 100)
    dialog.fit_height(200)
    assert (dialog.y(), dialog.height()) == (200, 200)
    dialog.resize(300, 300)
    dialog.fit_height(200)
    assert (dialog.y(), dialog.height()) == (200, 300)
    dialog.fit_height(500)
    assert (dialog.y(), dialog.height()) == (100, 500)
    dialog.fit_height(200)
    assert dialog.height() == 200
    available = dialog.screen().availableGeometry()
    dialog.move(100, available.bottom() - 199)
    dialog.fit_height(500)
    assert (dialog.height(), dialog.geometry().bottom()) == (500, available.bottom())
    dialog.close()


def test_one_that_grows_with_what_is_in_it_stays_on_the_screen(qtbot: QtBot) -> None:
    """A list was opened: the buttons below it left the screen."""
    parent = QWidget()
    qtbot.addWidget(parent)
    dialog = SizedDialog(parent, "Dialog", (300, 200), (200, 100))
    part = QWidget()
    dialog.setLayout(column(part))
    with qtbot.waitExposed(dialog):
        dialog.show()
    available = dialog.screen().availableGeometry()
    dialog.move(100, available.bottom() - 249)
    part.setMinimumHeight(400)
    qtbot.waitUntil(lambda: dialog.height() >= 400)
    assert available.contains(dialog.geometry())
    dialog.close()


@pytest.mark.parametrize("by_keyboard", [True, False])
def test_a_dialog_opened_with_the_keyboard_shows_at_once_where_it_is(qtbot: QtBot, by_keyboard: bool) -> None:
    """Lists ask their window for that."""
    parent = QWidget()
    qtbot.addWidget(parent)
    first = QLineEdit(parent)
    second = QLineEdit(parent)
    with qtbot.waitActive(parent):
        parent.show()
    first.setFocus()
    QTest.keyClick(first, Qt.Key.Key_Tab)
    assert second.hasFocus()
    if not by_keyboard:
        QTest.mouseClick(first, Qt.MouseButton.LeftButton)
    dialog = SizedDialog(parent, "Dialog", (400, 300), (300, 200))
    with qtbot.waitExposed(dialog):
        dialog.show()
    assert dialog.testAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange) is by_keyboard
    dialog.close()


def test_a_dialog_opens_at_the_same_place_again(qtbot: QtBot) -> None:
    """In the middle of its window: where Qt puts it is lower by the title bar, from the second time on."""
    parent = QWidget()
    qtbot.addWidget(parent)
    parent.setGeometry(100, 100, 500, 400)
    dialog = SizedDialog(parent, "Dialog", (400, 300), (300, 200))
    places = []
    for _ in range(2):
        with qtbot.waitExposed(dialog):
            dialog.show()
        places.append(dialog.geometry())
        dialog.move(dialog.pos() + QPoint(0, 20))
        dialog.close()
    assert [place.center() for place in places] == [parent.geometry().center()] * 2
