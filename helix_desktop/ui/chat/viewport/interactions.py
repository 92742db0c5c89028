"""What the rows' widgets ask for, and what their buttons do."""

from __future__ import annotations

from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication

from helix_desktop.ui.chat.actions import (
    AnswerQuestion,
    ApprovalAnswer,
    CopyAnswer,
    CopyCode,
    Decide,
    OpenMenu,
    ReadChanges,
    ReadExcerpt,
    ReadOriginal,
    ReadThumbnail,
    RowSection,
    ScrollText,
    ToggleSection,
)
from helix_desktop.ui.chat.items.item import RowItem
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.chat.rows.row_texts import text_of_row
from helix_desktop.ui.chat.rows.row_types import ApprovalRow, AssistantRow, ToolRow, UserRow, needs_original
from helix_desktop.ui.chat.viewport.chat_viewport import ChatViewport
from helix_desktop.ui.chat.viewport.finder import ChatFinder
from helix_desktop.ui.chat.viewport.mouse import MouseHandler
from helix_desktop.ui.chat.viewport.row_menus import ToolMenu
from helix_desktop.ui.kit.boxes import HitArea, PaintState, TextMark
from helix_desktop.ui.kit.intents import Intent, perform
from helix_desktop.ui.rows.item import ListItem
from helix_desktop.ui.rows.list_view import AreaId, ListInteractions, name_in
from helix_desktop.ui.rows.selection import Selection

_COPIED_MS = 1_600
_PAGE = 0.8  # of the visible width


class RowInteractions(ListInteractions):
    def __init__(
        self, chat_viewport: ChatViewport, mouse: MouseHandler, selection: Selection, finder: ChatFinder
    ) -> None:
        super().__init__(chat_viewport, mouse, selection)
        self._chat_viewport, self._guard, self._finder = chat_viewport, mouse.guard, finder
        self.menu = ToolMenu(chat_viewport, mouse.viewport)
        self._copied: AreaId | None = None
        self._copied_timer = QTimer(self, singleShot=True, interval=_COPIED_MS)
        self._copied_timer.timeout.connect(lambda: self._show_copied(None))
        self._read_keys: set[RowKey] = set()  # of what is read from the cache, or being read
        chat_viewport.layout_changed.connect(self._read_contents)
        cards = chat_viewport.item_cache.question_cards
        cards.answered.connect(self._answer_question)
        cards.resized.connect(self._fit_row)
        chat_viewport.model.row_removed.connect(self._drop_cards)

    def _paint_state(self, index: int, item: ListItem) -> PaintState:
        state = super()._paint_state(index, item)
        state.copied = name_in(item.key, self._copied)
        return state

    def toggle(self, key: RowKey, section: RowSection) -> None:
        index = self._chat_viewport.model.index_of(key)
        if index is not None:
            self._toggle(index, section)

    def _activate(self, index: int, area: HitArea) -> None:
        key = self._chat_viewport.model.raw_row(index).key
        match area.action:
            case ToggleSection(section=section):
                self._toggle(index, section)
            case OpenMenu():
                self.menu.open(index, area)
            case CopyCode(text_number=number):
                self._copy(key, self._chat_viewport.item(index).copy_text(number), area)
            case ScrollText(text_number=number):
                text = self._chat_viewport.item(index).text(number)
                if not text.scroll_to(text.offset + _PAGE * text.width):  # from the end back
                    text.scroll_to(0.0)
                self._chat_viewport.repaint()
            case CopyAnswer():
                self._copy(key, self._answer_above(index), area)
            case Intent() as action if self._guard.accepts(key, action):
                perform(self, action)
            case _:
                pass

    @property
    def settled_approvals(self) -> tuple[str, ...]:
        """The calls whose approval has stood long enough to be seen: what is typed may be about them."""
        rows = self._chat_viewport.model.raw_rows()
        calls = [(row.key, row.key.call_id) for row in rows if isinstance(row, ApprovalRow)]
        return tuple(call for key, call in calls if self._guard.accepts(key, Decide(call, "deny")))

    def answer_first(self, answer: ApprovalAnswer) -> None:
        """Answer the first approval that waits; where its buttons are out of sight, only show it."""
        viewport = self._chat_viewport
        rows = viewport.model.raw_rows()
        index = next((at for at, row in enumerate(rows) if isinstance(row, ApprovalRow)), None)
        if index is None:
            return
        placed = viewport.placed_row(index)
        areas = self.focus.visible_areas(placed) if placed is not None else []
        area = next((area for area in areas if area.name == f"decide:{answer}"), None)
        if area is not None:
            self._activate(index, area)
        else:
            viewport.show_ask(index)

    def _answer_question(self, key: RowKey, action: AnswerQuestion) -> None:
        if self._guard.accepts(key, action):
            perform(self, action)

    def _fit_row(self, key: RowKey) -> None:
        self._chat_viewport.item_cache.drop(key)
        self._chat_viewport.refresh()

    def _drop_cards(self) -> None:
        cards = self._chat_viewport.item_cache.question_cards
        for key in cards.keys:
            if self._chat_viewport.model.index_of(key) is None:
                cards.drop(key)

    def _toggle(self, index: int, section: RowSection) -> None:
        row, items = self._chat_viewport.model.row(index), self._chat_viewport.item_cache
        items.toggle(row.key, section)
        reads_original = isinstance(row, ToolRow) and needs_original(row) and items.is_open(row.key, section)
        if reads_original:
            self._read_keys.add(row.key)
        self._chat_viewport.relayout_in_place(index)
        if isinstance(row, ToolRow) and reads_original:
            perform(self, ReadOriginal(row.key, row.digest))
        if isinstance(row, ToolRow) and section == "changes" and row.changes and row.changed_files is None:
            perform(self, ReadChanges(row.key, row.changes.capture))

    def _read_contents(self) -> None:
        """Have read what cards in sight show from the cache: excerpts, originals of open ones, images."""
        items = self._chat_viewport.item_cache
        for placed in self._chat_viewport.scroll_layout.placed:
            row = self._chat_viewport.model.raw_row(placed.row_index)
            if not isinstance(row, ToolRow | UserRow) or row.key in self._read_keys:
                continue
            if isinstance(row, UserRow):
                self._read_keys.add(row.key)
                for note in row.attachments:
                    if note.image_size:
                        perform(self, ReadThumbnail(row.key, note.digest))
            elif row.excerpt is not None:
                self._read_keys.add(row.key)
                perform(self, ReadExcerpt(row.key, row.excerpt))
            elif needs_original(row) and items.is_open(row.key, "card"):  # find opens cards, too
                self._read_keys.add(row.key)
                perform(self, ReadOriginal(row.key, row.digest))

    def reset(self) -> None:
        """Drop selection, search and click: the rows are others."""
        self._read_keys.clear()
        self._selection.clear()
        self._finder.clear()
        self._mouse.last_index = -1
        self._chat_viewport.reset()

    def _answer_above(self, index: int) -> str | None:
        """Return the last answer above a row as Markdown, None if its turn has none."""
        for row in reversed(self._chat_viewport.model.raw_rows()[:index]):
            if isinstance(row, AssistantRow) and row.text:
                return text_of_row(row)
            if isinstance(row, UserRow):
                break
        return None

    def _copy(self, key: RowKey, source: str | None, area: HitArea) -> None:
        if source is not None:
            QGuiApplication.clipboard().setText(source)
            self._copied_timer.start()
            self._show_copied((key, area.name))

    def _show_copied(self, area: AreaId | None) -> None:
        self._copied = area
        self._chat_viewport.repaint()

    def _marks(self, index: int, item: ListItem) -> dict[int, list[TextMark]]:
        assert isinstance(item, RowItem)
        style, theme = self._chat_viewport.style, self._chat_viewport.style.theme
        marks: dict[int, list[TextMark]] = {}
        for number, ranges in self._finder.matches(item).items():
            marks[number] = [TextMark(*span, style.color(theme.warn_soft)) for span in ranges]
        current = self._finder.current
        if current is not None and current[0].row == index:
            spot, length = current
            hit = TextMark(spot.position, spot.position + length, style.color(theme.text_selection))
            marks.setdefault(spot.text, []).append(hit)
        for number, selected in super()._marks(index, item).items():
            marks.setdefault(number, []).extend(selected)
        return marks
