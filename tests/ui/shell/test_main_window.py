"""The window's frame: places, panes, keys, banners, jobs, closing."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from itertools import product

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QCursor, QFont
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QProgressBar, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.window.used_tokens import UsageGauge
from helix_desktop.ui.chat.composer.context_gauge import ContextGauge
from helix_desktop.ui.design.cards import Dot
from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.design.sized_dialog import fitted_rect
from helix_desktop.ui.design.style import fonts, stylesheet
from helix_desktop.ui.kit.commands import WindowCommands
from helix_desktop.ui.kit.notices import Notice
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.sidebar.session_list import SessionItem
from helix_desktop.ui.window.status_lines import JobAction, JobRow, WaitingSession
from helix_desktop.ui.window.top_bar import TopBar, TopBarState
from helix_desktop.ui.window.workspace_badges import WorkspaceRow
from tests.support.window.bare_window import make_window
from tests.support.window.buttons import find_child

_CONTROL = Qt.KeyboardModifier.ControlModifier
HEADER = TopBarState("s1", "Streaming cache for handovers", "opus", demo=False, messages=412)
_TITLE_PX = 120  # the minimum width of a title that is long enough
_MIN_BAR_PX = 440  # a narrower bar contains its controls and little else


def work(window: MainWindow) -> None:
    window.show_workspaces([WorkspaceRow("w1", "helix", "/src/helix", active=True)])
    window.sidebar.show_sessions(
        [SessionItem("s1", "One", "opus · 2 messages", 0, 0.5, True)], datetime.now()
    )
    window.top_bar.show_session(HEADER)
    window.show_center_page("work")


def panel_of(window: MainWindow) -> QWidget:
    return find_child(window, QWidget, "panel_pane")


def test_keys_fold_panes_and_the_state_is_stored(
    qtbot: QtBot, window: MainWindow, layout_states: dict[str, bytes]
) -> None:
    work(window)
    assert window.sidebar.isVisible()
    assert panel_of(window).isVisible()

    QTest.keyClick(window, Qt.Key.Key_B, _CONTROL)
    QTest.keyClick(window, Qt.Key.Key_I, _CONTROL)

    assert not window.sidebar.isVisible()
    assert not panel_of(window).isVisible()
    assert (layout_states["sidebar"], layout_states["inspector"]) == (b"off", b"off")
    QTest.mouseClick(window.top_bar.sidebar, Qt.MouseButton.LeftButton)
    assert window.sidebar.isVisible()


def test_splitter_widths_are_restored(qtbot: QtBot, layout_states: dict[str, bytes]) -> None:
    def opened() -> MainWindow:
        new_window = make_window(layout_states)
        qtbot.addWidget(new_window)
        work(new_window)
        with qtbot.waitExposed(new_window):
            new_window.show()
        return new_window

    first = opened()
    first._panes.setSizes([333, 700, 343])
    widths = first._panes.sizes()
    first.allow_close()
    del layout_states["geometry"]  # the screen of a test is smaller than the window

    second = opened()
    assert second._panes.sizes() == widths
    second.allow_close()


def test_the_sides_have_their_share_of_a_large_window_until_a_handle_is_moved(
    qtbot: QtBot, window: MainWindow
) -> None:
    work(window)
    window.show()
    usual, large = ((window.resize(*size), window._panes.sizes())[1] for size in ((1400, 900), (2560, 1400)))
    assert (usual[0], usual[2]) == (272, 308)
    assert large[0] > usual[0]
    assert large[2] > usual[2]
    window._panes.moveSplitter(300, 1)
    moved = window._panes.sizes()
    window.resize(2400, 1400)
    assert (window._panes.sizes()[0], window._panes.sizes()[2]) == (moved[0], moved[2])


def test_a_narrow_window_folds_panes_and_a_wide_one_restores_them(qtbot: QtBot, window: MainWindow) -> None:
    work(window)

    window.resize(1000, 700)
    assert not panel_of(window).isVisible()
    assert window.sidebar.isVisible()
    window.resize(640, 600)
    assert not window.sidebar.isVisible()
    assert window.top_bar.sidebar.isVisible()
    window.resize(1440, 900)
    assert window.sidebar.isVisible()
    assert panel_of(window).isVisible()


def test_a_panel_that_the_user_opened_in_a_narrow_window_stays_open(
    window: MainWindow, layout_states: dict[str, bytes]
) -> None:
    work(window)
    window.resize(1279, 800)
    assert not panel_of(window).isVisible()
    window.commands.toggle_inspector.trigger()
    assert panel_of(window).isVisible()
    window.resize(1100, 800)
    assert panel_of(window).isVisible()
    assert layout_states["inspector"] == b"on"
    window.commands.toggle_inspector.trigger()
    window.resize(1440, 900)
    assert not panel_of(window).isVisible()


@pytest.mark.parametrize("width", [720, 1024, 1440])
def test_how_full_the_context_is_stands_once_outside_the_panel(
    qtbot: QtBot, window: MainWindow, width: int
) -> None:
    """In the composer's line; on pages without one in the top bar, unless the panel says it."""
    bar = window.top_bar
    gauge = ContextGauge()
    bar.add_gauge(gauge)
    work(window)
    window.resize(width, 680)
    gauge.show_usage(UsageGauge(900, 1_000, 1_000, 0, 850, is_reported=True), ContextPolicy())
    line = bar.layout()
    assert line is not None

    def is_shown_once(page: str) -> bool:
        others = panel_of(window).isVisible() or page == "chat"
        return gauge.isVisible() != others and (others or bar.rect().contains(gauge.geometry()))

    for _ in range(2):
        places = list[QRect]()
        for page in ("outputs", "chat", "timeline", "changes", "chat"):
            window.show_page(page)
            qtbot.waitUntil(partial(is_shown_once, page))
            line.activate()
            places.append(bar.pages.geometry())
        assert len({(place.x(), place.width()) for place in places}) == 1, "a second click hits the same page"
        window.commands.toggle_inspector.trigger()


def test_the_title_yields_last(qtbot: QtBot, window: MainWindow) -> None:
    work(window)
    bar = window.top_bar

    def check() -> None:
        title_width = min(_TITLE_PX, bar.title.label.full_width())
        assert bar.width() < _MIN_BAR_PX or bar.title.width() >= title_width
        for control in (bar.pages, bar.more):
            assert control.isVisible()
            assert bar.rect().contains(control.geometry())

    for width, panel in product((640, 800, 1000, 1200, 1440, 1920), (False, True)):
        window.resize(width, 700)
        if panel != panel_of(window).isVisible():
            window.commands.toggle_inspector.trigger()
        if not window.sidebar.isVisible():
            window.commands.toggle_sidebar.trigger()
        assert (panel_of(window).isVisible(), window.sidebar.isVisible()) == (panel, True)
        qtbot.waitUntil(check)


@pytest.mark.parametrize(
    ("width", "words"), [(820, ("Chat", "Outputs", "Timeline", "Changes")), (480, ("Chat", "", "", ""))]
)
def test_the_page_names_stay_readable_with_any_title_and_status(
    qtbot: QtBot, width: int, words: tuple[str, ...]
) -> None:
    host = QWidget()
    qtbot.addWidget(host)
    bar = TopBar(WindowCommands(host))
    bar.setParent(host)
    bar.setFont(fonts.base())
    bar.sidebar.hide()
    bar.resize(width, 57)
    host.show()
    names: set[tuple[str, ...]] = set()
    places: set[int] = set()
    headers = (
        HEADER,
        HEADER._replace(title="A", demo=True, state="waiting"),
        HEADER._replace(title="A" * 90),
    )
    for header in headers:
        bar.show_session(header)
        layout = bar.layout()
        assert layout is not None
        layout.activate()
        places.add(bar.pages.x())
        names.add(tuple(button.text() for button in bar.pages.findChildren(QPushButton)))

    assert names == {words}
    assert len(places) == 1


def test_the_layout_is_stored_on_each_change_not_only_at_the_end(
    qtbot: QtBot, window: MainWindow, layout_states: dict[str, bytes]
) -> None:
    work(window)
    layout_states.clear()
    with qtbot.waitSignal(window.layout_changed):
        window.resize(1300, 800)
        window.commands.toggle_inspector.trigger()
    assert layout_states.keys() >= {"geometry", "splitter", "inspector"}


def test_job_lines_appear_update_and_disappear(qtbot: QtBot, window: MainWindow) -> None:
    canceled: list[str] = []
    cancel_it = JobAction("cancel", lambda: canceled.append("a"))
    window.jobs.show_jobs([JobRow("a", "Verifying", 0.25, cancel_it), JobRow("b", "Indexing")])
    height = window.jobs.sizeHint().height()
    first, second = window.jobs.findChildren(QProgressBar)
    assert first.value() == 250
    assert second.maximum() == 0

    window.jobs.show_jobs([JobRow("a", "Verifying", 0.5, cancel_it)])
    assert (first.value(), window.jobs.sizeHint().height()) == (500, height)
    (cancel,) = (b for b in window.jobs.findChildren(QPushButton) if b.isVisible())
    QTest.mouseClick(cancel, Qt.MouseButton.LeftButton)
    assert canceled == ["a"]

    window.jobs.show_jobs([])
    assert not window.jobs.isVisible()


def test_nothing_that_comes_by_itself_moves_a_page(qtbot: QtBot, window: MainWindow) -> None:
    """Lines of jobs, the line of sessions that wait, and notices lie over it, one below the other."""
    window.show_center_page("work")

    def page_places() -> list[QRect]:
        places = []
        for page in ("chat", "outputs", "timeline", "changes"):
            window.show_page(page)
            qtbot.wait(1)
            shown = window.session_pages.currentWidget()
            assert shown is not None
            places.append(QRect(shown.mapTo(window, QPoint()), shown.size()))
        return places

    before = page_places()
    window.jobs.show_jobs([JobRow(name, f"Job {name}") for name in "abc"])
    window.show_waiting_sessions([WaitingSession("w", "s", "Another session")], "none")
    window.notices.notify(Notice("moves", "Nothing"))
    qtbot.wait(1)
    assert page_places() == before
    assert window.jobs.isVisible()
    notices = window.notices
    top = window.jobs.mapTo(window, QPoint()).y()
    assert notices.mapTo(window, notices.rect().bottomLeft()).y() < top
    over = window.childAt(window.jobs.mapTo(window, window.jobs.rect().center()))
    assert over is not None
    assert window.jobs.isAncestorOf(over), "it is above the page"
    window.show_page("chat")
    qtbot.wait(1)
    bottom = window.jobs.mapTo(window, window.jobs.rect().bottomLeft()).y()
    assert bottom < notices.mapTo(window, QPoint()).y(), "above the messages"


def test_notices_come_at_the_bottom_unless_the_mouse_is_there(qtbot: QtBot, window: MainWindow) -> None:
    """A second click on a button of the page hit one of the notice about the first."""
    work(window)
    shown = window.session_pages

    def lies(*, above: bool) -> bool:
        place = window.notices.mapTo(window, window.notices.rect().center())
        return (place.y() < shown.mapTo(window, shown.rect().center()).y()) == above

    for page, share in product(("outputs", "timeline", "changes"), (0.9, 0.4, 0.1)):
        window.show_page(page)
        mouse = shown.mapToGlobal(QPoint(shown.width() // 2, round(share * shown.height())))
        QCursor.setPos(mouse)
        window.notices.notify(Notice("undone", "Undone"))
        qtbot.waitUntil(partial(lies, above=share > 0.75), timeout=5_000)
        window.notices.end("undone")
    QCursor.setPos(QPoint(5_000, 5_000))


def test_the_state_is_shown_while_it_is_unusual_and_the_rest_in_the_tooltip(window: MainWindow) -> None:
    work(window)
    bar = window.top_bar
    for header, status in (
        (HEADER, "Ready · opus · 412 messages"),
        (TopBarState("s", "T", "demo", demo=True, messages=1, state="running"), "Working · 1 message"),
        (HEADER._replace(state="waiting"), "Waiting for you · opus · 412 messages"),
        (HEADER._replace(state="failed", reason="No."), "Last turn failed · opus · 412 messages"),
        (None, "No session open"),
    ):
        bar.show_session(header)
        assert bar.status() == status
        assert header is None or status in bar.title.toolTip()
        assert status in [label.accessibleDescription() for label in bar.title.findChildren(QLabel)]
        state = status.split(" · ", maxsplit=1)[0].replace("Working", "Working…")
        shown = [line.text for line in bar.findChildren(TextLine) if line.isVisible()]
        assert shown == ([] if state in ("Ready", "No session open") else [state])


def test_a_narrow_bar_keeps_the_title_then_the_state(qtbot: QtBot) -> None:
    host = QWidget()
    qtbot.addWidget(host)
    bar = TopBar(WindowCommands(host))
    bar.setParent(host)
    bar.sidebar.hide()
    bar.show_session(HEADER._replace(title="A" * 90, demo=True, state="waiting"))
    host.show()
    dot = bar.findChildren(Dot)[0]
    state = bar.findChildren(TextLine)[0]
    seen = set()
    for width in range(1_000, 300, -10):
        bar.resize(width, bar.height())
        seen.add(state.isVisible())
        assert dot.isVisible(), "it says it, too"
        assert bar.title.width() >= 80 or width < 340
    assert seen == {True, False}


@pytest.mark.parametrize("window_first", [False, True])
def test_every_text_has_the_configured_font_in_any_build_order(
    qtbot: QtBot, qapp: QApplication, window_first: bool
) -> None:
    qapp.setStyleSheet("")
    qapp.setFont(QFont("Sans Serif", 10))
    if window_first:
        window = make_window({})
        appearance = stylesheet.Appearance(qapp, "light", 18)
    else:
        appearance = stylesheet.Appearance(qapp, "light", 18)
        window = make_window({})
    qtbot.addWidget(window)

    window.bind_appearance(appearance)
    window.show()

    words = window.findChildren(QLabel)
    assert {label.font().family() for label in words} <= {fonts.UI_FAMILY, fonts.MONO_FAMILY}
    assert window.sidebar.search.font().pixelSize() == 18
    appearance.zoom(0)
    assert window.sidebar.search.font().pixelSize() == fonts.BASE_PX
    window.allow_close()
    appearance.deleteLater()


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ((0, 0, 1440, 900), (0, 36, 1366, 692)),
        ((100, 100, 800, 500), (100, 100, 800, 500)),
        ((900, 600, 800, 500), (566, 228, 800, 500)),
        ((-300, -50, 800, 500), (0, 36, 800, 500)),
    ],
)
def test_a_window_stays_within_the_available_screen(
    place: tuple[int, int, int, int], expected: tuple[int, int, int, int]
) -> None:
    assert fitted_rect(QRect(*place), QRect(0, 36, 1366, 692)) == QRect(*expected)


def test_with_larger_text_panes_fold_earlier(qapp: QApplication, window: MainWindow) -> None:
    appearance = stylesheet.Appearance(qapp, "light")
    window.bind_appearance(appearance)
    work(window)
    window.resize(900, 600)
    assert window.sidebar.isVisible()
    appearance.set_text_px(20)
    assert not window.sidebar.isVisible()
    window.resize(1440, 600)
    assert window.sidebar.isVisible()
    window.resize(900, 600)
    appearance.zoom(0)
    assert window.sidebar.isVisible()
    appearance.deleteLater()


def test_the_title_keeps_its_place_as_the_agent_works_waits_and_is_done(window: MainWindow) -> None:
    work(window)
    header = HEADER._replace(title="A long title " * 20)
    for width in (900, 1440):
        window.resize(width, 800)
        widths = []
        for state in ("", "", "running", "waiting", ""):  # the first also comes with another width
            window.top_bar.show_session(header._replace(state=state))
            window.top_bar._line.activate()
            widths.append(window.top_bar.title.width())
        assert len(set(widths[1:])) == 1, widths


def test_with_larger_text_the_pages_have_room_for_their_names(qapp: QApplication, window: MainWindow) -> None:
    appearance = stylesheet.Appearance(qapp, "light")
    window.bind_appearance(appearance)
    work(window)
    window.resize(2200, 600)
    appearance.set_text_px(20)
    assert window.top_bar.pages.width() == window.top_bar.pages.width_at("words")
    appearance.zoom(0)
    appearance.deleteLater()


def test_nothing_is_said_of_workspace_and_session_until_it_is_known(window: MainWindow) -> None:
    sidebar = window.sidebar
    assert not any(part.isVisible() for part in (sidebar._name, window.top_bar._state))
    assert window.top_bar.status() == ""
    window.show_workspaces([])
    window.top_bar.show_session(None)
    sidebar.show_closed("")
    assert (sidebar._name.text(), window.top_bar.status()) == ("No workspace", "No session open")
