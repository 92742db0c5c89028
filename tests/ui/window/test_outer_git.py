"""A workspace whose git folder is outside: asked about once, allowed and taken back on the page."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QPushButton

from tests.support.git_checkouts import git, make_checkout, needs_git
from tests.support.window.buttons import find_button, press
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = [pytest.mark.qt_loop, needs_git]
ALLOW = "outer-git:allow_git"


def make_worktree(folder: Path) -> None:
    make_checkout(folder / "main", {"f.txt": "one\n"})
    git(folder / "main", "worktree", "add", "-q", "-b", "side", str(folder / "project"))


def is_asked(rig: WindowRig) -> bool:
    return any(button.isVisible() for button in rig.window.findChildren(QPushButton, ALLOW))


async def opened(rig: WindowRig) -> str:
    """Open the worktree, and let git be read: a window that closes meanwhile would leave it running."""
    workspace_id = await rig.open_folder("project")
    await until(lambda: rig.wiring.services.git.status(workspace_id) is not None, "the state of git")
    return workspace_id


async def test_commits_in_a_git_folder_outside_are_allowed_once_and_taken_back(
    qapp: QApplication, tmp_path: Path
) -> None:
    await asyncio.to_thread(make_worktree, tmp_path)
    folders = (str(tmp_path / "main/.git"), str(tmp_path / "main/.git/worktrees/project"))
    async with open_window(qapp, tmp_path) as rig:
        workspace_id = await opened(rig)
        registry = rig.wiring.services.registry
        await until(lambda: is_asked(rig), "the notice")
        assert registry.get(workspace_id).git_folders == (), "nothing before the click"

        def allow() -> bool:
            """A notice that is new takes no click."""
            if is_asked(rig):
                press(rig.window, ALLOW)
            return registry.get(workspace_id).git_folders == folders

        await until(allow, "it is allowed")
        assert rig.wiring.services.tools.grants(workspace_id).git_folders == folders
    async with open_window(qapp, tmp_path) as rig:
        registry = rig.wiring.services.registry
        assert await opened(rig) == workspace_id
        await rig.wiring.settings.show("permissions")
        page = rig.settings.permissions
        await until(lambda: bool(page.findChildren(QPushButton, "change_git")), "the card")
        assert find_button(page, "change_git").text() == "Revoke"
        press(page, "change_git")
        await until(lambda: registry.get(workspace_id).git_folders == (), "it is taken back")
        await until(lambda: find_button(page, "change_git").text() == "Allow commits", "the offer")
    async with open_window(qapp, tmp_path) as rig:
        assert await opened(rig) == workspace_id
        await rig.wiring.settings.show("permissions")
        page = rig.settings.permissions
        await until(lambda: bool(page.findChildren(QPushButton, "change_git")), "the card")
        assert not is_asked(rig), "it was asked once"
