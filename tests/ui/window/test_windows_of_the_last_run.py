"""A start opens the windows of the last run as they were, also when it is asked for a folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from helix_desktop.app.run import open_places
from tests.support.window.several_windows import new_window, restart
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


async def test_a_start_with_a_folder_opens_all_windows_of_the_last_run(
    qapp: QApplication, tmp_path: Path
) -> None:
    """The folder is in front: in the window that has it, else in the first one."""
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        second = await new_window(rig)
        await rig.open_folder("other")
        await rig.wiring.workspace_controller.open_workspace(second.shown_session.workspace_id)
        third = await new_window(rig)
        await third.workspace_controller.open_folder(tmp_path / "other")
        for opened, page in zip(rig.wiring.windows.windows, ("timeline", "changes", "cache"), strict=True):
            opened.window.show_page(page)
        places = [opened.shown_session for opened in (rig.app_window, second, third)]
        rig.window.activateWindow()
        await until(lambda: rig.wiring.windows.current is rig.app_window, "the first window in front")
    for folder, front in (("project", 0), ("other", 2)):
        async with open_window(qapp, tmp_path) as rig:
            await restart(qapp, rig, str(tmp_path / folder))
            windows = rig.wiring.windows.windows
            assert [opened.shown_session for opened in windows] == places
            assert [opened.window.page() for opened in windows] == ["timeline", "changes", "cache"]
            await until(windows[front].window.isActiveWindow, f"the window with {folder} in front")
    await _check_a_folder_that_no_window_has(qapp, tmp_path, len(places))


async def _check_a_folder_that_no_window_has(app: QApplication, folder: Path, count: int) -> None:
    (folder / "new").mkdir()
    async with open_window(app, folder) as rig:
        rig.wiring.services.registry.add(folder / "new", trusted=True)
        await restart(app, rig, str(folder / "new"))
        assert rig.wiring.services.registry.get(rig.workspace.id).name == "new"
        assert len(open_places(rig.wiring.windows).places) == count
        await until(rig.window.isActiveWindow, "the first window in front")


async def test_the_keyboard_is_on_the_page_of_each_window_after_a_restart(
    qapp: QApplication, tmp_path: Path
) -> None:
    pages = ("timeline", "timeline", "cache", "changes")
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        await rig.run_turn("Say hello.")
        for _ in pages[1:]:
            await new_window(rig)
        for opened, page in zip(rig.wiring.windows.windows, pages, strict=True):
            opened.window.show_page(page)
    async with open_window(qapp, tmp_path) as rig:
        await restart(qapp, rig)
        assert _pages_with_keyboard(rig) == [(page, True) for page in pages]


def _pages_with_keyboard(rig: WindowRig) -> list[tuple[str, bool]]:
    found = []
    for opened in rig.wiring.windows.windows:
        page, focused = opened.window.session_pages.currentWidget(), opened.window.focusWidget()
        assert page is not None
        assert focused is not None
        found.append((opened.window.page(), page is focused or page.isAncestorOf(focused)))
    return found
