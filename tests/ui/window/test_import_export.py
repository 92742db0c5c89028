"""Workspaces and sessions are exported and imported, while open and used; sessions of other agents, too."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from helix_desktop.domain.events.conversation import AssistantSpoke, UserSpoke
from helix_desktop.domain.listeners import OnProgress
from helix_desktop.foreign.discovery import AgentFolders
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.dialogs import ChoiceDialog, QuestionDialog
from helix_desktop.ui.design.viewer.content_viewer import TEXT_NAME
from helix_desktop.ui.kit.intents import OpenSettings, ShareSession
from helix_desktop.ui.outputs.entry_actions import ExportEntries
from helix_desktop.ui.settings.about_page import DiagnosticsDialog
from helix_desktop.ui.window.import_export import ShareDialog
from helix_desktop.ui.workspace_dialogs.import_sessions import ImportSessionsDialog
from tests.support.model_servers.chat_server import (
    ChatServer,
    Hang,
    StreamedReply,
    Text,
    replies_in_order,
    text_reply,
)
from tests.support.window.buttons import find_button, find_buttons, press, trigger
from tests.support.window.window_rig import WindowRig, until

pytestmark = pytest.mark.qt_loop


def choose(rig: WindowRig, entry: str, identity: str) -> None:
    """Choose an entry of a workspace's menu."""
    menu = rig.window.rail.menu_for(identity)
    trigger(menu, entry)
    menu.deleteLater()


async def export(rig: WindowRig, what: str) -> None:
    """Export something by the menu."""
    rig.window.commands.export.trigger()
    press(await rig.dialog(ChoiceDialog), what)


async def test_a_workspace_is_exported_and_imported_into_another_one(tmp_path: Path, rig: WindowRig) -> None:
    await rig.open_folder("first", {"a.txt": "words"})
    await rig.run_turn("What is in this folder?")
    log = await rig.stored_events()
    await export(rig, "workspace")
    await rig.pick(tmp_path / "all")
    await until(lambda: "all.helix exported" in rig.banner_text(), "the notice")
    assert "1 session." in rig.banner_text()
    assert not rig.window.jobs.job_ids()

    (tmp_path / "outputs").mkdir()
    outputs = [rig.last_output("list_directory").digest, "0" * 64]
    rig.perform(ExportEntries(tuple(outputs)))
    press(await rig.dialog(ChoiceDialog), "folder")
    await rig.pick(tmp_path / "outputs")
    await until(lambda: "Saving stopped." in rig.banner_text(), "the notice")
    assert "1 entry was saved to outputs." in rig.banner_text()

    second = await rig.open_folder("second")
    choose(rig, "import", second)
    await rig.pick(tmp_path / "all.helix")
    await until(lambda: "all.helix imported." in rig.banner_text(), "the notice")
    assert "Sessions: 1 new." in rig.banner_text()
    assert rig.workspace.id == second
    (imported,) = [
        session for session in await rig.workspace.sessions() if session.title.startswith("What is in")
    ]
    assert await rig.workspace.store.events(imported.id) == log
    assert rig.conversation.session.id == imported.id
    press(rig.window.notices, "undo")
    await until(lambda: "1 session moved to the trash." in rig.banner_text(), "the notice")
    assert imported.id not in {session.id for session in await rig.workspace.sessions()}
    assert [session.id for session in (await rig.workspace.store.retention.trash()).sessions] == [imported.id]


async def test_diagnostics_are_saved_as_they_are_on_screen(tmp_path: Path, rig: WindowRig) -> None:
    await rig.open_folder("first")
    rig.perform(OpenSettings("about"))
    await until(lambda: rig.window.findChild(PushButton, "save_diagnostics") is not None, "the page")
    press(rig.window, "save_diagnostics")
    dialog = await rig.dialog(DiagnosticsDialog)
    for item in dialog.list.items():  # it takes long, and may be left out
        if item.data(0, TEXT_NAME) == "self-check.json":
            item.setCheckState(0, Qt.CheckState.Unchecked)
    await until(dialog.save.isEnabled, "the files")
    shown = dict(dialog.files())
    press(dialog, "save")
    await rig.pick(tmp_path / "bundle.zip")
    await until((tmp_path / "bundle.zip").exists, "the file")
    await until(lambda: not rig.window.findChildren(DiagnosticsDialog), "the dialog gone")
    with ZipFile(tmp_path / "bundle.zip") as bundle:
        assert {name: bundle.read(name).decode() for name in bundle.namelist()} == shown


async def test_jobs_show_progress_and_an_import_stops_running_work_only_when_the_user_agrees(
    rig: WindowRig,
) -> None:
    """What cannot be imported changes nothing."""
    await _check_a_repair(rig)
    await _check_an_invalid_file(rig)
    await _check_running_work(rig)


async def _check_a_repair(rig: WindowRig) -> None:
    """A repair appears once it reports progress."""
    ended: list[object] = []
    started, on, go_on = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def repair(tell: OnProgress) -> str:
        on.set()
        await started.wait()
        tell(1, 2)
        await go_on.wait()
        return "mended"

    async def run() -> None:
        ended.append(await rig.window.jobs.run("project is being mended", repair))

    rig.context.actions.start(run(), "a mending")
    await until(on.is_set, "the work")
    bar = rig.window.jobs
    assert not bar.job_ids()
    started.set()
    await until(
        lambda: any("50 %" in widget.accessibleName() for widget in bar.findChildren(QWidget)), "50 %"
    )
    with pytest.raises(AssertionError, match="no button"):
        press(bar, "cancel_job")
    go_on.set()
    await until(lambda: ended == ["mended"], "the end")
    assert not bar.job_ids()


async def _check_an_invalid_file(rig: WindowRig) -> None:
    """An invalid file is reported and the workspace reopens."""
    identity = await rig.open_folder("invalid")
    await rig.run_turn("Hello")
    (rig.folder / "broken.helix").write_bytes(b"nothing")
    rig.window.commands.import_file.trigger()
    await rig.pick(rig.folder / "broken.helix")
    await until(lambda: "can't be imported" in rig.banner_text(), "the refusal")
    await until(lambda: rig.wiring.session.has_workspace, "the workspace")
    assert rig.workspace.id == identity
    assert rig.events(UserSpoke)


async def _check_running_work(rig: WindowRig) -> None:
    """Running work is stopped only after confirmation."""
    turns = replies_in_order(text_reply("Well."), StreamedReply(Text("I think"), Hang()))
    async with ChatServer(turns) as server:
        identity = await rig.open_folder("running")
        await rig.use_server(server)
        await rig.run_turn("First")
        choose(rig, "export", identity)
        await rig.pick(rig.folder / "a.helix")
        await until(lambda: "exported" in rig.banner_text(), "the notice")
        rig.type_message("Second")
        await until(lambda: rig.conversation.is_running, "a turn")
        for answer, stays in (("cancel", True), ("stop", False)):
            choose(rig, "import", identity)
            await rig.pick(rig.folder / "a.helix")
            press(await rig.dialog(QuestionDialog), answer)
            if stays:
                await until(
                    lambda: not any(dialog.isVisible() for dialog in rig.window.findChildren(QuestionDialog)),
                    "",
                )
                assert rig.conversation.is_running
        await until(lambda: "imported." in rig.banner_text(), "the notice")
        assert "1 unchanged." in rig.banner_text()
        assert not rig.conversation.is_running
        assert [event.text for event in rig.events(UserSpoke)] == ["First", "Second"]


async def test_all_workspaces_are_backed_up_a_broken_one_is_named_and_a_backup_canceled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rig: WindowRig
) -> None:
    await export(rig, "all")
    await until(lambda: "Nothing to back up." in rig.banner_text(), "the refusal")
    await rig.open_folder("first")
    await rig.run_turn("Hello")
    await rig.open_folder("second")
    await rig.run_turn("Hello again")
    await export(rig, "all")
    await rig.pick(rig.wiring.services.data_folder)
    await until(lambda: "would be lost with it" in rig.banner_text(), "the refusal of the data folder")
    place = tmp_path / "backups"
    place.mkdir()
    await export(rig, "all")
    await rig.pick(place)
    await until(lambda: "2 workspaces backed up" in rig.banner_text(), "the notice")
    assert "verified" in rig.banner_text()
    assert len(list(place.glob("*.helix"))) == 2
    assert not rig.window.jobs.job_ids()

    broken = await rig.open_folder("third")
    await rig.run_turn("Hello once more")
    await rig.wiring.services.close_workspace(broken)
    (rig.wiring.services.registry.store_folder(broken) / "format").write_text("nothing")
    (rig.wiring.services.registry.store_folder(broken) / "db" / "CURRENT").write_text("nothing")
    again = tmp_path / "again"
    again.mkdir()
    await export(rig, "all")
    await rig.pick(again)
    await until(lambda: "2 of 3 workspaces backed up" in rig.banner_text(), "the notice")
    assert "third: The workspace" in rig.banner_text()
    assert len(list(again.glob("*.helix"))) == 2

    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(rig.wiring.services.backup, "back_up", never)
    await export(rig, "all")
    await rig.pick(tmp_path)
    await until(lambda: bool(rig.window.jobs.job_ids()), "the job")
    press(rig.window.jobs, "cancel_job")
    await until(lambda: "Backup canceled. No workspace was backed up." in rig.banner_text(), "the notice")


async def test_a_session_is_exported_to_read_and_to_import_again(tmp_path: Path, rig: WindowRig) -> None:
    await rig.open_folder("first", {"a.txt": "words"})
    await rig.run_turn("What is in this folder?")
    log, session_id = await rig.stored_events(), rig.conversation.session.id
    sessions = rig.window.sidebar.session_list
    await until(lambda: sessions.index_of(session_id).isValid(), "the list")
    menu = sessions.menu_for(sessions.index_of(session_id))
    trigger(menu, "export")
    menu.deleteLater()
    press(await rig.dialog(QuestionDialog), "document")
    sharing = await rig.dialog(ShareDialog)
    assert sharing.document.text.startswith("# What is in this folder?\n")
    text_of_all = sharing.document.text
    sharing.list.setCurrentItem(sharing.list.items()[1])
    shown = sharing.document.text
    assert sharing.viewer.text.toPlainText().startswith("<!doctype html>")
    press(sharing, "save")
    await rig.pick(tmp_path / "read")
    await until(lambda: "read.html saved: " in rig.banner_text(), "the notice")
    assert (tmp_path / "read.html").read_text(encoding="utf-8") == shown
    assert "<h1>What is in this folder?</h1>" in shown

    rig.window.resize(1024, 680)
    rig.window.perform(ShareSession(2))
    sharing = await rig.dialog(ShareDialog)
    assert sharing.height() == rig.window.height() - 80, "it stands inside the window"
    assert sharing.document.text.startswith("# What is in this folder?\n")
    assert len(sharing.document.text) < len(text_of_all)
    sharing.reject()
    rig.type_message("/export")
    press(await rig.dialog(ChoiceDialog), "session")
    press(await rig.dialog(QuestionDialog), "archive")
    await rig.pick(tmp_path / "again.helix")
    await until(lambda: "again.helix exported" in rig.banner_text(), "the notice")

    second = await rig.open_folder("second")
    choose(rig, "import", second)
    await rig.pick(tmp_path / "again.helix")
    await until(lambda: "again.helix imported." in rig.banner_text(), "the notice")
    assert await rig.workspace.store.events(session_id) == log


CLAUDE, PI = "21a2e002-8b63-45db-8e0d-1978fe0600aa", "5f0c0c5e-6c0f-4d2c-8a3e-0f6a1f1d7c11"


def write(path: Path, lines: Sequence[dict[str, Any]], tail: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines) + tail)
    return path


def record(uuid: str, parent: str | None, role: str, content: object) -> dict[str, Any]:
    """A record of Claude Code."""
    return {
        "type": role, "uuid": uuid, "parentUuid": parent, "sessionId": CLAUDE, "cwd": "/home/ann/shop",
        "version": "2.1.5", "timestamp": "2026-02-12T07:51:13Z",
        "message": {"role": role, "content": content, "model": "claude-opus-4-5", "id": f"m{uuid}"},
    }  # fmt: skip


TALK = [
    record("1", None, "user", "Which port does it use?"),
    record("2", "1", "assistant", [{"type": "text", "text": "8080."}]),
    {"type": "file-history-snapshot", "snapshot": {}},
]

MORE = [
    record("3", "2", "user", "And the host?"),
    record("4", "3", "assistant", [{"type": "text", "text": "localhost."}]),
]

PI_TALK: list[dict[str, Any]] = [
    {"type": "session", "version": 3, "id": PI, "timestamp": "2026-03-01T09:00:00Z", "cwd": "/home/ann/api"},
    {"type": "message", "id": "a1", "parentId": None, "timestamp": "2026-03-01T09:00:01Z",
     "message": {"role": "user", "content": [{"type": "text", "text": "Rename the table"}]}},
    {"type": "message", "id": "a2", "parentId": "a1", "timestamp": "2026-03-01T09:00:02Z",
     "message": {"role": "assistant", "content": [{"type": "text", "text": "Done."}], "model": "m"}},
]  # fmt: skip


def fill_home(home: Path) -> None:
    """A session of Claude Code with a damaged line, and one of Pi."""
    claude = write(home / f".claude/projects/-home-ann-shop/{CLAUDE}.jsonl", TALK, '{"type": "user", "mess\n')
    pi = write(home / ".pi/agent/sessions/--home-ann-api--/2026-03-01_x.jsonl", PI_TALK)
    for path, at in ((claude, 1_772_400_000), (pi, 1_772_300_000)):
        os.utime(path, (at, at))


async def open_dialog(rig: WindowRig) -> ImportSessionsDialog:
    rig.window.commands.import_sessions.trigger()
    return await rig.dialog(ImportSessionsDialog)


async def search(dialog: ImportSessionsDialog, count: int) -> None:
    press(dialog, "search_computer")
    await until(lambda: len(dialog.list.items()) == count, "the sessions")


def use_home(rig: WindowRig, home: Path) -> None:
    """Let the agents' folders be in a folder of the test."""
    rig.wiring.services.foreign_sessions._folders = lambda: AgentFolders(home, {}, "linux")


async def test_chosen_sessions_come_in_and_again_only_what_is_new(tmp_path: Path, rig: WindowRig) -> None:
    home = tmp_path / "home"
    fill_home(home)
    use_home(rig, home)
    await rig.open_folder("first")
    dialog = await open_dialog(rig)
    assert not dialog.list.items()  # nothing is looked for before the user asks
    await search(dialog, 2)
    assert [item.text(0) for item in dialog.list.items()] == [
        "Which port does it use?",
        "Rename the table",
    ]
    assert [dialog.list.items()[0].text(place) for place in (1, 2)] == ["Claude Code", "shop"]
    assert not find_button(dialog, "import").isEnabled()

    QTest.keyClicks(dialog.filter, "pi api")
    assert [item.isHidden() for item in dialog.list.items()] == [True, False]
    press(dialog, "check_all")
    dialog.filter.clear()
    QTest.keyClick(dialog.list, Qt.Key.Key_Home)
    QTest.keyClick(dialog.list, Qt.Key.Key_Space)
    assert len(dialog.chosen()) == 2
    assert find_button(dialog, "import").text() == "Import 2 sessions"
    press(dialog, "import")
    await until(lambda: "2 sessions imported." in rig.banner_text(), "the notice")
    assert "2 records without a place here are kept as data." in rig.banner_text()
    assert "1 damaged line was skipped." in rig.banner_text()
    assert not rig.window.jobs.job_ids()
    press(rig.window.notices, "open_imported")
    await until(lambda: bool(rig.events(AssistantSpoke)), "the session")
    assert [event.text for event in rig.events(UserSpoke)] == ["Which port does it use?"]

    with (home / f".claude/projects/-home-ann-shop/{CLAUDE}.jsonl").open("a") as file:
        file.write("".join(f"{json.dumps(line)}\n" for line in MORE))
    dialog = await open_dialog(rig)
    await search(dialog, 2)
    assert all(item.text(0).startswith("Imported · ") for item in dialog.list.items())
    press(dialog, "check_all")
    press(dialog, "import")
    await until(lambda: "1 continued with what is new, 1 already here." in rig.banner_text(), "the news")
    await until(lambda: len(rig.events(UserSpoke)) == 2, "the session on screen again")
    assert not find_buttons(rig.window.notices, "undo")


async def test_a_file_is_chosen_by_hand_and_what_has_no_session_says_why(
    tmp_path: Path, rig: WindowRig
) -> None:
    home = tmp_path / "home"
    fill_home(home)
    (tmp_path / "notes.jsonl").write_text("no session\n")
    use_home(rig, tmp_path / "nobody")
    await rig.open_folder("first")
    press(rig.chat.empty_state, "empty_link")
    dialog = await rig.dialog(ImportSessionsDialog)
    press(dialog, "search_computer")
    await until(
        lambda: "No sessions of other agents" in dialog.empty.sentence.text(), "the end of the search"
    )
    for path, is_found in ((tmp_path / "notes.jsonl", False), (next(home.glob(".pi/**/*.jsonl")), True)):
        press(dialog, "choose_file")
        await rig.pick(path)
        if not is_found:
            await until(dialog.error.isVisible, "the error")
            assert "No sessions found in" in dialog.error.text()
    await until(lambda: len(dialog.chosen()) == 1, "the session, checked")
    press(dialog, "import")
    await until(lambda: "1 session imported." in rig.banner_text(), "the notice")
    press(rig.window.notices, "undo")
    await until(lambda: "1 session moved to the trash." in rig.banner_text(), "the end of the undo")


async def test_a_canceled_import_says_so_and_leaves_nothing_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rig: WindowRig
) -> None:
    home = tmp_path / "home"
    lines = [record(str(at), str(at - 1) if at else None, "user", f"Message {at}") for at in range(6_000)]
    write(home / f".claude/projects/-home-ann-shop/{CLAUDE}.jsonl", lines)
    use_home(rig, home)
    await rig.open_folder("first")
    before = {session.id for session in await rig.workspace.sessions()}
    dialog = await open_dialog(rig)
    await search(dialog, 1)
    press(dialog, "check_all")
    press(dialog, "import")
    await until(lambda: find_buttons(rig.window.jobs, "cancel_job"), "the job")
    press(rig.window.jobs, "cancel_job")
    await until(lambda: not rig.window.jobs.job_ids(), "the end of the job")
    assert {session.id for session in await rig.workspace.sessions()} == before
