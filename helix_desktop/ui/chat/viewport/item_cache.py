"""Items by row, kept while they are likely to be seen again; and the viewport that shows them."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QScrollBar

from helix_desktop.domain.question import ServerQuestion
from helix_desktop.ui.chat.actions import ApprovalAnswer, RowKey, RowSection
from helix_desktop.ui.chat.items.approval import ApprovalItem
from helix_desktop.ui.chat.items.assistant_message import AssistantMessageItem, PlainRowItem
from helix_desktop.ui.chat.items.item import ItemContext, ItemTools, RowItem
from helix_desktop.ui.chat.items.program_rows import divider, notice
from helix_desktop.ui.chat.items.tool_card import ToolCard, has_state_of
from helix_desktop.ui.chat.items.user_message import UserMessageItem, answer_buttons, versions_note
from helix_desktop.ui.chat.markdown.document_writer import DocumentWriter
from helix_desktop.ui.chat.markdown.formulas import Formula, FormulaDrawings
from helix_desktop.ui.chat.markdown.sections import LazyMarkdown
from helix_desktop.ui.chat.question_card import (
    FormCards,
    FormItem,
    QuestionItem,
    answered_question,
    chosen_options,
)
from helix_desktop.ui.chat.rows.row_texts import text_of_row
from helix_desktop.ui.chat.rows.row_types import (
    ApprovalRow,
    AskRow,
    AssistantRow,
    ChatModel,
    DividerRow,
    NoticeRow,
    QuestionRow,
    Row,
    ToolRow,
    TurnFooterRow,
    UserRow,
)
from helix_desktop.ui.chat.style import BOTTOM_GAP, MAX_COLUMN_WIDTH, MIN_MARGIN, ChatStyle
from helix_desktop.ui.design.highlight import Highlighter
from helix_desktop.ui.rows.row_widget import RowArea
from helix_desktop.ui.rows.viewport import ListViewport

MAX_CACHED_ITEMS = 96  # items; a screen shows about ten
_log = logging.getLogger(__name__)
_MAX_LOOKBACK_ROWS = 64  # rows; further back nobody remembers who speaks

_FAILED = ("failed", "denied")  # what was not asked is shown as what it is: a call that failed
_HEIGHT_ESTIMATES: dict[type[Row], float] = {
    UserRow: 86.0,
    AssistantRow: 300.0,
    ToolRow: 34.0,
    ApprovalRow: 240.0,
    QuestionRow: 240.0,
    DividerRow: 46.0,
    NoticeRow: 110.0,
    TurnFooterRow: 26.0,
}


class ItemCache:
    """The items used last, and what is open or chosen in them."""

    def __init__(
        self, model: ChatModel, style: ChatStyle, highlighter: Highlighter, formulas: FormulaDrawings
    ) -> None:
        self._model = model
        self._formulas = formulas
        self._tools = ItemTools(style, DocumentWriter(style, formulas), highlighter)
        self._items: OrderedDict[RowKey, RowItem] = OrderedDict()
        self._expanded: dict[RowKey, frozenset[RowSection]] = {}
        self._markdown_by_key: dict[RowKey, LazyMarkdown] = {}  # of items in a former look
        self._failed: set[RowKey] = set()  # of rows that can't be shown as they are
        self.form_cards = FormCards()
        self.marked: dict[RowKey, frozenset[int]] = {}  # options that are chosen of a question
        self.typed_numbers: dict[RowKey, str] = {}  # that chose them
        self.answer_tips: frozenset[tuple[ApprovalAnswer, str]] = frozenset()
        self.takes_message: tuple[type[AskRow], ...] = ()
        """The cards whose answer can take along what is typed."""

    def __len__(self) -> int:
        return len(self._items)

    @property
    def style(self) -> ChatStyle:
        return self._tools.style

    def count(self) -> int:
        return len(self._model)

    def key(self, index: int) -> RowKey:
        return self._model.raw_row(index).key

    def index_of(self, key: RowKey) -> int | None:
        return self._model.index_of(key)

    def estimates(self) -> Iterable[float]:
        return map(_HEIGHT_ESTIMATES.__getitem__, map(type, self._model.raw_rows()))

    def source_text(self, index: int) -> str:
        return text_of_row(self._model.row(index))

    def column_width(self, room: int) -> float:
        margin = MIN_MARGIN if room > MAX_COLUMN_WIDTH else MIN_MARGIN / 2
        return max(120.0, min(self.style.px(MAX_COLUMN_WIDTH), room - 2 * margin))

    def set_style(self, style: ChatStyle) -> None:
        self._tools.highlighter.clear()
        for key in [*self._items]:
            self.drop(key)
        self._tools = ItemTools(style, DocumentWriter(style, self._formulas), self._tools.highlighter)

    def clear(self) -> None:
        self._tools.highlighter.clear()
        self._items.clear()
        self._expanded.clear()
        self._markdown_by_key.clear()
        self._failed.clear()
        self.drop_answers(set())

    def drop(self, key: RowKey) -> None:
        """Create the item of a key again when it is needed next; parsed Markdown is used again then."""
        item = self._items.pop(key, None)
        if isinstance(item, AssistantMessageItem):
            self._markdown_by_key[key] = item.lazy_markdown()

    def drop_awaiting(self, formulas: frozenset[Formula]) -> bool:
        """Create the items again that await one of these formulas; False if there are none."""
        awaiting = [key for key, item in self._items.items() if item.awaits(formulas)]
        for key in awaiting:
            self.drop(key)
        return bool(awaiting)

    def find(self, key: RowKey) -> RowItem | None:
        return self._items.get(key)

    def get(self, index: int) -> RowItem:
        shape = self._model.raw_row(index)
        shows_header, names_model = self._head(index, shape)
        setting = ItemContext(
            shows_header,
            self._expanded.get(shape.key, frozenset()),
            self.answer_tips if self._is_first_approval(shape) else frozenset(),
            (self._is_joined(index), self._is_joined(index + 1)),
            self._repeats_state(index),
            names_model,
            isinstance(shape, self.takes_message),
            self.marked.get(shape.key, frozenset()),
        )
        item = self._items.get(shape.key)
        if item is not None and item.context == setting and self._is_current(item, shape):
            self._items.move_to_end(shape.key)
            return item
        self.drop(shape.key)
        new_item = self._make_safely(index, setting, self._markdown_by_key.pop(shape.key, None))
        self._items[shape.key] = new_item
        if len(self._items) > MAX_CACHED_ITEMS:
            self._items.popitem(last=False)
        return new_item

    def _make_safely(self, index: int, context: ItemContext, markdown: LazyMarkdown | None) -> RowItem:
        row = self._model.row(index)
        shape = self._model.raw_row(index)
        if shape.key not in self._failed:
            try:
                return self._make_item(row, context, markdown)
            except Exception as error:  # noqa: BLE001 - what a model wrote must not take the window with it
                self._note_failure(shape, error)
        plain = PlainRowItem(row, context, self._tools)
        plain.row = shape
        return plain

    def show_plain(self, index: int, error: Exception) -> RowItem:
        """Show a row as its words from now on, because its item has raised `error`.

        Raises that if they are all that is shown of it already.
        """
        shape = self._model.raw_row(index)
        if shape.key in self._failed:
            raise error
        self._note_failure(shape, error)
        self.drop(shape.key)
        return self.get(index)

    def is_plain(self, key: RowKey) -> bool:
        return key in self._failed

    def _note_failure(self, row: Row, error: Exception) -> None:
        _log.error("A row can't be shown as it is: %s", type(row).__name__, exc_info=error)
        self._failed.add(row.key)

    def _is_first_approval(self, row: Row) -> bool:
        if not isinstance(row, ApprovalRow):
            return False
        return next((ask.key for ask in self._model.asks() if isinstance(ask, ApprovalRow)), None) == row.key

    def _is_joined(self, index: int) -> bool:
        """Return True if a row and the one above it are lines of calls: these share a block."""
        rows = self._model.raw_rows()
        return 0 < index < len(rows) and all(map(_is_call_line, (rows[index - 1], rows[index])))

    def _repeats_state(self, index: int) -> bool:
        """Return True if a row and the one above it are lines of calls with the same state."""
        if not self._is_joined(index):
            return False
        above, row = self._model.raw_rows()[index - 1 : index + 1]
        return isinstance(above, ToolRow) and isinstance(row, ToolRow) and has_state_of(row, above)

    def is_open(self, key: RowKey, section: RowSection) -> bool:
        return section in self._expanded.get(key, frozenset())

    def toggle(self, key: RowKey, section: RowSection) -> None:
        self._expanded[key] = self._expanded.get(key, frozenset()) ^ {section}

    def drop_answers(self, open_questions: Collection[RowKey]) -> None:
        for key in {*self.form_cards.by_key, *self.marked} - {*open_questions}:
            self.form_cards.drop(key)
            self.marked.pop(key, None)
            self.typed_numbers.pop(key, None)

    def mark(self, row: QuestionRow, number: int) -> None:
        """Choose an option, by its number, or no longer; where one is an answer, in place of another."""
        marked = self.marked.get(row.key, frozenset())
        self.marked[row.key] = (marked if row.question.multiple else marked & {number}) ^ {number}

    def chosen(self, row: QuestionRow) -> tuple[str, ...]:
        return chosen_options(row.question, self.marked.get(row.key, frozenset()))

    def gap(self, index: int) -> float:
        if index == 0:
            return self.style.px(20)
        return self.style.px(_gap(self._model.raw_row(index), self._model.raw_row(index - 1)))

    def _make_item(self, row: Row, context: ItemContext, markdown: LazyMarkdown | None) -> RowItem:
        tools = self._tools
        match row:
            case UserRow():
                return UserMessageItem(row, context, tools)
            case AssistantRow():
                return AssistantMessageItem(row, context, tools, markdown)
            case ToolRow(question=question) if question is not None and _is_answered_question(row):
                return RowItem(row, context, tools, answered_question(row, question, tools))
            case ToolRow():
                return ToolCard(row, context, tools)
            case QuestionRow(question=ServerQuestion()):
                return FormItem(row, context, tools, self.form_cards)
            case QuestionRow():
                return QuestionItem(row, context, tools)
            case ApprovalRow():
                return ApprovalItem(row, context, tools)
            case DividerRow():
                return RowItem(row, context, tools, divider(row, context, tools))
            case NoticeRow():
                return RowItem(row, context, tools, notice(row, context, tools))
            case TurnFooterRow():
                return RowItem(row, context, tools, answer_buttons(row), versions_note(row.versions))

    def _is_current(self, item: RowItem, shape: Row) -> bool:
        """Return a streaming item has taken the arrived text itself; others must show this very row."""
        if isinstance(shape, AssistantRow) and shape.streaming and shape.key not in self._failed:
            return isinstance(item, AssistantMessageItem) and item.is_busy
        return item.row is shape

    def _head(self, index: int, row: Row) -> tuple[bool, bool]:
        """Return whether an answer has a head, as the first of its turn or of another speaker; and if that
        names the model, since the last answer came from another one.
        """
        if not isinstance(row, AssistantRow):
            return False, True
        is_first = not (row.text or row.streaming)  # then it is there for nothing else
        for at in range(index - 1, max(-1, index - _MAX_LOOKBACK_ROWS), -1):
            before = self._model.raw_row(at)
            if isinstance(before, AssistantRow):
                is_other = before.model != row.model
                return is_first or is_other or bool(before.side_note), is_other
            is_first = is_first or isinstance(before, UserRow)
        return True, True


def _gap(row: Row, previous: Row) -> float:
    if isinstance(row, UserRow):
        return 30.0
    if isinstance(previous, UserRow):
        return 20.0
    if isinstance(row, TurnFooterRow):
        return 6.0
    if _is_call_line(row) and _is_call_line(previous):
        return 0.0
    if isinstance(row, ToolRow) and isinstance(previous, ToolRow):
        return 8.0
    if isinstance(row, DividerRow) or isinstance(previous, DividerRow):
        return 10.0
    return 14.0


def _is_answered_question(row: ToolRow) -> bool:
    return row.question is not None and bool(row.answer_seq) and row.state not in _FAILED


def _is_call_line(row: Row) -> bool:
    return isinstance(row, ToolRow) and not _is_answered_question(row)


FLUSH_MS = 33
_CARD_GAP = 6.0  # pixels below a card that waits, at least
_PAUSE_FACTOR = 4  # a flush that costs n ms is followed by a pause of at least 4 n ms


class ChatViewport(ListViewport):
    def __init__(self, model: ChatModel, item_cache: ItemCache, viewport: RowArea, bar: QScrollBar) -> None:
        super().__init__(item_cache, viewport, bar, BOTTOM_GAP, follows_end=True)
        self.model = model
        self.item_cache = item_cache
        self.is_in_use: Callable[[], bool] = lambda: False
        """Whether the user points at, marks or has the keyboard on something of it."""
        self._pending_keys: set[RowKey] = set()
        self._pause_ms = FLUSH_MS
        self._flush_timer = QTimer(self, singleShot=True)
        self._flush_timer.timeout.connect(self.flush)
        model.row_added.connect(self._on_row_added)
        model.row_removed.connect(self._on_row_removed)
        model.rows_changed.connect(self._on_rows_changed)
        model.row_streamed.connect(self._on_row_streamed)

    @property
    def style(self) -> ChatStyle:
        return self.item_cache.style

    def item(self, index: int) -> RowItem:
        item = super().item(index)
        assert isinstance(item, RowItem)
        return item

    def show_own_message(self, direction: int) -> None:
        """Bring the user's next (1) or previous (-1) message to the top; behind the last one, the end."""
        top = self.style.px(8)
        placed = self.scroll_layout.placed
        if direction < 0:
            above = [row.row_index for row in placed if row.y < top - 1]
            indexes = range(0)
            if placed:
                last = above[-1] if above else placed[0].row_index - 1
                indexes = range(last, -1, -1)
        else:
            first = next((row.row_index for row in placed if row.y > top + 1), len(self.model))
            indexes = range(first, len(self.model))
        rows = self.model.raw_rows()
        found = next((index for index in indexes if isinstance(rows[index], UserRow)), None)
        if found is not None:
            self.show_row(found)
        elif direction > 0:
            self.go_to_end()

    def show_ask(self, index: int) -> None:
        """Show a card that waits from its top or, where it is too tall, with its buttons."""
        self.show_row(index)
        areas = self.item(index).hit_areas
        if areas:
            self.ensure_visible(index, max(areas, key=lambda area: area.rect.bottom()))

    def show_first_ask(self) -> None:
        """Bring the first card that waits into sight, with its buttons; else do nothing."""
        if (first := self.model.first_ask) < len(self.model):
            self.show_ask(first)

    def flush(self) -> None:
        start = time.perf_counter()
        waiting = self._pending_keys
        self._pending_keys = set()
        for key in waiting:
            index = self.model.index_of(key)
            if index is not None and self._update_in_place(index, key):
                self._repaint(key)
        if waiting:
            self.refresh()
        spent_ms = (time.perf_counter() - start) * 1000
        self._pause_ms = max(FLUSH_MS, round(spent_ms * _PAUSE_FACTOR))

    def _on_row_added(self, index: int) -> None:
        """Take a row in; a card that waits moves neither an earlier one nor what is about to be clicked."""
        first = self.model.first_ask
        if self.is_following and index >= first and (index > first or self.is_in_use()):
            self.set_following(False)
        self.scroll_layout.insert(index, _HEIGHT_ESTIMATES[type(self.model.raw_row(index))])
        if not self.is_following:
            self.unseen_count += 1
        self.refresh()

    def _on_row_removed(self, index: int) -> None:
        """Take a row away; what stands above it stays, and a card that waits moves up into its place.

        The end is followed again once no card waits, if it is in sight.
        """
        self.scroll_layout.remove(index)
        self.unseen_count = max(0, self.unseen_count - 1)
        super().refresh()
        self._show_whole(self.model.first_ask)
        if self.model.first_ask == len(self.model) and self.is_at_end:
            self.set_following(True)

    def _on_rows_changed(self, indexes: list[int]) -> None:
        for index in indexes:
            key = self.model.raw_row(index).key
            if not self._update_in_place(index, key):
                self.item_cache.drop(key)
            self._repaint(key)
        self.refresh()

    def refresh(self) -> None:
        """Lay out again; the first card in sight that waits stays where it is, whatever grows above it."""
        if not self.is_following:
            asks = range(self.model.first_ask, len(self.model))
            shown = ((index, self.widget_pool.visible.get(self.item_cache.key(index))) for index in asks)
            index, widget = next((pair for pair in shown if pair[1] is not None), (0, None))
            if widget is not None:
                self.scroll_layout.scroll_to_row(index, widget.y() - self.source.gap(index))
        super().refresh()

    def _show_whole(self, index: int) -> None:
        """Scroll on as far as a row that begins in sight needs to end there too, if it fits."""
        placed = self.placed_row(index)
        hidden = placed.y + placed.height + _CARD_GAP - self.height if placed is not None else 0.0
        if placed is not None and 0 < hidden <= placed.y:
            self.scroll_layout.scroll_by(hidden)
            super().refresh()

    def _on_row_streamed(self, index: int, _delta: str) -> None:
        self._flush_later(self.model.raw_row(index).key)

    def _flush_later(self, key: RowKey) -> None:
        self._pending_keys.add(key)
        if not self._flush_timer.isActive():
            self._flush_timer.start(self._pause_ms)

    def _update_in_place(self, index: int, key: RowKey) -> bool:
        """Let the item of an answer grow in place; False when it has to be created again."""
        row = self.model.row(index)
        item = self.item_cache.find(key)
        if not (isinstance(row, AssistantRow) and isinstance(item, AssistantMessageItem)):
            return False
        try:
            is_updated = item.try_update(row)
        except Exception as error:  # noqa: BLE001 - of one row, which must not take the others with it
            self.show_plain(index, error)
            return True
        if is_updated and item.is_behind:
            self._flush_later(key)
        return is_updated

    def _repaint(self, key: RowKey) -> None:
        widget = self.widget_pool.visible.get(key)
        if widget is not None:
            widget.update()
