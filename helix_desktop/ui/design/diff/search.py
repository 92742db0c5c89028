"""Finding words in a diff, in its folded lines too."""

from __future__ import annotations

import re
from collections.abc import Iterator

from helix_desktop.ui.design.diff.rows import DiffRows
from helix_desktop.ui.design.viewer.paged_content import MATCH_LIMIT, Match

_PAUSE_LINES = 4_000  # lines searched between two pauses


class DiffSearch:
    """All lines of a diff, for the find bar.

    A hit's row is twice the number of its row among all, folded ones too; one more for a changed line that
    stands right.
    """

    def __init__(self, rows: DiffRows | None) -> None:
        self._rows = rows

    def search(self, query: str) -> Iterator[Match | None]:
        """Yield where `query` stands, letter case aside; None now and then, as a place to pause."""
        if not query or self._rows is None:
            return
        pattern, count, number = re.compile(re.escape(query), re.IGNORECASE), 0, 0
        for row_range in self._rows.row_ranges:
            for row in row_range.rows:
                for side, line in enumerate(row if row.is_changed else row[:1]):
                    for hit in pattern.finditer(line.text) if line is not None else ():
                        yield Match(2 * number + side, hit.start(), hit.end() - hit.start())
                        count += 1
                        if count >= MATCH_LIMIT:
                            return
                number += 1
                if number % _PAUSE_LINES == 0:
                    yield None
