"""Rows of a diff: every line once, whichever way it is laid out."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from helix_desktop.domain.file_history.diff import diff_contents
from helix_desktop.ui.design.diff.row_geometry import RowHeights, RowPlaces
from helix_desktop.ui.design.diff.rows import DiffRows

_TEXTS = st.lists(st.sampled_from(["a = 1", "a = 2", "b", "", "x y z"]), max_size=40).map(
    lambda lines: "".join(f"{line}\n" for line in lines).encode()
)


@settings(max_examples=60)
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
    places = RowPlaces(rows, RowHeights(19, 24, 30))
    for index in range(len(rows)):
        top = places.top_of(index)
        assert places.row_at(top) == index
        assert next(places.rows_between(top, top + 1))[:2] == (index, top)


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
