"""The plan of a revert, and the three-way view: all but what is chosen or edited keeps its bytes."""

from __future__ import annotations

from PySide6.QtGui import QFont, QTextCursor
from PySide6.QtWidgets import QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.domain.file_history.changes import FileState, PlannedFile, RevertPlan
from helix_desktop.domain.file_history.merges_and_hunks import merge
from helix_desktop.ui.changes.reverts.merge_dialog import MergeDialog, SideView
from helix_desktop.ui.changes.reverts.revert_and_rewind_dialogs import revert_button_text
from helix_desktop.ui.changes.reverts.revert_flow import done_text
from helix_desktop.ui.design.focus import tab_stops
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.theme import DARK, LIGHT
from tests.support.galleries.changes_samples import make_rewind_dialog
from tests.support.window.buttons import find_child, press
from tests.support.window.looks import ShowLook

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


def test_the_files_are_a_stop_only_while_they_scroll_and_the_ring_cuts_through_none(qtbot: QtBot) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    dialog = make_rewind_dialog(parent)
    dialog.resize(680, 900)
    with qtbot.waitExposed(dialog):
        dialog.show()
    area = find_child(dialog.files, QScrollArea)
    qtbot.waitUntil(lambda: area.verticalScrollBar().maximum() == 0)
    assert area not in list(tab_stops(dialog))
    dialog.files.setMaximumHeight(60)
    qtbot.waitUntil(lambda: area.verticalScrollBar().maximum() > 0)
    assert area in list(tab_stops(dialog))
    assert area.rect().adjusted(5, 5, -5, -5).contains(area.viewport().geometry()), "inside of the ring"
    dialog.done(0)


def test_a_folder_is_not_called_a_file() -> None:
    folder = PlannedFile("docs", present=FileState("folder"))
    file = PlannedFile("docs/a.md", present=FileState("file", "a" * 64, 3))
    alone, both = RevertPlan((folder,)), RevertPlan((folder, file), is_redo=True)
    for plan, button, done in (
        (alone, "Revert", "Reverted: docs"),
        (both, "Redo 1 file", "Redone: docs/a.md"),
    ):
        changes = plan.counted_changes({})
        assert (revert_button_text(plan, changes), done_text(plan, changes)) == (button, done)


def test_a_side_has_the_code_font_without_ligatures_in_each_theme(qtbot: QtBot, show_look: ShowLook) -> None:
    """An arrow of two signs stays two signs, as in the diff."""
    side = SideView("Now", "ours")
    qtbot.addWidget(side)
    side.show()
    for theme in (LIGHT, DARK):
        show_look(theme)
        font = side.text.document().defaultFont()
        assert font.family() == fonts.MONO_FAMILY
        assert font.featureValue(QFont.Tag("calt")) == 0
        assert font.isFeatureSet(QFont.Tag("calt"))
