"""What of a diff is selected, and its text."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec.structs import replace

from helix_desktop.domain.file_history.diff import DiffLine
from helix_desktop.ui.design.diff.rows import DiffRows, Row

Side = Literal["both", "left", "right"]
"""Which texts a selection takes: inline both, side by side those of the side where it began."""

END = 1 << 30
"""A column behind the end of any line."""


def line_on_side(row: Row | None, side: Side) -> DiffLine | None:
    if row is None:
        return None
    return {"left": row.left, "right": row.right}.get(side, row.right or row.left)


class DiffSelection(msgspec.Struct, frozen=True):
    """From one character to another; rows and columns from 0, the columns in the text of the line."""

    side: Side
    anchor: tuple[int, int]
    cursor: tuple[int, int]

    @property
    def is_empty(self) -> bool:
        return self.anchor == self.cursor

    def moved_to(self, row: int, column: int) -> DiffSelection:
        return replace(self, cursor=(row, column))

    def columns(self, row: int) -> tuple[int, int] | None:
        first, last = sorted((self.anchor, self.cursor))
        if self.is_empty or not first[0] <= row <= last[0]:
            return None
        return first[1] if row == first[0] else 0, last[1] if row == last[0] else END

    def text(self, rows: DiffRows) -> str:
        """Return the text of what is selected, without signs and numbers; folded lines are not part of it."""
        first, last = sorted((self.anchor[0], self.cursor[0]))
        parts = []
        for index in range(first, min(last + 1, len(rows))):
            line, columns = line_on_side(rows.row(index), self.side), self.columns(index)
            if line is not None and columns is not None:
                parts.append(line.text.removesuffix("\r")[columns[0] : columns[1]])
        return "\n".join(parts).encode(errors="replace").decode()
