"""Rows of a diff: every line once, whichever way it is laid out."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.file_history.diff import diff_contents
from helix_desktop.ui.design.diff.canvas import RowPlaces
from helix_desktop.ui.design.diff.rows import TAB_COLUMNS, DiffRows, line_breaks, line_text, width_in_columns

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
        places, bottom = RowPlaces(rows, {"lines": 19, "fold": 24, "head": 30}, count_lines), 0
        for index in range(len(rows)):
            top, height = places.top_of(index), places.height_of(index)
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
