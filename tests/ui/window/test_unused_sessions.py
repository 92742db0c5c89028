"""A new session that the user leaves with nothing in it is in no list; it comes back as the new session."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from helix_desktop.domain.store import ListPlace
from helix_desktop.ui.window.switcher import ROW_ROLE, SessionRow
from tests.support.window.several_windows import new_window, row_of
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop


def listed(rig: WindowRig) -> list[str]:
    return [session.id for session in rig.window.sidebar.session_list.sessions()]


def found(rig: WindowRig) -> list[str]:
    """Return the sessions that Ctrl+K lists, by id."""
    items = rig.window.switcher.items
    rows = (items.item(place).data(ROW_ROLE) for place in range(items.rowCount()))
    return [row.id for row in rows if isinstance(row, SessionRow)]


async def _begin(rig: WindowRig) -> str:
    before = rig.conversation.session.id
    await rig.wiring.workspace_controller.new_session()
    assert rig.conversation.session.id != before
    return rig.conversation.session.id


async def test_an_unused_session_is_in_no_list_and_comes_back_as_the_new_one(
    qapp: QApplication, tmp_path: Path
) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        first, opener = rig.conversation.session.id, rig.wiring.workspace_controller
        await until(lambda: listed(rig) == [first], "the only one is listed")
        await rig.run_turn("Hello")
        other = await _begin(rig)
        await rig.run_turn("Hello again")
        empty = await _begin(rig)
        await until(lambda: listed(rig) == [empty, other, first], "it is listed while it is on screen")
        await opener.open_session(first)
        await until(lambda: listed(rig) == [other, first], "it is gone")
        rig.window.commands.switch_workspace.trigger()
        await until(lambda: found(rig) == [other], "in Ctrl+K, too")
        rig.window.switcher.close()
        assert {info.id for info in await rig.workspace.sessions()} == {first, other, empty}, (
            "none is deleted"
        )
        assert await _begin(rig) == empty
        await until(lambda: listed(rig) == [empty, other, first], "it is back")
        await _check_what_was_used_stays(rig, [other, first], empty)


async def _check_what_was_used_stays(rig: WindowRig, others: list[str], drafted: str) -> None:
    """A draft, a name, a pin and a choice keep a session in the list; what has a draft is not new."""
    opener = rig.wiring.workspace_controller
    rig.composer.editor.setPlainText("To be continued")
    await opener.open_session(others[0])
    await until(lambda: listed(rig) == [drafted, *others], "the one with a draft")
    named = await _begin(rig)
    assert named != drafted
    assert rig.composer.text() == ""
    await rig.conversation.rename("Ideas")
    await opener.open_session(others[0])
    pinned = await _begin(rig)
    await rig.conversation.set_place(ListPlace(pinned=True))
    await opener.open_session(others[0])
    planned = await _begin(rig)
    await rig.conversation.set_mode("plan")
    await opener.open_session(others[0])
    await until(lambda: set(listed(rig)) == {*others, drafted, named, pinned, planned}, "all of them")


async def test_it_is_listed_while_another_window_shows_it(qapp: QApplication, tmp_path: Path) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        await rig.run_turn("Hello")
        first = rig.conversation.session.id
        second = await new_window(rig)
        empty = second.shown_session.session_id
        await until(lambda: row_of(rig.app_window, empty), "it is on screen there")
        second.composer.widget.editor.setPlainText("Typed")
        await rig.wiring.windows.close_window(second)
        await until(lambda: listed(rig) == [empty, first], "what was typed keeps it")
        await rig.wiring.workspace_controller.open_session(empty)
        assert rig.composer.text() == "Typed"
        rig.composer.editor.setPlainText("")
        await rig.wiring.workspace_controller.open_session(first)
        await until(lambda: listed(rig) == [first], "nothing is in it any more")
