"""The bar above the table: what to list, how much there is, and the works on the whole cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QLayout, QMenu, QProgressBar, QVBoxLayout, QWidget

from helix_desktop.domain.store import SavedFilter
from helix_desktop.system.clock import ClockMs, wall_clock_ms
from helix_desktop.ui.cache.chip_row import ChipRow
from helix_desktop.ui.cache.columns import COLUMNS, Column
from helix_desktop.ui.cache.filter_options import (
    FilterOption,
    OptionSlot,
    build_entry_filter,
    filter_menu,
    restored_options,
    saved_conditions,
)
from helix_desktop.ui.cache.rows import CacheFilter, CacheProgress, CacheSort, CacheTotals
from helix_desktop.ui.design.buttons import IconButton, PushButton
from helix_desktop.ui.design.fields import SearchField
from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.design.layout.boxes import shorten_row
from helix_desktop.ui.design.menus import popup_below
from helix_desktop.ui.design.mirror import set_margins
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import Themed, set_style_sheet
from helix_desktop.words.numbers import format_size
from helix_desktop.words.translation import Translator, translate

tr = Translator("Cache")

_DEBOUNCE_MS = 150  # after the last key, before the table is filtered
_MIN_FIELD_PX = 96  # pixels: what is left in the narrowest window at the largest text
_WORDED_FIELD_PX = 160  # of the field, as long as buttons have words
_MARGINS = (18, 32, 12, 11)
_WIDE, _NARROW = 880, 520  # pixels below which the counter loses its words, and goes


class ProgressRow(QWidget):
    """Hidden until it shows some work."""

    cancel_requested = Signal()

    def __init__(self, describe: Callable[[CacheProgress], str]) -> None:
        super().__init__()
        self._describe = describe
        row = QHBoxLayout(self)
        set_margins(row, 0, 0, 6, 0)
        row.setSpacing(12)
        self.text, self.bar = TextLine("", 12, role="muted"), QProgressBar()
        self.bar.setTextVisible(False)
        cancel = PushButton(tr("Cancel"), "link", name="cancel")
        cancel.clicked.connect(self.cancel_requested)
        row.addWidget(self.text)
        row.addWidget(self.bar, 1)
        row.addWidget(cancel)
        self.hide()

    def show_progress(self, progress: CacheProgress | None) -> None:
        """Show how far the work is; None: it is over."""
        self.setVisible(progress is not None)
        if progress is not None:
            text = self._describe(progress)
            self.text.set_text(text)
            self.bar.setRange(0, max(1, progress.total))
            self.bar.setValue(progress.done)
            self.bar.setAccessibleName(text)


class CacheFilterBar(Themed, QWidget):
    changed = Signal()
    menu_requested = Signal(QWidget)
    cancel_requested = Signal()
    search_cancel_requested = Signal()

    def __init__(self, clock: ClockMs = wall_clock_ms) -> None:
        super().__init__()
        self._clock = clock
        self._sort = CacheSort()
        self._counter_texts, self._listed_count = ("", ""), 0
        self._options: dict[OptionSlot, FilterOption] = {}
        self._selected = 1
        self._tools: Sequence[str] = ()
        self._sessions: Sequence[tuple[str, str]] = ()
        self.field = SearchField(tr("Search contents, files, tools or a SHA-256"))
        self.field.setMinimumWidth(_MIN_FIELD_PX)
        self.field.setMaximumWidth(420)
        self.filters = PushButton(tr("Filter"), "", "funnel", name="filters")
        self.filters.setAccessibleName(tr("Filter"))
        self.filters.setToolTip(tr("Filter by state, tool, session, size, age or use"))
        self.chips = ChipRow()
        self.session = PushButton(tr("This session"), "", "message-square", name="this_session")
        self.session.setAccessibleName(tr("This session"))
        self.session.setCheckable(True)
        self.session.setToolTip(tr("Used by this session"))
        self.counter = TextLine("", 12, role="muted")
        self.counter.align = Qt.AlignmentFlag.AlignRight
        self.more = IconButton("ellipsis", tr("More actions"))
        self.progress_row, self.search_row = ProgressRow(_verifying_text), ProgressRow(_indexing_text)
        self._lay_out()
        self._wire()

    def _wire(self) -> None:
        self.more.clicked.connect(lambda: self.menu_requested.emit(self.more))
        self._debounce = QTimer(self, singleShot=True, interval=_DEBOUNCE_MS)
        self._debounce.timeout.connect(self.changed)
        self.field.textChanged.connect(lambda _: self._debounce.start())
        self.filters.clicked.connect(lambda: popup_below(self.filter_menu(), self.filters))
        self.session.toggled.connect(lambda _: self.changed.emit())
        self.progress_row.cancel_requested.connect(self.cancel_requested)
        self.search_row.cancel_requested.connect(self.search_cancel_requested)

    def _lay_out(self) -> None:
        for button in (self.filters, self.session):
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        column = QVBoxLayout(self)
        column.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)  # the buttons' words can go
        set_margins(column, *_MARGINS)
        column.setSpacing(9)
        row = self._row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.field, 10)
        row.addWidget(self.filters)
        row.addWidget(self.session)
        row.addStretch(1)
        row.addWidget(self.counter)
        row.addWidget(self.more)
        column.addLayout(row)
        column.addWidget(self.chips)
        column.addWidget(self.progress_row)
        column.addWidget(self.search_row)

    @property
    def current_filter(self) -> CacheFilter:
        return CacheFilter(
            self.field.text().strip(),
            next((option.state for option in self._options.values() if option.state), None),
            self.session.isChecked(),
            self._sort,
            build_entry_filter(self._options.values()),
        )

    @property
    def saved_filter(self) -> SavedFilter:
        conditions = saved_conditions(self._options.values())
        return SavedFilter("", self.field.text().strip(), self.session.isChecked(), conditions)

    def apply_saved(self, saved: SavedFilter) -> None:
        """Narrow the table to a stored filter instead of the current one; the order stays."""
        if saved == self.saved_filter:
            return
        self._options = {option.slot: option for option in restored_options(saved.conditions, self._clock())}
        self._set_query(saved.text, session_only=saved.session_only)

    def set_available(self, tools: Sequence[str], sessions: Sequence[tuple[str, str]]) -> None:
        self._tools, self._sessions = tools, sessions

    def toggle(self, option: FilterOption) -> None:
        """Narrow the table to a choice, in place of another of its kind; drop it if it is chosen already."""
        previous = self._options.pop(option.slot, None)
        if not option.is_same(previous):
            self._options[option.slot] = option
        self._show_chips()
        self.changed.emit()

    def filter_menu(self) -> QMenu:
        menu = filter_menu(self, self._options, self._tools, self._sessions, self._clock(), self.toggle)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        return menu

    def sort_by(self, column: Column) -> None:
        """Sort by a column; by the one that is sorted by already, the other way round."""
        same = self._sort.column == column.sort_column
        self._sort = CacheSort(
            column.sort_column, not self._sort.is_descending if same else column.is_largest_first
        )
        self.changed.emit()

    def sort_menu(self, parent: QMenu) -> QMenu:
        menu = QMenu(tr("Sort by"), parent)
        for column in COLUMNS:
            is_current = self._sort.column == column.sort_column
            action = QAction(translate(column.title), menu, checkable=True, checked=is_current)
            action.triggered.connect(lambda _, clicked_column=column: self.sort_by(clicked_column))
            menu.addAction(action)
        return menu

    def clear(self) -> None:
        """Let everything pass; the order stays."""
        self._options.clear()
        self._set_query("", session_only=False)

    def _set_query(self, text: str, *, session_only: bool) -> None:
        """Set what is no chip, and emit the change once."""
        self._show_chips()
        self.field.setText(text)
        self._debounce.stop()
        self.session.blockSignals(True)
        self.session.setChecked(session_only)
        self.session.blockSignals(False)
        self.changed.emit()

    def show_totals(self, totals: CacheTotals, listed_count: int, search_status: str = "") -> None:
        """Say how much there is and how much of it is listed; `search_status` says how far a search is."""
        full = short = search_status
        if not search_status:
            sizes = tr(
                "{size} ({stored} on disk)",
                size=format_size(totals.size),
                stored=format_size(totals.stored_size),
            )
            count = short = tr.plural(totals.entries, "%n entry", "%n entries")
            if listed_count != totals.entries:
                short = tr("{listed} of {total}", listed=listed_count, total=totals.entries)
                count = tr.plural(
                    totals.entries, "{listed} of %n entry", "{listed} of %n entries", listed=listed_count
                )
            full = f"{count} · {sizes}"
        self._counter_texts, self._listed_count = (full, short), listed_count
        self._update_counter()

    def clear_totals(self) -> None:
        self._counter_texts, self._listed_count = ("", ""), 0
        self._update_counter()

    def show_selected(self, count: int) -> None:
        """Say how many entries are selected, where they are several."""
        if max(count, 1) != self._selected:
            self._selected = max(count, 1)
            self._update_counter()

    def tint(self, theme: Theme) -> None:
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
        full_text = self._counter_text(self._selected, is_wide=True)
        self.counter.set_text(self._counter_text(self._selected, is_wide=self.width() >= _WIDE))
        self.counter.setToolTip(full_text)
        self.counter.setVisible(self.width() >= _NARROW)
        self._reserve_counter()

    def _reserve_counter(self) -> None:
        """Keep the room that the counter needs, however many are selected: nothing beside it moves."""
        is_wide = self.width() >= _WIDE
        self.counter.keep_room_for(
            [self._counter_text(count, is_wide=is_wide) for count in (1, max(2, self._listed_count))]
        )

    def _counter_text(self, selected: int, *, is_wide: bool) -> str:
        full_text, short = self._counter_texts
        if selected > 1:
            short = tr.plural(selected, "%n selected", "%n selected")
            full_text = f"{short} · {full_text}"
        return full_text if is_wide else short

    def _update_words(self) -> None:
        room = self.width() - _MARGINS[0] - _MARGINS[2] - (_WORDED_FIELD_PX - _MIN_FIELD_PX)
        words = ((self.filters, tr("Filter")), (self.session, tr("This session")))
        shorten_row(self._row, room, [partial(_show_word, button, word) for button, word in words])

    def _show_chips(self) -> None:
        self.chips.show_chips(
            [
                ("x", choice.label, tr("Remove filter"), partial(self.toggle, choice))
                for choice in self._options.values()
            ]
        )


def _verifying_text(progress: CacheProgress) -> str:
    return tr.plural(
        progress.total, "Verifying {done} of %n entry", "Verifying {done} of %n entries", done=progress.done
    )


def _indexing_text(progress: CacheProgress) -> str:
    """Return how far the index is that a search would be faster with."""
    return tr.plural(
        progress.total,
        "Indexing… {done} of %n entry; results so far",
        "Indexing… {done} of %n entries; results so far",
        done=progress.done,
    )


def _show_word(button: PushButton, word: str, is_shown: bool) -> None:
    button.setText(word if is_shown else "")
