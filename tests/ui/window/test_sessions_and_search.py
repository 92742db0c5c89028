"""The session on screen, the list of sessions, Ctrl+K, and the search in everything."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QColor, QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QWidget

from helix_desktop.config.view_states import ViewState
from helix_desktop.domain.errors import WorkspaceMissing
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import SessionArchived
from helix_desktop.domain.store import Commit, ListPlace, SavedFilter, SessionSummary
from helix_desktop.services.search_everything import SearchFindings, SearchPart, SearchRequest
from helix_desktop.ui.chat.actions import RowKey
from helix_desktop.ui.chat.rows.row_types import ApprovalRow, UserRow
from helix_desktop.ui.design.layout import LazyPage
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.theme import current_theme
from helix_desktop.ui.kit.intents import ArchiveSession, Compact, SearchEverything, SetTheme, Undo, Zoom
from helix_desktop.ui.kit.notices import Notice
from helix_desktop.ui.kit.session import SessionMissing
from helix_desktop.ui.outputs.filter_bar import age_options, tool_option
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.search_everything import FoundHit, SearchPanel
from helix_desktop.ui.window.sidebar.rail import WorkspaceButton
from helix_desktop.ui.window.switcher import MessageRow, SessionRow, Switcher
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    StreamedReply,
    Text,
    Wait,
    replies_in_order,
    text_reply,
)
from tests.support.store.builders import make_summary
from tests.support.window.buttons import find_button, press
from tests.support.window.window_rig import TIMEOUT_S, WindowRig, act, open_window, until

pytestmark = pytest.mark.qt_loop


async def summary_of(rig: WindowRig, session_id: str) -> SessionSummary:
    return next(summary for summary in await rig.workspace.store.sessions() if summary.id == session_id)


def shows(panel: QWidget, words: str) -> bool:
    return any(words in shown.text() for shown in panel.findChildren(QLabel) if shown.isVisible())


async def test_sessions_are_archived_pinned_marked_and_hidden_over_a_restart(
    qapp: QApplication, tmp_path: Path
) -> None:
    more = asyncio.Event()
    script = lambda _: StreamedReply(Text("Look"), Wait(more))  # noqa: E731 - a script
    async with ChatServer(script) as server:
        async with open_window(qapp, tmp_path) as rig:
            await _check_an_unused_session(rig)
            pinned = await _check_archive_and_pin(rig)
            cut_off = await _check_a_turn_that_runs(rig, server)
            await rig.open_folder("second")
        async with open_window(qapp, tmp_path) as rig:
            await rig.wiring.workspace_controller.restore_last()
            await _check_a_turn_that_ended_with_the_app(rig, cut_off)
            await _check_a_pinned_session(rig, pinned)
            await _check_a_session_that_waits(rig)
        more.set()


async def _check_archive_and_pin(rig: WindowRig) -> str:
    """By key, taken back by undo, and pinned; none of it counts as use. The session's id."""
    await rig.open_folder("first")
    session_id, commands = rig.conversation.session.id, rig.window.commands
    sessions = rig.window.sidebar.session_list
    await until(lambda: sessions.index_of(session_id).isValid(), "the list")
    used = (await summary_of(rig, session_id)).updated
    sessions.setCurrentIndex(sessions.index_of(session_id))
    QTest.keyClick(sessions, Qt.Key.Key_A)
    await until(lambda: "archived." in rig.banner_text(), "the banner")
    await until(lambda: not sessions.sessions(), "the list without it")
    await until(lambda: commands.archive_session.text() == "Unarchive session", "the menu")
    press(rig.window.notices, session_id)
    await until(lambda: sessions.index_of(session_id).isValid(), "the session again")
    await until(lambda: "archived." not in rig.banner_text(), "no banner")

    rig.type_message("/pin")
    await until(lambda: "pinned." in rig.banner_text(), "the banner")
    await until(lambda: commands.pin_session.text() == "Unpin from top", "the menu again")
    await rig.workspace.move_in_list(session_id, archived=True)
    assert (await summary_of(rig, session_id)).updated == used
    return session_id


async def _check_a_pinned_session(rig: WindowRig, session_id: str) -> None:
    """It is unpinned after a restart; archived stays archived."""
    await rig.wiring.workspace_controller.open_session(session_id)
    assert rig.conversation.session.transcript.place == ListPlace(pinned=True, archived=True)
    rig.window.commands.pin_session.trigger()
    await until(lambda: "unpinned." in rig.banner_text(), "the banner")
    assert (await summary_of(rig, session_id)).place == ListPlace(archived=True)


async def _check_a_session_that_waits(rig: WindowRig) -> None:
    """An archived session comes back when it waits for the user."""
    go = asyncio.Event()
    begins = StreamedReply(Text("One"), Wait(go), Call("run_command", '{"command": "sleep 0"}', id="c"))
    async with rig.answered_by(replies_in_order(begins, text_reply("Two"))):
        session_id = rig.conversation.session.id
        rig.type_message("Go")
        await until(lambda: rig.conversation.response.text == "One", "the beginning")
        rig.window.commands.archive_session.trigger()
        await until(lambda: "archived." in rig.banner_text(), "the banner")
        go.set()
        await until(lambda: rig.rows(ApprovalRow), "a question")
        await until(lambda: not rig.conversation.session.transcript.place.archived, "it came back")
        await until(lambda: "archived." not in rig.banner_text(), "the banner gone with it")
        rig.window.perform(ArchiveSession(session_id))
        await until(lambda: "It is waiting for you." in rig.banner_text(), "a refusal")
        await rig.answer_approval("once")
        await rig.wait_for_turn_end()
        assert [event.archived for event in rig.events(SessionArchived)] == [True, False]


def _click(rig: WindowRig, session_id: str) -> None:
    sessions = rig.window.sidebar.session_list
    sessions.setFocus()
    place = sessions.visualRect(sessions.index_of(session_id)).center()
    QTest.mouseClick(sessions.viewport(), Qt.MouseButton.LeftButton, pos=place)


async def _check_typing(rig: WindowRig, session_id: str) -> None:
    sessions = rig.window.sidebar.session_list
    await until(lambda: sessions.index_of(session_id).isValid(), "the list")
    before = rig.conversation.session.id
    _click(rig, session_id)
    QTest.keyClicks(sessions, "a pl")
    QTest.keyClick(sessions, Qt.Key.Key_Delete)
    QTest.keyClick(sessions, Qt.Key.Key_Backspace)
    assert rig.conversation.session.id == before
    await until(lambda: rig.app_window.shown_session.session_id == session_id, "the session")
    await until(lambda: rig.composer.text() == "a p", "what was typed")
    assert rig.window.focusWidget() is rig.composer.editor
    places = {summary.place for summary in await rig.workspace.store.sessions()}
    assert places == {ListPlace()}
    assert sessions.take_typed_text() is None


async def _check_a_turn_that_runs(rig: WindowRig, server: ChatServer) -> str:
    """Begin a turn that the end of the app cuts off; its session."""
    await rig.wiring.workspace_controller.new_session()
    await rig.use_server(server)
    rig.type_message("Work on this.")
    await server.waiting.wait()
    cut_off = rig.conversation.session.id
    rig.window.commands.new_session.trigger()
    await until(lambda: rig.conversation.session.id != cut_off, "another session")
    await until(lambda: badges(rig) == {"first": "running", "unused": ""}, "it runs")
    return cut_off


async def _check_a_turn_that_ended_with_the_app(rig: WindowRig, cut_off: str) -> None:
    """Marked until somebody looks: in the list, and on the workspace's square, also while that is closed."""
    await until(
        lambda: badges(rig) == {"first": "interrupted", "second": "", "unused": ""}, "marked while closed"
    )
    await rig.open_folder("first")
    await until(lambda: interrupted(rig) == [cut_off], "the session is marked")
    assert badges(rig)["first"] == "interrupted"
    await rig.wiring.workspace_controller.open_session(cut_off)
    await until(lambda: interrupted(rig) == [], "it was looked at")
    await until(lambda: badges(rig) == {"first": "", "second": "", "unused": ""}, "no mark is left")


def badges(rig: WindowRig) -> dict[str, str]:
    buttons = rig.window.rail.findChildren(WorkspaceButton)
    return {button.workspace.name: button.workspace.badge for button in buttons}


def interrupted(rig: WindowRig) -> list[str]:
    return [row.id for row in rig.window.sidebar.session_list.sessions() if row.state == "interrupted"]


def listed(rig: WindowRig) -> list[str]:
    return [session.id for session in rig.window.sidebar.session_list.sessions()]


def found(rig: WindowRig) -> list[str]:
    """Return the sessions that Ctrl+K lists, by id."""
    lines = rig.window.switcher.list_view.rows
    return [line.value.id for line in lines if isinstance(line.value, SessionRow)]


async def _begin(rig: WindowRig) -> str:
    before = rig.conversation.session.id
    await rig.wiring.workspace_controller.new_session()
    assert rig.conversation.session.id != before
    return rig.conversation.session.id


async def _check_an_unused_session(rig: WindowRig) -> None:
    """It is in no list and comes back as the new one.

    What is typed right after a click on another one is for that.
    """
    await rig.open_folder("unused")
    first, opener = rig.conversation.session.id, rig.wiring.workspace_controller
    await until(lambda: listed(rig) == [first], "the only one is listed")
    await rig.run_turn("Hello")
    other = await _begin(rig)
    await rig.run_turn("Hello again")
    await _check_typing(rig, first)
    rig.composer.set_text("")
    await _check_typing(rig, other)
    rig.composer.set_text("")
    empty = await _begin(rig)
    await until(lambda: listed(rig) == [empty, other, first], "it is listed while it is on screen")
    await opener.open_session(first)
    await until(lambda: listed(rig) == [other, first], "it is gone")
    rig.window.commands.switch_workspace.trigger()
    await until(lambda: found(rig) == [other], "in Ctrl+K, too")
    rig.window.switcher.close()
    assert {info.id for info in await rig.workspace.sessions()} == {first, other, empty}, "none is deleted"
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


OWN_WINDOWS = (Qt.WindowType.Dialog, Qt.WindowType.Popup, Qt.WindowType.ToolTip, Qt.WindowType.Tool)


async def test_a_long_list_of_sessions_keeps_no_click_waiting(rig: WindowRig) -> None:
    await rig.open_folder("project")
    for number in range(600):
        await rig.workspace.store.commit(Commit(f"{number}", summary=make_summary(f"{number}", number)))
    sidebar, shown = rig.wiring.sidebar, rig.window.sidebar.session_list
    create_task = asyncio.get_running_loop().create_task
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    async def calls_of_turn() -> int:
        nonlocal calls
        calls = 0
        await asyncio.sleep(0)
        return calls

    longest, refreshing = 0, create_task(sidebar.refresh())
    sys.setprofile(count)
    try:
        while not refreshing.done():
            longest = max(longest, await calls_of_turn())
        refreshing = create_task(sidebar.refresh())
        while await calls_of_turn() < 10_000:
            assert not refreshing.done(), "no slice has so many"
    finally:
        sys.setprofile(None)
    assert shown.session_count() == 601
    assert longest < 36_000, "calls at once: fewer than two slices of 600 sessions take"
    with sidebar.opening("300"):
        await refreshing
        assert [item.id for item in shown.sessions() if item.active] == ["300"]


async def test_only_sessions_in_view_are_read_to_say_how_full_they_are(
    rig: WindowRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rig.open_folder("project")
    store = rig.workspace.store
    logs_read = list[str]()
    events = type(store).events

    async def note_and_read(self: Any, session_id: str) -> list[RecordedEvent]:
        logs_read.append(session_id)
        return await events(self, session_id)

    monkeypatch.setattr(type(store), "events", note_and_read)
    for number in range(300, 0, -1):  # the newest first: the rows in view stay the same
        imported = msgspec.structs.replace(make_summary(f"{number:03}", number), messages=1, calls=0)
        spoke = RecordedEvent(1, number, UserSpoke("How high is the tide?", 9))
        await store.commit(Commit(imported.id, [spoke], summary=imported))
    shown = rig.window.sidebar.session_list
    await rig.wiring.sidebar.refresh()

    def unknown_in_view() -> list[str]:
        in_view = set(shown.ids_in_view())
        return [item.id for item in shown.sessions() if item.id in in_view and item.used is None]

    await until(lambda: bool(logs_read) and not unknown_in_view(), "all in view are counted")
    in_view = set(shown.ids_in_view())
    assert 5 < len(in_view) < 100
    assert set(logs_read) <= in_view | {rig.conversation.session.id}

    shown.scrollToBottom()
    await until(lambda: "001" in logs_read and not unknown_in_view(), "those that are scrolled to, too")
    assert len(set(logs_read)) < 200, "none of those between"
    assert len(logs_read) == len(set(logs_read)), "each once"


async def test_a_search_says_at_once_that_not_all_is_indexed(rig: WindowRig) -> None:
    await rig.open_folder("project")
    panel = SearchPanel(rig.window, rig.wiring.session)
    findings = SearchFindings(SearchRequest("tide"))
    findings.add(SearchPart(rig.workspace.id, unindexed=60, events=100))
    panel._show(findings, False)
    assert panel.note.text() == "Still indexing (40 %): older messages may be missing."
    panel._show(SearchFindings(SearchRequest("tide")), True)
    assert "Still indexing" not in panel.note.text()


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


def lines(switcher: Switcher) -> list[str]:
    """Return what is listed, headings in brackets."""
    listed = switcher.list_view.rows
    return [f"[{line.words}]" if line.is_heading else line.words for line in listed]


def marked_words(switcher: Switcher) -> list[str]:
    rows = [line.value for line in switcher.list_view.rows if isinstance(line.value, MessageRow)]
    return [row.hit.excerpt[start:end] for row in rows for start, end in row.marks]


def painted_marks(switcher: Switcher, line: str) -> int:
    """Return how many words of a line are painted on the color of what was searched for."""
    place = lines(switcher).index(line)
    box = switcher.list_view.visualRect(switcher.list_view.row_model.index(place))
    picture = switcher.list_view.viewport().grab(box).toImage()
    color = QColor(current_theme().warn_soft)
    heights = range(picture.height())
    columns = [any(picture.pixelColor(x, y) == color for y in heights) for x in range(picture.width())]
    return sum(here and not before for before, here in pairwise((False, *columns)))


def chosen(switcher: Switcher) -> str:
    return str(switcher.list_view.currentIndex().data())


def press_key(
    switcher: Switcher, key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier
) -> None:
    QTest.keyClick(switcher.search, key, modifier)


async def test_it_leads_to_workspaces_sessions_messages_and_commands(rig: WindowRig) -> None:
    async with ChatServer(
        replies_in_order(text_reply("The lexer is fixed"), text_reply("Fine"), text_reply("Done"))
    ) as server:
        first = await rig.open_folder("first")
        await rig.use_server(server)
        await rig.run_turn("Look at the lexer")
        session_id = rig.conversation.session.id
        await rig.wiring.workspace_controller.new_session()
        await rig.run_turn("Write the invoices")
        second = await rig.open_folder("second")
        await rig.run_turn("Something else")
        switcher, commands = rig.window.switcher, rig.window.commands

        commands.switch_workspace.trigger()
        everything = [
            "[Workspaces]", "first", "second", "[Sessions]", "Write the invoices", "Look at the lexer",
        ]  # fmt: skip
        await until(lambda: lines(switcher) == everything, "workspaces and sessions")
        assert chosen(switcher) == "first"

        # A message of another workspace and session, at its place.
        QTest.keyClicks(switcher.search, "lexer fixed")
        assert lines(switcher) == []
        await until(lambda: lines(switcher) == ["[Messages]", "The lexer is fixed"], "the message alone")
        _check_marks(switcher)
        press_key(switcher, Qt.Key.Key_Return)
        await until(lambda: rig.wiring.session.workspace_id == first, "the other workspace")
        await until(lambda: rig.app_window.shown_session.session_id == session_id, "its session")
        await until(lambda: [row.text for row in rig.rows(UserRow)] == ["Look at the lexer"], "its rows")
        await until(rig.composer.editor.hasFocus, "the end of the way there")
        await until(lambda: rig.chat.find_bar.count.text == "2", "its word marked and counted")
        await _check_the_list_of_sessions(rig, session_id)

        # The signs limit what is searched; a command is run, and listed first from now on.
        commands.switch_workspace.trigger()
        QTest.keyClicks(switcher.search, "@i")
        await until(lambda: "Write the invoices" in lines(switcher), "the sessions")
        assert all(line == "[Sessions]" or "[" not in line for line in lines(switcher))
        switcher.search.setText(">larger text")
        assert lines(switcher) == ["[Commands]", "Larger text"]
        press_key(switcher, Qt.Key.Key_Return)
        commands.switch_workspace.trigger()
        await until(lambda: "Larger text" in lines(switcher), "the command that was used")
        switcher.search.setText("zzzz")
        await until(lambda: shows(switcher, "No results"), "the end of the search")

        # Ctrl+Enter begins a session in the workspace of the line.
        switcher.search.setText("second")
        press_key(switcher, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
        await until(
            lambda: rig.wiring.session.workspace_id == second and not rig.rows(UserRow), "a new session"
        )
        await _check_an_opening_workspace(rig, first)


def _check_marks(switcher: Switcher) -> None:
    """Each word is marked where it stands, the last one of the line, too."""
    assert marked_words(switcher) == ["lexer", "fixed"]
    assert painted_marks(switcher, "The lexer is fixed") == 2


async def _check_the_list_of_sessions(rig: WindowRig, session_id: str) -> None:
    """It finds a session of this workspace by a message, and opens it there."""
    assert not rig.window.switcher.isVisible()
    await rig.wiring.workspace_controller.new_session()
    sidebar = rig.window.sidebar
    sidebar.search.setFocus()
    QTest.keyClicks(sidebar.search, "lexer fixed")
    await until(lambda: bool(sidebar.session_list.sessions()), "the session")
    QTest.keyClick(sidebar.search, Qt.Key.Key_Return)
    await until(lambda: rig.app_window.shown_session.session_id == session_id, "its session")
    await until(lambda: rig.chat.find_bar.count.text == "2", "its word marked and counted")


async def _check_an_opening_workspace(rig: WindowRig, workspace_id: str) -> None:
    """Closed, its messages are found in its store alone; while it is being opened it is named."""
    switcher, services = rig.window.switcher, rig.wiring.services
    await rig.wiring.workspace_controller.close_workspace(workspace_id)
    rig.window.commands.switch_workspace.trigger()
    QTest.keyClicks(switcher.search, "lexer fixed")
    await until(lambda: "The lexer is fixed" in lines(switcher), "the message")
    assert workspace_id not in services.open_workspaces
    press_key(switcher, Qt.Key.Key_Escape)
    async with asyncio.timeout(TIMEOUT_S), services.borrow_store(workspace_id) as store:
        assert await store.sessions(), "the panel let go of the store"
    opening = asyncio.get_running_loop().create_task(
        rig.wiring.workspace_controller.open_workspace(workspace_id)
    )
    await asyncio.sleep(0)
    rig.window.commands.switch_workspace.trigger()
    QTest.keyClicks(switcher.search, "lexer fixed")
    assert switcher.note.text().startswith("Still opening: first.")
    await opening
    await until(lambda: lines(switcher) == ["[Messages]", "The lexer is fixed"], "the message")
    assert "Still opening" not in switcher.note.text()


LEXER = (
    {"role": "user", "content": "The LEXER loops at the end of a file"},
    {
        "role": "assistant",
        "content": "I read it.",
        "tool_calls": [{"id": "1", "name": "read_file", "arguments": '{"path": "src/lexer.py"}'}],
    },
    {"role": "tool", "content": "def advance():\n    while lexer.pos:\n        pass\n", "tool_call_id": "1"},
    {"role": "assistant", "content": "It never looks at the end."},
)
GAUGE = ({"role": "user", "content": "Why does the gauge say 61 % at the end?"}, *LEXER[3:])


def rows(panel: SearchPanel) -> list[str]:
    """Return what is listed, headings in brackets, without their details."""
    lines = panel.list_view.rows
    return [f"[{line.words.split(',')[0]}]" if line.is_heading else line.words for line in lines]


def choose(panel: SearchPanel, kind: str) -> FoundHit:
    """Move down to the first result of a kind."""
    for _ in panel.list_view.rows:
        line = panel.list_view.current
        if line is not None and isinstance(line.value, FoundHit) and line.value.hit.kind == kind:
            return line.value
        QTest.keyClick(panel.search, Qt.Key.Key_Down)
    raise AssertionError(f"no {kind} in {rows(panel)}")


async def import_session(rig: WindowRig, folder: Path, name: str, *messages: Mapping[str, object]) -> str:
    """Open a workspace with an imported session; return its id."""
    workspace_id = await rig.open_folder(name)
    file = folder / f"{name}.jsonl"
    file.write_text("".join(json.dumps(message) + "\n" for message in messages), encoding="utf-8")
    foreign = rig.wiring.services.foreign_sessions
    done = await foreign.import_into(workspace_id, await foreign.find([file]))
    assert not done.failed
    return workspace_id


async def search(rig: WindowRig, words: str, expected: str) -> SearchPanel:
    """Press the keys, type, and wait until something is listed."""
    panel = rig.window.search_panel.get()
    rig.window.commands.search_messages.trigger()
    QTest.keyClicks(panel.search, words)
    await until(lambda: expected in rows(panel), f"{expected} among {rows(panel)}")
    return panel


async def test_results_open_where_they_stand(tmp_path: Path, rig: WindowRig) -> None:
    lexer = await import_session(rig, tmp_path, "lexer", *LEXER)
    await import_session(rig, tmp_path, "gauge", *GAUGE)
    await _check_a_message_of_another_workspace(rig, lexer)
    await _check_an_output_and_the_filters(rig)
    await _check_what_is_said(rig)
    await _check_more_of_a_session(tmp_path, rig, lexer)


async def _check_a_message_of_another_workspace(rig: WindowRig, lexer: str) -> None:
    panel = await search(rig, "lexer loops", "The LEXER loops at the end of a file")
    assert rows(panel)[0].startswith("[The LEXER loops")
    found = choose(panel, "message")
    hit = found.hit
    assert [hit.excerpt[start:end] for start, end in found.marks] == ["LEXER", "loops"]
    QTest.keyClick(panel.search, Qt.Key.Key_Return)
    assert not panel.isVisible()
    await until(lambda: rig.wiring.session.workspace_id == lexer, "the other workspace")
    await until(lambda: rig.wiring.session.id == hit.session, "its session")
    await until(rig.chat.find_bar.isVisible, "the word marked")
    assert rig.window.page() == "chat"


async def _check_an_output_and_the_filters(rig: WindowRig) -> None:
    panel = await search(rig, "end", "Why does the gauge say 61 % at the end?")
    assert sum(line.startswith("[") for line in rows(panel)) == 2
    find_button(panel, "search_here").click()
    await until(lambda: sum(line.startswith("[") for line in rows(panel)) == 1, "this workspace alone")
    find_button(panel, "clear_filters").click()
    await until(lambda: sum(line.startswith("[") for line in rows(panel)) == 2, "all workspaces")
    panel.search.setText("lexer")
    find_button(panel, "search_kind-file").click()
    await until(lambda: rows(panel)[1:] == ["src/lexer.py"], "the file alone")
    find_button(panel, "search_kind-output").click()
    await until(lambda: rows(panel)[1:] == ["while lexer.pos:"], "the output alone")
    row = choose(panel, "output").hit
    QTest.keyClick(panel.search, Qt.Key.Key_Return)
    await until(lambda: rig.window.page() == "cache", "the cache")
    await until(lambda: rig.window.pages.outputs.get().selected == row.digest, "the entry")


async def _check_what_is_said(rig: WindowRig) -> None:
    panel = rig.window.search_panel.get()
    find_button(panel, "clear_filters").click()
    rig.window.perform(SearchEverything("xylophone"))
    await until(lambda: shows(panel, "No results. Try fewer words."), "nothing found")
    find_button(panel, "search_days-7").click()
    await until(lambda: shows(panel, "No results with these filters."), "the filters")
    panel.search.setText("")
    await until(lambda: shows(panel, "Type words"), "what to do")
    panel.search.setText("x" * 300)
    await until(lambda: shows(panel, "the limit is 200"), "why it can't be searched")
    QTest.keyClick(panel.search, Qt.Key.Key_Escape)
    assert not panel.isVisible()
    rig.window.perform(SearchEverything())
    assert panel.search.selectedText() == "x" * 300, "the words of the last search"


async def _check_more_of_a_session(folder: Path, rig: WindowRig, broken: str) -> None:
    """Beside a workspace that cannot be read, which is named."""
    many = [{"role": "user", "content": f"the tide rises {number}"} for number in range(12)]
    await import_session(rig, folder, "tides", *many)
    await rig.wiring.workspace_controller.close_workspace(broken)
    version = rig.wiring.services.registry.store_folder(broken) / "format"
    version.write_text(version.read_text().replace('"schema":1', '"schema":99'))
    rig.window.commands.search_messages.trigger()
    find_button(rig.window.search_panel.get(), "clear_filters").click()
    rig.window.search_panel.get().search.clear()
    panel = await search(rig, "tide", "More in this session")
    assert len(rows(panel)) == 7
    await until(lambda: "Can't be searched: lexer" in panel.note.text(), "which one")
    while panel.list_view.currentIndex().data() != "More in this session":
        QTest.keyClick(panel.search, Qt.Key.Key_Down)
    QTest.keyClick(panel.search, Qt.Key.Key_Return)
    await until(lambda: len(rows(panel)) == 13, "all of them")
    assert panel.isVisible()
