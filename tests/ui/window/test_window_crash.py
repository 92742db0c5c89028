"""After a crash the window says so, says what is there again, and shows the log."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from helix_desktop.app.desk import now_ms
from helix_desktop.app.last_run import LastRun
from helix_desktop.app.recovery import recovery_of
from helix_desktop.context.event import MessageQueued, Recorded, UserSpoke
from helix_desktop.ui.crash_notice import CrashNotice, LogDialog, Recovery
from tests.support.store_making import summary
from tests.support.window_rig import opened_window, press, until

pytestmark = pytest.mark.qt_loop


async def test_what_a_crash_left_is_found_before_and_after_its_session_is_opened(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with opened_window(qapp, tmp_path) as rig:
        began = now_ms()
        identity = await rig.open_folder("project")
        log = [Recorded(1, began, UserSpoke("Go", 1)), Recorded(2, began, MessageQueued("And then"))]
        await rig.room.store.commit("cut-off", log, summary=summary("cut-off", began))
        await rig.room.store.save_draft("cut-off", "half a thought")
        run = LastRun(began, workspaces=(identity, "removed"))
        started = now_ms()
        expected = Recovery(turns=1, queued=1, drafts=1)
        assert await recovery_of(rig.opened.desk, run, started) == expected
        await rig.opened.shell.open_session("cut-off")
        assert await recovery_of(rig.opened.desk, run, started) == expected
        assert await recovery_of(rig.opened.desk, run, now_ms() + 1) == Recovery(queued=1, drafts=1)


async def test_the_notice_says_it_and_shows_the_log(qapp: QApplication, tmp_path: Path) -> None:
    async with opened_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        notice = CrashNotice(rig.window, rig.front.intents, lambda: "the stacks", tmp_path)
        notice.show(Recovery(turns=1, drafts=2))
        assert "didn't close properly" in rig.banners()
        assert "1 interrupted turn, 2 drafts" in rig.banners()
        press(rig.window.banners, "Show log")
        await until(lambda: rig.window.findChildren(LogDialog), "the log")
        (dialog,) = rig.window.findChildren(LogDialog)
        assert dialog.text.toPlainText() == "the stacks"
        QTest.mouseClick(dialog.copy, Qt.MouseButton.LeftButton)
        assert QGuiApplication.clipboard().text() == "the stacks"
        dialog.accept()


def test_a_crash_in_which_nothing_ran_says_so() -> None:
    assert Recovery().text.startswith("Nothing was in progress.")
    assert Recovery(queued=2).text.startswith("Recovered: 2 queued messages.")
