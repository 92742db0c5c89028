"""The session on screen, and the list of sessions."""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QWidget

from helix_desktop.config.view_states import ViewState
from helix_desktop.domain.errors import WorkspaceMissing
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import SessionArchived
from helix_desktop.domain.store import Commit, ListPlace, SavedFilter, SessionSummary
from helix_desktop.ui.chat.actions import RowKey
from helix_desktop.ui.chat.rows.row_types import ApprovalRow
from helix_desktop.ui.design.layout import LazyPage
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.theme import current_theme
from helix_desktop.ui.kit.intents import ArchiveSession, Compact, SetTheme, Undo, Zoom
from helix_desktop.ui.kit.notices import Notice
from helix_desktop.ui.kit.session import SessionMissing
from helix_desktop.ui.outputs.filter_bar import age_options, tool_option
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.picker import Picker, SessionRow
from helix_desktop.ui.window.sidebar.rail import WorkspaceButton
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
from tests.support.window.buttons import press
from tests.support.window.window_rig import WindowRig, act, open_window, until

pytestmark = pytest.mark.qt_loop


async def summary_of(rig: WindowRig, session_id: str) -> SessionSummary:
    return next(summary for summary in await rig.workspace.store.sessions() if summary.id == session_id)


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
    session_id = rig.conversation.session.id
    commands = rig.window.commands
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
    lines = rig.window.picker.list_view.rows
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
    first = rig.conversation.session.id
    opener = rig.wiring.workspace_controller
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
    rig.window.picker.close()
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
    sidebar = rig.wiring.sidebar
    shown = rig.window.sidebar.session_list
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

    longest = 0
    refreshing = create_task(sidebar.refresh())
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
    pages = rig.views
    window = rig.window
    lazy_pages: dict[str, LazyPage[Any]] = {
        "outputs": pages.outputs,
        "timeline": pages.timeline,
        "changes": pages.changes,
        "comparison": pages.comparison,
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
        assert bool(scrubber.steps) == (name != "outputs")
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
    rig.window.show_page("outputs")
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
    rig.window.show_page("outputs")
    return left


async def _check_a_restart(rig: WindowRig, left: Left) -> None:
    await rig.wiring.workspace_controller.restore_last()
    assert rig.conversation.session.id == left.session_id
    assert rig.window.page() == "outputs"
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


def lines(picker: Picker) -> list[str]:
    """Return what is listed, headings in brackets."""
    listed = picker.list_view.rows
    return [f"[{line.words}]" if line.is_heading else line.words for line in listed]
