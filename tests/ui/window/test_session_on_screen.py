"""A window shows one session: handlers hear that one, intents without one say why."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication, QLabel

from helix_desktop.domain.errors import WorkspaceMissing
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.ui.design.layout.stack import LazyPage
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.theme import current_theme
from helix_desktop.ui.kit.intents import Compact, SetTheme, Undo, Zoom
from helix_desktop.ui.kit.session import SessionMissing
from tests.support.window.window_rig import act, open_window, until

pytestmark = pytest.mark.qt_loop


async def test_an_intent_without_a_session_says_why(qapp: QApplication, tmp_path: Path) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.restore_last()
        session = rig.wiring.session
        assert (session.id, session.has_conversation, session.has_workspace) == ("", False, False)
        assert not session.transcript.messages.items
        with pytest.raises(SessionMissing):
            assert session.conversation
        with pytest.raises(WorkspaceMissing):
            assert session.workspace
        for intent in (Undo((1,)), Compact()):
            rig.perform(intent)
        await until(lambda: "No session is open." in rig.banner_text(), "why nothing was done")
        assert rig.banner_text().count("No session is open.") == 1

        identity = await rig.open_folder("project", {"a.txt": "words"})
        assert session.workspace.id == identity
        assert session.shows(rig.conversation)


async def test_handlers_hear_the_session_on_screen_alone(qapp: QApplication, tmp_path: Path) -> None:
    heard: list[str] = []
    shown: list[str] = []
    async with open_window(qapp, tmp_path) as rig:
        session = rig.wiring.session
        session.on(UserSpoke, lambda spoke: heard.append(spoke.text))
        session.shown.connect(lambda: shown.append(session.id))
        await rig.open_folder("project", {"a.txt": "words"})
        first = rig.conversation
        await rig.run_turn("Said in the first")
        await rig.wiring.workspace_controller.new_session()
        second = rig.conversation
        assert second is not first
        assert not session.shows(first)
        await first.send("Said in the first, unseen", [])
        await until(lambda: first.session.transcript.messages.turns == 2 and not first.is_running, "its turn")
        await rig.run_turn("Said in the second")
        assert heard == ["Said in the first", "Said in the second"]
        assert shown[-1] == second.session.id
        assert "" not in shown

        await session.show(rig.workspace, None)
        assert shown[-1] == second.session.id, "no session came on screen"
        await session.show(rig.workspace, second)


async def test_a_page_is_read_once_it_is_in_sight(qapp: QApplication, tmp_path: Path) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project", {"a.txt": "words"})
        await rig.run_turn("Hello")
        await rig.wiring.session.refresh()
        assert not rig.views.timeline.get().chart.scrubber.steps
        rig.window.show_page("timeline")
        await until(lambda: rig.views.timeline.get().chart.scrubber.steps, "the timeline")


async def test_a_page_is_built_once_the_user_goes_there(qapp: QApplication, tmp_path: Path) -> None:
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project", {"a.txt": "words"})
        await rig.run_turn("Hello")
        pages, window = rig.views, rig.window
        lazy_pages: dict[str, LazyPage[Any]] = {
            "cache": pages.cache,
            "timeline": pages.timeline,
            "changes": pages.changes,
            "survives": pages.survives,
        }
        assert {name for name, lazy_page in lazy_pages.items() if lazy_page.find() is not None} == set()
        rig.perform(SetTheme("dark"))
        rig.perform(Zoom(2))
        for name, lazy_page in lazy_pages.items():
            await act(partial(window.show_page, name))
            page = lazy_page.find()
            assert page is not None
            assert page.isVisible()
            assert window.focusWidget() is page or page.isAncestorOf(window.focusWidget())
            assert page.font().pixelSize() == window.font().pixelSize() > fonts.BASE_PX
            assert page.grab().toImage().pixelColor(1, 1) == current_theme().canvas
        sentences = [words.text() for words in pages.cache.get().empty.findChildren(QLabel)]
        assert any("as the agent works" in sentence for sentence in sentences), "it knows the workspace"


async def test_a_page_of_opening_that_comes_too_late_takes_no_session_away(
    qapp: QApplication, tmp_path: Path
) -> None:
    """It is due just when the workspace comes on screen: the timer has fired, and its task comes after."""
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project", {"a.txt": "words"})
        conversation = rig.conversation
        await act(rig.wiring.workspace_controller._opening_timer.timeout.emit)
        assert rig.wiring.session.shows(conversation)
        assert rig.chat.isVisible()
