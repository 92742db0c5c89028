"""Where the user was in a session is where they are when they come back, also after a restart."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QApplication

from helix_desktop.config.view_states import VIEWS_FILE, ViewState, ViewStates
from helix_desktop.domain.store import SavedFilter
from helix_desktop.ui.cache.filter_bar import SIZE_OPTIONS, age_options, tool_option
from helix_desktop.ui.chat.actions import RowKey
from tests.support.window.window_rig import WindowRig, open_window, until

pytestmark = pytest.mark.qt_loop
TEXT = "half a thought"


def first_row(rig: WindowRig) -> tuple[RowKey, bool]:
    """The first row in sight, and whether the end is followed."""
    viewport = rig.chat.view.chat_viewport
    return viewport.model.raw_row(viewport.scroll_layout.anchor).key, viewport.is_following


def selected_words(rig: WindowRig) -> str:
    """Return the selected text of the message field."""
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
    """How many rows the chat has."""
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
