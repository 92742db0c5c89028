"""The bar above the table: what to list, how much there is, and the works on the whole cache."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QProgressBar, QVBoxLayout, QWidget

from helix_desktop.context.digest import size_text
from helix_desktop.ui.cache_browser.rows import (
    CACHE_STATES,
    CacheFilter,
    CacheOrder,
    CacheProgress,
    CacheState,
    CacheTotals,
)
from helix_desktop.ui.cache_browser.table import menu_below
from helix_desktop.ui.elements import Line
from helix_desktop.ui.theme import Theme
from helix_desktop.ui.widgets import IconButton, PushButton, SearchField

_PAUSE_MS = 150  # after the last key, before the table is filtered
_NARROW = 640  # pixels below which the counter gives way


class FilterBar(QWidget):
    """Makes the filter; says what it left."""

    changed = Signal()
    menu_requested = Signal(QWidget)
    cancel_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._state: CacheState | None = None
        self._order: CacheOrder = "newest"
        self.field = SearchField("Filter by hash prefix, tool or file")
        self.field.setMinimumWidth(150)
        self.field.setMaximumWidth(340)
        self.states = PushButton(" All states", "", "list-filter")
        self.session = PushButton("This session")
        self.session.setCheckable(True)
        self.session.setToolTip("Only what this session refers to")
        self.counter = Line("", 12, role="muted")
        self.more = IconButton("ellipsis", "More")
        self.states.clicked.connect(lambda: menu_below(self._states_menu(), self.states))
        self.session.toggled.connect(lambda _: self.changed.emit())
        self.more.clicked.connect(lambda: self.menu_requested.emit(self.more))
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(_PAUSE_MS)
        self._soon.timeout.connect(self.changed)
        self.field.textChanged.connect(lambda _: self._soon.start())
        for button in (self.states, self.session):
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 11, 12, 11)
        column.setSpacing(9)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.field, 10)
        row.addWidget(self.states)
        row.addWidget(self.session)
        row.addStretch(1)
        row.addWidget(self.counter)
        row.addWidget(self.more)
        column.addLayout(row)
        column.addWidget(self._work())

    @property
    def wanted(self) -> CacheFilter:
        """The filter as it stands."""
        return CacheFilter(self.field.text().strip(), self._state, self.session.isChecked(), self._order)

    def clear(self) -> None:
        """Let everything pass; the order stays."""
        self._soon.stop()
        self.field.setText("")
        self._soon.stop()
        self._state = None
        self.states.setText(" All states")
        self.session.blockSignals(True)
        self.session.setChecked(False)
        self.session.blockSignals(False)
        self.changed.emit()

    def set_state(self, state: CacheState | None) -> None:
        """Let only this state pass; None lets all."""
        self._state = state
        self.states.setText(f" {state.capitalize()}" if state else " All states")
        self.changed.emit()

    def toggle_order(self) -> CacheOrder:
        """Newest first becomes oldest first, and back."""
        self._order = "oldest" if self._order == "newest" else "newest"
        self.changed.emit()
        return self._order

    def show_totals(self, totals: CacheTotals, listed: int) -> None:
        """Say how much there is and how much of it is listed."""
        noun = "entry" if totals.entries == 1 else "entries"
        some = f"{listed:,} of " if listed != totals.entries else ""
        sizes = f"{size_text(totals.size)} ({size_text(totals.stored_size)} on disk)"
        self.counter.set_text(f"{some}{totals.entries:,} {noun} · {sizes}")

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
        """Let the counter go where room is short."""
        super().resizeEvent(event)
        self.counter.setVisible(self.width() >= _NARROW)

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

    def _states_menu(self) -> QMenu:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        choices: tuple[CacheState | None, ...] = (None, *CACHE_STATES)
        for state in choices:
            words = state.capitalize() if state else "All states"
            action = QAction(words, menu, checkable=True, checked=state == self._state)
            action.triggered.connect(lambda _, chosen=state: self.set_state(chosen))
            menu.addAction(action)
        return menu
