"""Closing: no page's key ends the app, and a running turn needs confirmation."""

from __future__ import annotations

import asyncio
import sys

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QWidget

from helix_desktop.app.run import StartTargets, StoredWindows
from helix_desktop.ui.chat.rows.row_types import NoticeRow
from helix_desktop.ui.design.dialogs import QuestionDialog
from helix_desktop.ui.kit.intents import Export, Quit
from helix_desktop.ui.window.notifications import Tray
from tests.support.intents import performed
from tests.support.model_servers.chat_server import StreamedReply, Text, Wait
from tests.support.window.buttons import press
from tests.support.window.window_rig import WindowRig, until

pytestmark = pytest.mark.qt_loop


class TrayIcon(Tray):
    def is_available(self) -> bool:
        return True

    def hide_window(self) -> None:
        self._window.hide()


def question(rig: WindowRig) -> list[QuestionDialog]:
    return [dialog for dialog in rig.window.findChildren(QuestionDialog) if dialog.isVisible()]


@pytest.mark.expect_errors("task record .* failed")
async def test_ctrl_w_never_quits_and_quitting_asks_about_what_would_be_lost(rig: WindowRig) -> None:
    if sys.platform != "win32":  # where files that are open can't be moved
        await _check_a_deleted_data_folder(rig)
    await _check_keys(rig)
    await _check_unsaved_settings(rig)
    await _check_a_running_turn(rig)


async def _check_keys(rig: WindowRig) -> None:
    """Ctrl+W closes the page and never the app."""
    await rig.open_folder("project")
    rig.window.activateWindow()
    await until(rig.window.isActiveWindow, "the window in front")
    agreed: list[bool] = []
    rig.wiring.quit_controller.confirmed.connect(lambda: agreed.append(True))
    rig.window.show_page("timeline")
    QTest.keyClick(rig.window, Qt.Key.Key_W, Qt.KeyboardModifier.ControlModifier)
    assert rig.window.page() == "chat"
    QTest.keyClick(rig.window, Qt.Key.Key_W, Qt.KeyboardModifier.ControlModifier)
    await asyncio.sleep(0)
    assert rig.window.isVisible()
    assert not agreed
    QTest.keyClick(rig.window, Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
    await until(lambda: agreed, "Ctrl+Q quits when nothing runs")


async def _check_unsaved_settings(rig: WindowRig) -> None:
    """What is typed in the settings is asked about, and is there again when its workspace is."""
    await rig.wiring.settings.show("instructions")
    text = rig.settings.instructions.workspace.text
    text.setPlainText("Answer in short sentences.")
    QTest.keyClick(rig.settings, Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
    await until(lambda: question(rig), "a question about what is not saved in the settings")
    assert any("Instructions" in label.text() for label in question(rig)[0].findChildren(QLabel))
    press(question(rig)[0], "cancel")
    await until(lambda: not question(rig), "the question gone")
    await rig.open_folder("other")
    await rig.wiring.settings.show("instructions")
    assert not text.toPlainText()
    await rig.open_folder("project")
    await rig.wiring.settings.show("instructions")
    assert text.toPlainText() == "Answer in short sentences."
    text.setPlainText("")
    rig.window.leave_settings()


async def _check_a_running_turn(rig: WindowRig) -> None:
    """The user can go on, hide the window, or quit."""
    go = asyncio.Event()
    reply = StreamedReply(Text("One "), Wait(go), Text("two"))
    async with rig.answered_by(lambda _: reply, "busy"):
        agreed: list[bool] = []
        rig.wiring.quit_controller.confirmed.connect(lambda: agreed.append(True))
        rig.type_message("Count slowly")
        await until(lambda: rig.conversation.response.text == "One ", "the beginning")

        rig.window.close()
        await until(lambda: question(rig), "the question")
        assert any("Count slowly" in label.text() for label in question(rig)[0].findChildren(QLabel))
        rig.window.close()
        await asyncio.sleep(0)
        assert len(question(rig)) == 1, "asked once"
        press(question(rig)[0], "cancel")
        await until(lambda: not question(rig), "the question gone")
        assert rig.conversation.is_running
        assert not agreed

        windows = rig.wiring.windows
        await windows.open_window(rig.workspace.id)
        shown_sessions = [opened.shown_session for opened in windows.windows]
        rig.wiring.quit_controller.tray = TrayIcon(rig.window)
        rig.window.perform(Quit())
        await until(lambda: question(rig), "the question with a tray")
        press(question(rig)[0], "hide")
        await until(lambda: not rig.window.isVisible(), "the window hidden")
        assert not any(opened.window.isVisible() for opened in windows.windows)
        assert rig.conversation.is_running
        StartTargets(windows, StoredWindows()).open_later("")
        assert all(opened.window.isVisible() for opened in windows.windows), "all are back"
        assert [opened.shown_session for opened in windows.open_windows] == shown_sessions

        rig.window.perform(Quit())
        await until(lambda: question(rig), "the question again")
        press(question(rig)[0], "quit")
        await until(lambda: agreed, "it ends")
        go.set()


async def _check_a_deleted_data_folder(rig: WindowRig) -> None:
    """It is said, and asked about."""
    data, away = rig.folder / "data", rig.folder / "away"
    async with rig.answered_by(lambda _: StreamedReply(Text("One")), "deleted"):
        await rig.run_turn("Count")
        stored = list(rig.conversation.session.log)
        data.rename(away)
        rig.type_message("Go on")
        await until(lambda: texts(rig.window, "workspace data is gone"), "a notice")
        await until(lambda: rig.composer.text() == "Go on", "the message where it was written")
        await until(lambda: rig.rows(NoticeRow), "the reason in the chat")
        assert list(rig.conversation.session.log) == stored

        agreed: list[bool] = []
        rig.wiring.quit_controller.confirmed.connect(lambda: agreed.append(True))
        rig.window.perform(Quit())
        await until(lambda: question(rig), "the question")
        assert texts(question(rig)[0], "was deleted or moved")
        with performed(rig.window) as intents:
            press(question(rig)[0], "export")
            await until(lambda: intents == [Export(rig.workspace.id)], "the way to save it")
        assert not agreed

        away.rename(data)
        rig.window.perform(Quit())
        await until(lambda: agreed, "no question once it is back")


def texts(widget: QWidget, words: str) -> list[str]:
    return [label.text() for label in widget.findChildren(QLabel) if words in label.text()]
