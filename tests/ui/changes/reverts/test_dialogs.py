"""The plan of a revert: what its dialogs say, and where the keyboard stops."""

from __future__ import annotations

from PySide6.QtWidgets import QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.domain.file_history.changes import FileState, PlannedFile, RevertPlan
from helix_desktop.ui.changes.reverts.plan_dialog import revert_button_text
from helix_desktop.ui.changes.reverts.revert_flow import done_text
from helix_desktop.ui.design.focus import tab_stops
from tests.support.galleries.changes_samples import make_rewind_dialog
from tests.support.window.buttons import find_child


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
    alone = RevertPlan((folder,))
    both = RevertPlan((folder, file), is_redo=True)
    for plan, button, done in (
        (alone, "Revert", "Reverted: docs"),
        (both, "Redo 1 file", "Redone: docs/a.md"),
    ):
        changes = plan.counted_changes({})
        assert (revert_button_text(plan, changes), done_text(plan, changes)) == (button, done)
