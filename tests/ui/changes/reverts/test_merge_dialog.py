"""The three-way view: what is chosen, what is edited, and that everything else keeps its bytes."""

from __future__ import annotations

from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.domain.file_history.merge import merge
from helix_desktop.ui.changes.reverts.merge_dialog import MergeDialog
from tests.support.window.buttons import press

BASE = b"first\r\nsecond\r\nthird\r\nb\xe4d\xff\r\nlast"
NOW = BASE.replace(b"second", b"2nd").replace(b"last", b"end")
BEFORE = BASE.replace(b"second", b"SECOND").replace(b"first", b"FIRST")


def dialog_of(qtbot: QtBot, base: bytes, now: bytes, before: bytes) -> MergeDialog:
    merged = merge(base, now, before)
    assert merged is not None
    window = QWidget()
    qtbot.addWidget(window)
    dialog = MergeDialog(window, "notes.txt", merged)
    dialog.show()
    return dialog


def type_over(dialog: MergeDialog, words: str, replacement: str) -> None:
    cursor = dialog.editor.document().find(words)
    assert not cursor.isNull(), f"{words} is not in the result"
    dialog.editor.setTextCursor(cursor)
    dialog.editor.textCursor().insertText(replacement)


def test_each_choice_gives_the_bytes_of_its_side(qtbot: QtBot) -> None:
    dialog = dialog_of(qtbot, BASE, NOW, BEFORE)
    assert (dialog.editor.open_conflicts, dialog.save.isEnabled()) == (1, False)
    for name, lines in (
        ("use-before", b"FIRST\r\nSECOND\r\n"),
        ("use-current", b"first\r\n2nd\r\n"),
        ("use-both", b"first\r\n2nd\r\nFIRST\r\nSECOND\r\n"),
        ("use-after", b"first\r\nsecond\r\n"),
    ):
        press(dialog, name)
        assert dialog.editor.data() == lines + b"third\r\nb\xe4d\xff\r\nend"
        assert dialog.save.isEnabled()


def test_an_edit_decides_a_conflict_and_leaves_all_other_bytes(qtbot: QtBot) -> None:
    dialog = dialog_of(qtbot, BASE, NOW, BEFORE)
    type_over(dialog, "2nd", "mine\nand more 🙂")
    assert dialog.editor.open_conflicts == 0
    assert dialog.editor.data() == "first\r\nmine\r\nand more 🙂\r\n".encode() + b"third\r\nb\xe4d\xff\r\nend"
    cursor = dialog.editor.textCursor()
    cursor.movePosition(QTextCursor.MoveOperation.End)
    cursor.insertText("\n")
    assert dialog.editor.data().endswith(b"third\r\nb\xe4d\xff\r\nend\r\n")
    dialog.editor.undo()
    dialog.editor.undo()
    press(dialog, "use-current")
    assert dialog.editor.data() == NOW


def test_utf_16_stays_utf_16(qtbot: QtBot) -> None:
    base, now, before = (
        text.encode("utf-16") for text in ("one\ntwo\nthree\n", "one\n2\nthree\n", "one\ntwo\nTHREE\n")
    )
    dialog = dialog_of(qtbot, base, now, before)
    if dialog.editor.open_conflicts:
        press(dialog, "use-both")
    type_over(dialog, "one", "ein")
    assert dialog.editor.data().decode("utf-16").startswith("ein\n")
