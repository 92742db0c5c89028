"""The completion popup: when it opens, which keys are its own, what a slow source does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
import pytest_asyncio
from PySide6.QtCore import QCoreApplication, QMimeData, Qt
from PySide6.QtGui import QAccessible, QInputMethodEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.chat.composer.composer import Composer
from helix_desktop.ui.chat.composer.editor import (
    SLOW_MS,
    CompletionItem,
    CompletionPopup,
    CompletionSource,
)
from tests.support.window.window_rig import until

pytestmark = pytest.mark.qt_loop
_NAMES = ("alpha.py", "alps.py", "beta.py", "docs/")


class Names(CompletionSource):
    """Completes `@` by how names begin; each answer can be held back."""

    trigger = "@"
    only_at_start = False
    name = "Files"
    hint = ""
    empty_text = "No matching files"

    def __init__(self) -> None:
        self.accepted: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}
        self.ended: list[str] = []

    def takes(self, query: str) -> bool:
        return not query.isdigit()

    async def completions(self, query: str) -> Sequence[CompletionItem]:
        try:
            if query in self.gates:
                await self.gates[query].wait()
        finally:
            self.ended.append(query)
        return [
            CompletionItem(f"@{name}", name, is_partial=name.endswith("/"))
            for name in _NAMES
            if name.startswith(query)
        ]

    def accept(self, completion: CompletionItem) -> None:
        self.accepted.append(completion.title)


class Rig:
    """A composer with one source, and what was sent."""

    def __init__(self, qtbot: QtBot, scope: TaskScope) -> None:
        self.composer = Composer()
        qtbot.addWidget(self.composer)
        self.composer.resize(700, 500)
        self.composer.show()
        self.composer.editor.setFocus()
        self.source = Names()
        self.sent = list[str]()
        self.composer.completer.add_source(self.source, scope.start)
        self.composer.submitted.connect(self.sent.append)

    def type(self, text: str) -> None:
        QTest.keyClicks(self.composer.editor, text)

    def press(self, key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        QTest.keyClick(self.composer.editor, key, modifier)

    @property
    def titles(self) -> list[str]:
        popup = self.composer.completer.popup
        return [row.title for row in popup.completions] if popup is not None else []

    @property
    def notes(self) -> list[str]:
        popup = self.composer.completer.popup
        labels = popup.findChildren(QLabel) if popup is not None else []
        return [label.text() for label in labels if label.isVisible()]

    async def see(self, *titles: str) -> None:
        await until(lambda: self.titles == list(titles), f"rows {titles}")

    @property
    def is_open(self) -> bool:
        return self.composer.completer.popup is not None


@pytest_asyncio.fixture
async def rig(qtbot: QtBot) -> AsyncIterator[Rig]:
    scope = TaskScope()
    rig = Rig(qtbot, scope)
    yield rig
    rig.composer.completer.close()
    await scope.close()


async def test_keys_move_and_accept_and_the_text_goes_on(rig: Rig) -> None:
    rig.composer.set_text("\N{GRINNING FACE} see ")  # two positions in a Qt document
    rig.type("@al")
    await rig.see("alpha.py", "alps.py")
    rig.press(Qt.Key.Key_Down)
    rig.press(Qt.Key.Key_Return)
    rig.composer.editor.undo()
    assert rig.composer.text() == "\N{GRINNING FACE} see @al"
    rig.composer.editor.redo()
    rig.type("now")
    assert rig.composer.text() == "\N{GRINNING FACE} see @alps.py now"
    assert (rig.source.accepted, rig.sent, rig.is_open) == (["alps.py"], [], False)


async def test_a_folder_keeps_the_popup_open(rig: Rig) -> None:
    rig.type("@d")
    await rig.see("docs/")
    rig.press(Qt.Key.Key_Tab)
    assert rig.composer.text() == "@docs/"
    assert rig.is_open


async def test_a_click_accepts_and_the_keyboard_stays_in_the_text(rig: Rig) -> None:
    rig.type("@")
    await rig.see(*_NAMES)
    popup = rig.composer.completer.popup
    assert popup is not None
    rows = QAccessible.queryAccessibleInterface(popup.list_view)
    names = [rows.child(number).text(QAccessible.Text.Name) for number in range(rows.childCount())]
    assert (rows.text(QAccessible.Text.Name), names) == ("Files", list(_NAMES))
    where = popup.list_view.visualRect(popup.list_view.model().index(2, 0)).center()
    QTest.mouseClick(popup.list_view.viewport(), Qt.MouseButton.LeftButton, pos=where)
    assert rig.composer.text() == "@beta.py "
    assert rig.composer.editor.hasFocus()


async def test_enter_sends_where_there_is_nothing_to_accept(rig: Rig) -> None:
    """No row, a word that is complete, and other keys than plain Enter."""
    rig.type("@nothing")
    await until(lambda: "No matching files" in rig.notes, "a popup without rows")
    rig.press(Qt.Key.Key_Return)
    rig.type("@beta.py")
    await rig.see("beta.py")
    rig.press(Qt.Key.Key_Return)
    rig.type("@b")
    await rig.see("beta.py")
    rig.press(Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert rig.sent == ["@nothing", "@beta.py", "@b"]


async def test_escape_a_space_and_leaving_close_it_for_good(rig: Rig) -> None:
    rig.type("@b")
    await rig.see("beta.py")
    rig.press(Qt.Key.Key_Escape)
    rig.type("e")
    assert not rig.is_open
    rig.press(Qt.Key.Key_Space, Qt.KeyboardModifier.ControlModifier)
    await rig.see("beta.py")
    rig.press(Qt.Key.Key_Escape)
    rig.type(" @b ")
    assert not rig.is_open
    rig.type("@b")
    await rig.see("beta.py")
    rig.composer.model_button.show()
    rig.composer.model_button.setFocus()
    assert not rig.is_open


async def test_a_word_that_was_none_of_a_source_opens_it_again_when_it_is_changed(rig: Rig) -> None:
    rig.type("@")
    await rig.see(*_NAMES)
    rig.type("1")
    assert not rig.is_open
    rig.press(Qt.Key.Key_Backspace)
    rig.type("b")
    await rig.see("beta.py")


async def test_only_a_typed_trigger_at_the_start_of_a_word_opens_it(rig: Rig) -> None:
    rig.type("mail a@b.c")
    pasted = QMimeData()
    pasted.setText(" @al")
    rig.composer.editor.insertFromMimeData(pasted)
    rig.type("p")
    rig.composer.set_text("@al")
    rig.type("p")
    QCoreApplication.sendEvent(rig.composer.editor, QInputMethodEvent(" @", []))
    assert not rig.is_open
    rig.composer.completer.open_here()
    assert not rig.is_open, "an input method composes"
    committed = QInputMethodEvent()
    committed.setCommitString(" @")
    QCoreApplication.sendEvent(rig.composer.editor, committed)
    await rig.see(*_NAMES)


async def test_a_slow_source_is_seen_at_work_and_stale_answers_are_dropped(rig: Rig) -> None:
    rig.source.gates = {"a": asyncio.Event(), "al": asyncio.Event()}
    rig.type("@a")
    assert rig.notes == []
    await until(lambda: "Searching…" in rig.notes, f"a sign after {SLOW_MS} ms")
    rig.type("l")
    rig.source.gates["a"].set()
    await until(lambda: rig.source.ended == ["a"], "the end of the first request")
    assert rig.titles == []
    rig.source.gates["al"].set()
    await rig.see("alpha.py", "alps.py")


async def test_enter_before_the_answer_accepts_its_first_row(rig: Rig) -> None:
    rig.type("@")
    await rig.see(*_NAMES)
    rig.source.gates["b"] = asyncio.Event()
    rig.type("b")
    rig.press(Qt.Key.Key_Return)
    assert (rig.composer.text(), rig.sent) == ("@b", [])
    rig.source.gates["b"].set()
    await until(lambda: rig.composer.text() == "@beta.py ", "the row that belongs to the text")
    rig.composer.set_text("")
    rig.type("@be")
    await rig.see("beta.py")
    rig.source.gates["beta.py"] = asyncio.Event()
    rig.type("ta.py")
    rig.press(Qt.Key.Key_Return)
    assert rig.sent == ["@beta.py"], "what is typed out already is sent at once"


@pytest.mark.parametrize("room", [150, 161, 400])
def test_the_popup_cuts_no_row(qtbot: QtBot, room: int) -> None:
    """Its last row was cut by the note below: before the first show, that told too low a height."""
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(600, 600)
    anchor = QWidget(window)
    anchor.setGeometry(0, room, 500, 40)
    window.show()
    popup = CompletionPopup(window)
    popup.show_rows("Files", [CompletionItem("", f"file_{number}.py", "") for number in range(12)])
    popup.show_note("Add :10-40 for lines", is_busy=True)
    popup.place(anchor)
    popup.show()
    rows = popup.list_view.visualRect(popup.list_view.model().index(0, 0)).height()
    assert popup.list_view.viewport().height() % rows <= 2, "without its style sheet it has no border"
    assert 0 < popup.y() < popup.geometry().bottom() < room
