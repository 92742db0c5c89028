"""The preview of an output that is too large to stand whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.digest import digest_of, first_line, handle, marker, size_text
from helix_desktop.context.intake import CHARS_PER_TOKEN, preview

LINES = st.lists(
    st.sampled_from(("ok line 1", "", "x" * 150, "é☃", "    indented")), min_size=0, max_size=400
)
DIGEST = digest_of(b"")
MARKED = len(handle(DIGEST)) + 80  # the marker and the two lines that frame it are not the tool's


@given(LINES.map("\n".join), st.integers(0, 600))
def test_a_preview_stays_under_its_budget(text: str, budget: int) -> None:
    """It is the text itself or short, and says where the whole is."""
    shown = preview(text, DIGEST, budget)
    assert len(shown) <= max(budget, 60) * CHARS_PER_TOKEN + MARKED
    assert shown == text or handle(DIGEST) in shown


@given(
    st.integers(0, 300), st.sampled_from(("ERROR: no such table", "Traceback (most recent", "exit code 3"))
)
def test_errors_and_exit_lines_are_kept(place: int, telling: str) -> None:
    """Wherever the line that tells stands, it is shown."""
    lines = [f"compiling module number {n}" for n in range(300)]
    lines.insert(place, telling)
    assert telling in preview("\n".join(lines), DIGEST, 300)


def test_head_and_tail_are_whole_lines() -> None:
    """The first and the last lines stand as they are, and what is between is counted."""
    lines = [f"line {n} of many" for n in range(1_000)]
    shown = preview("\n".join(lines), DIGEST, 200).splitlines()
    assert shown[0] == lines[0]
    assert shown[-2] == lines[-1]
    hidden = next(line for line in shown if "not shown" in line)
    kept = [line for line in shown if line in lines]
    first, last = lines.index(shown[shown.index(hidden) - 1]) + 2, lines.index(shown[shown.index(hidden) + 1])
    assert hidden == f"[… {len(lines) - len(kept)} lines not shown ({first}-{last}) …]"


@pytest.mark.parametrize("text", ["y" * 5_000, "\n" + "y" * 5_000, "y" * 5_000 + "\n"])
def test_one_long_line_is_cut_inside(text: str) -> None:
    """Without line breaks to cut at, beginning and end are still shown."""
    shown = preview(text, DIGEST, 100)
    assert shown.count("y") > 150


def test_markers_describe_what_they_stand_for() -> None:
    """On one line: handle, tool, target, size and the first line that says something."""
    text = marker(DIGEST, "read_file", "src/app.py", 18_000, first_line("\n---\nimport os\n"))
    assert text == f'[CACHED] recall_cached_content("{DIGEST}") read_file src/app.py, 18 KB, "import os"'
    assert size_text(812) == "812 B"
    assert size_text(2_500_000) == "2.4 MB"
