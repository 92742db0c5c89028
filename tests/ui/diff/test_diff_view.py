"""A diff: its rows, and what is on screen, selected, copied and found, with mouse and keyboard."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QFont, QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from helix_desktop.config.paths import resources_dir
from helix_desktop.domain.file_history.changes import FileState
from helix_desktop.domain.file_history.diff import FileDiff, diff_contents, diff_states
from helix_desktop.ui.design.buttons import PushButton, TabButton
from helix_desktop.ui.design.diff.canvas import CollapsedRow, RowPlaces
from helix_desktop.ui.design.diff.rows import (
    TAB_COLUMNS,
    DiffRows,
    HunkMark,
    LineLayout,
    line_breaks,
    line_text,
    width_in_columns,
)
from helix_desktop.ui.design.diff.view import DiffText, DiffView
from helix_desktop.ui.design.focus import FocusRing, tab_stops
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.theme import LIGHT
from tests.support.image_bytes import png
from tests.support.window.buttons import find_child

_BEFORE = "".join(f"line {number}\n" for number in range(1, 61)).encode()

_AFTER = _BEFORE.replace(b"line 20\n", b"line twenty\n").replace(b"line 50\n", b"")


@pytest.fixture
def view(qtbot: QtBot) -> DiffView:
    """A wide view on screen, of a text with two changes."""
    fonts.load(resources_dir() / "fonts")
    diff_view = DiffView()
    qtbot.addWidget(diff_view)
    diff_view.resize(900, 420)
    diff_view.show_diff(diff_contents(_BEFORE, _AFTER), "a/list.txt", can_revert_hunks=True)
    with qtbot.waitExposed(diff_view):
        diff_view.show()
    diff_view.text.setFocus()
    return diff_view


def _words(view: DiffView) -> str:
    return view.text.words_of_row(view.text.current_row)


def point_of(text: DiffText, row: int, column: int) -> QPoint:
    """Return where a character of a row is in the viewport: the middle of its left edge."""
    pane = text._panes()[-1]
    line = text.rows.row(row)
    at, x = text._layout_of(line.line).place_of(column) if line is not None else (0, 0.0)
    top = text._places.top_of(row) - text.verticalScrollBar().value() + at * text._heights["lines"]
    left = int(pane.text + x) - text.horizontalScrollBar().value()
    return QPoint(left, top + text._heights["lines"] // 2)


def test_keys_go_from_change_to_change_and_a_screen_reader_can_read_them(view: DiffView) -> None:
    QTest.keyClick(view.text, Qt.Key.Key_F7)
    assert _words(view) == "Line 20 removed: line 20"
    QTest.keyClick(view.text, Qt.Key.Key_Down)
    assert _words(view) == "Line 20 added: line twenty"
    QTest.keyClick(view.text, Qt.Key.Key_N)
    assert _words(view) == "Line 50 removed: line 50"
    QTest.keyClick(view.text, Qt.Key.Key_F7, Qt.KeyboardModifier.ShiftModifier)
    assert _words(view) == "Line 20 removed: line 20"


def test_a_hunk_that_is_over_says_so_and_offers_the_opposite_where_it_is(
    qtbot: QtBot, view: DiffView
) -> None:
    def heads() -> list[str]:
        return [head.text() for head in view.findChildren(PushButton, "revert-hunk") if head.isVisible()]

    button = next(
        button for button in view.findChildren(PushButton, "revert-hunk")
        if "Line 20" in button.accessibleName()
    )  # fmt: skip
    with qtbot.waitSignal(view.hunk_revert_requested) as signal:
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert signal.args == [0]
    QTest.keyClick(view.text, Qt.Key.Key_F7)
    row = view.text.current_row
    before = view.text.viewport().grab().toImage()
    view.text.show_marks((HunkMark("Reverted", is_over=True), HunkMark("Changed since in the same lines")))
    assert heads() == ["Redo", "Revert"]
    assert view.text.current_row == row
    assert view.text.viewport().grab().toImage() != before
    words = [
        view.text.words_of_row(at) for at in range(len(view.text.rows)) if view.text.rows.row(at) is None
    ]
    assert "Line 20 · Reverted" in words
    assert "Removed line 50 · Changed since in the same lines" in words
    view.text.show_marks(())
    assert heads() == ["Revert", "Revert"]


def test_tab_goes_through_folds_and_hunks_from_above_also_after_scrolling(view: DiffView) -> None:
    """A row that comes into sight is drawn by a widget that another one has left."""
    view.resize(900, 240)
    bar = view.text.verticalScrollBar()
    for place in (*range(0, bar.maximum(), 20), *range(bar.maximum(), 0, -20)):
        bar.setValue(place)
        heads = [stop for stop in tab_stops(view.text) if isinstance(stop, CollapsedRow | PushButton)]
        tops = [head.mapTo(view.text, QPoint(0, 0)).y() for head in heads]
        assert tops
        assert tops == sorted(tops)


def test_a_ring_shows_that_the_lines_have_the_keyboard(view: DiffView) -> None:
    """The first row, and the one of a change that was reverted, have no mark of their own."""
    view.activateWindow()
    ring = find_child(view.text, FocusRing)
    view.text.setFocus(Qt.FocusReason.MouseFocusReason)
    assert not ring.isVisible(), "who clicked sees the line"
    inline = next(button for button in view.findChildren(TabButton) if button.isChecked())
    inline.setFocus(Qt.FocusReason.TabFocusReason)
    view.text.setFocus(Qt.FocusReason.TabFocusReason)
    assert ring.isVisible()
    while not isinstance(focused := view.focusWidget(), PushButton) or focused.objectName() != "revert-hunk":
        assert focused is not None
        QTest.keyClick(focused, Qt.Key.Key_Tab)
    assert not ring.isVisible(), "on Revert"
    view.show_diff(diff_contents(_AFTER, _AFTER + b"more\n"), "a/list.txt", can_revert_hunks=True)
    assert view.text.hasFocus()
    assert ring.isVisible()


def test_side_by_side_has_less_rows_and_falls_back_where_it_is_narrow(view: DiffView) -> None:
    folded = len(view.text.rows)
    fold = next(fold for fold in view.findChildren(CollapsedRow) if fold.text() == "16 unchanged lines")
    QTest.mouseClick(fold, Qt.MouseButton.LeftButton)
    inline = len(view.text.rows)
    assert (inline, _words(view)) == (folded + 15, "Line 1: line 1")
    view.set_side_by_side(True)
    assert len(view.text.rows) == inline - 1  # a removed and an added line stand in one row
    view.resize(500, 420)
    assert len(view.text.rows) == inline
    view.resize(900, 420)
    assert len(view.text.rows) == inline - 1, "it is the user's choice still"


def test_lines_break_where_the_view_ends_unless_one_is_too_long_to_be_read(view: DiffView) -> None:
    """Characters are found where they are drawn, also in the rows below; a resize keeps the first line."""
    long = " ".join(f"word{number}" for number in range(60))
    before = "".join(f"{number} {long}\n" for number in range(40))
    after = before.replace("30 word0", "30 other")
    view.show_diff(diff_contents(before.encode(), after.encode()), "a.txt")
    text = view.text
    for side_by_side in (False, True):
        view.set_side_by_side(side_by_side)
        assert text.horizontalScrollBar().maximum() == 0
        heights = set()
        for column in (0, 40, 170, 300, len(long)):
            point = point_of(text, 2, column)
            heights.add(point.y())
            row, _, found = text._place_at(QPointF(point))
            assert (row, found) == (2, column)
        assert len(heights) > 2
    QTest.mouseClick(text.viewport(), Qt.MouseButton.LeftButton, pos=point_of(text, 2, 0))
    QTest.mouseClick(
        text.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ShiftModifier, point_of(text, 2, 300)
    )
    assert len(text.selected_text) == 300
    text.verticalScrollBar().setValue(text.verticalScrollBar().maximum() // 2)
    first = text.page_index
    view.resize(700, 420)
    assert abs(text.page_index - first) <= 1


def test_the_first_change_is_in_sight_in_a_low_view(view: DiffView) -> None:
    before = "\n".join(f"line {number}" for number in range(20))
    view.resize(900, 130)
    view.show_diff(diff_contents(before.encode(), before.replace("line 4", "line four").encode()), "a.txt")
    text = view.text

    def is_in_sight() -> bool:
        start = text.rows.change_starts[0]
        return text.viewport().rect().contains(point_of(text, start + 1, 0))

    assert is_in_sight()
    view.resize(900, 110)
    assert is_in_sight()
    text.verticalScrollBar().setValue(0)
    view.resize(900, 120)
    assert text.verticalScrollBar().value() == 0, "the user has scrolled"


def test_what_differs_in_a_long_line_is_in_sight(view: DiffView) -> None:
    """When the diff opens, at the next change, in another layout and at another width."""
    start = "the same words " * 130
    end = " and so on" * 40
    before = f"{start}before{end}\n" + "same\n" * 20 + f"early {end}{end}\n"
    after = before.replace("before", "after").replace("early", "later")
    view.show_diff(diff_contents(before.encode(), after.encode()), "a.txt")
    bar = view.text.horizontalScrollBar()

    def is_in_sight(column: int) -> bool:
        row = view.text.rows.change_starts[0]
        return view.text.viewport().rect().contains(point_of(view.text, row, column))

    assert is_in_sight(len(start))
    assert not is_in_sight(0)
    view.set_side_by_side(True)
    view.resize(800, 420)
    assert is_in_sight(len(start))
    view.text.go_to_change(1)
    assert bar.value() == 0, "its first word differs"
    view.text.go_to_change(-1)
    assert is_in_sight(len(start))
    bar.setValue(7)
    view.resize(900, 420)
    assert bar.value() == 7, "the user has scrolled"


def test_columns_behind_an_emoji_are_where_they_are_drawn(qapp: object) -> None:
    line = LineLayout(line_text("😀😀\u202e word", shows_line_ends=False), (), (), QFont(), LIGHT)
    assert line.place_of(8) == (0, line.last_width)
    assert [line.column_at(line.place_of(column)[1]) for column in range(9)] == [*range(9)]


def test_what_is_selected_is_copied_without_signs_and_numbers(view: DiffView) -> None:
    QTest.keyClick(view.text, Qt.Key.Key_F7)
    for _ in range(2):
        QTest.keyClick(view.text, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClick(view.text, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "line 20\nline twenty\n"


def test_a_selection_is_dragged_over_lines_and_scrolls_on_outside(view: DiffView) -> None:
    viewport = view.text.viewport()
    text = view.text
    QTest.keyClick(text, Qt.Key.Key_F7)
    start = point_of(text, text.current_row, 5)
    end = point_of(text, text.current_row + 1, 4)
    QTest.mousePress(viewport, Qt.MouseButton.LeftButton, pos=start)
    QTest.mouseMove(viewport, end)
    assert text.selected_text == "20\nline"
    scrolled = text.verticalScrollBar().value()
    QTest.mouseMove(viewport, QPoint(end.x(), viewport.height() + 30))
    assert text.verticalScrollBar().value() > scrolled
    QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=end)
    assert text.selected_text.count("\n") > 1


def test_words_are_found_in_folded_lines_too(view: DiffView, qtbot: QtBot) -> None:
    QTest.keyClick(view.text, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert view.find_bar.isVisible()
    QTest.keyClicks(view.find_bar.field, "LINE 35")
    qtbot.waitUntil(lambda: view.find_bar.count.text == "1 of 1")
    assert _words(view) == "Line 35: line 35"


@pytest.mark.parametrize(
    ("diff", "words"),
    [
        (diff_contents(b"\0a", b"\0b"), "Binary file.\nBefore: 2 B, SHA-256"),
        (diff_contents(None, b""), "Empty file created."),
        (diff_contents(b"x", b"x"), "No changes."),
        (diff_contents(b"x" * 9_000_000, b"y" * 9_000_000), "Too large to compare."),
        (
            diff_states(FileState(digest="a", mode=0o644), None, FileState(digest="a", mode=0o755), None),
            "Permissions: 644 → 755",
        ),
        (
            diff_states(FileState("link", target="old"), None, FileState("link", target="new\u202e"), None),
            "Before: Link to old\nAfter: Link to new\\u202e",
        ),
        (
            FileDiff("hash_only", None, FileState(digest="b" * 64, size=4_096, stored=False)),
            "Content not saved",
        ),
    ],
)
def test_what_has_no_lines_is_said_in_words(view: DiffView, diff: FileDiff, words: str) -> None:
    view.show_diff(diff, "x")
    assert view.words.isVisible()
    assert view.words.text().startswith(words)


def test_images_are_shown_with_their_sizes(view: DiffView) -> None:
    view.show_diff(diff_contents(png(8, 4), png(16, 4)), "a.png")
    assert view.images.before.caption.text.startswith("Before: PNG image, 8 × 4 pixels")
    assert view.images.after.caption.text.startswith("After: PNG image, 16 × 4 pixels")
    view.show_diff(diff_contents(None, png(16, 4)), "a.png")
    assert not view.images.before.isVisible()


def test_hostile_lines_are_drawn(view: DiffView) -> None:
    """Long ones, those with tabs, with bytes that are no text, and with signs that turn the direction."""
    before = b"x" * 3_000_000 + b"\n\ta\tb\n\xff\xfe\r\n"
    after = b"x" * 2_999_999 + "\n\ta\tc\n\u202eevil\n".encode() + "ä".encode() * 90_000
    view.show_diff(diff_contents(before, after), "a.py")
    bar = view.text.horizontalScrollBar()
    pictures = []
    for value in (0, bar.maximum()):
        bar.setValue(value)
        pictures.append(view.text.viewport().grab().toImage())
    assert bar.maximum() > 3_000_000
    assert pictures[0] != pictures[1]


def test_hidden_characters_are_drawn_as_codes() -> None:
    assert line_text("\u202eevil", shows_line_ends=True).text == "\\u202eevil"
    drawn = line_text("ab\udcff\udcfecd\r", shows_line_ends=True)
    assert drawn.text == "ab\\xff\\xfecd\\r"
    assert [drawn.place(column) for column in range(7)] == [0, 1, 2, 6, 10, 11, 12]
    assert [drawn.column(place) for place in (0, 2, 5, 6, 10, 13)] == [0, 2, 2, 3, 4, 6]


_WIDTHS = {"\t": TAB_COLUMNS, "漢": 2, "\u0301": 0}

_TEXTS = st.lists(st.sampled_from(["a = 1", "a = 2", "b", "", "x y z"]), max_size=40).map(
    lambda lines: "".join(f"{line}\n" for line in lines).encode()
)


@given(_TEXTS, _TEXTS, st.booleans(), st.booleans(), st.sets(st.integers(0, 5)))
def test_every_line_stands_in_one_row(
    before: bytes, after: bytes, side_by_side: bool, has_heads: bool, opened: set[int]
) -> None:
    diff = diff_contents(before, after)
    rows = DiffRows(diff, side_by_side=side_by_side, has_heads=has_heads, opened=opened)
    lines = [row for row_range in rows.row_ranges for row in row_range.rows]
    if diff.hunks:
        assert [row.left.old for row in lines if row.left] == list(range(1, len(diff.before_lines) + 1))
        assert [row.right.new for row in lines if row.right] == list(range(1, len(diff.after_lines) + 1))
    for number in range(len(lines)):
        row_range, at = rows.locate(rows.index_of_line(number))
        assert row_range.kind == "fold" or row_range.rows[at] == lines[number]
    for count_lines in (lambda _: (), lambda part: [1 + len(row.line.text) % 3 for row in part.rows]):
        places = RowPlaces(rows, {"lines": 19, "fold": 24, "head": 30}, count_lines)
        bottom = 0
        for index in range(len(rows)):
            top = places.top_of(index)
            height = places.height_of(index)
            assert top == bottom
            bottom = top + height
            assert places.row_at(top) == places.row_at(bottom - 1) == index
            assert next(places.rows_between(bottom - 1, bottom))[:3] == (index, top, height)
        assert places.height == bottom


_LINES = st.text(st.sampled_from("ab  \t.é漢\u0301\u202e\udc80\x1b\r"), max_size=90)


@given(_LINES, st.integers(20, 40))
def test_a_line_is_broken_into_rows_that_fit(text: str, columns: int) -> None:
    """Behind a space where one is near the end; nothing is left out, and what fits is not broken."""
    line = line_text(text, shows_line_ends=True)
    breaks = line_breaks(line, columns)
    assert breaks == sorted(set(breaks))
    assert all(0 < place < len(line.text) for place in breaks)
    rows = [line.text[start:end] for start, end in pairwise([0, *breaks, len(line.text)])]
    for number, row in enumerate(rows):
        shown = row if number == len(rows) - 1 else row.removesuffix(" ")
        assert sum(_WIDTHS.get(char, 1) for char in shown) <= columns
    if width_in_columns(text) <= columns:
        assert not breaks
    assert line_breaks(line_text("word " * 9, shows_line_ends=True), 22) == [20, 40]
    assert line_breaks(line_text("a" * 50, shows_line_ends=True), 22) == [22, 44]


def test_a_line_stands_beside_the_one_that_it_became() -> None:
    before = b"total = price * count\nreturn total\n"
    after = b"# what it costs\n# with tax\ntotal = price * amount\nreturn total\n"
    rows = DiffRows(diff_contents(before, after), side_by_side=True)
    pairs = [(row.left and row.left.text, row.right and row.right.text) for row in rows.row_ranges[0].rows]
    assert pairs == [
        (None, "# what it costs"),
        (None, "# with tax"),
        ("total = price * count", "total = price * amount"),
        ("return total", "return total"),
    ]
