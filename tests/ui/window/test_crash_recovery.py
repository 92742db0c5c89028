"""After a crash the window reports it, lists what was recovered, and opens the log."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from helix_desktop.app.crash_recovery import LastRun, find_unfinished
from helix_desktop.domain.events.conversation import MessageQueued, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.store import Commit
from helix_desktop.domain.text_format import ellipsize_title
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.ui.design.viewer.texts_dialog import TextsDialog
from helix_desktop.ui.window.crash_notice import RecoverySummary, report_crash
from tests.support.store.builders import make_summary
from tests.support.window.buttons import press
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


async def test_calls_of_a_crash_are_found_and_the_notice_opens_the_log(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with open_window(qapp, tmp_path) as rig:
        started_ms = wall_clock_ms()
        identity = await rig.open_folder("project")
        log = [
            RecordedEvent(1, started_ms, UserSpoke("Go", 1)),
            RecordedEvent(2, started_ms, MessageQueued("And then")),
        ]
        summary = msgspec.structs.replace(make_summary("cut-off", started_ms), title="a title" * 60)
        await rig.workspace.store.commit(Commit("cut-off", log, summary=summary))
        await rig.workspace.store.save_draft("cut-off", "half a thought")
        run = LastRun(started_ms, workspaces=(identity, "removed"))
        started = wall_clock_ms()
        title = f"“{ellipsize_title(summary.title)}” in project"
        expected = RecoverySummary(turns=1, queued=1, drafts=1, sessions=(title,))
        assert await find_unfinished(rig.wiring.services, run, started) == expected
        await rig.wiring.workspace_controller.open_session("cut-off")
        sessions = ("“New session” in project",)
        expected = replace(expected, sessions=sessions)
        assert await find_unfinished(rig.wiring.services, run, started) == expected
        assert await find_unfinished(rig.wiring.services, run, wall_clock_ms() + 1) == RecoverySummary(
            queued=1, drafts=1, sessions=sessions
        )
        await _check_the_notice(rig)


async def _check_the_notice(rig: WindowRig) -> None:
    """It reports the crash and opens the log."""
    recovery = RecoverySummary(turns=1, drafts=2, sessions=("“a”", "“b”", "“c”", "“d”", "“e”"))
    report_crash(rig.window, rig.context.actions, lambda: "the stacks", rig.folder, recovery)
    assert "didn't close properly" in rig.banner_text()
    assert "1 interrupted turn and 2 drafts" in rig.banner_text()
    assert "See “a”, “b”, “c” and 2 more sessions." in rig.banner_text()
    press(rig.window.notices, "show")
    await until(lambda: rig.window.findChildren(TextsDialog), "the log")
    (dialog,) = rig.window.findChildren(TextsDialog)
    assert dialog.viewer.text.toPlainText() == "the stacks"
    QTest.mouseClick(dialog.viewer.copy_button, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == "the stacks"
    dialog.accept()


def test_a_crash_without_running_work_is_reported() -> None:
    assert RecoverySummary().text.startswith("No work was interrupted.")
    assert RecoverySummary(queued=2).text.startswith("Recovered: 2 queued messages.")
