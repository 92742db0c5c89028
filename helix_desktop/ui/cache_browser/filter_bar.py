"""The bar above the table: what to list, how much there is, and the works on the whole cache."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QProgressBar, QVBoxLayout, QWidget

from helix_desktop.context.digest import size_text
from helix_desktop.ui.cache_browser.chips import Chips
from helix_desktop.ui.cache_browser.choices import Choice, Slot, choices_menu, filter_of
from helix_desktop.ui.cache_browser.columns import Column
from helix_desktop.ui.cache_browser.rows import (
    CacheFilter,
    CacheProgress,
    CacheSort,
    CacheTotals,
)
from helix_desktop.ui.cache_browser.table import menu_below
from helix_desktop.ui.elements import Line
from helix_desktop.ui.theme import Theme
from helix_desktop.ui.times import Now, wall_clock
from helix_desktop.ui.widgets import IconButton, PushButton, SearchField

_PAUSE_MS = 150  # after the last key, before the table is filtered
_LEAST_FIELD = 96  # pixels: what is left in the narrowest window at the largest text
_WIDE, _NARROW = 880, 520  # pixels below which the counter loses its words, and goes


class FilterBar(QWidget):
    """Makes the filter; says what it left."""

    changed = Signal()
    menu_requested = Signal(QWidget)
    cancel_requested = Signal()

    def __init__(self, now: Now = wall_clock) -> None:
        super().__init__()
        self._now = now
        self._sort = CacheSort()
        self._counts = ("", "")
        self._chosen: dict[Slot, Choice] = {}
        self._tools: Sequence[str] = ()
        self._sessions: Sequence[tuple[str, str]] = ()
        self.field = SearchField("Search contents, files, tools or a hash")
        self.field.setMinimumWidth(_LEAST_FIELD)
        self.field.setMaximumWidth(420)
        self.filters = PushButton(" Filter", "", "funnel")
        self.filters.setToolTip("By state, tool, session, size, age and use")
        self.chips = Chips()
        self.session = PushButton("This session")
        self.session.setCheckable(True)
        self.session.setToolTip("Only what this session refers to")
        self.counter = Line("", 12, role="muted")
        self.more = IconButton("ellipsis", "More")
        self.session.toggled.connect(lambda _: self.changed.emit())
        self.more.clicked.connect(lambda: self.menu_requested.emit(self.more))
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(_PAUSE_MS)
        self._soon.timeout.connect(self.changed)
        self.field.textChanged.connect(lambda _: self._soon.start())
        self.filters.clicked.connect(lambda: menu_below(self.choices_menu(), self.filters))
        for button in (self.filters, self.session):
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 11, 12, 11)
        column.setSpacing(9)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.field, 10)
        row.addWidget(self.filters)
        row.addWidget(self.session)
        row.addStretch(1)
        row.addWidget(self.counter)
        row.addWidget(self.more)
        column.addLayout(row)
        column.addWidget(self.chips)
        column.addWidget(self._work())

    @property
    def wanted(self) -> CacheFilter:
        """The filter as it stands."""
        return CacheFilter(
            self.field.text().strip(),
            next((one.state for one in self._chosen.values() if one.state), None),
            self.session.isChecked(),
            self._sort,
            filter_of(self._chosen.values()),
        )

    def offer(self, tools: Sequence[str], sessions: Sequence[tuple[str, str]]) -> None:
        """The tools and sessions that can be chosen."""
        self._tools, self._sessions = tools, sessions

    def toggle(self, choice: Choice) -> None:
        """Narrow the table to a choice, in place of another of its kind; let go of it when it holds."""
        held = self._chosen.pop(choice.slot, None)
        if held is None or held.words != choice.words:
            self._chosen[choice.slot] = choice
        self._show_chosen()
        self.changed.emit()

    def choices_menu(self) -> QMenu:
        """A menu of what the table can be narrowed to."""
        menu = choices_menu(self, self._chosen, self._tools, self._sessions, self._now(), self.toggle)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        return menu

    def sort_by(self, column: Column) -> None:
        """Sort by a column; by the one that is sorted by already, the other way round."""
        same = self._sort.column == column.sorts_by
        self._sort = CacheSort(column.sorts_by, not self._sort.descending if same else column.largest_first)
        self.changed.emit()

    def clear(self) -> None:
        """Let everything pass; the order stays."""
        self._chosen.clear()
        self._show_chosen()
        self._soon.stop()
        self.field.setText("")
        self._soon.stop()
        self.session.blockSignals(True)
        self.session.setChecked(False)
        self.session.blockSignals(False)
        self.changed.emit()

    def show_totals(self, totals: CacheTotals, listed: int, searching: str = "") -> None:
        """Say how much there is and how much of it is listed; `searching` says how far a search is."""
        noun = "entry" if totals.entries == 1 else "entries"
        short = f"{listed:,} of {totals.entries:,}" if listed != totals.entries else f"{listed:,} {noun}"
        if searching:
            self._counts = (searching, searching)
            self._count()
            return
        some = f"{listed:,} of " if listed != totals.entries else ""
        sizes = f"{size_text(totals.size)} ({size_text(totals.stored_size)} on disk)"
        self._counts = (f"{some}{totals.entries:,} {noun} · {sizes}", short)
        self._count()

    def show_progress(self, progress: CacheProgress | None) -> None:
        """Show how far a long work is; None: it is over."""
        self.work.setVisible(progress is not None)
        if progress is not None:
            self._said.set_text(f"{progress.verb} {progress.done:,} of {progress.total:,}")
            self._bar.setRange(0, max(1, progress.total))
            self._bar.setValue(progress.done)
            self._bar.setAccessibleName(self._said.text)

    def tint(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self.session.setStyleSheet(
            f"QPushButton:checked {{ background: {theme.accent_soft}; color: {theme.accent_text};"
            f" border-color: {theme.accent}; }}"
        )

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Let the counter lose words, then go, where room is short."""
        super().resizeEvent(event)
        self._count()

    def _count(self) -> None:
        whole, short = self._counts
        self.counter.set_text(whole if self.width() >= _WIDE else short)
        self.counter.setToolTip(whole)
        self.counter.setVisible(self.width() >= _NARROW)

    def _show_chosen(self) -> None:
        self.chips.show_chips(
            [
                ("x", choice.words, "Click to let go of this filter", partial(self.toggle, choice))
                for choice in self._chosen.values()
            ]
        )

    def _work(self) -> QWidget:
        self.work = QWidget()
        row = QHBoxLayout(self.work)
        row.setContentsMargins(0, 0, 6, 0)
        row.setSpacing(12)
        self._said, self._bar = Line("", 12, role="muted"), QProgressBar()
        self._bar.setTextVisible(False)
        cancel = PushButton("Cancel", "link")
        cancel.clicked.connect(self.cancel_requested)
        row.addWidget(self._said)
        row.addWidget(self._bar, 1)
        row.addWidget(cancel)
        self.work.hide()
        return self.work
