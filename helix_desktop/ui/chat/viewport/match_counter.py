"""Counts the hits of a search in the whole conversation, a slice at a time."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from PySide6.QtCore import QObject, QTimer, Signal

from helix_desktop.ui.chat.markdown.parser import parse_user_text
from helix_desktop.ui.chat.markdown.plain_text import text_of_block
from helix_desktop.ui.chat.markdown.sections import LazyMarkdown
from helix_desktop.ui.chat.rows.model import ChatModel
from helix_desktop.ui.chat.rows.row_texts import bar_texts, text_of_row
from helix_desktop.ui.chat.rows.row_types import AssistantRow, Row, ToolRow, UserRow
from helix_desktop.ui.design.document_units import to_lower
from helix_desktop.ui.design.safe_text import escape_command

_SLICE_S = 0.006
_MARKUP = re.compile(r"[*_`\[\]<>#|\\~&:]|^\s*(?:[-+=]|\d+[.)])|\s$|\n\s", re.MULTILINE)


class MatchCounter(QObject):
    """How often a text occurs in each row of a conversation; what comes meanwhile is counted too.

    A row that was shown is counted as it is shown (`correct`); of others the source says it.
    """

    changed = Signal()

    def __init__(self, model: ChatModel, parent: QObject) -> None:
        super().__init__(parent)
        self._model = model
        self._query = ""
        self._counts: list[int] = []
        self._stale: set[int] = set()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._count_slice)
        model.rows_reset.connect(lambda: self.start(self._query))
        model.row_removed.connect(lambda _: self.start(self._query))
        model.row_added.connect(self._on_row_added)
        model.rows_changed.connect(self._mark_stale)
        model.row_streamed.connect(lambda at, _: self._mark_stale([at]))

    @property
    def total(self) -> int:
        """Return the hits counted so far."""
        return sum(self._counts)

    @property
    def is_done(self) -> bool:
        """Return True if all rows are counted."""
        return len(self._counts) >= len(self._model) and not self._stale

    def start(self, query: str) -> None:
        """Count the hits of a text in lower case; an empty one ends counting."""
        self._query, self._counts, self._stale = query, [], set()
        self._schedule()

    def count_in(self, row: int) -> int:
        """Return the hits of a row."""
        return self._counts[row] if row < len(self._counts) else self._count_row(self._model.row(row))

    def count_before(self, row: int) -> int | None:
        """Return the hits of all rows above a row; None while they are being counted."""
        return sum(self._counts[:row]) if row <= len(self._counts) else None

    def set_count(self, row: int, count: int) -> None:
        """Take the hits of a row as it is shown."""
        if row < len(self._counts) and self._counts[row] != count:
            self._counts[row] = count
            self.changed.emit()

    def _on_row_added(self, row: int) -> None:
        if row < len(self._counts):  # above a card that waits for the user
            self.start(self._query)
        else:
            self._schedule()

    def _mark_stale(self, rows: list[int]) -> None:
        counted = [row for row in rows if row < len(self._counts)]
        if self._query and counted:
            self._stale.update(counted)
            self._schedule()

    def _schedule(self) -> None:
        if not self._query:
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start(0)

    def _count_slice(self) -> None:
        deadline = time.perf_counter() + _SLICE_S
        while self._stale and time.perf_counter() < deadline:
            row = self._stale.pop()
            if row < len(self._counts):
                self._counts[row] = self._count_row(self._model.row(row))
        while len(self._counts) < len(self._model) and time.perf_counter() < deadline:
            self._counts.append(self._count_row(self._model.row(len(self._counts))))
        if not self.is_done:
            self._timer.start(0)
        self.changed.emit()

    def _count_row(self, row: Row) -> int:
        if not any(self._query in to_lower(text) for text in source_texts(row)):
            return 0  # to read its markup would take longer
        return sum(to_lower(text).count(self._query) for text in _searchable_texts(row))


def source_texts(row: Row) -> tuple[str, ...]:
    """Return texts that hold all that a search can find in a row, and more."""
    match row:
        case AssistantRow():
            return row.reasoning, row.text
        case ToolRow():
            return *bar_texts(row), text_of_row(row)
    return (text_of_row(row),)


def _searchable_texts(row: Row) -> Iterator[str]:
    """Return the texts that the item of a row has with its section open."""
    match row:
        case AssistantRow():
            yield row.reasoning
            yield from _markdown_texts(row.text)
        case UserRow() if not _MARKUP.search(row.text):
            yield row.text
        case UserRow():
            blocks = (block for chunk in parse_user_text(row.text) for block in chunk.blocks)
            yield from (text_of_block(block, 0, None).text for block in blocks)
        case ToolRow() if not row.todo:
            yield from bar_texts(row)
            if row.command is not None:
                yield escape_command(row.command.text)
            if row.subagent_session and row.can_open:
                yield row.target
            ends = row.original.head_and_tail if row.original is not None else row.shown_lines
            yield from (ends.head, ends.tail)
            if row.changed_files is not None:
                yield row.changed_files.text
        case _:
            yield text_of_row(row)


def _markdown_texts(text: str) -> Iterator[str]:
    if not _MARKUP.search(text):
        yield text
        return
    reading = LazyMarkdown(text)
    for at in range(len(reading.sections)):
        yield from (text_of_block(block, 0, None).text for block in reading.blocks(at))
