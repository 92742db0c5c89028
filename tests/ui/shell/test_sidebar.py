"""Rail, session list, picker and the title of a session: what they say, by mouse and by keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, QPoint, Qt
from PySide6.QtGui import QInputMethodEvent
from PySide6.QtGui import Qt as GuiQt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton, QTextEdit, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.domain.git import GitStatus
from helix_desktop.domain.store import ListPlace
from helix_desktop.domain.text_format import matches_query
from helix_desktop.ui.design.style import stylesheet
from helix_desktop.ui.kit.commands import WindowCommands
from helix_desktop.ui.kit.intents import (
    ArchiveSession,
    LocateWorkspace,
    OpenFolder,
    OpenListedSession,
    PinSession,
    RenameSession,
    SearchEverything,
    ShowWorkspace,
)
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.sidebar.rail import Rail
from helix_desktop.ui.window.sidebar.session_list import (
    SessionItem,
    SessionList,
    day_group,
    row_end,
)
from helix_desktop.ui.window.sidebar.sidebar import Sidebar
from helix_desktop.ui.window.top_bar import TopBarState
from helix_desktop.ui.window.workspace_badges import (
    WorkspaceRow,
    default_initials,
    disambiguate,
    distinct_colors,
    work_state,
)
from helix_desktop.words.git import git_text
from helix_desktop.words.times import format_short_time
from tests.support.intents import performed
from tests.support.tables import for_each
from tests.support.window.buttons import find_button, find_buttons, find_child
from tests.support.window.keyboard_focus import focused_widget
from tests.support.window.list_contents import workspaces_in

_NONE = Qt.KeyboardModifier.NoModifier
NOW = datetime(2026, 11, 20, 15, 4)
GIT = git_text(GitStatus("fix/parser", upstream="origin/fix/parser", ahead=2, changed=3, untracked=1))
WORKSPACES = (
    WorkspaceRow("w1", "helix-desktop", "/code/helix-desktop", active=True, cache="2.1 MB", git=GIT),
    WorkspaceRow("w2", "Weather bot", "/code/weather", badge="waiting"),
    WorkspaceRow("w3", "Invoices", "/documents/invoices", badge="missing"),
)


def ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def session(key: str, title: str, ago: timedelta, active: bool = False) -> SessionItem:
    return SessionItem(key, title, "opus · 2 messages", ms(NOW - ago), 0.4, active)


SESSIONS = (
    session("a", "Fix the parser", timedelta(minutes=5)),
    session("b", "Release notes", timedelta(days=1)),
    session("c", "Design review", timedelta(days=9)),
)


@pytest.fixture
def commands(qtbot: QtBot) -> Iterator[WindowCommands]:
    owner = QWidget()
    yield WindowCommands(owner)
    owner.deleteLater()


@pytest.fixture
def sidebar(qtbot: QtBot, commands: WindowCommands) -> Sidebar:
    new_sidebar = Sidebar(commands)
    new_sidebar.add_session_list()
    qtbot.addWidget(new_sidebar)
    new_sidebar.resize(280, 700)
    new_sidebar.show_workspace("helix-desktop")
    new_sidebar.show_sessions(SESSIONS, NOW)
    with qtbot.waitExposed(new_sidebar):
        new_sidebar.show()
    return new_sidebar


def visible_texts(sidebar: Sidebar) -> list[str]:
    model = sidebar.session_list.model()
    return [str(model.index(at, 0).data()) for at in range(model.rowCount())]


def test_when_a_session_changed_is_said_anew(sidebar: Sidebar) -> None:
    changed = replace(SESSIONS[0], updated_ms=ms(NOW))
    sidebar.show_sessions([changed], NOW)
    place = sidebar.session_list.model().index(1, 0)
    assert str(place.data(Qt.ItemDataRole.AccessibleDescriptionRole)).startswith("now, ")
    sidebar.session_list.update_time(NOW + timedelta(minutes=2))
    assert str(place.data(Qt.ItemDataRole.AccessibleDescriptionRole)).startswith("15:04, ")
    sidebar.session_list.update_time(NOW + timedelta(days=1))
    assert visible_texts(sidebar) == ["Yesterday", changed.title]


def test_pinned_sessions_come_first_and_archived_ones_wait_below_a_heading(sidebar: Sidebar) -> None:
    pinned = replace(SESSIONS[2], place=ListPlace(pinned=True))
    archived = replace(SESSIONS[1], place=ListPlace(archived=True))
    sidebar.show_sessions([SESSIONS[0], archived, pinned], NOW)
    listed = ["Pinned", "Design review", "Today", "Fix the parser", "Archived · 1"]
    assert visible_texts(sidebar) == listed

    view = sidebar.session_list
    heading = view.model().index(4, 0)
    assert heading.data(Qt.ItemDataRole.AccessibleTextRole) == "Archived, 1 session, collapsed"
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=view.visualRect(heading).center())
    assert visible_texts(sidebar) == [*listed, "Release notes"]
    assert "archived" in view.index_of("b").data(Qt.ItemDataRole.AccessibleTextRole)
    QTest.keyClick(view, Qt.Key.Key_Left)
    assert visible_texts(sidebar) == listed
    QTest.keyClick(view, Qt.Key.Key_Space)
    assert view.index_of("b").isValid()
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert visible_texts(sidebar) == listed

    sidebar.search.setText("notes")
    assert visible_texts(sidebar) == ["Archived", "Release notes"]
    sidebar.search.clear()
    sidebar.show_sessions([replace(archived, state="running")], NOW)
    heading = view.model().index(0, 0)
    assert heading.data(Qt.ItemDataRole.AccessibleTextRole) == "Archived, 1 session, collapsed, working"
    assert view.isVisible()  # not the page that says that nothing was found


def test_a_session_is_pinned_and_archived_by_key_and_the_list_stays_where_it_was(sidebar: Sidebar) -> None:
    view = sidebar.session_list
    view.setCurrentIndex(view.index_of("b"))
    with performed(sidebar) as intents:
        QTest.keyClick(view, Qt.Key.Key_P)
    assert intents == [PinSession("b", True)]
    pinned = replace(SESSIONS[1], place=ListPlace(pinned=True))
    sidebar.show_sessions([SESSIONS[0], pinned, SESSIONS[2]], NOW)
    assert view.currentIndex() == view.index_of("b")
    assert {"Unpin from top\tP", "Archive\tA"} <= {
        action.text() for action in view.menu_for(view.index_of("b")).actions()
    }
    with performed(sidebar) as intents:
        QTest.keyClick(view, Qt.Key.Key_A)
    assert intents == [ArchiveSession("b", True)]
    sidebar.show_sessions([SESSIONS[0], replace(pinned, place=ListPlace(True, True)), SESSIONS[2]], NOW)
    assert view.currentIndex() == view.index_of("a")


def test_the_keys_of_the_list_can_be_changed(sidebar: Sidebar) -> None:
    view = sidebar.session_list
    view.setCurrentIndex(view.index_of("b"))
    view.keys.use({"session_pin": ("A",), "session_archive": ("Shift+Z", "F9"), "session_trash": ()})
    texts = [action.text() for action in view.menu_for(view.index_of("b")).actions()]
    assert texts[-5:] == ["", "Pin to top\tA", "Archive\tShift+Z", "", "Move to trash"]
    view.setCurrentIndex(view.index_of("b"))
    with performed(sidebar) as intents:
        QTest.keyClick(view, Qt.Key.Key_A)
    assert intents == [PinSession("b", True)]
    with performed(sidebar) as intents:
        QTest.keyClick(view, Qt.Key.Key_Delete)
        QTest.keyClick(view, Qt.Key.Key_F9)
    assert intents == [ArchiveSession("b")], "none of the key that has no command any more"


def test_typing_filters_and_enter_opens_the_first_hit(sidebar: Sidebar) -> None:
    sidebar.search.setFocus()
    QTest.keyClicks(sidebar.search, "NOTES rel")
    assert visible_texts(sidebar) == ["Yesterday", "Release notes"]

    with performed(sidebar) as intents:
        QTest.keyClick(sidebar.search, Qt.Key.Key_Return)
    assert intents == [OpenListedSession("b")]
    QTest.keyClick(sidebar.search, Qt.Key.Key_Escape)
    assert len(visible_texts(sidebar)) == 6


def test_a_search_can_go_on_in_all_messages_or_be_cleared(sidebar: Sidebar) -> None:
    sidebar.search.setText("nothing like this ")
    with performed(sidebar) as intents:
        find_button(sidebar, "search_messages").click()
    assert intents == [SearchEverything("nothing like this")]
    assert sidebar.search.text() == "", "here the search is over"
    sidebar.search.setText("nothing like this")
    button = find_button(sidebar, "clear_search")
    assert button.isVisible()

    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert sidebar.session_list.isVisible()


def test_the_keyboard_stays_in_a_search_without_hits(sidebar: Sidebar) -> None:
    sidebar.search.setFocus()
    sidebar.search.setText("x!")
    assert not sidebar.session_list.isVisible()
    QTest.keyClick(sidebar.search, Qt.Key.Key_Down)
    sidebar.search.clear()
    assert sidebar.session_list.isVisible()
    assert sidebar.search.hasFocus(), "what is typed next is no key of the list"


def test_esc_and_enter_belong_to_what_an_input_method_composes(sidebar: Sidebar) -> None:
    search = sidebar.search
    search.setFocus()
    QTest.keyClicks(search, "notes")
    QCoreApplication.sendEvent(search, QInputMethodEvent("hao", []))
    with performed(sidebar) as intents:
        for key in (Qt.Key.Key_Return, Qt.Key.Key_Down, Qt.Key.Key_Up):
            QTest.keyClick(search, key)
    assert search.hasFocus()
    assert not intents
    QTest.keyClick(search, Qt.Key.Key_Escape)
    assert (search.composition, search.text()) == ("", "notes")
    QTest.keyClick(search, Qt.Key.Key_Escape)
    assert search.text() == ""


def test_a_closed_workspace_is_labeled_and_claims_no_numbers(sidebar: Sidebar) -> None:
    sidebar.show_sessions([], NOW)
    sidebar.show_closed("The folder is missing.")

    visible = [label.text() for label in sidebar.findChildren(QLabel) if label.isVisible()]
    assert "The folder is missing." in visible
    assert not any("No session" in text or "empty" in text for text in visible)
    assert not any(button.isVisible() for button in find_buttons(sidebar, "new_session"))

    sidebar.show_sessions(SESSIONS, NOW)
    sidebar.show_closed("")
    assert sidebar.session_list.isVisible()


def test_arrows_skip_headings_and_enter_opens(sidebar: Sidebar) -> None:
    sidebar.search.setFocus()
    QTest.keyClick(sidebar.search, Qt.Key.Key_Down)
    QTest.keyClick(sidebar.session_list, Qt.Key.Key_Down)

    with performed(sidebar) as intents:
        QTest.keyClick(sidebar.session_list, Qt.Key.Key_Return)
    assert intents == [OpenListedSession("b")]


def test_f2_renames(qtbot: QtBot, sidebar: Sidebar) -> None:
    sidebar.session_list.focus_first()
    QTest.keyClick(sidebar.session_list, Qt.Key.Key_F2)
    field = find_child(sidebar.session_list, QLineEdit)
    assert field.text() == "Fix the parser"

    field.setText("Fix the lexer")
    with performed(sidebar) as intents:
        QTest.keyClick(field, Qt.Key.Key_Return)
        qtbot.waitUntil(lambda: bool(intents))
    assert intents == [RenameSession("Fix the lexer", "a")], "it does not open the session"


def test_the_keyboard_begins_at_the_session_that_was_opened_last(sidebar: Sidebar) -> None:
    view = sidebar.session_list
    view.setCurrentIndex(view.index_of("b"))
    opened = session("new", "New session", timedelta(), active=True)
    sidebar.show_sessions((opened, *SESSIONS), NOW)
    assert view.currentIndex() == view.index_of("new")
    view.setCurrentIndex(view.index_of("c"))
    sidebar.show_sessions((replace(opened, title="Renamed"), *SESSIONS), NOW)
    assert view.currentIndex() == view.index_of("c")


def test_a_click_opens_and_the_menu_renames(sidebar: Sidebar) -> None:
    index = sidebar.session_list.index_of("c")
    with performed(sidebar) as intents:
        place = sidebar.session_list.visualRect(index).center()
        QTest.mouseClick(sidebar.session_list.viewport(), Qt.MouseButton.LeftButton, _NONE, place)
    assert intents == [OpenListedSession("c")]

    menu = sidebar.session_list.menu_for(index)
    assert [action.text() for action in menu.actions()] == [
        "Open",
        "Open in new window",
        "Rename…\tF2",
        "Export…",
        "",
        "Pin to top\tP",
        "Archive\tA",
        "",
        "Move to trash\tDel",
    ]
    menu.deleteLater()


def test_an_update_does_not_end_a_rename(sidebar: Sidebar) -> None:
    sidebar.session_list.focus_first()
    QTest.keyClick(sidebar.session_list, Qt.Key.Key_F2)
    field = find_child(sidebar.session_list, QLineEdit)

    sidebar.show_sessions((session("a", "Fix the parser", timedelta(minutes=4)), *SESSIONS[1:]), NOW)

    assert field.isVisible()


@pytest.fixture
def rail(qtbot: QtBot, commands: WindowCommands) -> Rail:
    new_rail = Rail(commands)
    qtbot.addWidget(new_rail)
    new_rail.resize(64, 600)
    new_rail.show_workspaces(WORKSPACES)
    with qtbot.waitExposed(new_rail):
        new_rail.show()
    return new_rail


def test_rows_follow_the_text_size_there_and_back(qapp: QApplication, sidebar: Sidebar) -> None:
    """They had the heights of the size before: after the way back, too much room."""
    sessions = sidebar.session_list
    appearance = stylesheet.Appearance(qapp, "light")
    appearance.apply_stylesheet()

    def tops() -> list[int]:
        qapp.processEvents()
        return [sessions.visualRect(sessions.model().index(row, 0)).top() for row in range(4)]

    before = tops()
    appearance.zoom(2)
    appearance.zoom(2)
    larger = tops()
    assert larger[3] >= before[3] * 1.2
    appearance.zoom(0)
    assert tops() == before
    appearance.deleteLater()


def test_badges_have_text_labels(rail: Rail) -> None:
    assert "Waiting for you" in rail.button("w2").toolTip()
    assert "Folder not found" in rail.button("w3").accessibleName()


def test_the_menu_of_a_missing_folder_locates_but_does_not_show(rail: Rail) -> None:
    menu = rail.menu_for("w3")
    entries = {action.objectName(): action for action in menu.actions()}
    assert not entries["show_folder"].isEnabled()

    with performed(rail) as intents:
        entries["locate"].trigger()
    assert intents == [LocateWorkspace("w3")]
    assert entries["remove_from_list"].text() == "Remove from list…"
    menu.deleteLater()


def test_removed_rows_remove_their_squares(rail: Rail) -> None:
    button = rail.button("w2")
    rail.show_workspaces((WORKSPACES[1], WORKSPACES[0]))

    assert rail.button("w2") is button
    with pytest.raises(KeyError):
        rail.button("w3")


def test_the_picker_finds_by_path_and_switches(window: MainWindow) -> None:
    window.show_workspaces(WORKSPACES)
    QTest.keyClick(window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    picker = window.picker
    assert picker.isVisible()
    assert QApplication.focusWidget() is picker.search

    QCoreApplication.sendEvent(picker.search, QInputMethodEvent("hao", []))
    QTest.keyClick(picker.search, Qt.Key.Key_Return)
    QTest.keyClick(picker.search, Qt.Key.Key_Escape)
    assert picker.isVisible(), "Esc canceled what was being composed"
    QTest.keyClicks(picker.search, "fix/par")
    assert [workspace.id for workspace in workspaces_in(picker)] == ["w1"]
    picker.search.clear()
    QTest.keyClicks(picker.search, "documents")
    assert [workspace.id for workspace in workspaces_in(picker)] == ["w3"]
    with performed(picker) as intents:
        QTest.keyClick(picker.search, Qt.Key.Key_Return)
    assert intents == [ShowWorkspace("w3")]
    assert not picker.isVisible()


def test_a_search_names_the_workspaces_that_cannot_be_read(window: MainWindow) -> None:
    note = window.picker.note
    window.show_workspaces(WORKSPACES)
    window.picker.open()
    window.picker.show_unread(["one", "two", "three", "four"])
    assert "searched" not in note.text()
    QTest.keyClicks(window.picker.search, "tide")
    assert note.text() == "Can't be searched: one, two, three, 1 more. Open it to see why."
    window.picker.show_unread(())
    assert "searched" not in note.text()


def test_esc_and_a_click_outside_close_the_picker(window: MainWindow) -> None:
    window.show_workspaces(WORKSPACES)
    window.picker.open()
    QTest.keyClick(window.picker.search, Qt.Key.Key_Escape)
    assert not window.picker.isVisible()

    window.picker.open()
    QTest.mouseClick(window.top_bar, Qt.MouseButton.LeftButton, _NONE, QPoint(5, 5))
    assert not window.picker.isVisible()


def test_tab_stays_in_the_picker_and_enter_presses_its_button(window: MainWindow) -> None:
    window.show_workspaces(WORKSPACES)
    window.picker.open()
    QTest.keyClick(window.picker.search, Qt.Key.Key_Tab)
    first_filter = QApplication.focusWidget()
    assert first_filter is find_button(window.picker, "search_kind-places")
    QTest.keyClick(first_filter, Qt.Key.Key_Backtab)
    QTest.keyClick(window.picker.search, Qt.Key.Key_Backtab)
    add = QApplication.focusWidget()
    assert isinstance(add, QPushButton)
    assert window.picker.isVisible()
    QTest.keyClick(add, Qt.Key.Key_Tab)
    assert window.picker.search.hasFocus()
    with performed(window) as intents:
        QTest.keyClick(add, Qt.Key.Key_Return)
    assert intents == [OpenFolder()]
    assert not window.picker.isVisible()


def test_why_a_session_failed_is_said_as_words(qtbot: QtBot) -> None:
    """A reason wraps in the tooltip and is no markup there; a screen reader says it too."""
    reason = "The server said <b>no</b>. " * 8
    view = SessionList()
    qtbot.addWidget(view)
    failed = SessionItem("a", "Fix the parser", "opus", 0, 0.4, False, "failed", reason)
    view.show_sessions([failed], datetime(2026, 11, 20, 15, 4))
    index = view.index_of("a")
    tooltip = index.data(Qt.ItemDataRole.ToolTipRole)
    label = QLabel(tooltip)
    qtbot.addWidget(label)
    label.setWordWrap(GuiQt.mightBeRichText(tooltip))  # as Qt's tooltips do
    assert label.sizeHint().width() < 600
    assert "&lt;b&gt;no" in tooltip
    assert reason in index.data(Qt.ItemDataRole.AccessibleTextRole)
    assert "Last turn failed" in tooltip
    assert "Last turn failed" in index.data(Qt.ItemDataRole.AccessibleTextRole)


_ALL = SessionItem(
    "a",
    "Fix the parser",
    "$0.38 · 12 messages · opus",
    0,
    0.42,
    active=False,
    state="waiting",
    began_as="Branch",
)


def test_a_row_ends_with_its_state_or_what_it_began_as_or_its_time() -> None:
    stopped = replace(_ALL, state="stopped")
    items = [replace(_ALL, state=state) for state in ("waiting", "running", "failed", "interrupted", "")]
    items += [stopped, replace(stopped, parent="b"), replace(_ALL, state="", began_as="")]
    assert [row_end(item, "16:20") for item in items] == [
        ("Waiting", "accent"),
        ("Working", "ok"),
        ("Failed", "error"),
        ("Interrupted", "warn"),
        ("Branch", None),
        ("Branch", None),
        ("Stopped", None),
        ("16:20", None),
    ]


@dataclass
class _Work:
    """What a conversation does, as far as its state says it."""

    asks: tuple[str, ...] = ()
    is_running: bool = False
    retry_reason: str = ""

    @property
    def response(self) -> _Work:
        return self


def test_the_most_urgent_of_what_goes_on_is_said() -> None:
    works: Any = [_Work(("Run it?",)), _Work(is_running=True, retry_reason="Busy"), _Work(is_running=True)]
    states = [work_state(works[at:], is_interrupted=True) for at in range(4)]
    assert states == ["waiting", "retrying", "running", "interrupted"]


def test_what_a_row_does_not_show_stands_in_its_tooltip_and_description(qtbot: QtBot) -> None:
    view = SessionList()
    qtbot.addWidget(view)
    now = datetime(2026, 11, 20, 15, 4)
    view.show_sessions([_ALL], now)
    index = view.index_of("a")
    when = format_short_time(_ALL.updated_ms, now)
    facts = ("$0.38 · 12 messages · opus", "42 % of the context used", when)
    for role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleDescriptionRole):
        assert all(fact in index.data(role) for fact in facts)
    assert index.data(Qt.ItemDataRole.AccessibleTextRole).startswith(
        "Branch, Fix the parser, Waiting for you"
    )


def test_the_filter_knows_titles_alone(qtbot: QtBot) -> None:
    view = SessionList()
    qtbot.addWidget(view)
    view.show_sessions([_ALL, replace(_ALL, id="b", title="Opus")], datetime(2026, 11, 20, 15, 4))
    view.set_filter("opus")
    assert [item.id for item in view.sessions()] == ["b"], "the other one runs with that model"
    view.set_filter("branch")
    assert not view.sessions(), "how both began"
    view.set_filter("")
    assert len(view.sessions()) == 2


HEADER = TopBarState("s1", "Streaming cache for handovers", "opus", demo=False, messages=412)


@pytest.fixture
def _session(window: MainWindow) -> None:
    window.sidebar.show_sessions(
        [SessionItem("s1", "One", "opus · 2 messages", 0, 0.5, True)], datetime.now()
    )
    window.top_bar.show_session(HEADER)
    window.show_center_page("work")


@pytest.mark.usefixtures("_session")
def test_a_double_click_renames_the_session(window: MainWindow) -> None:
    title = window.top_bar.title
    QTest.mouseDClick(title, Qt.MouseButton.LeftButton)
    field = focused_widget()

    QTest.keyClicks(field, "New name")
    with performed(window) as intents:
        QTest.keyClick(field, Qt.Key.Key_Return)
    assert intents == [RenameSession("New name", "s1")]
    assert title.title() == "New name"


@pytest.mark.usefixtures("_session")
def test_f2_renames_the_row_in_focus_else_the_open_session(window: MainWindow) -> None:
    sessions = window.sidebar.session_list
    sessions.focus_first()
    QTest.keyClick(sessions, Qt.Key.Key_F2)
    focused = focused_widget()
    assert sessions.isAncestorOf(focused)
    field = window.findChildren(QTextEdit)[0]
    field.setFocus()
    QTest.keyClick(field, Qt.Key.Key_F2)
    focused = focused_widget()
    assert window.top_bar.title.isAncestorOf(focused)


@pytest.mark.usefixtures("_session")
def test_esc_leaves_a_rename_without_a_change(window: MainWindow) -> None:
    message = window.findChildren(QTextEdit)[0]
    message.setFocus()
    window.top_bar.title.edit()
    field = focused_widget()
    QTest.keyClicks(field, "Other")

    with performed(window) as intents:
        QTest.keyClick(field, Qt.Key.Key_Escape)
    assert not intents
    assert QApplication.focusWidget() is message
    assert window.top_bar.title.title() == HEADER.title


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        (["/a/work/app", "/a/home/app"], ["work", "home"]),
        (["/a/x/src/app", "/b/y/src/app"], ["x/src", "y/src"]),
        (["/a/one", "/a/two"], ["/a/one", "/a/two"]),
    ],
)
def test_folders_with_the_same_name_are_distinguishable(paths: list[str], words: list[str]) -> None:
    assert disambiguate(paths) == words


def test_similar_workspaces_have_different_colors() -> None:
    colors = distinct_colors([f"w{number}" for number in range(8)])

    assert len(set(colors.values())) == 8


@for_each(
    ("name", "initials"),
    [
        ("helix-desktop", "HD"),
        ("Helix", "HE"),
        ("repo2", "R2"),
        ("2048", "20"),
        ("weather_bot v2", "WB"),
        ("数据", "数"),
        ("", "?"),
        ("...", "?"),
    ],
)
def test_initials_come_from_the_words_of_a_name(name: str, initials: str) -> None:
    assert default_initials(name) == initials


@pytest.mark.parametrize(
    ("ago", "group", "when"),
    [
        (timedelta(seconds=20), "today", "now"),
        (timedelta(hours=3), "today", "12:04"),
        (timedelta(hours=16), "yesterday", "Thu"),
        (timedelta(days=8), "earlier", "12 Nov"),
        (timedelta(days=400), "earlier", "16 Oct 2025"),
    ],
)
def test_relative_times_in_words(ago: timedelta, group: str, when: str) -> None:
    now = datetime(2026, 11, 20, 15, 4)
    updated_ms = int((now - ago).timestamp() * 1000)
    assert day_group(updated_ms, now) == group
    assert format_short_time(updated_ms, now) == when


def test_search_needs_every_word() -> None:
    assert matches_query("fix PARSER", "Fix the parser", "opus")
    assert not matches_query("fix lexer", "Fix the parser", "opus")
