"""Changes of files in the real window: taken back, redone and merged; what runs by itself and was planted."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path

import pytest
from filelock import FileLock
from PySide6.QtCore import Qt, QUrl
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton

from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.services.tool_service import SAVED_CHANGES_FOLDER
from helix_desktop.tools.shell.sandbox_bubblewrap import find_bwrap
from helix_desktop.ui.changes.page import ChangesPage
from helix_desktop.ui.changes.reverts.plan_dialog import PlanDialog
from helix_desktop.ui.changes.reverts.rewind_dialog import RewindDialog
from helix_desktop.ui.chat.rows.row_types import ApprovalRow, QuestionRow, ToolRow, UserRow
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.choice_fields import ComboBox
from helix_desktop.ui.design.diff.canvas import HunkHead
from helix_desktop.ui.design.labels import ElidedLabel
from helix_desktop.ui.kit.notices import UNDONE_CHANGES
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    replies_in_order,
    text_reply,
)
from tests.support.planting_process import kill_hard, start_planting
from tests.support.window.browser import use_browser
from tests.support.window.buttons import find_button, find_child, press
from tests.support.window.chat_geometry import click_area
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop

NOTES = "one\ntwo\nthree\nfour\nfive\nsix\n"
COMMAND = "rm old.txt; mkdir out; echo built > out/new.txt"


def edits_and_runs() -> ChatServer:
    """A model that edits a file, runs a command, and says so."""
    edit = {"path": "notes.txt", "old_text": "two", "new_text": "TWO"}
    return ChatServer(
        replies_in_order(
            StreamedReply(Call("read_file", json.dumps({"path": "notes.txt"}), id="c0")),
            StreamedReply(Call("edit_file", json.dumps(edit), id="c1")),
            StreamedReply(Call("run_command", json.dumps({"command": COMMAND}), id="c2")),
            text_reply("Done."),
        )
    )


def commit_all(folder: Path) -> None:
    """Make a folder a git checkout in which everything is committed."""
    for command in ("init -q", "add .", "-c user.name=A -c user.email=a@b commit -q -m First"):
        subprocess.run(("git", *command.split()), cwd=folder, check=True)


async def work(rig: WindowRig, name: str, server: ChatServer) -> Path:
    """Let the model work in a folder of three files; return the folder."""
    await rig.open_folder(name, {"notes.txt": NOTES, "old.txt": "old\n"})
    await asyncio.to_thread(commit_all, rig.folder / name)
    await rig.use_server(server)
    await until(lambda: rig.workspace.changes.coverage.is_complete, "the first copy")
    rig.type_message("Change things")
    await rig.answer_approval("once")
    await rig.answer_approval("once")
    await rig.wait_for_turn_end()
    rig.window.commands.show_changes.trigger()
    await until(lambda: len(listed(rig)) > 1, "the changes")
    return rig.folder / name


def page(rig: WindowRig) -> ChangesPage:
    return rig.views.changes.get()


def listed(rig: WindowRig) -> list[str]:
    """What stands in the list, from top to bottom."""
    model = page(rig).list.model()
    return [str(model.index(row, 0).data()) for row in range(model.rowCount())]


def contents(folder: Path) -> dict[str, str]:
    """All files of a folder, but for git's; nothing while some are being written."""
    try:
        files = [path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts]
        return {str(path.relative_to(folder)): path.read_text() for path in files}
    except FileNotFoundError:
        return {}


async def revert_turn(rig: WindowRig) -> None:
    """Take the newest turn back by keyboard."""
    rig.window.activateWindow()
    await until(rig.window.isActiveWindow, "the window in front")
    page(rig).list.setFocus()
    QTest.keyClick(page(rig).list, Qt.Key.Key_Home)
    QTest.keyClick(page(rig).list, Qt.Key.Key_R)


async def test_changes_are_reverted_whole_and_in_parts_merged_rewound_and_redone(rig: WindowRig) -> None:
    await _check_a_turn(rig)
    await _check_a_rewind(rig)
    await _check_a_hunk(rig)


async def _check_a_turn(rig: WindowRig) -> None:
    """It is reverted, redone, and merged with what came since."""
    async with edits_and_runs() as server:
        folder = await work(rig, "turn", server)
        after = contents(folder)
        assert listed(rig)[:2] == ["Change things", "notes.txt"], "the first file is selected"
        assert set(listed(rig)[2:]) == {"old.txt", "out/new.txt"}
        await until(lambda: page(rig).detail.has_diff, "the diff")
        diff = page(rig).detail.diff.diff
        assert diff is not None
        assert (diff.added, diff.removed) == (1, 1)

        counter = page(rig).filter_bar.counter
        await until(lambda: counter.text == "3 files · +2 \N{MINUS SIGN}2", "the lines")
        await revert_turn(rig)
        await until(lambda: contents(folder) == {"notes.txt": NOTES, "old.txt": "old\n"}, "the turn reverted")
        await until(lambda: counter.text == "3 files as before", "no change that stands")
        await until(lambda: "Reverted: 3 files" in rig.banner_text(), "the banner")
        assert "in Changes" not in rig.banner_text(), "it is the page on screen"
        assert not (folder / "out").exists()
        press(rig.window.notices, "files-reverted:undo")
        await until(lambda: contents(folder) == after, "the turn redone")
        await until(lambda: counter.text == "3 files · +2 \N{MINUS SIGN}2", "the lines again")
        await until(lambda: "Revert undone: 3 files" in rig.banner_text(), "the banner")
        rig.window.show_page("timeline")
        assert rig.banner_text() == "", "it goes with the page whose controls it covers"
        rig.window.show_page("changes")

        (folder / "notes.txt").write_text(NOTES.replace("two", "2").replace("six", "6"))
        await revert_turn(rig)
        plan = await rig.dialog(PlanDialog)
        combo = find_child(plan, ComboBox, "choice:notes.txt")
        assert combo.currentText() == "Keep current"
        combo.setCurrentIndex(combo.findData("former"))
        with use_browser(("file",)) as editor:
            press(plan, "open:notes.txt")
            await until(lambda: len(editor.addresses) == 2, "both versions opened")
        previous, current = (Path(QUrl(address).toLocalFile()) for address in editor.addresses)
        assert (previous.name, previous.read_text()) == ("notes (before).txt", NOTES)
        assert current == folder / "notes.txt"
        current.write_text(NOTES.replace("six", "6"))
        await until(lambda: combo.currentText() == "Keep current", "what was saved in it stays")
        press(plan, "revert")
        merged = {"notes.txt": NOTES.replace("six", "6"), "old.txt": "old\n"}
        await until(lambda: contents(folder) == merged, "the others reverted, the merge kept")

        rig.window.show_page("timeline")
        (folder / "by-hand.txt").write_text("outside all calls\n")
        rig.window.show_page("changes")
        await until(lambda: "by-hand.txt" in listed(rig), "what changed while another page was shown")


async def _check_a_rewind(rig: WindowRig) -> None:
    """It takes files and conversation back, and the files return."""
    async with edits_and_runs() as server:
        folder = await work(rig, "rewind", server)
        after = contents(folder)
        original = rig.conversation.session.id
        press(page(rig), "changes-of-commit")
        await until(lambda: listed(rig) == ["notes.txt", "old.txt", "out/new.txt"], "what git lists")
        await until(lambda: page(rig).detail.has_diff, "its diff")
        diff = page(rig).detail.diff.diff
        assert diff is not None
        assert (diff.added, diff.removed) == (1, 1)
        press(page(rig), "changes-of-session")
        await until(lambda: listed(rig)[0] == "Change things", "the turn")
        page(rig).list.select(page(rig).list.rows[2].key)
        selected = page(rig).entry
        await rig.wiring.workspace_controller.new_session()
        await rig.wiring.workspace_controller.open_session(original)
        rig.window.commands.show_changes.trigger()
        await until(lambda: page(rig).entry == selected, "the same row selected")
        rig.window.show_page("chat")
        rig.chat.view.jump_to(rig.rows(UserRow)[0].key)
        click_area(rig.chat.view, rig.rows(UserRow)[0].key, "rewind")
        dialog = await rig.dialog(RewindDialog)
        await until(lambda: find_button(dialog, "rewind").isEnabled(), "the preview")
        note = find_child(dialog, QLabel, "rewind-files")
        assert note.text() == "3 files go back."
        QTest.keyClick(find_button(dialog, "rewind-both"), Qt.Key.Key_Return)
        await until(lambda: contents(folder) == {"notes.txt": NOTES, "old.txt": "old\n"}, "the files back")
        await until(lambda: rig.conversation.session.id != original, "the branch on screen")
        await until(lambda: rig.composer.text() == "Change things", "the message in the composer")
        await until(lambda: "Rewound: 3 files" in rig.banner_text(), "the banner")
        assert "Rewound to before this message." in rig.banner_text()
        assert "You can also undo it later in Changes." in rig.banner_text()
        press(rig.window.notices, "editing:cancel")
        await until(
            lambda: rig.app_window.shown_session.session_id == original, "the session with the message"
        )
        await until(lambda: "Rewound: 3 files" in rig.banner_text(), "the banner there")
        press(rig.window.notices, "files-reverted:undo")
        await until(lambda: contents(folder) == after, "the files as they were")
        await until(lambda: "Rewind undone: 3 files" in rig.banner_text(), "the banner about that")


async def _check_a_hunk(rig: WindowRig) -> None:
    """A hunk that was reverted says so, and comes back."""
    before = "".join(f"line {number}\n" for number in range(1, 41))
    after = before.replace("line 3\n", "third\n").replace("line 35\n", "a later line\n")
    server = ChatServer(
        replies_in_order(
            StreamedReply(Call("write_file", json.dumps({"path": "list.txt", "content": after}), id="c1")),
            text_reply("Done."),
        )
    )
    async with server:
        await rig.open_folder("hunk", {"list.txt": before})
        await rig.use_server(server)
        await until(lambda: rig.workspace.changes.coverage.is_complete, "the first copy")
        rig.type_message("Change things")
        await rig.answer_approval("once")
        await rig.wait_for_turn_end()
        rig.window.commands.show_changes.trigger()
        file = rig.folder / "hunk" / "list.txt"
        detail = page(rig).detail

        def offers() -> list[str]:
            heads = detail.diff.text.findChildren(HunkHead)
            shown = sorted((head for head in heads if head.isVisible()), key=HunkHead.y)
            return [f"{head._place.text}: {head.revert.text()}" for head in shown]

        def first_offer() -> QPushButton:
            heads = [head for head in detail.diff.text.findChildren(HunkHead) if head.isVisible()]
            return min(heads, key=HunkHead.y).revert

        await until(lambda: offers() == ["Line 3: Revert", "Line 35: Revert"], "two hunks")
        for _ in range(2):
            first_offer().click()
            await until(lambda: offers() == ["Line 3 · Reverted: Redo", "Line 35: Revert"], "the state")
            assert file.read_text() == after.replace("third\n", "line 3\n")
            await until(lambda: "Part of list.txt reverted." in rig.banner_text(), "the notice of the revert")
            assert listed(rig)[0] == "You: Revert of a part"
            first_offer().click()
            await until(lambda: offers() == ["Line 3: Revert", "Line 35: Revert"], "the hunk back")
            assert file.read_text() == after
            await until(lambda: "Redone: list.txt" in rig.banner_text(), "the notice of the redo")
            assert listed(rig)[0] == "You: Redo"

        detail.revert.click()
        await until(lambda: file.read_text() == before, "the whole reverted")
        await until(lambda: listed(rig)[0] == "You: Revert", "the revert")
        page(rig).list.select(page(rig).list.rows[1].key)
        await until(lambda: offers() == ["Line 3: Redo", "Line 35: Redo"], "what the revert did")
        first_offer().click()
        await until(lambda: offers() == ["Line 3 · Undone: Revert", "Line 35: Redo"], "the part of it")
        assert listed(rig)[0] == "You: Redo of a part"
        await until(lambda: "Part of list.txt redone." in rig.banner_text(), "the notice of the redone part")
        assert file.read_text() == before.replace("line 3\n", "third\n")


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
            assert [place.path for place in rig.rows(ApprovalRow)[0].request.data_loss] == ["made.txt"]
            assert rig.rows(ApprovalRow)[0].uncovered_places[0] == "made.txt · Not copied yet"
        await rig.answer_approval("deny")
        await rig.wait_for_turn_end()
    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.open_workspace(identity)
        await until(lambda: line(rig) == PAUSED, "the pause after a restart")
        button(rig, "resume").click()
        await until(rig.window.jobs.isHidden, "the end of the copy")
        assert rig.workspace.changes.coverage.is_complete
        assert rig.workspace.changes.coverage.files == 2


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


@pytest.mark.skipif(find_bwrap() is None, reason="bubblewrap does not work here")
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
