"""From outside: a double-clicked workspace is imported after a question, links open their target."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QLabel, QMenu

from helix_desktop.app.file_open_events import open_target
from helix_desktop.app.launch_targets import IMPORT_PREFIX
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.ui.design.dialogs import QuestionDialog
from helix_desktop.ui.kit.intents import OpenCacheEntry
from tests.support.window.buttons import press, trigger
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop

DIGEST = "f" * 64


def request_target(rig: WindowRig, target: str, fresh: bool = False) -> asyncio.Task[None]:
    """Request something, as another start does; the task ends when it is done, or refused in a banner."""
    return rig.context.actions.start(open_target(target, rig.wiring, fresh), "knock")


def dialog_text(dialog: QuestionDialog) -> str:
    return "\n".join(label.text() for label in dialog.findChildren(QLabel))


def entry(menu: QMenu, name: str) -> None:
    trigger(menu, name)
    menu.deleteLater()


async def test_files_and_links_from_outside_are_opened(qapp: QApplication, tmp_path: Path) -> None:
    """A first start asks for the folder of a file; what is broken is reported and changes nothing."""
    place = tmp_path / "Fern & Söhne.helix"
    async with open_window(qapp, tmp_path / "there") as rig:
        await _check_copied_links(rig)
        await _check_a_file(rig, place)
        await _check_broken_links(rig)
        await _check_an_invalid_file(rig)
    await _check_a_first_start(qapp, tmp_path, place)


async def _check_a_file(rig: WindowRig, place: Path) -> None:
    """Into the workspace it comes from, else into the one on screen."""
    garden = rig.workspace.id
    await rig.wiring.services.backup.export(garden, place)
    shed = await rig.open_folder("shed")
    importing = request_target(rig, IMPORT_PREFIX + str(place))
    dialog = await rig.dialog(QuestionDialog)
    assert "into garden?" in dialog_text(dialog)
    assert "exported from this workspace" in dialog_text(dialog)
    press(dialog, "here")
    await importing
    assert "imported." in rig.banner_text()
    assert rig.workspace.id == garden

    await rig.wiring.workspace_controller.open_workspace(shed)
    await rig.wiring.workspace_controller.close_workspace(garden)
    rig.wiring.services.registry.remove(garden)
    before = len(await rig.workspace.sessions())
    for answer, count in (("cancel", before), ("here", before + 2)):
        importing = request_target(rig, IMPORT_PREFIX + str(place))
        dialog = await rig.dialog(QuestionDialog)
        assert "Import Fern & Söhne.helix into shed?" in dialog_text(dialog)
        assert "exported from garden on" in dialog_text(dialog)
        assert "2 sessions and" in dialog_text(dialog)
        press(dialog, answer)
        await importing
        assert rig.workspace.id == shed
        assert len(await rig.workspace.sessions()) == count


async def _check_a_first_start(qapp: QApplication, tmp_path: Path, place: Path) -> None:
    (tmp_path / "new").mkdir()
    async with open_window(qapp, tmp_path / "here") as rig:
        importing = request_target(rig, IMPORT_PREFIX + str(place), fresh=True)
        press(await rig.dialog(QuestionDialog), "cancel")
        await importing
        assert rig.window.places.welcome.get().isVisible()
        rig.window.commands.import_any.trigger()
        await rig.pick(place)
        press(await rig.dialog(QuestionDialog), "folder")
        await rig.pick(tmp_path / "new")
        await until(lambda: "imported." in rig.banner_text(), "the notice")
        await until(lambda: rig.wiring.session.has_conversation, "its session on screen")
        assert len(await rig.workspace.sessions()) == 2


async def _check_an_invalid_file(rig: WindowRig) -> None:
    """An invalid file is reported without a question."""
    (rig.folder / "broken.helix").write_bytes(b"nothing")
    await request_target(rig, IMPORT_PREFIX + str(rig.folder / "broken.helix"))
    assert "This file can't be imported." in rig.banner_text()
    await request_target(rig, IMPORT_PREFIX + str(rig.folder / "gone.helix"))
    assert "can't be read" in rig.banner_text()
    assert not rig.window.findChildren(QuestionDialog)


async def _check_broken_links(rig: WindowRig) -> None:
    """A broken link is reported and changes nothing."""
    shed = await rig.open_folder("shed")
    for link, expected in (
        ("helix:open?workspace=0c7f6b52-0f5e-4bb4-9d1c-2f1d9f6f2a10", "isn't on this computer"),
        ("helix:run?command=rm", "This link can't be opened."),
        (f"helix:content/{DIGEST}?workspace={shed}", DIGEST[:12]),
        (f"helix:session/{'a' * 32}?workspace={shed}", "a session that isn't in shed"),
    ):
        await request_target(rig, link)
        assert expected in rig.banner_text()
    assert rig.workspace.id == shed
    assert not rig.window.findChildren(QuestionDialog)
    garden = await rig.open_folder("garden")
    await rig.wiring.workspace_controller.open_workspace(shed)
    await rig.wiring.workspace_controller.close_workspace(garden)
    await _check_a_workspace_that_is_not_open(rig, garden)
    await rig.wiring.workspace_controller.close_workspace(garden)
    rig.wiring.services.registry.remove(garden)
    await request_target(rig, f"helix:open?workspace={garden}")
    assert "garden, which was removed from the list" in rig.banner_text()


async def _check_copied_links(rig: WindowRig) -> None:
    clipboard = QGuiApplication.clipboard()
    garden = await rig.open_folder("garden", {"a.txt": "words"})
    await rig.run_turn("What is in this folder?")
    session_id = rig.conversation.session.id
    digest = rig.events(ToolAnswered)[0].digest
    rig.perform(OpenCacheEntry(digest))
    outputs = rig.views.outputs.get()
    await until(lambda: outputs.table.selected_digests() == (digest,), "the entry")
    entry(outputs.entry_actions.menu(outputs.filter_bar), "cache-copy-link")
    to_content = clipboard.text()
    entry(
        rig.window.sidebar.session_list.menu_for(rig.window.sidebar.session_list.index_of(session_id)),
        "copy_link",
    )
    to_session = clipboard.text()
    entry(rig.window.rail.menu_for(garden), "copy_link")
    to_garden = clipboard.text()
    assert to_content == f"helix:content/{digest}?workspace={garden}"
    assert to_session == f"helix:session/{session_id}?workspace={garden}"
    assert to_garden == f"helix:open?workspace={garden}"

    await rig.open_folder("shed")
    await request_target(rig, to_garden)
    assert rig.workspace.id == garden
    await rig.open_folder("shed")
    rig.window.show_page("chat")
    await request_target(rig, to_content)
    await until(lambda: rig.window.page() == "cache", "the cache")
    await until(lambda: outputs.table.current_digest() == digest, "the entry")
    await rig.wiring.workspace_controller.new_session()
    await request_target(rig, to_session)
    assert rig.conversation.session.id == session_id
    assert rig.window.page() == "chat"
    assert not rig.banner_text()


async def _check_a_workspace_that_is_not_open(rig: WindowRig, garden: str) -> None:
    """It is opened after a question, and a second link asks not next to the first."""
    for answer in ("cancel", "open"):
        opening = request_target(rig, f"helix:open?workspace={garden}")
        dialog = await rig.dialog(QuestionDialog)
        assert "Open garden?" in dialog_text(dialog)
        assert garden not in rig.wiring.services.open_workspaces
        await request_target(rig, f"helix:open?workspace={garden}")
        press(dialog, answer)
        await opening
    assert rig.workspace.id == garden
