"""A workspace is exported and imported from the rail's menu, while it is open and used."""

from __future__ import annotations

import asyncio
from pathlib import Path
from zipfile import ZipFile

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QFileDialog, QLineEdit, QWidget

from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.listeners import OnProgress
from helix_desktop.ui.cache.entry_actions import ExportEntries
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.dialogs import ChoiceDialog, QuestionDialog
from helix_desktop.ui.design.viewer.content_viewer import TEXT_NAME
from helix_desktop.ui.kit.intents import OpenSettings, ShareSession
from helix_desktop.ui.settings.about_page import DiagnosticsDialog
from helix_desktop.ui.window.import_export import ShareDialog
from tests.support.model_servers.chat_server import (
    ChatServer,
    Hang,
    StreamedReply,
    Text,
    replies_in_order,
    text_reply,
)
from tests.support.window.buttons import press, trigger
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


def choose(rig: WindowRig, entry: str, identity: str) -> None:
    """Choose an entry of a workspace's menu."""
    menu = rig.window.rail.menu_for(identity)
    trigger(menu, entry)
    menu.deleteLater()


async def wait_for_widget(rig: WindowRig, kind: type[QWidget]) -> QWidget:
    """The dialog of a kind, once it is on screen."""
    await until(lambda: any(widget.isVisible() for widget in rig.window.findChildren(kind)), "a dialog")
    return next(widget for widget in rig.window.findChildren(kind) if widget.isVisible())


async def pick(rig: WindowRig, path: Path) -> None:
    """Choose a file in the dialog that comes, and accept."""
    dialog = await wait_for_widget(rig, QFileDialog)
    assert isinstance(dialog, QFileDialog)
    dialog.setDirectory(str(path.parent))
    field = dialog.findChild(QLineEdit)
    assert field is not None
    field.setText(str(path))
    dialog.accept()
    await until(lambda: not dialog.isVisible(), "the dialog gone")


async def export(rig: WindowRig, what: str) -> None:
    """Export something by the menu."""
    rig.window.commands.export.trigger()
    press(await wait_for_widget(rig, ChoiceDialog), what)


async def test_a_workspace_is_exported_and_imported_into_another_one(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("first", {"a.txt": "words"})
        await rig.run_turn("What is in this folder?")
        log = await rig.stored_events()
        await export(rig, "workspace")
        await pick(rig, tmp_path / "all")
        await until(lambda: "all.helix exported" in rig.banner_text(), "the notice")
        assert "1 session." in rig.banner_text()
        assert not rig.window.jobs.job_ids()

        (tmp_path / "outputs").mkdir()
        outputs = [rig.last_output("list_directory").digest, "0" * 64]
        rig.perform(ExportEntries(tuple(outputs)))
        press(await wait_for_widget(rig, ChoiceDialog), "folder")
        await pick(rig, tmp_path / "outputs")
        await until(lambda: "Saving stopped." in rig.banner_text(), "the notice")
        assert "1 entry was saved to outputs." in rig.banner_text()

        second = await rig.open_folder("second")
        choose(rig, "import", second)
        await pick(rig, tmp_path / "all.helix")
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
        assert [session.id for session in (await rig.workspace.store.retention.trash()).sessions] == [
            imported.id
        ]


async def test_diagnostics_are_saved_as_they_are_on_screen(qapp: QApplication, tmp_path: Path) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("first")
        rig.perform(OpenSettings("about"))
        await until(lambda: rig.window.findChild(PushButton, "save_diagnostics") is not None, "the page")
        press(rig.window, "save_diagnostics")
        dialog = await wait_for_widget(rig, DiagnosticsDialog)
        assert isinstance(dialog, DiagnosticsDialog)
        for item in dialog.list.items():  # it takes long, and may be left out
            if item.data(0, TEXT_NAME) == "self-check.json":
                item.setCheckState(0, Qt.CheckState.Unchecked)
        await until(dialog.save.isEnabled, "the files")
        shown = dict(dialog.files())
        press(dialog, "save")
        await pick(rig, tmp_path / "bundle.zip")
        await until((tmp_path / "bundle.zip").exists, "the file")
        await until(lambda: not rig.window.findChildren(DiagnosticsDialog), "the dialog gone")
        with ZipFile(tmp_path / "bundle.zip") as bundle:
            assert {name: bundle.read(name).decode() for name in bundle.namelist()} == shown


async def test_jobs_show_progress_and_an_import_stops_running_work_only_when_the_user_agrees(
    qapp: QApplication, tmp_path: Path
) -> None:
    """What cannot be imported changes nothing."""
    async with open_window(qapp, tmp_path) as rig:
        await _check_a_job(rig)
        await _check_a_repair(rig)
        await _check_an_invalid_file(rig)
        await _check_running_work(rig)


async def _check_a_job(rig: WindowRig) -> None:
    """A job displays its progress and can be canceled."""
    ended: list[object] = []

    async def go_on_for_ever(tell: OnProgress) -> str:
        tell(3, 4)
        await asyncio.Event().wait()
        return "never"

    async def run() -> None:
        ended.append(await rig.window.jobs.run("Exporting all of it", go_on_for_ever, "Nothing."))

    rig.context.actions.start(run(), "a job")
    bar = rig.window.jobs
    await until(
        lambda: any("75 %" in widget.accessibleName() for widget in bar.findChildren(QWidget)), "75 %"
    )
    press(bar, "cancel_job")
    await until(lambda: ended == [None], "the end")
    assert not bar.job_ids()


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
    await pick(rig, rig.folder / "broken.helix")
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
        await pick(rig, rig.folder / "a.helix")
        await until(lambda: "exported" in rig.banner_text(), "the notice")
        rig.type_message("Second")
        await until(lambda: rig.conversation.is_running, "a turn")
        for answer, stays in (("cancel", True), ("stop", False)):
            choose(rig, "import", identity)
            await pick(rig, rig.folder / "a.helix")
            press(await wait_for_widget(rig, QuestionDialog), answer)
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
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await export(rig, "all")
        await until(lambda: "Nothing to back up." in rig.banner_text(), "the refusal")
        await rig.open_folder("first")
        await rig.run_turn("Hello")
        await rig.open_folder("second")
        await rig.run_turn("Hello again")
        await export(rig, "all")
        await pick(rig, rig.wiring.services.data_folder)
        await until(lambda: "would be lost with it" in rig.banner_text(), "the refusal of the data folder")
        place = tmp_path / "backups"
        place.mkdir()
        await export(rig, "all")
        await pick(rig, place)
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
        await pick(rig, again)
        await until(lambda: "2 of 3 workspaces backed up" in rig.banner_text(), "the notice")
        assert "third: The workspace" in rig.banner_text()
        assert len(list(again.glob("*.helix"))) == 2

        async def never(*_: object) -> None:
            await asyncio.Event().wait()

        monkeypatch.setattr(rig.wiring.services.backup, "back_up", never)
        await export(rig, "all")
        await pick(rig, tmp_path)
        await until(lambda: bool(rig.window.jobs.job_ids()), "the job")
        press(rig.window.jobs, "cancel_job")
        await until(lambda: "Backup canceled. No workspace was backed up." in rig.banner_text(), "the notice")


async def test_a_session_is_exported_to_read_and_to_import_again(qapp: QApplication, tmp_path: Path) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("first", {"a.txt": "words"})
        await rig.run_turn("What is in this folder?")
        log, session_id = await rig.stored_events(), rig.conversation.session.id
        sessions = rig.window.sidebar.session_list
        await until(lambda: sessions.index_of(session_id).isValid(), "the list")
        menu = sessions.menu_for(sessions.index_of(session_id))
        trigger(menu, "export")
        menu.deleteLater()
        press(await wait_for_widget(rig, QuestionDialog), "document")
        sharing = await wait_for_widget(rig, ShareDialog)
        assert isinstance(sharing, ShareDialog)
        assert sharing.document.text.startswith("# What is in this folder?\n")
        text_of_all = sharing.document.text
        sharing.list.setCurrentItem(sharing.list.items()[1])
        shown = sharing.document.text
        assert sharing.viewer.text.toPlainText().startswith("<!doctype html>")
        press(sharing, "save")
        await pick(rig, tmp_path / "read")
        await until(lambda: "read.html saved: " in rig.banner_text(), "the notice")
        assert (tmp_path / "read.html").read_text(encoding="utf-8") == shown
        assert "<h1>What is in this folder?</h1>" in shown

        rig.window.resize(1024, 680)
        rig.window.perform(ShareSession(2))
        sharing = await wait_for_widget(rig, ShareDialog)
        assert isinstance(sharing, ShareDialog)
        assert sharing.height() == rig.window.height() - 80, "it stands inside the window"
        assert sharing.document.text.startswith("# What is in this folder?\n")
        assert len(sharing.document.text) < len(text_of_all)
        sharing.reject()
        rig.type_message("/export")
        press(await wait_for_widget(rig, ChoiceDialog), "session")
        press(await wait_for_widget(rig, QuestionDialog), "archive")
        await pick(rig, tmp_path / "again.helix")
        await until(lambda: "again.helix exported" in rig.banner_text(), "the notice")

        second = await rig.open_folder("second")
        choose(rig, "import", second)
        await pick(rig, tmp_path / "again.helix")
        await until(lambda: "again.helix imported." in rig.banner_text(), "the notice")
        assert await rig.workspace.store.events(session_id) == log
