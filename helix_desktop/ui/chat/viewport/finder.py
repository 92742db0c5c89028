"""Finds and counts words in all rows, without holding up the window."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from PySide6.QtCore import QObject, QTimer, Signal

from helix_desktop.ui.chat.actions import RowKey, RowSection
from helix_desktop.ui.chat.items.item import RowItem
from helix_desktop.ui.chat.markdown.parser import parse_user_text
from helix_desktop.ui.chat.markdown.sections import LazyMarkdown
from helix_desktop.ui.chat.markdown.text_layout import text_of_block
from helix_desktop.ui.chat.rows.row_texts import bar_texts, text_of_row
from helix_desktop.ui.chat.rows.row_types import (
    AssistantRow,
    ChatModel,
    DividerRow,
    NoticeRow,
    Row,
    ToolRow,
    UserRow,
)
from helix_desktop.ui.chat.viewport.item_cache import ChatViewport
from helix_desktop.ui.design.document_units import to_lower
from helix_desktop.ui.design.safe_text import escape_command
from helix_desktop.ui.rows.list_view import TextPosition

_SLICE_S = 0.008
_SECTIONS: dict[type[Row], RowSection] = {
    ToolRow: "card",
    UserRow: "more",
    AssistantRow: "thoughts",
    DividerRow: "details",
    NoticeRow: "details",
}

_COUNT_SLICE_S = 0.006
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
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._count_slice)
        model.rows_reset.connect(lambda: self.start(self._query))
        model.row_removed.connect(lambda _: self.start(self._query))
        model.row_added.connect(self._on_row_added)
        model.rows_changed.connect(self._mark_stale)
        model.row_streamed.connect(lambda at, _: self._mark_stale([at]))

    @property
    def total(self) -> int:
        return sum(self._counts)

    @property
    def is_done(self) -> bool:
        return len(self._counts) >= len(self._model) and not self._stale

    def start(self, query: str) -> None:
        """Count the hits of a text in lower case; an empty one ends counting."""
        self._query = query
        self._counts = []
        self._stale = set()
        self._schedule()

    def count_in(self, row: int) -> int:
        return self._counts[row] if row < len(self._counts) else self._count_row(self._model.row(row))

    def count_before(self, row: int) -> int | None:
        return sum(self._counts[:row]) if row <= len(self._counts) else None

    def set_count(self, row: int, count: int) -> None:
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
        deadline = time.perf_counter() + _COUNT_SLICE_S
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
    match row:
        case AssistantRow():
            yield row.reasoning
            yield from _markdown_texts(row.text)
        case UserRow() if not _MARKUP.search(row.text):
            yield row.text
        case UserRow():
            blocks = (block for chunk in parse_user_text(row.text) for block in chunk.blocks)
            yield from (text_of_block(block, 0, None).text for block in blocks)
        case ToolRow():
            yield from bar_texts(row)
            if row.command:
                yield escape_command(row.command)
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


class ChatFinder(QObject):
    """One search at a time, forwards (1) or backwards (-1), around the ends."""

    finished = Signal(bool)

    def __init__(self, chat_viewport: ChatViewport) -> None:
        super().__init__(chat_viewport)
        self._chat_viewport = chat_viewport
        self.query = ""
        self.current: tuple[TextPosition, int] | None = None  # the hit and its length
        self._opened: set[tuple[RowKey, RowSection]] = set()
        self._pending_rows: Iterator[tuple[int, TextPosition | None]] = iter(())
        self._forward = True
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._search_slice)
        self.counter = MatchCounter(chat_viewport.model, self)
        chat_viewport.model.row_added.connect(self._on_row_added)
        self._match_in_row = 0  # of the current hit among those of its row

    @property
    def position(self) -> int | None:
        """The number of the current hit, from 1, in the whole conversation; None while it is not known."""
        if self.current is None:
            return None
        before = self.counter.count_before(self.current[0].row)
        return before + self._match_in_row if before is not None else None

    def find(self, query: str, direction: int) -> None:
        """Go to the next hit; `finished` tells whether there is one."""
        if query and to_lower(query) != self.query:
            self.current = None
            self.counter.start(to_lower(query))
        self.query = to_lower(query)
        self._forward = direction >= 0
        model = self._chat_viewport.model
        items = self._chat_viewport.item_cache
        if not query or not len(model):
            current = self.current[0].row if self.current is not None else None  # where the user reads
            for key, section in self._opened:
                index = model.index_of(key)
                if index is None or index == current:
                    continue
                if items.is_open(model.raw_row(index).key, section):
                    items.toggle(key, section)
                    self._chat_viewport.relayout_in_place(index)
            self.clear()
            self.finished.emit(False)
            return
        self._pending_rows = self._search_order()
        self._search_slice()

    def mark(self, query: str) -> None:
        self.clear()
        self.query = to_lower(query)
        self.counter.start(self.query)

    def clear(self) -> None:
        self._timer.stop()
        self._opened.clear()
        self.query = ""
        self.current = None
        self._pending_rows = iter(())
        self.counter.start("")

    def matches(self, item: RowItem) -> dict[int, list[tuple[int, int]]]:
        if not self.query:
            return {}
        found = {text.number: text.find_all(self.query) for text in item.built_search_texts}
        return {number: ranges for number, ranges in found.items() if ranges}

    def _on_row_added(self, row: int) -> None:
        """Follow the current hit if its row, a card that waits for the user, moves down."""
        if self.current is not None and self.current[0].row >= row:
            position, length = self.current
            self.current = position._replace(row=position.row + 1), length

    def _search_order(self) -> Iterator[tuple[int, TextPosition | None]]:
        """Return all rows once around; the row of the current hit first beyond it, and at last as a whole."""
        count = len(self._chat_viewport.model)
        step = 1 if self._forward else -1
        if self.current is not None:
            first = self.current[0].row
            yield first, self.current[0]
        else:
            first = 0
            placed = self._chat_viewport.scroll_layout.placed
            if placed:
                nearest = placed[0] if self._forward else placed[-1]
                first = nearest.row_index - step
        for away in range(1, count + 1):
            yield (first + step * away) % count, None

    def _search_slice(self) -> None:
        deadline = time.perf_counter() + _SLICE_S
        for index, beyond in self._pending_rows:
            texts = source_texts(self._chat_viewport.model.row(index))
            if any(self.query in to_lower(text) for text in texts) and self._go_to(index, beyond):
                self.finished.emit(True)
                return
            if time.perf_counter() > deadline:
                self._timer.start(0)
                return
        self.current = None
        self.finished.emit(False)

    def _go_to(self, index: int, origin: TextPosition | None) -> bool:
        if origin is None and self._count_matches(index) < self.counter.count_in(index):
            row = self._chat_viewport.model.raw_row(index)
            items = self._chat_viewport.item_cache
            for section in self._sections_of(row):  # they hide some of them
                if not items.is_open(row.key, section):
                    items.toggle(row.key, section)
                    self._opened.add((row.key, section))
        spot = self._find_position(index, origin)
        if origin is None:
            self.counter.set_count(index, self._count_matches(index))
        if spot is None:
            return False
        text = self._chat_viewport.item(index).search_text(spot.text)
        ends = dict(text.find_all(self.query))
        self.current = (spot, ends[spot.position] - spot.position)
        before = self._count_matches(index, before_text=spot.text)
        self._match_in_row = before + sum(start <= spot.position for start in ends)
        text.show_position(spot.position)
        third = self._chat_viewport.height / 3
        self._chat_viewport.show_row(index, third - text.line_rect(spot.position).y())
        return True

    def _count_matches(self, index: int, before_text: int | None = None) -> int:
        """Return the hits that a row shows, or those before one of its texts; nothing is built for them."""
        hits = 0
        for block_text in self._chat_viewport.item(index).search_words():
            if block_text.number == before_text:
                break
            hits += to_lower(block_text.text).count(self.query)
        return hits

    def _find_position(self, index: int, origin: TextPosition | None) -> TextPosition | None:
        """Return the nearest hit of a row; only texts that hold the words are built for it."""
        item = self._chat_viewport.item(index)
        words = item.search_words()
        for text in words if self._forward else reversed(list(words)):
            passed = origin is not None and (
                text.number < origin.text if self._forward else text.number > origin.text
            )
            if passed or self.query not in to_lower(text.text):
                continue
            positions = [
                TextPosition(index, text.number, start)
                for start, _ in item.search_text(text.number).find_all(self.query)
            ]
            for spot in positions if self._forward else reversed(positions):
                if origin is None or (spot > origin if self._forward else spot < origin):
                    return spot
        return None

    def _sections_of(self, row: Row) -> tuple[RowSection, ...]:
        section = _SECTIONS.get(type(row))
        changed = row.changed_files.text if isinstance(row, ToolRow) and row.changed_files else ""
        changes: tuple[RowSection, ...] = (
            ("changes", "changed_lines") if self.query in to_lower(changed) else ()
        )
        return (*changes, section) if section is not None else changes
