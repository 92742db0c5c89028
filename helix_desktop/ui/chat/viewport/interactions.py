"""What mouse, buttons and menus of rows do, and when a click counts as an answer."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QObject, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QMenu, QWidget

from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.ui.chat.actions import (
    AllowAllOnce,
    AnswerQuestion,
    ApprovalAnswer,
    CacheNow,
    CompactUpTo,
    Decide,
    EditMessage,
    OpenLink,
    RetryAnswer,
    ScrollText,
    ShowRewriteOf,
    ToggleSection,
)
from helix_desktop.ui.chat.items.item import RowItem
from helix_desktop.ui.chat.items.tool_card import is_cached_whole
from helix_desktop.ui.chat.markdown.text_layout import TextLayout
from helix_desktop.ui.chat.rows.row_types import (
    ApprovalRow,
    AssistantRow,
    Row,
    ToolRow,
    TurnFooterRow,
    UserRow,
)
from helix_desktop.ui.chat.viewport.item_cache import ChatViewport
from helix_desktop.ui.design.safe_text import escape_command, plain_tooltip
from helix_desktop.ui.design.style.icons import icon
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.kit.boxes import HitArea
from helix_desktop.ui.kit.intents import (
    BranchSession,
    ExportUpTo,
    Intent,
    OpenOutput,
    OpenSession,
    Pin,
    Recall,
    RewindTo,
    SendAll,
    perform,
)
from helix_desktop.ui.rows.list_view import ListMouse
from helix_desktop.ui.rows.viewport import HitResult
from helix_desktop.words.state_words import STATE_WORDS
from helix_desktop.words.translation import Translator, translate

tr = Translator("Chat")
text = TextContext("Chat")

_WHEEL_STEP = 60.0  # pixels for a notch of the wheel, which is 120 units
_NOTCH = 120.0


def scroll_by_wheel(text: TextLayout | None, event: QWheelEvent) -> bool:
    """Scroll the table below the mouse sideways; False when the wheel does not turn that way."""
    angle = event.angleDelta()
    pixels = event.pixelDelta()
    is_shifted = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
    across = angle.x() or (angle.y() if is_shifted else 0)
    if text is None or not text.max_offset or not (is_shifted or abs(across) > abs(angle.y())):
        return False
    step = float(pixels.x()) if pixels.x() else across / _NOTCH * _WHEEL_STEP
    text.scroll_to(text.offset + -step)
    return True


class MouseHandler(ListMouse):
    def __init__(self, chat_viewport: ChatViewport, viewport: QWidget, clock: Callable[[], float]) -> None:
        super().__init__(chat_viewport, viewport, clock)
        self.guard = ApprovalClickGuard(chat_viewport, clock)
        self._moved_at = float("-inf")
        self._dragged: TextLayout | None = None  # by the bar that scrolls it sideways
        self._grip = 0.0  # pixels from the left edge of that bar's handle

    @property
    def is_pointing(self) -> bool:
        """Whether a button of the mouse is held, or the pointer came to a place to click a moment ago."""
        is_held = self.pressed is not None or self._is_selecting or self._dragged is not None
        return is_held or (self.hovered is not None and self._clock() - self._moved_at < POINTING_S)

    def _press_area(self, located: HitResult, area: HitArea) -> None:
        if self.guard.accepts_click(located.item.key, area.action):
            if isinstance(located.item, RowItem) and isinstance(area.action, ScrollText):
                text = located.item.text(area.action.text_number)
                wide = text.handle_width
                self._dragged = text
                left = text.x + (text.width - wide) * text.offset / text.max_offset
                self._grip = located.x - left if left <= located.x <= left + wide else wide / 2
                self._drag(text, located.x)
            super()._press_area(located, area)

    def _drag(self, text: TextLayout, x: float) -> None:
        if (room := text.width - text.handle_width) > 0:
            text.scroll_to((x - self._grip - text.x) / room * text.max_offset)

    def double_click(self, event: QMouseEvent) -> bool:
        """Take a double click on the bar of a card that has a subagent; whether it was one."""
        located = self._rows.hit_test(event.position())
        if located is None or event.button() != Qt.MouseButton.LeftButton:
            return False
        hovered_area = located.item.hit_area_at(located.x, located.y)
        place = located.item.hit_area_for(OpenSession)
        if (
            place is None
            or located.y > place.rect.bottom()
            or (hovered_area is not None and not isinstance(hovered_area.action, ToggleSection))
        ):
            return False
        self.clicked.emit(located.row_index, place)
        return True

    def move(self, event: QMouseEvent) -> None:
        self._moved_at = self._clock()
        self.guard.note_move(event.globalPosition())
        if self._dragged is None:
            super().move(event)
        elif (located := self._rows.hit_test(event.position())) is not None:
            self._drag(self._dragged, located.x)
            self.changed.emit()

    def wheel(self, event: QWheelEvent) -> bool:
        """Scroll the table below the mouse sideways; False when there is none, or nothing to scroll."""
        located = self._rows.hit_test(event.position())
        if not scroll_by_wheel(text_under(located), event):
            return False
        self.changed.emit()
        return True

    def release(self, event: QMouseEvent) -> None:
        if self._dragged is not None:
            self._dragged = self.pressed = None
            self.changed.emit()
        else:
            super().release(event)

    def _click_area(self, located: HitResult, area: HitArea, event: QMouseEvent) -> None:
        self.guard.note_click(located.item.key, area.action, event.globalPosition())
        super()._click_area(located, area, event)

    def _open_link(self, link: str) -> None:
        perform(self, OpenLink(link))

    def link_of(self, located: HitResult) -> str:
        text = text_under(located)
        return text.link_at(located.x, located.y) if text is not None else ""


def text_under(located: HitResult | None) -> TextLayout | None:
    text = located.item.text_at(located.x, located.y) if located is not None else None
    return text if isinstance(text, TextLayout) else None


SETTLE_S = 0.4
"""Seconds that a card has to stand still before it takes an answer."""
POINTING_S = 3.0
"""Seconds after its last move in which a pointer on a place to click is about to click it."""
REST_S = 2.0
"""Seconds that it takes none from a pointer that still rests where it answered another card."""


class ApprovalClickGuard(QObject):
    """Notes when cards that ask arrive, move, or get more room to be seen in. `now` gives seconds."""

    def __init__(self, chat_viewport: ChatViewport, clock: Callable[[], float]) -> None:
        super().__init__(chat_viewport)
        self._chat_viewport = chat_viewport
        self._model = chat_viewport.model
        self._clock = clock
        self._shown_since: dict[Hashable, float] = {}
        self._places: dict[Hashable, tuple[int, ...]] = {}
        self._still_since: dict[Hashable, float] = {}  # of cards that have moved
        self._answered: tuple[Hashable, QPointF] | None = None  # by a click, whose pointer rests
        model = self._model
        chat_viewport.layout_changed.connect(self._note_moves)
        model.rows_reset.connect(self._reset)
        model.row_added.connect(self._note_cards)
        model.row_removed.connect(self._note_cards)

    def accepts(self, key: Hashable, action: object) -> bool:
        """Return False for an answer to a card that came a moment ago."""
        settled = self._clock() - self._shown_since.get(key, float("-inf")) >= SETTLE_S
        return settled or not isinstance(action, Decide | AllowAllOnce | AnswerQuestion)

    def accepts_click(self, key: Hashable, action: object) -> bool:
        """Return False for a click on a card that came, or moved under the pointer, a moment ago.

        A second click meant for the card before is refused for longer, unless the pointer has moved.
        """
        if not isinstance(action, Decide | AllowAllOnce):
            return self.accepts(key, action)
        rests = self._answered is not None and self._answered[0] != key
        still_since = self._still_since.get(key, float("-inf"))
        if rests:
            still_since = max(still_since, self._shown_since.get(key, float("-inf")))
        settled = self._clock() - still_since >= (REST_S if rests else SETTLE_S)
        return self.accepts(key, action) and settled

    def note_shown(self, key: Hashable) -> None:
        self._shown_since[key] = self._clock()

    def note_click(self, key: Hashable, action: object, at: QPointF) -> None:
        if isinstance(action, Decide | AllowAllOnce):
            self._answered = key, at

    def note_move(self, at: QPointF) -> None:
        """Note where the pointer is: elsewhere, it answers what it points at."""
        if self._answered is not None:
            moved_px = (at - self._answered[1]).manhattanLength()
            if moved_px >= QGuiApplication.styleHints().startDragDistance():
                self._answered = None

    def _note_moves(self) -> None:
        """Note the cards whose answers are new, lie elsewhere on the screen, or come out at an edge."""
        places: dict[Hashable, tuple[int, ...]] = {}
        for key, widget in self._chat_viewport.widget_pool.visible.items():
            areas = widget.item.hit_areas if widget.item is not None else []
            buttons = [area.rect for area in areas if isinstance(area.action, Decide | AllowAllOnce)]
            if buttons:
                corners = (widget.mapToGlobal(rect.topLeft()) for rect in buttons)
                lefts_and_tops = (round(at) for corner in corners for at in (corner.x(), corner.y()))
                places[key] = self._chat_viewport.height, *lefts_and_tops
                if self._places.get(key, places[key]) != places[key]:
                    self._still_since[key] = self._clock()
        self._places = places

    def _reset(self) -> None:
        self._shown_since.clear()
        self._still_since.clear()
        self._note_cards(0)

    def _note_cards(self, index: int) -> None:
        for ask in self._model.asks()[max(0, index - self._model.first_ask) :]:
            self._shown_since[ask.key] = self._clock()


_NOT_IN_WINDOW = frozenset(
    {"cached", "repeated", "excluded", "folded", "truncated", "observed", "handed_over"}
)
_CACHABLE = frozenset({"in_window", "recalled"})

_RULE_CHARS = 90  # of one line; the tooltip has all of a longer rule
_ANSWERS: dict[ApprovalAnswer, TranslatableText] = {
    "session": text("Allow for this session"),
    "always": text("Always allow in workspace"),
    "never": text("Never allow in workspace"),
}


def fill_rule_menu(menu: QMenu, row: ApprovalRow, decide: Callable[[Decide], object]) -> None:
    """Add a rule with the answers that save it; of several, each as a menu of its own."""
    menu.setToolTipsVisible(True)
    if row.is_rule_confined:
        menu.addAction(tr("“Allow” holds in the sandbox only, “Never allow” everywhere")).setEnabled(False)
        menu.addSeparator()
    for number, (rule, offer) in enumerate(zip(row.request.offered_rules, row.offers, strict=True)):
        shown_rule = escape_command(offer)
        line = ellipsize(" ".join(shown_rule.split()), _RULE_CHARS).replace("&", "&&")
        answers = menu.addMenu(line) if len(row.offers) > 1 else menu
        heading = answers.menuAction() if answers is not menu else menu.addAction(line)
        heading.setToolTip(plain_tooltip(shown_rule))
        heading.setEnabled(answers is not menu)
        for answer, label in _ANSWERS.items():
            if row.request.lasting_refusal and answer != "never":
                continue
            action = answers.addAction(translate(label))
            action.setObjectName(f"{answer}:{number}")
            action.triggered.connect(partial(decide, Decide(row.key.call_id, answer, rule)))


class MenuEntry(NamedTuple):
    name: str
    action: Intent
    label: str
    icon_name: str


def menu_groups(row: ToolRow) -> list[list[MenuEntry]]:
    groups = [_pin_entries(row), _send_all_entries(row), _content_entries(row)]
    if row.subagent_session:
        open_subagent = OpenSession(row.subagent_session)
        groups.append([MenuEntry("subagent", open_subagent, tr("Open subagent session"), "bot")])
    if row.badge in _NOT_IN_WINDOW:
        show = ShowRewriteOf(row.answer_seq)
        groups.append([MenuEntry("timeline", show, tr("Show in timeline"), "history")])
    return [group for group in groups if group]


def _pin_entries(row: ToolRow) -> list[MenuEntry]:
    if not row.digest or not row.answer_seq:
        return []
    if row.badge == "pinned":
        return [MenuEntry("unpin", Pin(row.answer_seq, is_pinned=False), tr("Unpin"), "pin-off")]
    pin = MenuEntry("pin", Pin(row.answer_seq), tr("Pin in context"), "pin")
    if row.badge not in _CACHABLE:
        return [pin]
    return [pin, MenuEntry("cache_now", CacheNow(row.answer_seq), tr("Cache now…"), "zap")]


def _send_all_entries(row: ToolRow) -> list[MenuEntry]:
    """Return what sends all of an output of which the next request has a part or a line."""
    if not row.can_change_form:
        return []
    if is_cached_whole(row):
        label = translate(STATE_WORDS["cached"].verb)
        glyph = "undo-2"
    elif row.form != "full":
        label = tr("Send all of it")
        glyph = "maximize-2"
    else:
        return []
    return [MenuEntry("send_all", SendAll(row.answer_seq), label, glyph)]


def _content_entries(row: ToolRow) -> list[MenuEntry]:
    entries = []
    if row.digest:
        entries = [
            MenuEntry("recall", Recall(row.digest), tr("Recall into your message"), "corner-down-left"),
            MenuEntry("cache", OpenOutput(row.digest), tr("Open output"), "database"),
        ]
    for number, digest in enumerate(row.argument_digests, 1):
        label = tr("Open cached text")
        if len(row.argument_digests) > 1:
            label = tr("Open cached text {number}", number=number)
        entries.append(MenuEntry(f"argument:{digest}", OpenOutput(digest), label, "braces"))
    return entries


def branch_groups(rows: Sequence[Row], row: Row) -> list[list[MenuEntry]]:
    """Return what begins a branch, or a summary, at a row; `rows` are those down to it, from the first on."""
    if row.key.part not in ("event", "call"):
        return []
    seq = row.answer_seq if isinstance(row, ToolRow) else row.key.seq
    message = next((before for before in reversed(rows) if isinstance(before, UserRow)), None)
    branches: list[MenuEntry] = []
    match row:
        case _ if message is None or not message.is_editable or not row.key.seq:
            pass
        case UserRow():
            branches = [
                MenuEntry("edit", EditMessage(seq), tr("Edit message"), "pencil"),
                MenuEntry("rewind", RewindTo(seq), tr("Rewind to here…"), "rewind"),
            ]
        case AssistantRow() | TurnFooterRow() | ToolRow():
            if seq:
                branches = [
                    MenuEntry("branch", BranchSession(seq), tr("Branch from here"), "split"),
                    MenuEntry("export", ExportUpTo(seq), tr("Export up to here…"), "download"),
                ]
            retry = RetryAnswer(row.key.seq)
            branches.append(MenuEntry("retry", retry, tr("Retry this turn"), "rotate-ccw"))
    if not (seq and isinstance(row, UserRow | AssistantRow | ToolRow)):
        return [branches]
    return [branches, [MenuEntry("compact", CompactUpTo(seq), tr("Compact up to here…"), "layers")]]


def add_groups(menu: QMenu, groups: Iterable[Sequence[MenuEntry]], theme: Theme) -> None:
    """Add groups of entries; a line goes above each that is not the first thing in the menu."""
    for group in filter(None, groups):
        if not menu.isEmpty():
            menu.addSeparator()
        for entry in group:
            action = menu.addAction(icon(entry.icon_name, theme.muted, 15), entry.label)
            action.setObjectName(entry.name)
            action.triggered.connect(partial(perform, menu, entry.action))
