"""What goes wrong around a window: each told where it happened, and nothing lost."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QLabel, QWidget

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ContentDamaged
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.ui.chat.rows.row_types import AssistantRow, UserRow
from helix_desktop.ui.design.dialogs import QuestionDialog
from tests.support.buttons import press
from tests.support.store_damage import flip_near, settle
from tests.support.store_making import content
from tests.support.window_rig import opened_window, until

pytestmark = pytest.mark.qt_loop


def _words(pane: QWidget) -> list[str]:
    return [label.text() for label in pane.findChildren(QLabel) if label.isVisible()]


async def test_a_missing_folder_is_told_and_can_be_located(qapp: QApplication, tmp_path: Path) -> None:
    async with opened_window(qapp, tmp_path) as rig:
        identity = await rig.open_folder("project", {"README.md": "# Here"})
        await rig.say("Look")

    (tmp_path / "project").rename(tmp_path / "moved")
    async with opened_window(qapp, tmp_path) as rig:
        await rig.opened.workspace_controller.restore_last()
        assert rig.window.missing_folder.isVisible()
        assert "Folder missing; sessions are kept." in _words(rig.window.sidebar)
        rig.window.commands.switch_workspace.trigger()
        assert [row.badge for row in rig.window.switcher.matching_workspaces()] == ["missing"]
        rig.window.switcher.hide()
        rig.opened.services.registry.relocate(identity, tmp_path / "moved")
        await rig.opened.workspace_controller.open_workspace(identity)
        assert not rig.window.missing_folder.isVisible()
        assert rig.window.sidebar.session_list.isVisible()
        assert [row.text for row in rig.rows(UserRow)] == ["Look"]


async def test_a_workspace_in_use_elsewhere_is_told_and_opens_when_it_is_free(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with opened_window(qapp, tmp_path) as rig:
        first = await rig.open_folder("first", {"README.md": "# First"})
        await rig.say("Look")
        second = await rig.open_folder("second")

    async with opened_window(qapp, tmp_path) as rig:
        folder = rig.opened.services.registry.store_folder(first)
        other = await LevelDbStore.open(folder, first)
        await rig.opened.workspace_controller.open_workspace(first)
        assert "is open here already" in rig.banners()
        assert "Not open; sessions are kept." in _words(rig.window.sidebar)
        assert rig.opened.workspace_controller.session_controller.conversation is None
        await rig.opened.workspace_controller.open_workspace(second)
        assert "is open here already" not in rig.banners()
        await other.close()
        await rig.opened.workspace_controller.open_workspace(first)
        assert [row.text for row in rig.rows(UserRow)] == ["Look"]


async def test_damaged_settings_are_told_and_work_goes_on(qapp: QApplication, tmp_path: Path) -> None:
    async with opened_window(qapp, tmp_path) as rig:
        await rig.open_folder("project", {"README.md": "# Here"})
        await rig.say("Look")
    (tmp_path / "data" / "settings.toml").write_text("theme = [broken")
    async with opened_window(qapp, tmp_path) as rig:
        await rig.opened.workspace_controller.restore_last()
        await until(lambda: "settings.toml is damaged" in rig.banners(), "the banner")
        assert (tmp_path / "data" / "settings.damaged-1.toml").read_text() == "theme = [broken"
        assert rig.rows(AssistantRow)


async def test_a_model_that_no_longer_exists_does_not_shut_a_workspace(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with opened_window(qapp, tmp_path) as rig:
        identity = await rig.open_folder("project", {"README.md": "# Here"})
        await rig.say("Look")
        rig.opened.services.registry.change(identity, model="gone/model")
    async with opened_window(qapp, tmp_path) as rig:
        await rig.opened.workspace_controller.restore_last()
        assert "There is no provider gone" in rig.banners()
        rig.opened.settings.dialog.providers.editor.use_requested.emit("demo")
        await until(
            lambda: rig.opened.services.registry.get(identity).model == "demo/offline", "the demo model"
        )
        await rig.opened.workspace_controller.open_workspace(identity)
        assert [row.text for row in rig.rows(UserRow)] == ["Look"]
        assert "There is no provider gone" not in rig.banners()


async def test_removing_a_workspace_keeps_its_data(qapp: QApplication, tmp_path: Path) -> None:
    async with opened_window(qapp, tmp_path) as rig:
        await rig.open_folder("project", {"README.md": "# Here"})
        await rig.say("Look")
        rig.window.rail.remove_requested.emit(rig.room.id)
        await until(lambda: rig.window.findChildren(QuestionDialog), "a question")
        press(rig.window.findChildren(QuestionDialog)[0], "remove")
        await until(rig.window.welcome.isVisible, "the welcome page")
        await rig.opened.workspace_controller.open_folder(tmp_path / "project")
        assert [row.text for row in rig.rows(UserRow)] == ["Look"]


async def test_two_folders_of_one_name_are_told_apart_everywhere(qapp: QApplication, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "home").mkdir()
    async with opened_window(qapp, tmp_path) as rig:
        first = await rig.open_folder("work/app")
        second = await rig.open_folder("home/app")
        await rig.opened.workspace_controller.refresh()

        buttons = [rig.window.rail.button(one).workspace for one in (first, second)]
        assert [one.name for one in buttons] == ["app (work)", "app (home)"]
        assert {one.initials for one in buttons} == {"AP"}
        assert buttons[0].color != buttons[1].color
        rig.window.switcher.open()
        assert {one.name for one in rig.window.switcher.matching_workspaces()} == {"app (work)", "app (home)"}
        rig.window.switcher.hide()


async def test_a_mended_store_and_damage_met_later_are_told_once(qapp: QApplication, tmp_path: Path) -> None:
    async with opened_window(qapp, tmp_path) as rig:
        identity = await rig.open_folder("project", {"README.md": "# Here"})
        await rig.say("Look")
        folder = rig.opened.services.registry.store_folder(identity)
        data = random.Random(1).randbytes(5000)
        await rig.room.store.commit("s", contents=[content(data)])
    settle(folder)
    (folder / "db" / "CURRENT").unlink()

    async with opened_window(qapp, tmp_path) as rig:
        await rig.opened.workspace_controller.restore_last()
        assert "has been mended" in rig.banners()
        assert "CURRENT, the file that leads to all others, is missing" in rig.banners()
        assert "Nothing was lost." in rig.banners()
        assert [row.text for row in rig.rows(UserRow)] == ["Look"]
    settle(folder)
    assert flip_near(folder, data[2000:2020]) == 1

    async with opened_window(qapp, tmp_path) as rig:
        await rig.opened.workspace_controller.restore_last()
        assert "mended" not in rig.banners()
        for _ in range(2):
            with pytest.raises(ContentDamaged):
                await rig.room.store.get(digest_of(data))
        assert rig.banners().count("is damaged and was not used") == 1
        assert "storing the same bytes heals the entry" in rig.banners()
