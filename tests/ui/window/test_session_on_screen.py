"""A window shows one session: handlers hear that one, and the user comes back to where they were."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QApplication, QLabel

from helix_desktop.config.view_states import VIEWS_FILE, ViewState, ViewStates
from helix_desktop.domain.errors import WorkspaceMissing
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.store import SavedFilter
from helix_desktop.ui.chat.actions import RowKey
from helix_desktop.ui.design.layout import LazyPage
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.theme import current_theme
from helix_desktop.ui.kit.intents import Compact, SetTheme, Undo, Zoom
from helix_desktop.ui.kit.session import SessionMissing
from helix_desktop.ui.outputs.filter_bar import SIZE_OPTIONS, age_options, tool_option
from tests.support.window.window_rig import WindowRig, act, open_window, until

pytestmark = pytest.mark.qt_loop


async def test_the_session_on_screen_is_the_one_that_is_heard(rig: WindowRig) -> None:
    await _check_an_intent_without_a_session(rig)
    await _check_handlers(rig)
    await _check_a_page_is_read_once_it_is_in_sight(rig)
    await _check_a_page_of_opening_that_comes_too_late(rig)


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


async def _check_a_page_is_read_once_it_is_in_sight(rig: WindowRig) -> None:
    await rig.open_folder("project", {"a.txt": "words"})
    await rig.run_turn("Hello")
    await rig.wiring.session.refresh()
    assert not rig.views.timeline.get().chart.scrubber.steps
    rig.window.show_page("timeline")
    await until(lambda: rig.views.timeline.get().chart.scrubber.steps, "the timeline")


async def _check_a_page_of_opening_that_comes_too_late(rig: WindowRig) -> None:
    """It is due just when the workspace comes on screen: the timer has fired, and its task comes after."""
    await rig.open_folder("project", {"a.txt": "words"})
    conversation = rig.conversation
    await act(rig.wiring.workspace_controller._opening_timer.timeout.emit)
    assert rig.wiring.session.shows(conversation)
    assert rig.chat.isVisible()


async def test_a_page_is_built_once_the_user_goes_there(rig: WindowRig) -> None:
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
    assert any("agent reads and runs" in sentence for sentence in sentences), "it knows the workspace"


TEXT = "half a thought"


def first_row(rig: WindowRig) -> tuple[RowKey, bool]:
    """The first row in sight, and whether the end is followed."""
    viewport = rig.chat.view.chat_viewport
    return viewport.model.raw_row(viewport.scroll_layout.anchor).key, viewport.is_following


def selected_words(rig: WindowRig) -> str:
    return rig.composer.editor.textCursor().selectedText()


async def test_scroll_selection_and_page_are_restored(qapp: QApplication, tmp_path: Path) -> None:
    async with open_window(qapp, tmp_path) as rig:
        rig.window.resize(900, 560)
        await rig.open_folder("project", {f"{name}.txt": "words" for name in "abc"})
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
        rig.views.cache.get().select(digest)
        await until(lambda: rig.views.cache.get().table.current_digest() == digest, "the entry selected")

        await rig.wiring.workspace_controller.new_session()
        assert first_row_count(rig) == 0
        await rig.wiring.workspace_controller.open_session(session_id)
        assert first_row(rig) == place
        assert selected_words(rig) == "thought😀😀"
        rig.window.show_page("cache")

    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.restore_last()
        assert rig.conversation.session.id == session_id
        assert rig.window.page() == "cache"
        assert first_row(rig) == place
        assert selected_words(rig) == "thought😀😀"
        await until(
            lambda: rig.views.cache.get().table.current_digest() == digest, "the entry selected again"
        )
        views = rig.wiring.services.view_states
        views.put(session_id, msgspec.structs.replace(views.get(session_id), card=3))
        rig.chat.view.chat_viewport.go_to_end()
        await rig.wiring.workspace_controller.new_session()
        assert views.get(session_id) == ViewState(cursor=18, mark=7, entry=digest, card=3), (
            "not looked at: kept"
        )


async def test_the_last_filter_of_the_cache_stays_with_its_workspace(
    qapp: QApplication, tmp_path: Path
) -> None:
    """Over a restart; an age counts from then on. Named filters of earlier versions stay in the record."""
    async with open_window(qapp, tmp_path) as rig:
        await rig.open_folder("project")
        bar, workspace_id = rig.views.cache.get().filter_bar, rig.workspace.id
        registry, named = rig.wiring.services.registry, SavedFilter("Large", "log")
        registry.change(workspace_id, cache_filters=(named,))
        for option in (tool_option("run_command"), SIZE_OPTIONS[0], age_options(0)[2]):
            bar.toggle(option)
        bar.field.setText("failed")
        bar.session.click()
        last = bar.saved_filter
        await rig.open_folder("other")
        assert not bar.current_filter.is_narrowing
        assert registry.get(workspace_id).cache_filters == (named, last)
        bar.toggle(SIZE_OPTIONS[1])
        await rig.open_folder("project")
        assert bar.saved_filter == last

    async with open_window(qapp, tmp_path) as rig:
        await rig.wiring.workspace_controller.restore_last()
        bar = rig.views.cache.get().filter_bar
        assert bar.saved_filter == last
        assert bar.current_filter.entry_filter.tool == "run_command"
        assert bar.current_filter.entry_filter.since > 0, "it counts from now, not from when it was set"


def first_row_count(rig: WindowRig) -> int:
    return len(rig.chat.model)


def test_the_last_sessions_are_stored_and_a_damaged_file_loses_only_the_positions(tmp_path: Path) -> None:
    place = tmp_path / VIEWS_FILE
    states = ViewStates(place)
    for number in range(400):
        states.put(f"s{number}", ViewState(row="e3", offset=4.5, card=number))
    states.save()
    again = ViewStates(place)
    assert again.get("s399") == ViewState(row="e3", offset=4.5, card=399)
    assert again.get("s0") == ViewState()
    place.write_bytes(b"{")
    assert ViewStates(place).get("s399") == ViewState()
