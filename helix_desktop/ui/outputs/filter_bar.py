"""The bar above the table: what to list, how much there is, and the works on the whole cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias

import msgspec
from PySide6.QtCore import QSignalBlocker, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QLayout, QMenu, QProgressBar, QWidget

from helix_desktop.domain.store import DEFAULT_FILTER, SavedCondition, SavedFilter
from helix_desktop.domain.text_format import ellipsize_title
from helix_desktop.domain.translatable_text import ByteSize, TextContext
from helix_desktop.system.clock import ClockMs, wall_clock_ms
from helix_desktop.ui.design.buttons import IconButton, PushButton, popup_below
from helix_desktop.ui.design.cards import Pill
from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.design.layout import FlowBox, column, row, shorten_row
from helix_desktop.ui.design.style.theme import Themed, set_style_sheet
from helix_desktop.ui.design.text_fields import SearchField
from helix_desktop.ui.kit.commands import EntryMenu
from helix_desktop.ui.outputs.rows import (
    COLUMN_BY_KEY,
    INDEX_LABELS,
    SAME_STATES,
    STATE_LABELS,
    CacheFilter,
    CacheSort,
    CacheState,
    Column,
)
from helix_desktop.words.call_targets import call_verb
from helix_desktop.words.translation import Translator, current_language, translate

text = TextContext("Outputs")
tr = Translator("Outputs")

_DEBOUNCE_MS = 150  # after the last key, before the table is filtered
_MIN_FIELD_PX = 96  # pixels: what is left in the narrowest window at the largest text
_WORDED_FIELD_PX = 160  # of the field, as long as buttons have words
_MARGINS = (18, 12, 12, 11)
_WIDE = 880  # pixels below which the counter loses its words
_NARROW = 520  # pixels below which it goes
_KB = 1024
_HOUR_MS = 3_600_000
_DAY_MS = 24 * _HOUR_MS
_MAX_SESSIONS = 12
_MAX_NAME_CHARS = 48  # characters of a name on a chip or in the menu

OptionSlot: TypeAlias = Literal[
    "state", "tool", "session", "path", "size", "age", "unused", "orphan", "pinned", "kind"
]


class FilterOption(msgspec.Struct, frozen=True):
    """One condition: its slot, which holds one at a time, its key, its name, what it asks of the store."""

    slot: OptionSlot
    key: str
    name: str  # to be translated
    criteria: Mapping[str, Any]
    state: CacheState | None = None  # asked of the session's window, which the store does not know

    @property
    def label(self) -> str:
        name = translate(self.name)
        labels: dict[OptionSlot, str] = {
            "state": tr("State: {state}", state=name),
            "tool": tr("Tool: {tool}", tool=name),
            "path": tr("Target: {target}", target=name),
            "session": tr("Session: {session}", session=name),
        }
        return labels.get(self.slot, name)

    def is_same(self, other: FilterOption | None) -> bool:
        """Return True if it is the same condition, possibly asked at another time."""
        return other is not None and (self.slot, self.key) == (other.slot, other.key)


SIZE_OPTIONS = (
    FilterOption("size", "10-", text("{size} or more", size=ByteSize(10 * _KB)), {"min_size": 10 * _KB}),
    FilterOption("size", "100-", text("{size} or more", size=ByteSize(100 * _KB)), {"min_size": 100 * _KB}),
    FilterOption("size", "1000-", text("{size} or more", size=ByteSize(_KB * _KB)), {"min_size": _KB * _KB}),
    FilterOption(
        "size", "-10", text("Less than {size}", size=ByteSize(10 * _KB)), {"max_size": 10 * _KB - 1}
    ),
)
UNUSED_OPTION = FilterOption("unused", "", text("Never recalled"), {"unused": True})
PINNED_OPTION = FilterOption("pinned", "", text("Pinned"), {"pinned": True})
KIND_OPTIONS = (
    FilterOption("kind", "argument", text("Texts that the agent wrote"), {"kinds": ("argument",)}),
    FilterOption("kind", "index", text("Lists of compacted outputs"), {"kinds": ("index",)}),
)
"""What isn't listed unless it is asked for: only outputs are."""
ORPHAN_OPTION = FilterOption("orphan", "", text("Used by no session"), {"orphan": True})


def age_options(now_ms: int) -> tuple[FilterOption, ...]:
    """Return the choices of age at a time in milliseconds since 1970."""
    return (
        FilterOption("age", "hour", text("Last hour"), {"since": now_ms - _HOUR_MS}),
        FilterOption("age", "day", text("Last 24 hours"), {"since": now_ms - _DAY_MS}),
        FilterOption("age", "week", text("Last 7 days"), {"since": now_ms - 7 * _DAY_MS}),
        FilterOption("age", "older", text("Older than 30 days"), {"until": now_ms - 30 * _DAY_MS}),
    )


def state_option(state: CacheState) -> FilterOption:
    return FilterOption("state", state, STATE_LABELS[state], {}, state)


def tool_option(tool: str) -> FilterOption:
    name = INDEX_LABELS.get(tool, _shorten(call_verb(tool, "done")))
    return FilterOption("tool", tool, name, {"tool": tool})


def target_option(target: str) -> FilterOption:
    return FilterOption("path", target, _shorten(target), {"target": target})


def session_option(session_id: str, title: str) -> FilterOption:
    name = ellipsize_title(title or session_id[:8], _MAX_NAME_CHARS)
    return FilterOption("session", session_id, name, {"session": session_id})


def restored_options(conditions: Iterable[SavedCondition], now_ms: int) -> list[FilterOption]:
    """Return stored conditions as they are at a time; those of another version are left out."""
    found = (_restored(condition, now_ms) for condition in conditions)
    return [option for option in found if option is not None]


def _restored(condition: SavedCondition, now_ms: int) -> FilterOption | None:
    value = condition.value
    match condition.about:
        case "state":
            return next((state_option(state) for state in SAME_STATES if state == value), None)
        case "tool":
            return tool_option(value)
        case "path":
            return target_option(value)
        case "session":
            return session_option(value, condition.label)
    fixed = (*SIZE_OPTIONS, *age_options(now_ms), UNUSED_OPTION, ORPHAN_OPTION, PINNED_OPTION, *KIND_OPTIONS)
    return next((option for option in fixed if (option.slot, option.key) == (condition.about, value)), None)


def _shorten(name: str) -> str:
    return name if len(name) <= _MAX_NAME_CHARS else f"…{name[1 - _MAX_NAME_CHARS :]}"


class ChipRow(FlowBox):
    """Pills in a row that breaks where the room ends; hidden while there are none."""

    def __init__(self) -> None:
        super().__init__([])
        self._chips: list[Pill] = []
        self.hide()

    @property
    def texts(self) -> list[str]:
        return [chip.text() for chip in self._chips]

    def show_chips(self, chips: Sequence[tuple[str, str, str, Callable[[], object]]]) -> None:
        """Show chips, each by its icon, its words, its hint, and what a click on it does."""
        self._chips = []
        for glyph, words, hint, action in chips:
            chip = Pill(words, "accent", glyph, clickable=True)
            chip.setToolTip(hint)
            # Queued: the deed may take the chip away while Qt is still inside its click.
            chip.clicked.connect(lambda _=False, action=action: action(), Qt.ConnectionType.QueuedConnection)
            self._chips.append(chip)
        self.show_parts(self._chips)
        self.setVisible(bool(self._chips))


class ProgressRow(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.text = TextLine("", 12, role="muted")
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.cancel = PushButton(tr("Cancel"), "link", name="cancel")
        self.setLayout(row(self.text, self.bar, self.cancel, margins=(0, 0, 6, 0), gap=12, stretch=1))
        self.hide()

    def show_progress(self, words: str, done: int = 0, total: int = 0) -> None:
        self.setVisible(bool(words))
        self.text.set_text(words)
        self.bar.setRange(0, max(1, total))
        self.bar.setValue(done)
        self.bar.setAccessibleName(words)


class CacheFilterBar(Themed, QWidget):
    changed = Signal()

    def __init__(self, clock: ClockMs = wall_clock_ms) -> None:
        super().__init__()
        self._clock = clock
        self._sort = CacheSort()
        self._counter_words = ""
        self._listed_count = 0
        self._options: dict[OptionSlot, FilterOption] = {}
        self._selected = 1
        self._tools: Sequence[str] = ()
        self.has_damaged = False  # an entry is known to be
        self._sessions: Sequence[tuple[str, str]] = ()
        self.field = SearchField(tr("Search contents, files and tools"))
        self.field.setMinimumWidth(_MIN_FIELD_PX)
        self.field.setMaximumWidth(420)
        self.filters = PushButton(tr("Filter"), "", "funnel", name="filters", words=tr("Filter"))
        self.filters.setToolTip(tr("Filter by state, tool, session, size, age or use"))
        self.chips = ChipRow()
        self.session = PushButton(tr("This session"), "", "message-square", name="this_session")
        self.session.setAccessibleName(tr("This session"))
        self.session.setCheckable(True)
        self.session.setToolTip(tr("Used by this session"))
        self.counter = TextLine("", 12, role="muted")
        self.counter.align = Qt.AlignmentFlag.AlignRight
        self.more = IconButton("ellipsis", tr("More actions"))
        self.progress_row = ProgressRow()
        self.search_row = ProgressRow()
        for button in (self.filters, self.session):
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._row = row(self.field, self.filters, self.session, None, self.counter, self.more)
        self._row.setStretch(0, 10)
        body = column(self._row, self.chips, self.progress_row, self.search_row, margins=_MARGINS, gap=9)
        body.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)  # the buttons' words can go
        self.setLayout(body)
        self._debounce = QTimer(self, singleShot=True, interval=_DEBOUNCE_MS)
        self._debounce.timeout.connect(self.changed)
        self.field.textChanged.connect(lambda _: self._debounce.start())
        self.filters.clicked.connect(lambda: popup_below(self.filter_menu(), self.filters))
        self.session.toggled.connect(lambda on: self.session.set_icon("check" if on else "message-square"))
        self.session.toggled.connect(lambda _: self.changed.emit())
        self.apply_theme()

    @property
    def current_filter(self) -> CacheFilter:
        criteria: dict[str, Any] = {}
        for option in self._options.values():
            criteria |= option.criteria
        return CacheFilter(
            self.field.text().strip(),
            next((option.state for option in self._options.values() if option.state), None),
            self.session.isChecked(),
            self._sort,
            msgspec.structs.replace(DEFAULT_FILTER, **criteria),
        )

    @property
    def saved_filter(self) -> SavedFilter:
        """What is stored of it; an age is stored by its name, and counts from each use."""
        conditions = tuple(
            SavedCondition(option.slot, option.key, option.name if option.slot == "session" else "")
            for option in self._options.values()
        )
        return SavedFilter("", self.field.text().strip(), self.session.isChecked(), conditions)

    def apply_saved(self, saved: SavedFilter) -> None:
        """Narrow the table to a stored filter instead of the current one; the order stays."""
        if saved == self.saved_filter:
            return
        self._options = {option.slot: option for option in restored_options(saved.conditions, self._clock())}
        self._set_query(saved.text, session_only=saved.session_only)

    def set_available(self, tools: Sequence[str], sessions: Sequence[tuple[str, str]]) -> None:
        self._tools = tools
        self._sessions = sessions

    def toggle(self, option: FilterOption) -> None:
        """Narrow the table to a choice, in place of another of its kind; drop it if it is chosen already."""
        previous = self._options.pop(option.slot, None)
        if not option.is_same(previous):
            self._options[option.slot] = option
        self._show_chips()
        self.changed.emit()

    def show_only(self, option: FilterOption) -> None:
        """Narrow the table to one choice alone."""
        self._options = {option.slot: option}
        self._set_query("", session_only=False)

    def filter_menu(self) -> QMenu:
        menu = EntryMenu(self)
        sort_key = current_language().sort_key
        by_name = sorted(map(tool_option, self._tools), key=lambda option: sort_key(translate(option.name)))
        titled: tuple[tuple[str, Sequence[FilterOption]], ...] = (
            (tr("State"), [state_option(state) for state in SAME_STATES if self._may_have(state)]),
            (tr("Tool"), by_name),
            (tr("Session"), [session_option(*session) for session in self._sessions[:_MAX_SESSIONS]]),
            (tr("Size"), SIZE_OPTIONS),
            (tr("Age"), age_options(self._clock())),
        )
        for title, offered in titled:
            part = EntryMenu(menu, title)
            part.setEnabled(bool(offered))
            self._add_options(part, offered)
            menu.addMenu(part)
        menu.addSeparator()
        self._add_options(menu, (PINNED_OPTION, UNUSED_OPTION, ORPHAN_OPTION))
        menu.addSeparator()
        self._add_options(menu, KIND_OPTIONS)
        return menu

    def _may_have(self, state: CacheState) -> bool:
        """Return False for a rare state that no entry has; the page's menu shows the trash."""
        options = {option.state for option in self._options.values()}
        is_usual = {"damaged": self.has_damaged, "in_trash": False, "elsewhere": len(self._sessions) > 1}
        return state in options or is_usual.get(state, True)

    def _add_options(self, menu: EntryMenu, options: Sequence[FilterOption]) -> None:
        for option in options:
            words = translate(option.name).replace("&", "&&")
            is_on = option.is_same(self._options.get(option.slot))
            menu.add(f"{option.slot}:{option.key}", words, partial(self.toggle, option), is_checked=is_on)

    def sort_by(self, column: Column) -> None:
        """Sort by a column; by the one that is sorted by already, the other way round."""
        same = self._sort.column == column.key
        self._sort = CacheSort(column.key, not self._sort.is_descending if same else column.is_largest_first)
        self.changed.emit()

    def sort_menu(self, parent: QMenu) -> QMenu:
        menu = EntryMenu(parent, tr("Sort by"))
        for key, shown in COLUMN_BY_KEY.items():
            is_current = self._sort.column == shown.key
            menu.add(key, translate(shown.title), partial(self.sort_by, shown), is_checked=is_current)
        return menu

    def clear(self) -> None:
        self._options.clear()
        self._set_query("", session_only=False)

    def _set_query(self, text: str, *, session_only: bool) -> None:
        """Set what is no chip, and emit the change once."""
        self._show_chips()
        self.field.setText(text)
        self._debounce.stop()
        with QSignalBlocker(self):
            self.session.setChecked(session_only)
        self.changed.emit()

    def show_count(self, listed_count: int, search_status: str = "") -> None:
        """Say how much is listed; `search_status` says how far a search is."""
        words = search_status or tr.plural(listed_count, "%n output", "%n outputs")
        if self.current_filter.is_narrowing and not search_status:
            words = tr.plural(listed_count, "%n found", "%n found")
        self._counter_words = words
        self._listed_count = listed_count
        self._update_counter()

    def clear_count(self) -> None:
        self._counter_words = ""
        self._listed_count = 0
        self._update_counter()

    def show_selected(self, count: int) -> None:
        if max(count, 1) != self._selected:
            self._selected = max(count, 1)
            self._update_counter()

    def apply_theme(self) -> None:
        theme = self._theme
        set_style_sheet(
            self.session,
            f"QPushButton:checked {{ background: {theme.accent_soft}; color: {theme.accent_text};"
            f" border-color: {theme.accent}; }}",
        )

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        words = (
            button.fontMetrics().horizontalAdvance(button.text()) for button in (self.filters, self.session)
        )
        return QSize(hint.width() - sum(words), hint.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Let the counter lose words, then go, and the buttons their words, where room is short."""
        super().resizeEvent(event)
        self._update_counter()
        self._update_words()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._update_words()

    def _update_counter(self) -> None:
        is_wide = self.width() >= _WIDE
        self.counter.set_text(self._counter_text(self._selected, is_wide=is_wide))
        self.counter.setToolTip(self._counter_text(self._selected, is_wide=True))
        self.counter.setVisible(self.width() >= _NARROW)
        # However many are selected, nothing beside it moves.
        self.counter.keep_room_for(
            [self._counter_text(count, is_wide=is_wide) for count in (1, max(2, self._listed_count))]
        )

    def _counter_text(self, selected: int, *, is_wide: bool) -> str:
        if selected <= 1:
            return self._counter_words
        words = tr.plural(selected, "%n selected", "%n selected")
        return f"{words} · {self._counter_words}" if is_wide else words

    def _update_words(self) -> None:
        room = self.width() - _MARGINS[0] - _MARGINS[2] - (_WORDED_FIELD_PX - _MIN_FIELD_PX)
        parts = (
            lambda on: self.filters.setText(tr("Filter") if on else ""),
            lambda on: self.session.setText(tr("This session") if on else ""),
        )
        shorten_row(self._row, room, parts)

    def _show_chips(self) -> None:
        hint = tr("Remove filter")
        chosen = self._options.values()
        self.chips.show_chips([("x", one.label, hint, partial(self.toggle, one)) for one in chosen])
