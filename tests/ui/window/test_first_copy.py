"""The first copy of files in the real window: paused and resumed by the user, also after a restart."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from filelock import FileLock
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from helix_desktop.ui.chat.rows.row_types import ApprovalRow
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import ElidedLabel
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    replies_in_order,
    text_reply,
)
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop
PAUSED = "Copying files for undo paused · 1 file left"


def button(rig: WindowRig, action: str) -> PushButton:
    (found,) = rig.window.jobs.findChildren(PushButton, f"{action}_job")
    return found


def line(rig: WindowRig) -> str:
    """What the line below the page says; empty without one."""
    return "".join(label.full_text() for label in rig.window.jobs.findChildren(ElidedLabel))


async def test_the_copy_is_paused_and_resumed_and_a_command_says_what_it_lacks(
    qapp: QApplication, tmp_path: Path
) -> None:
    removes = StreamedReply(Call("run_command", json.dumps({"command": "rm made.txt"})))
    server = ChatServer(replies_in_order(removes, text_reply("Removed.")))
    async with server, open_window(qapp, tmp_path) as rig:
        project = rig.folder / "project"
        project.mkdir()
        (project / ".gitignore").write_text("made.txt\n", encoding="utf-8")
        (project / "made.txt").write_text("made", encoding="utf-8")
        await asyncio.sleep(0.1)  # a file as new as the look at it is read once more, and so is copied then
        identity = await rig.open_folder("project")
        await until(lambda: rig.workspace.changes.coverage.is_complete, "the first copy")
        data = rig.wiring.services.registry.data_folder(identity)
        with FileLock(data / "file-history-copy.lock"):  # else the copy is over before the question
            await rig.workspace.changes.include("made.txt", True)
            await until(lambda: line(rig) == "Copying files for undo · 1 file", "the line")
            pause = button(rig, "pause")
            assert "can't be undone" in pause.toolTip()
            pause.setFocus(Qt.FocusReason.TabFocusReason)
            QTest.keyClick(pause, Qt.Key.Key_Space)
            await until(lambda: line(rig) == PAUSED, "the pause")
            assert button(rig, "resume").hasFocus()
            await rig.use_server(server)
            rig.type_message("Remove it")
            await until(lambda: rig.rows(ApprovalRow), "a question")
            assert rig.rows(ApprovalRow)[0].uncovered == "Can't be undone in 1 place: made.txt"
            assert rig.rows(ApprovalRow)[0].uncovered_places[0] == "made.txt · Not copied yet"
        await rig.answer_approval("deny")
        await rig.wait_for_turn_end()
    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.open_workspace(identity)
        await until(lambda: line(rig) == PAUSED, "the pause after a restart")
        button(rig, "resume").click()
        await until(lambda: not rig.window.jobs.job_ids(), "the end of the copy")
        assert rig.workspace.changes.coverage.is_complete
        assert rig.workspace.changes.coverage.files == 2
