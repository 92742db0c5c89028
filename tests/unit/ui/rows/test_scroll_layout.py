"""Heights and the anchor: pure rules of the virtual list."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.ui.rows.viewport import HeightIndex, ScrollLayout

_heights = st.lists(st.integers(1, 900).map(float), min_size=1, max_size=1_400)


@given(_heights, st.data())
def test_index_finds_what_summing_finds(heights: list[float], data: st.DataObject) -> None:
    index = HeightIndex(heights)
    changed = data.draw(st.integers(0, len(heights) - 1))
    heights[changed] = 37.0
    index.set(changed, 37.0)
    index.insert(len(heights), 11.0)
    heights.append(11.0)
    position = data.draw(st.integers(0, len(heights) - 1))
    assert index.total == sum(heights)
    assert index.offset(position) == sum(heights[:position])
    assert index.find(index.offset(position)) == (position, 0.0)
    removed = data.draw(st.integers(0, len(heights) - 1))
    index.remove(removed)
    del heights[removed]
    assert index.total == sum(heights)
    assert index.find(sum(heights[:-1])) == (len(heights) - 1, 0.0) or not heights
    inserted = data.draw(st.integers(0, len(heights)))
    index.insert(inserted, 23.0)
    heights.insert(inserted, 23.0)
    assert index.total == sum(heights)
    assert index.find(sum(heights[:inserted])) == (inserted, 0.0)


@given(_heights, st.integers(50, 900), st.lists(st.integers(-700, 700), max_size=12))
def test_rows_fill_the_view_without_gap_or_overlap(heights: list[float], view: int, moves: list[int]) -> None:
    flow = ScrollLayout(lambda index: heights[index], bottom_padding=10.0)
    flow.reset([100.0] * len(heights))
    flow.scroll_to_end()
    flow.layout(view)
    assert flow.is_at_end(view)
    for move in moves:
        flow.scroll_by(move)
        placed_rows = flow.layout(view)
        for above, below in pairwise(placed_rows):
            assert below.row_index == above.row_index + 1
            assert below.y == above.y + above.height
        assert placed_rows[0].y <= 0
        assert placed_rows[-1].y + placed_rows[-1].height >= view - 10.0 or placed_rows[0] == (
            0,
            0.0,
            heights[0],
        )


def test_correcting_heights_above_keeps_the_anchor_in_place() -> None:
    exact = dict.fromkeys(range(200), 60.0)
    flow = ScrollLayout(exact.__getitem__)
    flow.reset([100.0] * 200)
    flow.scroll_to_row(100)
    before = flow.layout(500)[0]
    for row in range(100):
        exact[row] = 333.0
        flow.heights.set(row, 333.0)
    assert flow.layout(500)[0] == before


def test_scrolling_up_in_small_steps_moves_by_exactly_these_steps() -> None:
    flow = ScrollLayout(lambda index: 40.0 + index % 7 * 90)
    flow.reset([100.0] * 500)
    flow.scroll_to_row(250)
    flow.layout(600)
    positions = {row.row_index: row.y for row in flow.placed}
    for _ in range(40):
        flow.scroll_by(-13)
        placed_rows = flow.layout(600)
        now = {row.row_index: row.y for row in placed_rows}
        for row in positions.keys() & now.keys():
            assert now[row] == positions[row] + 13
        positions = now
