"""The context panel in use, with its card of the provider's cache."""

from __future__ import annotations

from itertools import pairwise

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QCursor, QFontMetricsF, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMenu, QScrollArea
from pytestqt.qtbot import QtBot

from helix_desktop.context.window.used_tokens import UsageGauge
from helix_desktop.context.window.window_breakdown import WindowItemKind, WindowItemState
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.fonts import ui_font
from helix_desktop.ui.design.style.stylesheet import stylesheet
from helix_desktop.ui.design.style.theme import LIGHT
from helix_desktop.ui.kit.intents import FocusComposer
from helix_desktop.ui.panel.panel_state import (
    WindowRow,
)
from helix_desktop.ui.panel.request_list import (
    ROW_HEIGHT,
    ActOnRow,
    ShowRowText,
    action_text,
    cut_middle,
)
from helix_desktop.ui.panel.view import Breakdown, ContextPanel, KeyValue
from helix_desktop.words.numbers import format_tokens
from tests.support.galleries.panes_samples import panel_state, window_rows
from tests.support.intents import intents_of, performed
from tests.support.window.buttons import find_button, find_buttons, find_child


@pytest.fixture
def pane(qtbot: QtBot) -> ContextPanel:
    panel = ContextPanel()
    qtbot.addWidget(panel)
    panel.resize(300, 900)
    panel.set_state(panel_state())
    panel.show()
    return panel


def test_the_numbers_state_their_source(pane: ContextPanel) -> None:
    """All of the next request is about: what came since the provider's report is by our count."""
    assert (pane.used.text, pane.used.accessibleDescription()) == ("≈ 14.6k", "By the provider's count")
    assert pane.until.text().endswith("at 85 % they must.")
    explained = [it.accessibleName() for it in pane.findChildren(KeyValue)]
    assert "Cached outputs: description stays" in explained
    pane.set_state(panel_state(used=20_900, is_estimated=True))
    assert (pane.used.text, pane.used.accessibleDescription()) == (
        "≈ 20.9k",
        "Estimated from the provider's last report",
    )


def test_the_legend_lists_the_existing_segments(pane: ContextPanel, qtbot: QtBot) -> None:
    """They add up to what is sent: the bar alone has what is free or kept for the answer."""
    assert pane.findChild(Breakdown) is None
    pane.details.click()
    state = panel_state()
    parts = [segment for segment in state.segments if segment.kind not in ("free", "reserve")]
    assert sum(segment.tokens for segment in parts) == state.gauge.used
    legend = find_child(pane, Breakdown)._legend
    shown = [kind for kind, row in legend.items() if not row.isHidden()]
    assert shown == [segment.kind for segment in parts if segment.tokens]
    for segment in parts:
        name = f"{segment.label}: {format_tokens(segment.tokens)}"
        assert legend[segment.kind].accessibleName() == name
    without = tuple(
        replace(segment, tokens=0) if segment.kind == "recalled" else segment for segment in state.segments
    )
    pane.set_state(replace(state, segments=without))
    assert legend["recalled"].isHidden()
    pane.set_state(state)
    rows = [legend[segment.kind] for segment in parts]
    qtbot.waitUntil(lambda: all(row.isVisible() for row in rows))
    qtbot.waitUntil(lambda: all(upper.y() < lower.y() for upper, lower in pairwise(rows)))


def test_a_call_is_cut_between_words_where_its_end_has_room(qapp: QApplication) -> None:
    metrics = QFontMetricsF(ui_font(13))
    command = "Ran python3 -m unittest -v"
    whole = "Ran … unittest -v"
    assert cut_middle(metrics, command, metrics.horizontalAdvance(whole) + 1) == whole
    narrow = cut_middle(metrics, command, metrics.horizontalAdvance(whole) - 4)
    assert narrow.endswith("-v")
    assert metrics.horizontalAdvance(narrow) < metrics.horizontalAdvance(whole)
    path = "Read gauge-2025-03.log:169-194"
    assert cut_middle(metrics, path, metrics.horizontalAdvance(path) - 9).startswith("Read gauge-")


def test_the_bar_has_a_tick_where_it_is_compacted(pane: ContextPanel) -> None:
    """With its label below, a tooltip and an accessible text; without compaction there is none."""
    width = pane.bar.width()
    assert pane.bar.tooltip_at(width * 0.85 + 2) == "Compacts at 85 %"
    assert "Compacts at 85 %" in pane.bar.accessibleName()
    assert pane.bar.tooltip_at(3).startswith("System prompt · 1,120 tokens")
    labelled = pane.bar.grab().toImage()
    pane.set_state(replace(panel_state(), is_managed=False))
    plain = pane.bar.grab().toImage()
    columns = range(labelled.width())
    rows = range(17, labelled.height())
    changed = [x for x in columns if any(labelled.pixel(x, y) != plain.pixel(x, y) for y in rows)]
    assert changed[0] < width * 0.85 < changed[-1]
    assert pane.bar.tooltip_at(width * 0.85).startswith("Free")
    assert "Compacts at" not in pane.bar.accessibleName()


def test_the_open_breakdown_stays_in_sight_when_the_list_grows(pane: ContextPanel, qtbot: QtBot) -> None:
    pane.details.click()
    breakdown = find_child(pane, Breakdown)
    legend = breakdown._legend
    qtbot.waitUntil(lambda: legend["output"].visibleRegion().boundingRect().height() > 10)
    place = breakdown.mapTo(pane, QPoint())
    height = pane.requests.height()
    for at in pane.requests.groups:
        pane.requests.open_group(at)
    pane.set_state(replace(panel_state(), rows=panel_state().rows * 3))
    assert pane.requests.height() > 2 * height
    qtbot.wait(0)
    assert breakdown.mapTo(pane, QPoint()) == place
    assert not legend["output"].visibleRegion().isEmpty()


def test_nothing_moves_sideways_as_there_is_something_to_scroll(pane: ContextPanel, qtbot: QtBot) -> None:
    pane.setStyleSheet(stylesheet(LIGHT))
    (scroll,) = (it for it in pane.findChildren(QScrollArea) if it.isAncestorOf(pane.requests))
    bar = scroll.verticalScrollBar()
    qtbot.wait(0)
    assert bar.maximum() == 0
    before = pane.requests.width(), pane.requests.mapTo(pane, QPoint()).x()
    pane.set_state(replace(panel_state(), rows=panel_state().rows * 9))
    qtbot.waitUntil(bar.isVisible)
    qtbot.wait(0)
    assert (pane.requests.width(), pane.requests.mapTo(pane, QPoint()).x()) == before


def test_what_is_always_sent_is_one_row_that_opens(pane: ContextPanel) -> None:
    requests = pane.requests
    rows = pane.requests.rows
    count = next(at for at, row in enumerate(rows) if row.seq)
    closed = requests.closed_group(0)
    height = requests.height()
    assert closed is not None
    assert all(requests.isRowHidden(at) for at in range(1, count))
    tokens = format_tokens(sum(row.tokens for row in rows[:count]), in_column=True)
    assert (closed.label, closed.tokens_text) == ("Instructions, tools", tokens)
    requests.setCurrentIndex(requests.row_model.index(0))
    QTest.keyClick(requests, Qt.Key.Key_Return)
    assert not any(requests.isRowHidden(at) for at in range(count))
    assert requests.height() == height + (count - 1) * fonts.scaled(ROW_HEIGHT)
    assert requests.row_model.index(0).data() == f"Instructions, tools · {tokens}", "its total stays"
    assert requests.row_model.index(1).data().startswith("System prompt · 1,120 tokens")


def test_a_turn_is_one_row_that_opens(pane: ContextPanel) -> None:
    """Opened, it has the user's message first; closed, it counts all until the next one."""
    requests = pane.requests
    rows = pane.requests.rows
    first, second = [at for at, row in enumerate(rows) if row.kind == "user" and row.is_heading][:2]
    below = range(first + 1, second)
    assert all(requests.isRowHidden(at) for at in below)
    closed = requests.closed_group(first)
    assert closed is not None
    assert closed.tokens_text == format_tokens(sum(row.tokens for row in rows[first:second]), in_column=True)
    assert closed.shown_states == ["2 cached"]
    assert closed.tooltip.endswith("what changed\n2 cached\n1 pinned\n1 in context in part")
    assert "9 parts, Right opens them" in requests.row_model.index(first).data()
    place = requests.visualRect(requests.row_model.index(first)).center()
    with performed(pane) as intents:
        QTest.mouseClick(requests.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert not intents, "the chat stays where it is"
    assert not any(requests.isRowHidden(at) for at in below)
    assert (rows[first + 1].label, rows[first + 1].seq) == ("Your message", rows[first].seq)
    requests.setCurrentIndex(requests.row_model.index(first + 3))
    QTest.keyClick(requests, Qt.Key.Key_Left)
    assert requests.currentIndex().row() == first
    assert all(requests.isRowHidden(at) for at in below)
    QTest.keyClick(requests, Qt.Key.Key_Down)
    assert requests.currentIndex().row() == second
    QTest.keyClick(requests, Qt.Key.Key_Right)
    assert not requests.isRowHidden(second + 1)
    requests.setCurrentIndex(requests.row_model.index(first + 1))
    assert not requests.isRowHidden(first + 1), "the keyboard is on what is in sight"
    pane.close_page()
    assert requests.isRowHidden(second + 1), "another session has groups of its own"


def test_a_row_that_comes_under_a_resting_mouse_takes_no_click_at_once(pane: ContextPanel) -> None:
    """A compaction moved the rows below the mouse: its click opened another one, with Undo in its menu."""
    now = [10.0]
    requests = pane.requests
    requests._clock = lambda: now[0]
    turns = [row for row in requests.rows if row.question]
    first, second = sorted({row.question for row in turns})[:2]
    QCursor.setPos(requests.viewport().mapToGlobal(requests.visualRect(requests.row_model.index(0)).center()))
    requests.show_rows([row for row in turns if row.question == first])
    requests.show_rows([row for row in turns if row.question == second])
    place = requests.visualRect(requests.row_model.index(0)).center()
    QTest.mouseClick(requests.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert requests.closed_group(0) is not None
    now[0] += 1
    QTest.mouseClick(requests.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert requests.closed_group(0) is None


def test_rows_are_under_the_question_of_their_turn(pane: ContextPanel) -> None:
    """One that is compacted has a heading with its words; a row of no turn stands where it is."""

    def entry(seq: int, kind: WindowItemKind, question: int = 0) -> WindowRow:
        return WindowRow(
            seq, kind, f"e{seq}", 10, "full", "", question=question, question_name=f"Question {question}"
        )

    rows = (
        *(entry(90, "handover"), entry(40, "user", 40), entry(41, "assistant", 40), entry(91, "handover")),
        *(entry(57, "assistant", 50), entry(58, "instructions"), entry(59, "output", 50)),
        *(entry(60, "user", 60), entry(61, "assistant", 60)),
    )
    pane.set_state(replace(panel_state(), rows=rows))
    requests = pane.requests
    groups = {group.label: [row.seq for row in group.rows] for group in requests.groups.values()}
    assert groups == {"e40": [40, 40, 41], "Question 50": [50, 57, 58, 59], "e60": [60, 60, 61]}
    (heading,) = [at for at, row in enumerate(requests.rows) if row.is_heading and row.seq == 50]
    assert requests.row_model.index(heading).data() == "Question 50 · 3 parts, Right opens them · 30"
    assert requests.rows[heading].shown_states == [], "it isn't sent"
    pane.requests.setCurrentIndex(requests.row_model.index(heading))
    with performed(pane) as intents:
        QTest.keyClick(pane.requests, Qt.Key.Key_Space)
    assert not intents, "nothing is sent of it"


def test_a_row_says_only_what_is_unusual() -> None:
    """What is in the context as it was has a name and its tokens."""
    states = {row.state: ("".join(row.shown_states), row.label) for row in window_rows(20)}
    assert states["full"][0] == states["fixed"][0] == ""
    assert states["summarized"][0] == ""
    assert {state[0] for state in states.values()} <= {
        "", "Cached", "Compacted", "Left out", "In context in part", "Pinned",
    }  # fmt: skip


def test_who_hears_a_row_is_told_that_it_is_outdated_where_it_shows_that(pane: ContextPanel) -> None:
    """A cached row was outdated for those who hear it only; a pinned one for nobody."""
    states: tuple[WindowItemState, ...] = ("full", "preview", "cached", "repeated", "excluded", "pinned")
    rows = [
        WindowRow(seq, "output", "read_file a.py", 40, state, "", tool="read_file", changed_since=12)
        for seq, state in enumerate(states, 1)
    ]
    pane.set_state(replace(panel_state(), rows=tuple(rows)))
    model = pane.requests.row_model
    spoken_texts = [model.index(at).data(Qt.ItemDataRole.AccessibleTextRole) for at in range(len(rows))]
    assert ["Edited since" in words.split(" · ") for words in spoken_texts] == [
        "Edited since" in row.shown_states for row in pane.requests.rows
    ]
    assert sum("Edited since" in words for words in spoken_texts) == 3
    assert "This is what it was then." in rows[0].tooltip


def test_the_tokens_of_an_output_say_how_much_of_it_is_sent() -> None:
    row = WindowRow(7, "output", "read_file a.py", 701, "preview", "", tool="read_file", whole=6_400)
    assert (row.tokens_text, row.shown_states) == ("701 of 6.4k", [])
    assert row.state_text == "In context in part", "for who hears it"
    uncounted = replace(row, whole=0)
    assert (uncounted.tokens_text, uncounted.shown_states) == ("701", ["In context in part"])


def test_an_overfull_window_is_drawn_to_scale_with_its_limit(pane: ContextPanel) -> None:
    """Twice the window fills twice the window's width; thresholds keep their place in the window."""
    state = panel_state()
    parts = tuple(segment for segment in state.segments if segment.kind not in ("output", "free"))
    used = sum(part.tokens for part in parts if part.kind != "reserve")
    assert pane.bar.window_edge_px() == pane.bar.width()
    gauge = UsageGauge(used, used // 2, used // 2, 0, round(used / 2 * 0.85), is_reported=True)
    over = replace(state, gauge=gauge, segments=parts)
    pane.set_state(over)
    width = pane.bar.width()
    assert pane.bar.window_edge_px() == pytest.approx(width / 2, abs=1)
    assert "tokens over the context window of" in pane.bar.tooltip_at(width / 2)
    assert pane.bar.tooltip_at(width / 2 * 0.85) == "Compacts at 85 %"
    assert "tokens over the context window" in pane.bar.accessibleName()
    spans = {segment.kind: (left, right) for segment, left, right in pane.bar._spans()}
    assert spans["recalled"][1] == pytest.approx(width, abs=1)
    assert spans["system"][1] == pytest.approx(width * 1_120 / used, abs=1)


def test_a_provider_that_counts_less_narrows_the_parts(pane: ContextPanel) -> None:
    """Their counts stay; the bar ends where the gauge does."""
    state = panel_state()
    parts = tuple(segment for segment in state.segments if segment.kind not in ("reserve", "free"))
    counted = sum(part.tokens for part in parts)
    used = counted * 3 // 4
    pane.set_state(replace(state, gauge=replace(state.gauge, used=used), segments=parts))
    right = max(right for _, _, right in pane.bar._spans())
    assert right == pytest.approx(pane.bar.width() * used / state.gauge.window, abs=1)
    outputs = next(part.tokens for part in parts if part.kind == "output")
    pane.details.click()
    assert (
        find_child(pane, Breakdown)
        ._legend["output"]
        .accessibleName()
        .endswith(format_tokens(outputs, in_column=True))
    )


def test_p_pins_only_outputs(pane: ContextPanel) -> None:
    rows = {row.kind: at for at, row in enumerate(pane.requests.rows)}
    pane.requests.setFocus()
    outputs: tuple[WindowItemKind, ...] = ("output", "recalled", "pinned")
    others: tuple[WindowItemKind, ...] = ("system", "user", "assistant", "handover")
    for kind in outputs:
        pane.requests.setCurrentIndex(pane.requests.model().index(rows[kind], 0))
        with performed(pane) as intents:
            QTest.keyClick(pane.requests, Qt.Key.Key_P)
        row = pane.requests.rows[rows[kind]]
        assert intents == [ActOnRow("unpin" if kind == "pinned" else "pin", row)]
    for kind in others:
        pane.requests.setCurrentIndex(pane.requests.model().index(rows[kind], 0))
        with performed(pane) as intents:
            QTest.keyClick(pane.requests, Qt.Key.Key_P)
        assert not intents
    pane.keys.use({"context_pin": ("Ctrl+J",), "context_text": ("P",)})
    pane.requests.setCurrentIndex(pane.requests.model().index(rows["output"], 0))
    row = pane.requests.rows[rows["output"]]
    with performed(pane) as intents:
        QTest.keyClick(pane.requests, Qt.Key.Key_J, Qt.KeyboardModifier.ControlModifier)
        QTest.keyClick(pane.requests, Qt.Key.Key_P)
    assert intents == [ActOnRow("pin", row), ShowRowText(row)]


def test_a_rows_menu_offers_the_applicable_actions(pane: ContextPanel) -> None:
    rows = {row.kind: at for at, row in enumerate(pane.requests.rows)}
    offered: dict[str, list[str]] = {}
    pane.requests.open_group(0)
    pane.requests.setCurrentIndex(pane.requests.model().index(rows["pinned"], 0))
    kinds: tuple[WindowItemKind, ...] = ("pinned", "handover", "system")
    for kind in kinds:
        at = pane.requests.visualRect(pane.requests.model().index(rows[kind], 0)).center()
        event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, pane.requests.mapToGlobal(at))
        pane.requests.contextMenuEvent(event)
        menu = next(menu for menu in pane.requests.findChildren(QMenu) if menu.isVisible())
        offered[kind] = [action.text() for action in menu.actions()]
        menu.close()
        menu.deleteLater()
        QCoreApplication.sendPostedEvents(menu, QEvent.Type.DeferredDelete)
    text = "Show sent text\tSpace"
    assert offered == {
        "pinned": [text, "Show in chat", "Unpin\tP"],
        "handover": [text, "Show in chat", "Undo\tR"],
        "system": [text],
    }


def test_a_click_and_enter_show_the_text_and_a_link_in_it_the_place(pane: ContextPanel) -> None:
    """The chat stays where the user reads until it is asked for the place."""
    index = pane.requests.model().index(3, 0)
    view = pane.requests.viewport()
    at = pane.requests.visualRect(index).center()
    row = window_rows(5)[2]
    with performed(pane) as intents:
        QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=at)
        QTest.keyClick(pane.requests, Qt.Key.Key_Return)
    assert intents == [ShowRowText(row)] * 2
    pane.show_page(row.label, "What is sent", row)
    button = find_button(pane, "show_in_chat")
    assert intents_of(pane, button.click) == [ActOnRow("show", row)]
    assert not find_buttons(pane, "open_output"), "all of it is there"
    marker = replace(row, kind="output", tool="read_file", digest="d" * 64, state="cached")
    pane.show_page(marker.label, "[CACHED]", marker)
    output = find_button(pane, "open_output")
    assert intents_of(pane, output.click) == [ActOnRow("open", marker)]
    assert intents_of(pane, lambda: find_button(pane, "way_back").click()) == [ActOnRow("send_full", marker)]
    large = replace(marker, whole=row.tokens + 900, room=800)
    pane.show_page(marker.label, "[CACHED]", large)
    assert find_button(pane, "way_back").isEnabled()
    follows = "That adds 900 tokens where 800 fit, so the next request caches or compacts older parts again."
    assert any(follows in it.text() for it in pane.findChildren(QLabel))
    assert replace(large, is_managed=False).room_text == "That adds 900 tokens where 800 fit."
    whole = replace(marker, state="full", cachable=800)
    pane.show_page(whole.label, "words", whole)
    again = find_button(pane, "way_back")
    assert again.text() == "Cache now… (saves up to 800 tokens)", "what was restored can be cached again"
    assert intents_of(pane, again.click) == [ActOnRow("cache", whole)]
    pane.requests.is_read_only = True
    pane.show_page(marker.label, "[CACHED]", marker)
    assert not find_buttons(pane, "way_back"), "the past can't be changed"
    pane.show_page("Compacted turn 1", "covers entries e42-e70", replace(row, kind="handover"))
    assert any("Numbers such as e42 count the messages" in it.text() for it in pane.findChildren(QLabel))
    pane.show_page("Always sent", "You are an agent.")
    assert button.isHidden()
    assert output.isHidden()


def test_keys_walk_the_list(qtbot: QtBot, pane: ContextPanel) -> None:
    """Down keeps the row visible, Space requests its text."""
    pane.set_state(panel_state(2_000))
    pane.requests.open_group(0)
    qtbot.waitUntil(lambda: pane._scroll.verticalScrollBar().maximum() > 0)
    pane.requests.setFocus()
    pane.requests.setCurrentIndex(pane.requests.model().index(0, 0))
    for _ in range(41):
        QTest.keyClick(pane.requests, Qt.Key.Key_Down)
    current = pane.requests.currentIndex()
    assert current.row() == 6 + 35 * 10, "rows of closed turns are passed over"
    assert pane._scroll.verticalScrollBar().value() > 0
    QTest.keyClick(pane.requests, Qt.Key.Key_Right)
    QTest.keyClick(pane.requests, Qt.Key.Key_Down)
    with performed(pane) as intents:
        QTest.keyClick(pane.requests, Qt.Key.Key_Space)
    assert intents == [ShowRowText(pane.requests.rows[current.row() + 1])]


def test_the_selection_goes_with_its_row(pane: ContextPanel) -> None:
    """Rows before it leave or come; one that is gone has no heir."""
    state = panel_state()
    at = next(at for at, row in enumerate(state.rows) if row.kind == "output")
    shown = pane.requests.rows.index(state.rows[at])
    pane.requests.setCurrentIndex(pane.requests.model().index(shown, 0))
    row = state.rows[at]
    others = [other for other in state.rows if other.seq != state.rows[at].seq]
    for rows in ((*state.rows[:2], *state.rows[at:]), state.rows, (row, *others)):
        pane.set_state(replace(state, rows=rows))
        assert pane.requests.current == row
    pane.set_state(panel_state(60))
    headings = sum(row.is_heading for row in pane.requests.rows)
    assert pane.requests.model().rowCount() == headings + 60, "headings and the rows"
    pane.set_state(replace(state, rows=tuple(others)))
    assert not pane.requests.currentIndex().isValid()


def test_the_request_as_text_can_be_copied_and_left(pane: ContextPanel) -> None:
    """A page over the overview; Esc goes back."""
    pane.show_page("Next request", "system\nYou are an agent.")
    assert pane.reader.page.text.toPlainText() == "system\nYou are an agent."
    pane.reader.page.show_data(b"a long line of a call " * 40)
    assert pane.reader.page.text.horizontalScrollBar().maximum() == 0, "the panel is narrow: lines break"
    pane.show_page("Next request", "system\nYou are an agent.")
    pane.reader.page.copy_content()
    assert QGuiApplication.clipboard().text() == "system\nYou are an agent."
    QTest.keyClick(pane.reader.page.text, Qt.Key.Key_Escape)
    assert pane.requests.isVisible()
    pane.set_state(panel_state(43))
    assert pane.requests.isVisible()


def test_without_a_session_there_is_one_sentence_and_one_button(pane: ContextPanel) -> None:
    """The empty state leads to the composer."""
    pane.set_state(None)
    assert pane.empty.isVisible()
    assert intents_of(pane, pane.empty.button.click) == [FocusComposer()]


def test_a_cached_row_names_what_comes_back_and_how_much() -> None:
    """Undoing the caching of what was sent in part before would not bring all of it."""
    row = WindowRow(7, "output", "read_file a.py", 40, "cached", "", tool="read_file", digest="d" * 64)
    assert action_text("send_full", replace(row, whole=2_100)) == "Undo caching · adds ≈ 2.1k tokens"
    assert action_text("send_full", row) == "Send all of it"
    cut = replace(row, state="preview", whole=2_100)
    assert action_text("send_full", cut) == "Send all of it · adds ≈ 2.1k tokens"


def test_a_row_that_is_read_is_followed_until_it_is_gone(pane: ContextPanel) -> None:
    """Where its text stays the same, the place in it does too."""
    state = panel_state()
    output = next(row for row in state.rows if row.kind == "output")
    pane.show_page(output.label, "line\n" * 500, output)
    scroll = pane.reader.page.text.verticalScrollBar()
    scroll.setValue(scroll.maximum())
    changed = replace(output, tokens=7, state="cached", whole=900, undo_refused="It has 900 tokens.")
    rows = tuple(changed if row == output else row for row in state.rows)
    assert intents_of(pane, lambda: pane.set_state(replace(state, rows=rows))) == [ShowRowText(changed)]
    pane.show_page(changed.label, "line\n" * 500, changed)
    assert not find_button(pane, "way_back").isEnabled()
    assert scroll.value() == scroll.maximum() > 0
    rest = tuple(row for row in rows if row != changed)
    assert not intents_of(pane, lambda: pane.set_state(replace(state, rows=rest)))
    assert pane.reader.isHidden()
    assert pane.requests.hasFocus()
