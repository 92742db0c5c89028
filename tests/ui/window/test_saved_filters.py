"""Saved filters of the cache browser in the complete window: named, chosen again, deleted, and undone."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtGui import QAction
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from helix_desktop.ui.cache.filter_options import SIZE_OPTIONS, age_options, state_option, tool_option
from helix_desktop.ui.design.dialogs import TextInputDialog
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


def actions_of(menu: QMenu) -> dict[str, QAction]:
    """Return the actions of a menu by what they say."""
    return {action.text(): action for action in menu.actions() if action.text()}


async def enter_name(rig: WindowRig, name: str) -> str:
    """Answer the question for a name; return the name that it proposed."""
    await until(lambda: rig.window.findChild(TextInputDialog), "it asks for a name")
    dialog = rig.window.findChild(TextInputDialog)
    assert isinstance(dialog, TextInputDialog)
    proposed = dialog.field.text()
    dialog.field.setText(name)
    dialog.accept()
    return proposed


async def test_a_filter_is_saved_and_chosen_after_a_restart(qapp: QApplication, tmp_path: Path) -> None:
    """With its words and conditions; an age counts from the day that it is chosen."""
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        bar, session_id = rig.views.cache.filter_bar, rig.conversation.session.id
        assert bar.saved.isHidden(), "nothing is saved, and nothing can be"
        for option in (tool_option("run_command"), SIZE_OPTIONS[0], age_options(0)[2]):
            bar.toggle(option)
        QTest.keyClicks(bar.field, "failed")
        bar.session.click()
        saved = bar.saved_filter
        actions_of(bar.saved_menu())["Save this filter…"].trigger()
        await enter_name(rig, "Failures & more")
        await until(lambda: "Failures && more" in actions_of(bar.saved_menu()), "it is in the menu")
        assert actions_of(bar.saved_menu())["Failures && more"].isChecked()
        assert not actions_of(bar.saved_menu())["Save this filter…"].isEnabled()

    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.restore_last()
        await rig.wiring.workspace_controller.session_opener.open_session(session_id)
        bar = rig.views.cache.filter_bar
        assert not bar.current_filter.is_narrowing
        actions_of(bar.saved_menu())["Failures && more"].trigger()
        assert bar.saved_filter == saved
        assert bar.current_filter.entry_filter.tool == "run_command"
        assert bar.current_filter.entry_filter.since > 0, "it counts from now, not from when it was saved"
        bar.delete_requested.emit("Failures & more")
        await until(lambda: "Failures && more" not in actions_of(bar.saved_menu()), "it is gone")
        rig.window.banners.action_clicked.emit("saved_filters", "undo")
        await until(lambda: "Failures && more" in actions_of(bar.saved_menu()), "it is back")
        bar.rename_requested.emit("Failures & more")
        await enter_name(rig, "Broken")
        await until(lambda: "Broken" in actions_of(bar.saved_menu()), "it has another name")
        assert "Failures && more" not in actions_of(bar.saved_menu())
        bar.clear()
        bar.toggle(state_option("cached"))
        actions_of(bar.saved_menu())["Save this filter…"].trigger()
        assert await enter_name(rig, "Left") == "Cached", "the word of its chip"
