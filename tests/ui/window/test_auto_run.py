"""What a command changed that runs by itself: the card that waits in a real window, the line, its buttons."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QPushButton

from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.services.tool_service import SAVED_CHANGES_FOLDER
from helix_desktop.tools.shell.sandbox_bubblewrap import find_bwrap
from helix_desktop.ui.chat.rows.row_types import QuestionRow, ToolRow
from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.kit.notices import UNDONE_CHANGES
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    replies_in_order,
    text_reply,
)
from tests.support.planting_process import kill_hard, start_planting
from tests.support.window.buttons import find_button
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = [
    pytest.mark.qt_loop,
    pytest.mark.skipif(find_bwrap() is None, reason="bubblewrap does not work here"),
]

PLANT = """
import pathlib, subprocess
pathlib.Path('.vscode').mkdir()
for name in ('.envrc', 'package.json', '.vscode/tasks.json'):
    pathlib.Path(name).write_text('planted')
subprocess.run(['git', 'init', '-q', 'sub'], check=True)
subprocess.run(['git', '-C', 'sub', 'config', 'core.fsmonitor', 'evil'], check=True)
"""


def _take_back(rig: WindowRig) -> None:
    """Choose the first answer of the card that waits, if it is there."""
    for row in rig.rows(QuestionRow):
        rig.chat.view.chat_viewport.widget_pool.visible[row.key].trigger("option:1")


def _labels(rig: WindowRig) -> list[str]:
    """Return what the buttons of the lines say."""
    (row,) = rig.rows(ToolRow)
    item = rig.chat.view.chat_viewport.widget_pool.visible.get(row.key)
    areas = item.item.hit_areas if item is not None and item.item is not None else []
    return [area.label.partition(":")[0] for area in areas if area.name.startswith("auto_run:")]


def _click_line(rig: WindowRig) -> None:
    (row,) = rig.rows(ToolRow)
    rig.chat.view.chat_viewport.widget_pool.visible[row.key].trigger("auto_run:0")


async def test_what_was_planted_is_asked_about_taken_back_and_restored(
    qapp: QApplication, tmp_path: Path
) -> None:
    call = Call("run_command", json.dumps({"command": "python3 plant.py"}), id="call_1")
    server = ChatServer(replies_in_order(StreamedReply(call), text_reply("Done.")))
    async with server, open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project", {"plant.py": PLANT})
        await rig.use_server(server)
        await rig.conversation.set_mode("auto")
        await _check_the_card(rig)
        killed = await rig.open_folder("killed", {"a.txt": "one"})
        saved = rig.wiring.services.registry.data_folder(killed) / SAVED_CHANGES_FOLDER
    project = tmp_path / "killed"
    await asyncio.to_thread(subprocess.run, ["git", "init", "-q", str(project)], check=True)
    process = await asyncio.to_thread(start_planting, project, Path.home(), saved)
    await asyncio.to_thread(kill_hard, process)
    async with open_window(qapp, tmp_path) as rig:
        await _check_the_banner(rig, project)


async def _check_the_card(rig: WindowRig) -> None:
    """It takes back, and line and page restore."""
    project = Path(rig.wiring.services.registry.get(rig.workspace.id).path)
    rig.type_message("Plant it")
    await until(lambda: rig.rows(QuestionRow), "the card")
    (asked,) = rig.rows(QuestionRow)
    await until(lambda: asked.key in rig.chat.view.chat_viewport.widget_pool.visible, "it is in sight")
    card = rig.chat.view.chat_viewport.widget_pool.visible[asked.key].item
    assert card is not None
    assert [area.label.split(". ")[1] for area in card.hit_areas] == ["Take back", "Keep"]

    def take_back() -> bool:
        _take_back(rig)
        return not rig.rows(QuestionRow)

    await until(take_back, "the answer")
    await rig.wait_for_turn_end()
    assert not (project / ".envrc").exists()
    (answer,) = rig.events(ToolAnswered)
    assert [change.outcome for change in answer.auto_run].count("removed") == 3
    assert _labels(rig) == ["Restore", "Undo"]
    conversation = rig.conversation
    _click_line(rig)
    await until((project / ".envrc").exists, "restored")
    await until(lambda: "restored" in rig.banner_text(), "the report")
    assert _labels(rig) == ["Undo"], "all of it is there now, and can be taken back"
    await rig.wiring.session.show(rig.workspace, None)
    await rig.wiring.session.show(rig.workspace, conversation)
    await until(lambda: _labels(rig) == ["Undo"], "the same at the next opening")
    assert (project / "package.json").exists()
    _click_line(rig)
    await until(lambda: not (project / "package.json").exists(), "undone, by the file history")
    await until(lambda: not (project / ".envrc").exists(), "taken back")
    await until(lambda: _labels(rig)[0] == "Restore", "the label")
    await _check_the_changes_page(rig, project)


async def _check_the_changes_page(rig: WindowRig, project: Path) -> None:
    """It lists what was undone, restores one of it, and its report takes that back."""
    rig.window.show_page("changes")
    undone = rig.views.changes.get().undone
    await until(lambda: undone.heading.text == "3 files undone after commands", "the list")
    assert undone.isVisible()
    lines = [line.text for line in undone.rows.findChildren(TextLine)]
    assert lines[lines.index("sub/.git/config") + 1] == "core.fsmonitor = evil"
    find_button(undone, "restore:.envrc").click()
    await until((project / ".envrc").exists, "restored")
    await until(lambda: undone.heading.text == "2 files undone after commands", "the list without it")
    await until(lambda: "1 file restored" in rig.banner_text(), "the report")
    buttons = rig.window.notices.findChildren(QPushButton)
    next(button for button in buttons[::-1] if button.objectName().startswith("auto_run:")).click()
    await until(lambda: undone.heading.text == "3 files undone after commands", "undone again")
    assert not (project / ".envrc").exists()


async def _check_the_banner(rig: WindowRig, project: Path) -> None:
    """It names what a killed app left, and restores it."""
    hook = project / ".git/hooks/pre-commit"
    assert hook.exists()
    await rig.open_folder("killed")
    await until(lambda: ".git/hooks/pre-commit" in rig.banner_text(), "the banner")
    assert not hook.exists()
    assert not (project / ".envrc").exists()
    (restore,) = [
        button
        for button in rig.window.notices.findChildren(QPushButton)
        if button.objectName().startswith(f"{UNDONE_CHANGES}:")
    ]
    restore.click()
    await until(hook.exists, "restored")
    await until(lambda: "2 files restored" in rig.banner_text(), "the report")
    assert "cut off" not in rig.banner_text()
    assert (project / ".envrc").read_text() == "planted"
