"""A row of the cache copied for a spreadsheet."""

from __future__ import annotations

import pytest

from helix_desktop.ui.cache.entry_actions import table_line
from helix_desktop.ui.cache.rows import CacheRow


@pytest.mark.parametrize("line", ["=1+1", "+1", "-1+cmd", "@sum", "a = 1"])
def test_no_cell_is_a_formula(line: str) -> None:
    """Programs that take the first sign for one run what follows."""
    row = CacheRow("d" * 64, "elsewhere", "run_command", "ls\t-l", line, 12, 3, 0, 0, 0, 0, 86_400_000)
    cells = table_line(row).split("\t")
    assert cells[1:4] == ["run_command", "ls -l", line if line[0] == "a" else f"'{line}"]
    assert cells[-1] == "1970-01-02T00:00:00+00:00"
