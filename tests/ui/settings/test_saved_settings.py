"""What pages of the settings save: real services and files, without a window."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.design.fields import TextArea
from helix_desktop.ui.settings.app_settings import AppSettings, WorkspaceSettings
from helix_desktop.ui.settings.instructions_page import InstructionsEditor
from helix_desktop.ui.settings.permissions_page import PermissionsPage
from tests.support.default_settings import NothingOnScreen
from tests.support.window.buttons import find_button, press
from tests.support.window.window_rig import act, until

pytestmark = pytest.mark.qt_loop


@pytest.fixture
def session(tmp_path: Path, scope: TaskScope) -> NothingOnScreen:
    return NothingOnScreen(tmp_path, scope)


@pytest.fixture
def permissions(qtbot: QtBot, session: NothingOnScreen) -> PermissionsPage:
    page = PermissionsPage(session, WorkspaceSettings(AppSettings(session), session))
    qtbot.addWidget(page)
    page.show()
    return page


def lines(page: PermissionsPage, name: str) -> TextArea:
    """The text of a list that a link opened."""
    area = page.findChild(TextArea, f"lines:{name}")
    assert isinstance(area, TextArea)
    return area


def flip(page: PermissionsPage, name: str) -> None:
    """Click a switch."""
    QTest.mouseClick(find_button(page, name), Qt.MouseButton.LeftButton, pos=QPoint(15, 13))


async def test_the_list_of_the_home_folder_is_changed_and_reset(
    permissions: PermissionsPage, session: NothingOnScreen
) -> None:
    page, services = permissions, session.app
    press(page, "open:home_names")
    area = lines(page, "home_names")
    names = area.toPlainText().splitlines()
    assert ".pyenv" in names
    area.setPlainText("\n".join([*(name for name in names if name != ".pyenv"), "~/tools/", "../x"]))
    press(page, "save:home_names")
    await until(lambda: services.settings.home_shown == ("tools",), "it is saved")
    assert services.settings.home_hidden == (".pyenv",)
    assert "tools" in services.settings.home_names
    await until(lambda: "tools" in area.toPlainText().splitlines(), "as it was understood")
    press(page, "reset:home_names")
    press(page, "save:home_names")
    await until(lambda: services.settings.home_shown == services.settings.home_hidden == (), "the defaults")


async def test_the_list_of_reading_commands_is_refused_changed_and_reset(
    permissions: PermissionsPage, session: NothingOnScreen
) -> None:
    page, services = permissions, session.app
    press(page, "open:reading_lines")
    area, form = lines(page, "reading_lines"), page.reading
    before = area.toPlainText().splitlines()
    assert any(line.startswith("git status ") for line in before)
    area.setPlainText("\n".join([*before, "bash FILES"]))
    press(page, "save:reading_lines")
    await until(lambda: "runs other programs" in form.errors().get("reading_lines", ""), "why it cannot be")
    assert services.settings.reading_added == ()
    assert area.toPlainText().endswith("bash FILES"), "what was typed stays"
    kept = [line for line in before if not line.startswith("cat ")]
    area.setPlainText("\n".join([*kept, "mytool list FILES --json"]))
    assert not form.errors()
    press(page, "save:reading_lines")
    await until(lambda: services.settings.reading_added == ("mytool list FILES --json",), "it is saved")
    assert services.settings.reading_removed == ("cat",)
    assert "mytool list FILES --json" in services.settings.reading_lines
    press(page, "reset:reading_lines")
    press(page, "save:reading_lines")
    await until(
        lambda: services.settings.reading_added == services.settings.reading_removed == (), "the defaults"
    )
    flip(page, "reading_commands")
    await until(lambda: not services.settings.reading_commands, "it is off")
    assert services.settings.reading_lines == ()
    assert not find_button(page, "open:reading_lines").isEnabled()


@pytest.fixture
async def editors(qtbot: QtBot, session: NothingOnScreen) -> tuple[InstructionsEditor, InstructionsEditor]:
    """The editors of two windows, with the same text on screen."""
    both = []
    for _ in range(2):
        editor = InstructionsEditor(session, "personal", "For all workspaces", "")
        qtbot.addWidget(editor)
        editor.show()
        await editor.refresh("For all workspaces")
        both.append(editor)
    return both[0], both[1]


async def test_a_text_that_two_windows_edit_replaces_the_other_only_if_the_user_says_so(
    editors: tuple[InstructionsEditor, InstructionsEditor], session: NothingOnScreen
) -> None:
    theirs, mine = editors
    own = session.app.user_instructions
    mine.text.setPlainText("Mine.")
    theirs.text.setPlainText("Theirs.")
    await act(theirs.save_button.click)
    assert not theirs.conflict.isVisible(), "it was the first"
    await act(mine.save_button.click)
    assert await own.read("") == "Theirs.\n"
    assert mine.conflict.isVisible()
    assert not mine.save_button.isEnabled(), "nothing is saved until the user has decided"
    press(mine, "instructions:personal:use_stored")
    assert mine.text.toPlainText() == "Theirs."
    assert not mine.has_changes
    mine.text.undo()
    assert mine.text.toPlainText() == "Mine."
    assert not mine.conflict.isVisible(), "both were seen"
    await act(mine.save_button.click)
    assert await own.read("") == "Mine.\n"

    theirs.text.setPlainText("Theirs again.")
    await theirs.refresh("For all workspaces")
    assert theirs.conflict.isVisible(), "also where the page is shown again"
    press(theirs, "instructions:personal:keep_edit")
    await act(theirs.save_button.click)
    assert await own.read("") == "Theirs again.\n"


async def test_what_one_window_saves_the_other_shows_unless_it_is_edited_there(
    editors: tuple[InstructionsEditor, InstructionsEditor],
) -> None:
    theirs, mine = editors
    mine.text.setPlainText("Be brief.")
    await act(mine.save_button.click)
    await theirs.refresh("For all workspaces")
    assert theirs.text.toPlainText() == "Be brief."
    assert not theirs.has_unsaved_edits()
    theirs.text.setPlainText("Be long.")
    await theirs.refresh("project", str(uuid4()))
    assert (theirs.text.toPlainText(), theirs.has_unsaved_edits()) == ("", True)
    await theirs.refresh("For all workspaces")
    assert theirs.text.toPlainText() == "Be long.", "what is not saved is there again"
