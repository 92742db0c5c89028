"""A window shows one session: handlers hear that one, and the user comes back to where they were."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QApplication, QLabel, QWidget

from helix_desktop.config.view_states import ViewState
from helix_desktop.domain.errors import WorkspaceMissing
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.store import SavedFilter
from helix_desktop.ui.chat.actions import RowKey
from helix_desktop.ui.design.layout import LazyPage
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.theme import current_theme
from helix_desktop.ui.kit.intents import Compact, SetTheme, Undo, Zoom
from helix_desktop.ui.kit.notices import Notice
from helix_desktop.ui.kit.session import SessionMissing
from helix_desktop.ui.outputs.filter_bar import age_options, tool_option
from helix_desktop.ui.window.main_window import MainWindow
from tests.support.window.window_rig import WindowRig, act, open_window, until

pytestmark = pytest.mark.qt_loop


OWN_WINDOWS = (Qt.WindowType.Dialog, Qt.WindowType.Popup, Qt.WindowType.ToolTip, Qt.WindowType.Tool)


class StrayWindows(QObject):
    """Names each part of a window that is shown as a window."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """See what is shown."""
        if (
            event.type() == QEvent.Type.Show
            and isinstance(watched, QWidget)
            and watched.isWindow()
            and watched.windowType() not in OWN_WINDOWS
            and not isinstance(watched, MainWindow)
        ):
            self.names.append(f"{type(watched).__name__} {watched.objectName()}")
        return False


async def test_handlers_hear_the_session_on_screen_and_a_restart_restores_it(
    qapp: QApplication, tmp_path: Path
) -> None:
    """No part of a window is ever shown as a window."""
    stray = StrayWindows()
    qapp.installEventFilter(stray)
    try:
        async with open_window(qapp, tmp_path) as rig:
            await _check_an_intent_without_a_session(rig)
            await _check_handlers(rig)
            await _check_a_page_of_opening_that_comes_too_late(rig)
            await _check_pages(rig)
            left = await _check_a_return(rig)
        async with open_window(qapp, tmp_path) as rig:
            await _check_a_restart(rig, left)
            rig.window.notices.notify(Notice("words", "Something happened"))
            await rig.wiring.settings.show("policy")
    finally:
        qapp.removeEventFilter(stray)
    assert not stray.names


async def _check_an_intent_without_a_session(rig: WindowRig) -> None:
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


async def _check_handlers(rig: WindowRig) -> None:
    heard: list[str] = []
    shown: list[str] = []
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


async def _check_a_page_of_opening_that_comes_too_late(rig: WindowRig) -> None:
    """It is due just when the workspace comes on screen: the timer has fired, and its task comes after."""
    await rig.open_folder("project", {"a.txt": "words"})
    conversation = rig.conversation
    await act(rig.wiring.workspace_controller._opening_timer.timeout.emit)
    assert rig.wiring.session.shows(conversation)
    assert rig.chat.isVisible()


async def _check_pages(rig: WindowRig) -> None:
    """A page is built once the user goes there, and read once it is in sight."""
    await rig.open_folder("project", {"a.txt": "words"})
    await rig.run_turn("Hello")
    pages, window = rig.views, rig.window
    lazy_pages: dict[str, LazyPage[Any]] = {
        "cache": pages.outputs,
        "timeline": pages.timeline,
        "changes": pages.changes,
        "survives": pages.survives,
    }
    assert {name for name, lazy_page in lazy_pages.items() if lazy_page.find() is not None} == set()
    await rig.wiring.session.refresh()
    scrubber = pages.timeline.get().chart.scrubber
    assert not scrubber.steps
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
        assert bool(scrubber.steps) == (name != "cache")
    sentences = [words.text() for words in pages.outputs.get().empty.findChildren(QLabel)]
    assert any("agent reads and runs" in sentence for sentence in sentences), "it knows the workspace"


TEXT = "half a thought"


def first_row(rig: WindowRig) -> tuple[RowKey, bool]:
    """The first row in sight, and whether the end is followed."""
    viewport = rig.chat.view.chat_viewport
    return viewport.model.raw_row(viewport.scroll_layout.anchor).key, viewport.is_following


def selected_words(rig: WindowRig) -> str:
    return rig.composer.editor.textCursor().selectedText()


class Left(NamedTuple):
    """What the user left on screen."""

    session_id: str
    place: tuple[RowKey, bool]
    digest: str
    filter: SavedFilter


async def _check_a_return(rig: WindowRig) -> Left:
    """Scroll position, selection, page and filter are restored in the run."""
    rig.window.resize(900, 560)
    await rig.open_folder("restored", {f"{name}.txt": "words" for name in "abc"})
    for words in ("What is here?", "And what more?", "Anything else?"):
        await rig.run_turn(words)
    session_id = rig.conversation.session.id
    rig.type_message(TEXT, send=False)
    rig.composer.editor.insertPlainText("😀😀")
    cursor = rig.composer.editor.textCursor()
    cursor.setPosition(7)
    cursor.setPosition(18, QTextCursor.MoveMode.KeepAnchor)
    rig.composer.editor.setTextCursor(cursor)
    rig.chat.view.chat_viewport.show_row(2, -7.0)
    place = first_row(rig)
    assert not place[1]
    digest = rig.last_output("list_directory").digest
    rig.window.show_page("cache")
    rig.views.outputs.get().select(digest)
    await until(lambda: rig.views.outputs.get().table.current_digest() == digest, "the entry selected")
    bar = rig.views.outputs.get().filter_bar
    for option in (tool_option("list_directory"), age_options(0)[2]):
        bar.toggle(option)
    left = Left(session_id, place, digest, bar.saved_filter)

    await rig.wiring.workspace_controller.new_session()
    assert not len(rig.chat.model)
    await rig.wiring.workspace_controller.open_session(session_id)
    assert first_row(rig) == place
    assert selected_words(rig) == "thought😀😀"
    rig.window.show_page("cache")
    return left


async def _check_a_restart(rig: WindowRig, left: Left) -> None:
    await rig.wiring.workspace_controller.restore_last()
    assert rig.conversation.session.id == left.session_id
    assert rig.window.page() == "cache"
    assert first_row(rig) == left.place
    assert selected_words(rig) == "thought😀😀"
    await until(
        lambda: rig.views.outputs.get().table.current_digest() == left.digest, "the entry selected again"
    )
    bar = rig.views.outputs.get().filter_bar
    assert bar.saved_filter == left.filter
    assert bar.current_filter.entry_filter.since > 0, "an age counts from now, not from when it was set"
    views = rig.wiring.services.view_states
    views.put(left.session_id, msgspec.structs.replace(views.get(left.session_id), card=3))
    rig.chat.view.chat_viewport.go_to_end()
    await rig.wiring.workspace_controller.new_session()
    assert views.get(left.session_id) == ViewState(cursor=18, mark=7, entry=left.digest, card=3), (
        "not looked at: kept"
    )
    await rig.open_folder("other")
    assert not bar.current_filter.is_narrowing, "it stays with its workspace"
