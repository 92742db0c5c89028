"""What the rows' widgets ask for, what their buttons do, and the way that Tab takes through them."""

from __future__ import annotations

from PySide6.QtCore import QObject, QRectF, QTimer, Signal
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
from helix_desktop.ui.chat.items.painting import HitArea, PaintState
from helix_desktop.ui.chat.items.text_and_code_blocks import scroll_page
from helix_desktop.ui.chat.markdown.text_layout import TextMark
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.chat.rows.row_texts import text_of_row
from helix_desktop.ui.chat.rows.row_types import ApprovalRow, AssistantRow, ToolRow, UserRow, needs_original
from helix_desktop.ui.chat.viewport.chat_viewport import ChatViewport
from helix_desktop.ui.chat.viewport.finder import ChatFinder
from helix_desktop.ui.chat.viewport.mouse import AreaId, MouseHandler
from helix_desktop.ui.chat.viewport.row_menus import ToolMenu
from helix_desktop.ui.chat.viewport.row_widget import RowWidget
from helix_desktop.ui.chat.viewport.scroll_layout import PlacedRow
from helix_desktop.ui.chat.viewport.selection import Selection
from helix_desktop.ui.kit.intents import Intent, perform

_COPIED_MS = 1_600

_MAX_SEARCH_ROWS = 200  # rows; Tab does not search further for a button


class FocusOrder(QObject):
    def __init__(self, chat_viewport: ChatViewport) -> None:
        super().__init__(chat_viewport)
        self._chat_viewport = chat_viewport

    def step(self, forward: bool) -> bool:
        """Go to the next place, or the one before; False when there is none within reach."""
        widget = self._chat_viewport.widget_pool.focused_widget()
        if widget is None or widget.item is None:
            return forward and self.enter(forward=True)
        stop = widget.stop_name
        self._build_next(widget.item, stop, forward)
        names = [area.name for area in widget.item.hit_areas]
        at = names.index(stop) if stop in names else -1
        at += 1 if forward else -1
        if 0 <= at < len(names):
            return self._focus(widget.index, widget.item.hit_areas[at])
        return self._search(widget.index + (1 if forward else -1), forward)

    def enter(self, *, forward: bool) -> bool:
        """Come in from outside: to the first visible place; backward to the last, or where a row wants it."""
        placed = self._chat_viewport.scroll_layout.placed
        if not placed:
            return False
        visible = [(row.row_index, area) for row in placed for area in self.visible_areas(row)]
        if not forward:
            entries = {
                row.row_index: self._chat_viewport.item(row.row_index).backward_entry for row in placed
            }
            visible = [(row, area) for row, area in visible if area.name == entries[row]] or visible[-1:]
        if visible:
            return self._focus(*visible[0])
        return self._search(placed[-1 if forward else 0].row_index, forward)

    def focus_area(self, key: RowKey, *names: str) -> bool:
        """Go to the first of these places that a row has; False if it has none of them."""
        index = self._chat_viewport.model.index_of(key)
        if index is None:
            return False
        item = self._chat_viewport.item(index)
        found = (area for name in names if (area := item.hit_area(name)) is not None)
        area = next(found, None)
        return area is not None and self._focus(index, area)

    def visible_areas(self, placed: PlacedRow) -> list[HitArea]:
        """Return the places of a row that are wholly in sight."""
        top = placed.y + self._chat_viewport.item_cache.gap(placed.row_index)
        height = self._chat_viewport.column.height
        areas = self._chat_viewport.item(placed.row_index).hit_areas
        return [area for area in areas if top + area.rect.top() >= 0 and top + area.rect.bottom() <= height]

    def _build_next(self, item: RowItem, name: str, forward: bool) -> None:
        """Have the place after, or before, a place built; without a name the first, or last, of the item."""
        here = item.hit_area(name)
        edge = 0.0 if forward else item.height
        edge = here.rect.y() if here is not None else edge
        heights = [area.rect.y() for area in item.hit_areas if area.name != name]
        if forward:
            item.build_hit_area(
                edge, min((y for y in heights if y > edge), default=item.height), forward=True
            )
        else:
            item.build_hit_area(max((y for y in heights if y < edge), default=0.0), edge, forward=False)

    def _search(self, index: int, forward: bool) -> bool:
        step = 1 if forward else -1
        for _ in range(_MAX_SEARCH_ROWS):
            if not 0 <= index < len(self._chat_viewport.model):
                return False
            item = self._chat_viewport.item(index)
            self._build_next(item, "", forward)
            if item.hit_areas:
                return self._focus(index, item.hit_areas[0 if forward else -1])
            index += step
        return False

    def _focus(self, index: int, area: HitArea) -> bool:
        self._chat_viewport.ensure_visible(index, area)
        widget = self._widget(index)
        if widget is not None:
            widget.focus_area(area.name)
        return widget is not None

    def _widget(self, index: int) -> RowWidget | None:
        return self._chat_viewport.widget_pool.visible.get(self._chat_viewport.model.raw_row(index).key)


class RowInteractions(QObject):
    focus_leave_requested = Signal(bool)

    def __init__(
        self, chat_viewport: ChatViewport, mouse: MouseHandler, selection: Selection, finder: ChatFinder
    ) -> None:
        super().__init__(chat_viewport)
        self._chat_viewport, self._mouse, self._guard = chat_viewport, mouse, mouse.guard
        self._selection, self._finder = selection, finder
        self.focus, self.menu = FocusOrder(chat_viewport), ToolMenu(chat_viewport, mouse.viewport)
        self._copied: AreaId | None = None
        self._copied_timer = QTimer(self, singleShot=True, interval=_COPIED_MS)
        self._copied_timer.timeout.connect(lambda: self._show_copied(None))
        pool = chat_viewport.widget_pool
        pool.paint_state = self._paint_state
        pool.focus_stepped.connect(self._step_focus)
        self._read_keys: set[RowKey] = set()  # of what is read from the cache, or being read
        chat_viewport.layout_changed.connect(self._read_contents)
        for clicked in (mouse.clicked, pool.activated):
            clicked.connect(self._activate)
        cards = chat_viewport.item_cache.question_cards
        cards.answered.connect(self._answer_question)
        cards.resized.connect(self._fit_row)
        chat_viewport.model.row_removed.connect(self._drop_cards)

    def _paint_state(self, index: int, item: RowItem) -> PaintState:
        key = item.row.key
        return PaintState(
            QRectF(),
            hovered=_name_in(key, self._mouse.hovered),
            pressed=_name_in(key, self._mouse.pressed),
            copied=_name_in(key, self._copied),
            tick=self._chat_viewport.animation_tick,
            marks=self._marks(index, item),
        )

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
                scroll_page(self._chat_viewport.item(index).text(number))
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

    def _step_focus(self, forward: bool) -> None:
        """Move the keyboard to the next place; leaves the conversation after the last one."""
        if not self.focus.step(forward):
            self.focus_leave_requested.emit(forward)

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

    def _marks(self, index: int, item: RowItem) -> dict[int, list[TextMark]]:
        style, theme = self._chat_viewport.style, self._chat_viewport.style.theme
        marks: dict[int, list[TextMark]] = {}
        for number, ranges in self._finder.matches(item).items():
            marks[number] = [TextMark(*span, style.color(theme.warn_soft)) for span in ranges]
        current = self._finder.current
        if current is not None and current[0].row == index:
            spot, length = current
            hit = TextMark(spot.position, spot.position + length, style.color(theme.text_selection))
            marks.setdefault(spot.text, []).append(hit)
        for number, span in self._selection.ranges(index, item).items():
            marks.setdefault(number, []).append(TextMark(*span, style.color(theme.text_selection)))
        return marks


def _name_in(key: RowKey, area: AreaId | None) -> str:
    """Return the name of a place if it is in the row of a key."""
    return area[1] if area is not None and area[0] == key else ""
