"""The rows of the timeline: chart, filter, what runs, and the cards beside their rail."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QMenu, QWidget

from helix_desktop.system.clock import ClockMs
from helix_desktop.ui.design.buttons import popup_below
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.theme import Theme, current_theme
from helix_desktop.ui.kit.boxes import Box, Button, Frame, HitArea, PaintState
from helix_desktop.ui.kit.commands import EntryMenu
from helix_desktop.ui.kit.intents import (
    ContinueSession,
    ExportHandover,
    ShowEvent,
    ShowHandover,
)
from helix_desktop.ui.kit.wrapped_text import Words
from helix_desktop.ui.rows.item import ListItem
from helix_desktop.ui.rows.list_view import AreaId, ListMouse, RowListView
from helix_desktop.ui.rows.viewport import ListViewport
from helix_desktop.ui.timeline.cards import (
    CardLook,
    FailureCard,
    Node,
    OpenCardMenu,
    Rewrite,
    TimelineCard,
    TimelineRow,
    ToggleFold,
    fold,
)
from helix_desktop.ui.timeline.summary_cards import ChangeCard, ContinuedRow, HandoverCard, ObservationsCard
from helix_desktop.words.lines import dotted
from helix_desktop.words.numbers import format_token_change
from helix_desktop.words.state_words import STATE_WORDS
from helix_desktop.words.translation import Translator

tr = Translator("Timeline")

COLUMN_WIDTH = 760  # pixels at 100 %; the chat's column has the same
NODE_COLORS: dict[Node, str] = {
    **dict.fromkeys(("live", "handover", "compacted"), STATE_WORDS["folded"].color),
    "sweep": STATE_WORDS["cached"].color,
    "form": STATE_WORDS["in_part"].color,
    "failure": "error",
    "limit": "warn",
}
_LINE_X = 15.0  # pixels from the edge to the rail
_CARD_X = 38  # pixels from the edge to a card
_PART_X = 22  # further pixels to one that is part of a change
_DIMMED = 0.6  # opacity of what came later
_TOP_PX = 5  # between two cards, half of it
_SIDE = 22  # pixels beside the column
_BOTTOM = 20  # pixels below the last card
_MARK_MS = 2_500  # in which a card that something led to stands out
_IN_ITS_PLACE = {"undo": "redo", "redo": "undo"}  # the button that a click puts there
_MIN_FOLDED = 3  # entries between two handovers; fewer stay as they are


class CollapsedRewrites(TimelineRow, frozen=True):
    """What happened between two handovers, behind one line; newest first."""

    cards: tuple[TimelineCard, ...]

    @property
    def key(self) -> Hashable:
        return "folded", self.cards[-1].seq

    @property
    def below(self) -> Sequence[TimelineCard]:
        return self.cards

    @property
    def text(self) -> str:
        count = sum(isinstance(card, Rewrite | ObservationsCard) for card in self.cards)
        if not count:
            return tr.plural(len(self.cards), "%n entry", "%n entries")
        return tr.plural(count, "%n context change", "%n context changes")

    @property
    def change(self) -> str:
        """Return what became of the context in tokens; empty where no size is known."""
        rewrites = (card for card in self.cards if isinstance(card, Rewrite))
        sized = [card for card in rewrites if card.before and not card.is_undone]
        return format_token_change(sized[-1].before, sized[0].after) if sized else ""

    def draw(self, look: CardLook) -> tuple[Box, str]:
        head = fold(look, "rewrites", self.text, self.change, "muted")
        return Frame(head, (14, 0, 14, 0)), dotted((self.text, self.change))


Row: TypeAlias = QWidget | TimelineRow


def key_of(row: Row) -> Hashable:
    return row.key if isinstance(row, TimelineRow) else row.objectName()


def collapse_rewrites(cards: Iterable[TimelineCard]) -> list[CollapsedRewrites | TimelineCard]:
    """Return cards, newest first, with what happened between two handovers as one row.

    What failed and can be tried again stays in sight.
    """
    rows: list[CollapsedRewrites | TimelineCard] = []
    between: list[TimelineCard] = []
    has_newer = False
    for card in cards:
        if not (isinstance(card, HandoverCard) or (isinstance(card, FailureCard) and card.retry)):
            between.append(card)
            continue
        is_folded = has_newer and len(between) >= _MIN_FOLDED
        rows += [CollapsedRewrites(tuple(between))] if is_folded else between
        rows.append(card)
        between = []
        has_newer = has_newer or isinstance(card, HandoverCard)
    return rows + between


class HostItem(ListItem):
    """A row that a widget fills; it is laid out anew each time, as its content comes and goes."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget.objectName(), "", Box(), current_theme())
        self.widget = self._host = widget

    @property
    def accessible_name(self) -> str:
        return self._host.accessibleName()

    def layout(self, width: float) -> float:
        self.width = width
        self.height = self._arrange(width)
        return self.height

    def _arrange(self, width: float) -> float:
        self._host.ensurePolished()
        layout = self._host.layout()
        assert layout is not None  # made with the widget
        has_height = layout.hasHeightForWidth()
        height = layout.totalHeightForWidth(round(width)) if has_height else layout.totalSizeHint().height()
        self.hit_areas = []
        for number, stop in enumerate(self._host.findChildren(QWidget)):
            if stop.isVisibleTo(self._host) and stop.focusPolicy() & Qt.FocusPolicy.TabFocus:
                stop.setObjectName(stop.objectName() or f"stop:{number}")
                place = QRectF(QPointF(stop.mapTo(self._host, QPointF())), stop.size())
                self.hit_areas.append(HitArea(stop.objectName(), None, stop.accessibleName(), place))
        return height

    def paint(self, painter: QPainter, state: PaintState) -> None:
        """Leave the painting to the widget."""


class CardItem(ListItem):
    row_area = "unfold"

    def __init__(self, row: TimelineRow, look: CardLook, node: Node, theme: Theme) -> None:
        card, name = row.draw(look)
        indent = _CARD_X + (_PART_X if look.is_part else 0)
        box = Frame(card, (indent, _TOP_PX, 0, _TOP_PX)) if node else card
        super().__init__(row.key, name, box, theme)
        self.row = row
        self.look = look
        self.node = node
        self.is_marked = False
        self.ends = (False, False)
        self._card = card

    def paint(self, painter: QPainter, state: PaintState) -> None:
        if self.look.is_later:
            painter.setOpacity(_DIMMED)
        if self.node:
            self._paint_timeline_line(painter)
        if isinstance(self._card, Frame):
            self._card.edge, self._card.edge_px = ("accent", 2) if self.is_marked else ("border", 1)
        super().paint(painter, state)

    @property
    def node_y(self) -> float:
        """Return where the middle of the first line is, in pixels."""
        first = next(
            (part for part in self.parts if part.accessible_text or isinstance(part, Button)), self.parts[0]
        )
        line = first.line_height() if isinstance(first, Words) else first.rect.height()
        return first.rect.y() + line / 2

    def _paint_timeline_line(self, painter: QPainter) -> None:
        small = self.node in ("sweep", "form", "compacted", "mark")
        y = self.node_y
        room = 7.0 if small else 10.0
        painter.setPen(QPen(QColor(self._theme.border_strong), 2))
        if not self.ends[0]:
            painter.drawLine(QPointF(_LINE_X, 0), QPointF(_LINE_X, y - room))
        if not self.ends[1]:
            painter.drawLine(QPointF(_LINE_X, y + room), QPointF(_LINE_X, self.height))
        theme = self._theme
        color = QColor(getattr(theme, NODE_COLORS.get(self.node, "scrollbar")))
        if small:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(color)
            painter.drawEllipse(QPointF(_LINE_X, y), 3.5, 3.5)
            return
        painter.setPen(QPen(color, 2.5))
        painter.setBrush(color if self.node == "live" else QColor(theme.canvas))
        painter.drawEllipse(QPointF(_LINE_X, y), 5.5, 5.5)


class CardRows:
    """The rows that the list shows, and their items: made when they come into sight, kept while they hold."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.past_seq = self.marked_seq = 0  # the event that is looked at (0: now); the one led to
        self.rows: list[Row] = []
        self._live = 0
        self._parts: frozenset[int] = frozenset()  # rows of a change that is undone as a whole
        self._toggled: dict[Hashable, frozenset[str]] = {}
        self._places: dict[Hashable, int] = {}
        self._items: dict[Hashable, ListItem] = {}

    def set_rows(self, rows: Sequence[Row]) -> None:
        self.rows = list(rows)
        self._places = {key_of(row): at for at, row in enumerate(rows)}
        groups = (row for row in rows if isinstance(row, ChangeCard | HandoverCard))
        self._parts = frozenset(part.seq for group in groups for part in group.parts)
        handovers = (row for row in rows if isinstance(row, HandoverCard))
        live = (card.seq for card in handovers if card.is_live and not card.is_checkpoint)
        self._live = next(live, 0)
        for key in self._items.keys() - self._places.keys():
            del self._items[key]

    def is_open(self, key: Hashable, part: str) -> bool:
        return part in self._toggled.get(key, ())

    def toggle(self, key: Hashable, part: str) -> None:
        self._toggled[key] = self._toggled.get(key, frozenset()) ^ {part}

    def count(self) -> int:
        return len(self.rows)

    def key(self, index: int) -> Hashable:
        return key_of(self.rows[index])

    def index_of(self, key: Any) -> int | None:
        return self._places.get(key)

    def get(self, index: int) -> ListItem:
        row = self.rows[index]
        key = key_of(row)
        item = self._items.get(key_of(row))
        if isinstance(row, QWidget):
            if not (isinstance(item, HostItem) and item.widget is row):
                item = self._items[key] = HostItem(row)
            return item
        seq = row.seq if isinstance(row, TimelineCard) else 0
        toggled = self._toggled.get(key, frozenset())
        is_later = 0 < self.past_seq < seq
        look = CardLook(self.now_ms, toggled, is_later, key in self._parts)
        node = row.node(self._live)
        if not (isinstance(item, CardItem) and (item.row, item.look, item.node) == (row, look, node)):
            item = self._items[key] = CardItem(row, look, node, current_theme())
        before = self.rows[index - 1] if index else None
        is_first = not isinstance(before, TimelineRow) or isinstance(before, ContinuedRow)
        item.ends = (is_first, index == len(self.rows) - 1)
        item.is_marked = bool(seq) and seq == self.marked_seq
        return item

    def gap(self, index: int) -> float:
        """Return the room above what stands beside no rail, and above the first card below that."""
        if index == 0:
            return 18.0
        if isinstance(self.rows[index], ContinuedRow | QWidget):
            return 10.0
        return 6.0 if isinstance(self.rows[index - 1], ContinuedRow | QWidget) else 0.0

    def estimates(self) -> Iterator[float]:
        for index, row in enumerate(self.rows):
            item = self._items.get(key_of(row))
            if item is not None and item.height:
                yield self.gap(index) + item.height
            else:
                yield scaled(row.estimate if isinstance(row, TimelineRow) else 160)

    def source_text(self, index: int) -> str:
        return "\n".join(words.text for words in self.get(index).block_texts())

    def column_width(self, room: int) -> float:
        return max(120.0, min(scaled(COLUMN_WIDTH), room - 2 * _SIDE))

    def clear(self) -> None:
        self._items.clear()

    def is_plain(self, key: Any) -> bool:
        return type(self._items.get(key)) is ListItem

    def show_plain(self, index: int, error: Exception) -> ListItem:
        if self.is_plain(self.key(index)):
            raise error
        row = self.rows[index]
        title = row.title if isinstance(row, TimelineCard) else ""
        frame = Frame(Words(title), (_CARD_X, _TOP_PX, 0, _TOP_PX))
        item = ListItem(key_of(row), title, frame, current_theme())
        self._items[key_of(row)] = item
        return item


class CardList(RowListView):
    """The rows on screen; what is read stays where it is when they change."""

    toggled = Signal()
    """What stands below a row was opened or closed: there are other rows."""

    def __init__(self, clock: ClockMs) -> None:
        super().__init__(tr("Timeline"), tr("Cards"))
        self._clock = clock
        self.cards = CardRows()
        self.cards.now_ms = clock()
        self.rows = ListViewport(self.cards, self._area, self.verticalScrollBar(), _BOTTOM, follows_end=False)
        self.use(self.rows, ListMouse(self.rows, self.viewport()))
        self._unmark_soon = QTimer(self, singleShot=True, interval=_MARK_MS)
        self._unmark_soon.timeout.connect(lambda: self._mark(0))
        self.apply_theme()

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Show these rows; what the mouse points at stays where it is, or the first whose top is in sight."""
        layout = self.rows.scroll_layout
        pointed = self._place_under_mouse()
        known = {key_of(row) for row in rows}
        shown = (row for row in layout.placed if row.y >= 0)
        tops = {self.cards.key(row.row_index): row.y + self.cards.gap(row.row_index) for row in shown}
        anchor = next((key for key in tops if key in known), None) if layout.position > 0 else None
        if [*map(key_of, self.cards.rows)] != [*map(key_of, rows)]:
            self._selection.clear()  # it is from row number to row number
        self.cards.set_rows(rows)
        layout.reset(self.cards.estimates())
        index = self.cards.index_of(anchor)
        if index is not None:
            layout.scroll_to_row(index, tops[anchor] - self.cards.gap(index))
        self._lay_out(pointed)

    def refresh(self) -> None:
        self._lay_out(self._place_under_mouse())

    def _place_under_mouse(self) -> tuple[AreaId, float, float] | None:
        """Return what the mouse points at, where its row's top is in the viewport, and its own in the row."""
        held = self._mouse.held
        index = self.cards.index_of(held[0]) if held is not None else None
        placed = self.rows.placed_row(index) if index is not None else None
        if held is None or placed is None:
            return None
        area = self.rows.item(placed.row_index).hit_area(held[1])
        top = placed.y + self.cards.gap(placed.row_index)
        return (held, top, area.rect.y()) if area is not None else None

    def _lay_out(self, pointed: tuple[AreaId, float, float] | None) -> None:
        """Lay out and paint; what the mouse points at stays where it was.

        If it was clicked, a second click hits it, or what is there instead; below the last row is room then.
        """
        index = self.cards.index_of(pointed[0][0]) if pointed is not None else None
        if pointed is not None and index is not None:
            (key, name), top, inner = pointed
            layout = self.rows.scroll_layout
            item = self.rows.item(index)
            pressed = self._mouse.last_pressed
            area = item.hit_area(name) or item.hit_area(_IN_ITS_PLACE.get(name, ""))
            top += inner - area.rect.y() if area is not None else 0
            layout.scroll_to_row(index, top - self.cards.gap(index))
            layout.has_room = layout.has_room or (pressed is not None and pressed[0] == key)
        self.rows.refresh()
        self.rows.repaint()

    def apply_theme(self) -> None:
        super().apply_theme()
        self.cards.clear()
        self.show_style(self._theme)
        self.refresh()

    def update_times(self) -> None:
        self.cards.now_ms = self._clock()
        self.refresh()

    def toggle(self, key: Hashable, part: str) -> None:
        self.cards.toggle(key, part)
        index = self.cards.index_of(key)
        if part == "rewrites":
            self.toggled.emit()
        elif index is not None:
            self.rows.relayout_in_place(index)
            self.rows.repaint()

    def _activate(self, index: int, area: HitArea) -> None:
        match area.action:
            case ToggleFold(part=part):
                self.toggle(self.cards.key(index), part)
            case OpenCardMenu():
                menu = card_menu(self.cards.rows[index], self)
                popup_below(menu, self.viewport(), self.rows.place_of(index, area))
            case _:
                super()._activate(index, area)

    def look_at(self, seq: int) -> None:
        """Show the cards pale, and without what they do, that came after an event; 0: none."""
        self.cards.past_seq = seq
        self.refresh()

    def reveal(self, seq: int, *, at_top: bool = False) -> None:
        """Bring the card of an event into sight, opened, where it stands out for a moment, or to the top."""
        index = self.cards.index_of(seq)
        if index is None:
            return
        if at_top:
            self.rows.show_row(index, 0.0)
            return
        unfold = self.rows.item(index).hit_area("unfold")
        if unfold is not None and unfold.action.opens:
            self.toggle(seq, unfold.action.part)
        item = self.rows.item(index)
        whole = QRectF(0, 0, item.width, item.height)
        self.rows.ensure_visible(index, HitArea("", None, "", whole))
        self._mark(seq)
        self._unmark_soon.start()

    def _mark(self, seq: int) -> None:
        self.cards.marked_seq = seq
        self.refresh()

    @property
    def first_visible_seq(self) -> int:
        """Return the event of the first card in sight; 0 at the top."""
        if self.rows.scroll_layout.position <= 0:
            return 0
        shown = (self.cards.rows[row.row_index] for row in self.rows.scroll_layout.placed)
        return next((row.seq for row in shown if isinstance(row, TimelineCard)), 0)


class HostedRow(QWidget):
    """A widget that fills a row of the list; says when it needs another height."""

    resized = Signal()

    def __init__(self, name: str, title: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(title)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            QTimer.singleShot(0, self, self.resized.emit)
        return super().event(event)


def card_menu(row: Row, parent: QWidget) -> QMenu:
    """Return the menu of a handover."""
    menu = EntryMenu(parent)
    if not isinstance(row, HandoverCard):
        return menu
    seq = row.seq
    is_own = not row.event.origin
    was_sent = not row.is_checkpoint
    can_run_again = is_own and row.is_live and was_sent
    run_again = ShowHandover(seq, is_compaction=True)
    menu.add("show", tr("Show in chat"), ShowEvent(seq), is_enabled=was_sent)
    menu.add("compare", tr("Compare…"), ShowHandover(seq, "changes"))
    menu.add("edit", tr("Edit…"), ShowHandover(seq), is_enabled=is_own)
    menu.add("run-again", tr("Run again…"), run_again, is_enabled=can_run_again)
    menu.add("continue", tr("Start new session"), ContinueSession(seq))
    menu.add("export", tr("Export…"), ExportHandover(seq))
    return menu
