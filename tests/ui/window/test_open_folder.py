"""A folder that is opened ends in a session that can be typed into; files are looked for inside it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QLineEdit

from helix_desktop.domain.errors import WorkspaceMissing
from helix_desktop.ui.design.buttons import IconButton
from helix_desktop.ui.kit.commands import OPEN_WORKSPACE
from helix_desktop.ui.window.trust import TrustDialog
from tests.support.image_bytes import png
from tests.support.window.buttons import press
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


def trust_question(rig: WindowRig) -> list[TrustDialog]:
    return [dialog for dialog in rig.window.findChildren(TrustDialog) if dialog.isVisible()]


async def test_folders_of_the_start_and_later_ones_are_opened(qapp: QApplication, tmp_path: Path) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await _check_folders_of_the_start(rig)
        await _check_a_new_folder(rig)

    async with open_window(qapp, tmp_path / "other") as rig:
        with pytest.raises(WorkspaceMissing):
            await rig.wiring.workspace_controller.restore_last(tmp_path / "gone")
        assert rig.window.places.welcome.get().isVisible()
        await _check_a_folder_with_sessions(rig)
        await _check_a_workspace_that_cannot_be_opened(rig)
        await _check_the_attach_dialog(rig)


async def _check_folders_of_the_start(rig: WindowRig) -> None:
    """The welcome page comes if the first one cannot be opened; until then the window says what it opens.

    Also while another target of the start is opened.
    """
    (rig.folder / "first").mkdir()
    (rig.folder / "second").mkdir()
    assert rig.window.is_opening
    openings = [
        asyncio.get_running_loop().create_task(
            rig.wiring.workspace_controller.restore_last(rig.folder / name)
        )
        for name in ("gone", "first", "second")
    ]
    welcomes = []
    for opening in openings:
        opening.add_done_callback(lambda _: welcomes.append(rig.window.places.welcome.get().isVisible()))
    await until(rig.window.opening_page.text, "what is being opened")
    assert rig.window.opening_page.isVisible()
    assert rig.window.opening_page.text() in {"Opening first…", "Opening second…"}
    await asyncio.wait(openings)
    await asyncio.sleep(0)
    assert not rig.window.is_opening
    assert welcomes == [False, False, False]
    assert rig.wiring.services.registry.get(rig.workspace.id).path == str(rig.folder / "second")
    assert isinstance(openings[0].exception(), WorkspaceMissing)
    await until(lambda: trust_question(rig), "the question")
    press(trust_question(rig)[0], "trust")


async def _check_a_new_folder(rig: WindowRig) -> None:
    """It needs trust, and then accepts typing."""
    (rig.folder / "new").mkdir()
    await rig.wiring.workspace_controller.open_folder(rig.folder / "new")
    await until(lambda: trust_question(rig), "the question")
    assert rig.conversation.session.transcript.messages.items == []
    assert rig.chat.empty_state.sentence.text() == "No messages yet."
    press(trust_question(rig)[0], "trust")
    await until(lambda: rig.window.focusWidget() is rig.composer.editor, "the composer in focus")
    assert rig.chat.empty_state.sentence.text().startswith("Only the demo model is here")
    await rig.run_turn("Hello")


async def _check_a_folder_with_sessions(rig: WindowRig) -> None:
    """The last one comes back, in the chat."""
    await rig.open_folder("project")
    await rig.run_turn("Hello")
    session_id = rig.conversation.session.id
    rig.window.show_page("cache")
    await rig.wiring.workspace_controller.open_folder(rig.folder / "project")
    assert rig.conversation.session.id == session_id
    assert rig.window.page() == "chat"
    assert rig.composer.editor.hasFocus()
    assert len(await rig.workspace.sessions()) == 1


async def _check_a_workspace_that_cannot_be_opened(rig: WindowRig) -> None:
    """It says why, and turns off what needs it; its page opens it again.

    The menus say at the pointer what an entry that is off needs.
    """
    assert not rig.banner_text()
    identity = await rig.open_folder("locked")
    services, commands = rig.wiring.services, rig.window.commands
    store = services.registry.store_folder(identity)
    await services.close_workspace(identity)
    store.rename(store.with_name("elsewhere"))
    store.write_text("no folder")
    await rig.wiring.workspace_controller.open_workspace(identity)
    await until(rig.window.places.closed.get().isVisible, "its page")
    assert "Not a directory" in rig.banner_text()
    own = commands.commands.items()
    of_workspace = [commands.action(name) for name, each in own if OPEN_WORKSPACE in each.needs]
    assert not any(action.isEnabled() for action in of_workspace)
    assert {action.statusTip() for action in of_workspace} == {"Needs an open workspace"}
    for action in (commands.compact_now, commands.toggle_inspector):
        assert (action.isEnabled(), action.statusTip()) == (False, "Needs an open session")
    assert commands.import_file.isEnabled()

    store.unlink()
    store.with_name("elsewhere").rename(store)
    press(rig.window.places.closed.get(), "retry")
    await until(lambda: rig.wiring.session.has_conversation, "it can be opened again")
    assert all(action.isEnabled() and not action.statusTip() for action in of_workspace)


async def _check_the_attach_dialog(rig: WindowRig) -> None:
    """It starts in the workspace, and then in the last folder."""
    pictures = rig.folder / "pictures"
    pictures.mkdir()
    (pictures / "a.png").write_bytes(png(8, 8, 1))
    await rig.open_folder("images")
    dialog = await file_dialog(rig)
    assert Path(dialog.directory().absolutePath()) == rig.folder / "images"
    field = dialog.findChild(QLineEdit)
    assert field is not None
    field.setText(str(pictures / "a.png"))
    dialog.accept()
    await until(rig.attachment_labels, "the image")

    dialog = await file_dialog(rig)
    assert Path(dialog.directory().absolutePath()) == pictures
    dialog.reject()
    await rig.open_folder("other")
    dialog = await file_dialog(rig)
    assert Path(dialog.directory().absolutePath()) == rig.folder / "other"
    dialog.reject()


async def file_dialog(rig: WindowRig) -> QFileDialog:
    """The dialog behind the paper clip."""
    (clip,) = rig.composer.findChildren(IconButton, "attach")
    QTest.mouseClick(clip, Qt.MouseButton.LeftButton)
    await until(
        lambda: [dialog for dialog in rig.window.findChildren(QFileDialog) if dialog.isVisible()],
        "the dialog",
    )
    return next(dialog for dialog in rig.window.findChildren(QFileDialog) if dialog.isVisible())
