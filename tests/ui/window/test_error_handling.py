"""Errors around a window, and the start after a crash: each reported in place, and nothing lost."""

from __future__ import annotations

import json
import random
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QLabel, QWidget

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ContentDamaged
from helix_desktop.domain.passages import PassageQuery
from helix_desktop.domain.store import Commit
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.ui.chat.actions import ControlTurn
from helix_desktop.ui.chat.rows.row_texts import figures_text
from helix_desktop.ui.chat.rows.row_types import ApprovalRow, AssistantRow, NoticeRow, ToolRow, UserRow
from helix_desktop.ui.design.dialogs import QuestionDialog
from helix_desktop.ui.kit.intents import RemoveWorkspace
from tests.support.model_servers.chat_server import Call, ChatServer, Reply, StreamedReply, text_reply
from tests.support.small_disk import fill_disk, mount_small_disk
from tests.support.store.builders import make_content
from tests.support.store.damage import compact_tables, flip_bit_near
from tests.support.window.buttons import press
from tests.support.window.list_contents import workspaces_in
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


def _words(pane: QWidget) -> list[str]:
    return [label.text() for label in pane.findChildren(QLabel) if label.isVisible()]


async def test_what_is_missing_in_use_or_damaged_is_reported_and_nothing_is_lost(
    qapp: QApplication, tmp_path: Path
) -> None:
    content = random.Random(1).randbytes(5000)
    async with open_window(qapp, tmp_path) as rig:
        first = await rig.open_folder("first", {"README.md": "# First"})
        await rig.run_turn("Look")
        second = await rig.open_folder("second", {"README.md": "# Second"})
        await rig.run_turn("Look")
        await rig.workspace.store.commit(Commit("s", contents=[make_content(content)]))
        store = rig.wiring.services.registry.store_folder(second)
        missing = await rig.open_folder("project", {"README.md": "# Here"})
        await rig.run_turn("Look")
        await _check_a_folder_that_is_moved(rig, missing)

    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.restore_last()
        await _check_a_missing_folder(rig, missing)
        await _check_a_workspace_in_use(rig, first, second)
        await rig.wiring.workspace_controller.open_workspace(second)
    compact_tables(store)
    (store / "db" / "CURRENT").unlink()

    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.restore_last()
        _check_a_repaired_store(rig)
        rig.wiring.services.registry.change(first, model="gone/model")
    compact_tables(store)
    assert flip_bit_near(store, content[2000:2020]) == 1
    (tmp_path / "data" / "settings.toml").write_text("theme = [broken")

    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.restore_last()
        await until(lambda: "settings.toml is damaged" in rig.banner_text(), "the banner")
        assert (tmp_path / "data" / "settings.damaged-1.toml").read_text() == "theme = [broken"
        await rig.wiring.workspace_controller.open_workspace(second)
        await _check_later_damage(rig, digest_of(content))
        await rig.wiring.workspace_controller.open_workspace(first)
        await _check_a_model_that_is_gone(rig, first)
        await _check_removing(rig, missing, second, first)


async def _check_a_folder_that_is_moved(rig: WindowRig, identity: str) -> None:
    """It is reported as soon as the user is back, until it is there again or its page says so."""
    place, moved = rig.folder / "project", rig.folder / "moved"
    assert "folder-missing" not in rig.window.notices.names()
    place.rename(moved)
    QApplication.sendEvent(rig.window, QEvent(QEvent.Type.ActivationChange))
    assert "folder-missing" in rig.window.notices.names()
    moved.rename(place)
    QApplication.sendEvent(rig.window, QEvent(QEvent.Type.ActivationChange))
    assert "folder-missing" not in rig.window.notices.names()
    place.rename(moved)
    await rig.wiring.workspace_controller.open_workspace(identity)
    assert "folder-missing" in rig.window.notices.names()
    await rig.wiring.workspace_controller.reopen(identity)
    assert rig.window.places.missing.get().isVisible()
    assert "folder-missing" not in rig.window.notices.names(), "the page says it"


async def _check_a_missing_folder(rig: WindowRig, identity: str) -> None:
    """It is reported and can be located."""
    assert rig.window.places.missing.get().isVisible()
    assert "Folder not found. Sessions are kept." in _words(rig.window.sidebar)
    rig.window.commands.switch_workspace.trigger()
    assert sorted(row.badge for row in workspaces_in(rig.window.switcher)) == ["", "", "missing"]
    rig.window.switcher.hide()
    rig.wiring.services.registry.relocate(identity, rig.folder / "moved")
    await rig.wiring.workspace_controller.open_workspace(identity)
    assert not rig.window.places.missing.get().isVisible()
    assert rig.window.sidebar.session_list.isVisible()
    assert [row.text for row in rig.rows(UserRow)] == ["Look"]


async def _check_a_workspace_in_use(rig: WindowRig, first: str, second: str) -> None:
    """Open elsewhere, it is reported; it opens when it is free."""
    folder = rig.wiring.services.registry.store_folder(first)
    other = await LevelDbStore.open(folder, first)
    await rig.wiring.workspace_controller.open_workspace(first)
    assert "is already open here" in rig.banner_text()
    assert "Not open. Sessions are kept." in _words(rig.window.sidebar)
    assert not rig.wiring.session.has_conversation
    await rig.wiring.workspace_controller.open_workspace(second)
    assert "is already open here" not in rig.banner_text()
    await other.close()
    await rig.wiring.workspace_controller.open_workspace(first)
    assert [row.text for row in rig.rows(UserRow)] == ["Look"]


def _check_a_repaired_store(rig: WindowRig) -> None:
    assert rig.window.opening_page.text().startswith("Repairing second…\nIts data was damaged.")
    assert not rig.window.is_opening
    assert "has been repaired" in rig.banner_text()
    assert "CURRENT, the file that names all others, is missing" in rig.banner_text()
    assert "Nothing was lost." in rig.banner_text()
    assert [row.text for row in rig.rows(UserRow)] == ["Look"]


async def _check_later_damage(rig: WindowRig, digest: str) -> None:
    """It is reported once."""
    assert "repaired" not in rig.banner_text()
    for _ in range(2):
        with pytest.raises(ContentDamaged):
            await rig.workspace.store.get(digest)
    await until(lambda: "is damaged and was not used" in rig.banner_text(), "the banner")
    assert rig.banner_text().count("is damaged and was not used") == 1
    assert "storing the same output repairs the entry" in rig.banner_text()


async def _check_a_model_that_is_gone(rig: WindowRig, identity: str) -> None:
    assert "Provider gone not found" in rig.banner_text()
    rig.settings.providers.editor.use_requested.emit("demo")
    await until(lambda: rig.wiring.services.registry.get(identity).model == "demo/offline", "the demo model")
    await rig.wiring.workspace_controller.open_workspace(identity)
    assert [row.text for row in rig.rows(UserRow)] == ["Look"]
    assert "Provider gone not found" not in rig.banner_text()


def _is_not_listed(rig: WindowRig, identity: str) -> bool:
    return identity not in [record.id for record in rig.wiring.services.registry.list_workspaces()]


async def _check_removing(rig: WindowRig, *identities: str) -> None:
    """A workspace that is removed and opened again has its sessions."""
    for identity in identities:
        rig.window.perform(RemoveWorkspace(identity))
        press(await rig.dialog(QuestionDialog), "remove")
        await until(partial(_is_not_listed, rig, identity), "it gone")
    await until(rig.window.places.welcome.get().isVisible, "the welcome page")
    await rig.wiring.workspace_controller.open_folder(rig.folder / "first")
    assert [row.text for row in rig.rows(UserRow)] == ["Look"]


@pytest.mark.expect_errors("task record .* failed")
async def test_a_full_disk_is_reported_until_saving_works_and_its_call_is_over(
    qapp: QApplication, tmp_path: Path
) -> None:
    # More than what an index gives back that finds no room any more.
    command = "cat /dev/zero > ballast; head -c 500000 /dev/urandom | base64"
    fill = StreamedReply(Call("run_command", json.dumps({"command": command})))

    def answer(request: dict[str, Any]) -> Reply:
        return fill if request["messages"][-1]["content"] == "Fill it" else text_reply("Hi.")

    with mount_small_disk(tmp_path, "48m"):
        async with ChatServer(answer) as server, open_window(qapp, tmp_path) as rig:
            await rig.open_folder("message")
            await rig.use_server(server)
            await _check_an_error_of_saving(rig)
            await rig.open_folder("call")
            await rig.use_server(server)
            await _check_an_output_that_is_not_saved(rig)


async def _check_an_error_of_saving(rig: WindowRig) -> None:
    """It is red until the next event is saved, then it says since when."""
    await rig.run_turn("Hello")
    await _index_all(rig, "hello")
    fill_disk(rig.folder / "ballast")
    # More than what is left of the store's last page on disk, also when it is compressed.
    rig.composer.set_text("Not saved " + random.Random(1).randbytes(8_192).hex())
    rig.type_message(".")
    await until(lambda: [row for row in rig.rows(NoticeRow) if row.level == "error"], "the error")
    (rig.folder / "ballast").unlink()
    await rig.run_turn("Again")
    await _index_all(rig, "again")
    (row,) = rig.rows(NoticeRow)
    assert row.level == "info"
    assert "Saving resumed at" in row.what
    assert "No space left" in row.why


async def _index_all(rig: WindowRig, word: str) -> None:
    """Wait for the indexes: what finds no room for its index gives back the room that it has."""
    store, query = rig.workspace.store, PassageQuery((word,), limit=1)
    while (await store.search(word, limit=1)).unindexed or (await store.find_passages(query)).unindexed:
        pass


async def _check_an_output_that_is_not_saved(rig: WindowRig) -> None:
    """The command itself filled the disk: its card said "running" for good, in a session that is ready.

    Retry goes on from there: "try again" stood there without a button.
    """
    rig.type_message("Fill it")
    await until(lambda: rig.rows(ApprovalRow), "the question")
    await _index_all(rig, "fill")
    await rig.answer_approval("once")
    await until(lambda: [row for row in rig.rows(NoticeRow) if row.level == "error"], "the error")
    await until(lambda: rig.rows(ToolRow)[0].state == "interrupted", "the card")
    assert figures_text(rig.rows(ToolRow)[0]) == "output not saved"
    (rig.folder / "call" / "ballast").unlink()
    (error,) = [row for row in rig.rows(NoticeRow) if row.level == "error"]
    assert error.actions[-1] == ControlTurn("retry")
    rig.perform(error.actions[-1])
    await until(lambda: [row.text for row in rig.rows(AssistantRow)][-1:] == ["Hi."], "the answer")
    assert rig.rows(ToolRow)[0].answer_seq
