"""The git state of a workspace on screen: in sidebar and switcher, in the top bar without a sidebar."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from helix_desktop.ui.changes.view import ChangesPage
from helix_desktop.ui.design.buttons import TabButton
from helix_desktop.ui.design.git_label import GitLabel
from tests.support.git_checkouts import git, make_checkout, needs_git
from tests.support.window.list_contents import workspaces_in
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = [pytest.mark.qt_loop, needs_git]


def _adds(page: ChangesPage, text: str) -> bool:
    """Return True once the diff on screen adds this one line."""
    diff = page.detail.diff.diff if page.detail.has_diff else None
    if diff is None:
        return False
    return [line.text for hunk in diff.hunks for line in hunk.lines if line.kind == "added"] == [text]


async def test_the_state_follows_what_is_done_outside_and_leads_to_it(
    qapp: QApplication, tmp_path: Path
) -> None:
    """Each step has a workspace of its own; the last one has its page open before git was read.

    As when the window starts with that page: the last commit is offered there.
    """
    async with open_window(qapp, tmp_path) as rig:
        await _check_the_branch(rig)
        await _check_the_state(rig)
        make_checkout(rig.folder / "project", {"a.txt": "1\n"})
        await rig.open_folder("project")
    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.restore_last()
        rig.window.show_page("changes")
        page = rig.views.changes.get()
        await until(lambda: page.state.grouped is not None, "the changes")
        switch = page.filter_bar.findChild(TabButton, "changes-of-commit")
        assert switch is not None
        await until(switch.isVisible, "the choice")


async def _check_the_branch(rig: WindowRig) -> None:
    """The branch leads to what differs from the last commit."""
    make_checkout(rig.folder / "branch", {"a.txt": "1\n", "b.txt": "1\n"})
    for name, text in (("a.txt", "2\n"), ("b.txt", "3\n")):
        (rig.folder / "branch" / name).write_text(text)
    await rig.open_folder("branch")
    label = rig.window.sidebar.findChild(GitLabel, "git_state")
    assert label is not None
    await until(label.isVisible, "the branch")
    QTest.mouseClick(label, Qt.MouseButton.LeftButton)
    page = rig.views.changes.get()
    await until(lambda: page.detail.has_diff, "the diff of the first")
    assert rig.window.page() == "changes"
    page.list.setFocus()
    page.list.step(-1)
    for added in ("2", "3"):
        await until(partial(_adds, page, added), "the diff")
        assert page.list.hasFocus(), "a diff leaves the keyboard where it is"
        QTest.keyClick(page.list, Qt.Key.Key_Down)


async def _check_the_state(rig: WindowRig) -> None:
    """The state follows what is done outside."""
    make_checkout(rig.folder / "state", {"a.txt": "1\n"})
    await rig.open_folder("state")
    in_sidebar, in_bar = (
        place.findChild(GitLabel, "git_state") for place in (rig.window.sidebar, rig.window.top_bar)
    )
    assert in_sidebar is not None
    assert in_bar is not None
    await until(lambda: in_sidebar.accessibleName() == "Git: main", "the branch")
    assert not in_bar.isVisible()

    git(rig.folder / "state", "checkout", "-q", "-b", "fix/it")
    (rig.folder / "state" / "a.txt").write_text("2\n")
    QApplication.sendEvent(rig.window, QEvent(QEvent.Type.ActivationChange))
    await until(lambda: in_sidebar.accessibleName() == "Git: fix/it · 1 changed", "the change")
    assert in_sidebar.toolTip().startswith("Branch fix/it\n1 changed file\n")
    rig.window.commands.switch_workspace.trigger()
    rows = workspaces_in(rig.window.switcher)
    assert [row.git.on_one_line for row in rows if row.name == "state"] == ["fix/it · 1 changed"]
    rig.window.switcher.hide()

    rig.window.resize(1440, 900)
    rig.window.commands.toggle_sidebar.trigger()
    await until(in_bar.isVisible, "the state without a sidebar")
    rig.window.resize(600, 900)
    await until(lambda: not in_bar.isVisible(), "room for the title")
    rig.window.resize(1440, 900)
    await until(in_bar.isVisible, "the state again")
    await rig.open_folder("plain")
    await until(lambda: not in_bar.isVisible(), "a folder that is in no checkout")
