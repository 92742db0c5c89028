"""The settings come back: after a dialog that they led to, and on the page that was last shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog

from helix_desktop.ui.settings.dialog import SettingsDialog
from tests.support.window.buttons import find_button, press
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


async def test_settings_return_to_where_they_were(qapp: QApplication, tmp_path: Path) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        rig.window.commands.settings.trigger()
        settings = rig.wiring.settings.dialog
        await until(settings.isVisible, "the settings")
        assert settings.current_page() == "providers"
        await _check_the_dialogs(rig, settings)
        settings.close()
        rig.window.commands.settings.trigger()
        await until(settings.isVisible, "the settings again")
        assert settings.current_page() == "data", "the page that was last shown"
        settings.close()
        rig.window.commands.about.trigger()
        await until(settings.isVisible, "the settings by name")
        assert settings.current_page() == "about"
        settings.close()


async def _check_the_dialogs(rig: WindowRig, settings: SettingsDialog) -> None:
    press(settings, "page:data")
    cleanup, redaction = rig.wiring.cleanup, rig.wiring.redaction
    opened: dict[str, Callable[[], QDialog | None]] = {
        "clean_up": lambda: cleanup.cleanup_dialog,
        "trash": lambda: cleanup.trash_dialog,
        "forget": lambda: redaction.presenter.dialog if redaction.presenter is not None else None,
    }
    for name, dialog_of in opened.items():
        button = find_button(settings.data, name)
        await until(button.isVisible, "the figures")
        button.setFocus(Qt.FocusReason.TabFocusReason)
        QTest.keyClick(button, Qt.Key.Key_Space)
        await until(dialog_of, name)
        assert settings.isHidden(), "never one dialog above another"
        await _close(dialog_of)
        await until(settings.isVisible, "the settings again")
        assert settings.current_page() == "data"
        assert settings.focusWidget() is button
    press(settings.data, "clean_up")
    await until(lambda: cleanup.cleanup_dialog, "the clean-up")
    assert cleanup.cleanup_dialog is not None
    press(cleanup.cleanup_dialog, "trash")
    await until(lambda: cleanup.trash_dialog, "the trash in its place")
    assert settings.isHidden()
    await _close(lambda: cleanup.trash_dialog)
    await until(settings.isVisible, "the settings again")


async def _close(dialog_of: Callable[[], QDialog | None]) -> None:
    dialog = dialog_of()
    assert dialog is not None
    await until(dialog.isVisible, "the dialog on screen")
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    await until(lambda: dialog_of() is None, "the dialog closed")
