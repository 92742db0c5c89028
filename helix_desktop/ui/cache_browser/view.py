"""The cache browser: every tool output of the workspace, found, looked at, verified and recalled."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QColor, QKeySequence, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from helix_desktop.context.errors import HelixError
from helix_desktop.ui.cache_browser.filter_bar import FilterBar
from helix_desktop.ui.cache_browser.model import CacheModel
from helix_desktop.ui.cache_browser.preview import Preview
from helix_desktop.ui.cache_browser.rows import (
    CacheFilter,
    CacheProgress,
    CacheSource,
    CacheTotals,
    PreviewState,
)
from helix_desktop.ui.cache_browser.table import CacheTable, menu_below
from helix_desktop.ui.elements import EmptyState, FindKey, Now, Start, Words, wall_clock
from helix_desktop.ui.theme import LIGHT, Theme
from helix_desktop.ui.widgets import PushButton, retint

_NOTHING_YET = "Nothing cached yet. Every tool output is stored here the moment it arrives."


class CacheBrowser(QWidget):
    """Table and preview over a CacheSource; what the person asks for leaves as signals."""

    recall_requested = Signal(str, int, int)  # digest, first and last line counted from 1 (0, 0: whole)
    verify_requested = Signal(str)
    verify_all_requested = Signal()
    cancel_requested = Signal()  # of the work that set_progress shows
    export_requested = Signal(str)
    forget_requested = Signal(str)
    selection_changed = Signal(str)  # digest; empty when nothing is selected
    chat_requested = Signal()  # the empty state's button

    def __init__(self, start: Start, now: Now = wall_clock) -> None:
        """`start` owns the coroutines that ask the source; `now` is for words like "2 min ago"."""
        super().__init__()
        self._start, self._theme = start, LIGHT
        self._source: CacheSource | None = None
        self._totals = CacheTotals()
        self._refreshing = self._again = False
        self._sought = ""
        self.model = CacheModel(start, self, now)
        self.table = CacheTable(self.model, now)
        self.preview = Preview(start, now)
        self.filter_bar = FilterBar()
        self.nothing = EmptyState("database", _NOTHING_YET, "Go to the chat")
        self.no_match = EmptyState("search", "Nothing fits this filter.", "Clear the filter")
        self._trouble = Words("", 13, "error")
        self._lay_out()
        self._wire()
        self._add_keys()
        self.set_theme(LIGHT)

    def set_source(self, source: CacheSource | None) -> None:
        """Show another workspace's cache; None shows nothing."""
        self._source = source
        self._sought = ""
        self.model.set_source(source)
        self.preview.show_state(None)
        self._totals = CacheTotals()
        self._show_what_there_is()
        if source is not None:
            self.refresh()

    def refresh(self) -> None:
        """Ask the source again; selection and place on screen stay."""
        if self._refreshing:
            self._again = True
        elif self._source is not None:
            self._refreshing = True
            self._start(self._refresh(), "cache refresh")

    def select(self, digest: str) -> None:
        """Bring an entry into sight and select it, if need be without the filter."""
        row = self.model.row_of(digest)
        if row >= 0:
            self._sought = ""
            self.table.choose(row)
            return
        self._sought = digest
        if self.filter_bar.wanted.narrows:
            self.filter_bar.clear()
        else:
            self.refresh()

    def show_preview(self, state: PreviewState) -> None:
        """Show a content, if it is still the one that is selected."""
        if state.row.digest == self.table.current_digest():
            self.preview.show_state(state)

    def set_verified(self, digest: str, ok: bool, text: str) -> None:
        """Tell the outcome of a check, for example "verified 14:31"."""
        if not ok:
            self.model.mark_damaged(digest)
        if digest == self.preview.digest:
            self.preview.set_verified("shield-check" if ok else "shield-alert", text, "ok" if ok else "error")

    def set_progress(self, progress: CacheProgress | None) -> None:
        """Show a long work with its Cancel; None: it is over."""
        self.filter_bar.show_progress(progress)

    def set_theme(self, theme: Theme) -> None:
        """Paint with these tokens, at the text size in force, from now on."""
        retint(self, theme)

    def tint(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self._theme = theme
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the ground."""
        QPainter(self).fillRect(self.rect(), QColor(self._theme.canvas))

    def _lay_out(self) -> None:
        self._pages = QStackedWidget()
        for page in (self.table, self.no_match):
            self._pages.addWidget(page)
        self.splitter = QSplitter(Qt.Orientation.Vertical)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.setHandleWidth(5)
        self.splitter.addWidget(self._pages)
        self.splitter.addWidget(self.preview)
        self.splitter.setStretchFactor(0, 3)
        self.splitter.setStretchFactor(1, 2)
        self.splitter.setSizes([560, 330])
        self._pages.setMinimumHeight(120)
        self.preview.setMinimumHeight(180)
        self._notice = QWidget()
        row = QHBoxLayout(self._notice)
        row.setContentsMargins(18, 0, 18, 10)
        retry = PushButton("Try again")
        retry.clicked.connect(self.refresh)
        row.addWidget(self._trouble, 1)
        row.addWidget(retry, 0, Qt.AlignmentFlag.AlignTop)
        self._notice.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for part in (self.filter_bar, self._notice):
            column.addWidget(part)
        column.addWidget(self.splitter, 1)
        column.addWidget(self.nothing, 1)
        self.nothing.hide()

    def _wire(self) -> None:
        self.table.chosen.connect(self._chose)
        self.table.opened.connect(self.preview.content.text.setFocus)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.table.customContextMenuRequested.connect(
            lambda at: _row_menu(self).popup(self.table.viewport().mapToGlobal(at))
        )
        self.table.order_toggled.connect(
            lambda: self.model.set_oldest_first(self.filter_bar.toggle_order() == "oldest")
        )
        self.filter_bar.changed.connect(self.refresh)
        self.filter_bar.menu_requested.connect(self._more)
        self.filter_bar.cancel_requested.connect(self.cancel_requested)
        self.preview.recall_requested.connect(self.recall_requested)
        self.preview.verify_requested.connect(self.verify_requested)
        self.preview.export_requested.connect(self.export_requested)
        self.preview.content.find_bar.closed.connect(self.preview.content.text.setFocus)
        self.model.failed.connect(self._complain)
        self.nothing.pressed.connect(self.chat_requested)
        self.no_match.pressed.connect(self.filter_bar.clear)

    def _add_keys(self) -> None:
        everywhere, preview = Qt.ShortcutContext.WidgetWithChildrenShortcut, self.preview
        FindKey(self, preview.content.open_find)
        for key, deed in (
            ("Ctrl+Return", preview.recall),
            ("Ctrl+Enter", preview.recall),
            ("Ctrl+S", preview.export_button.click),
            ("Ctrl+Shift+C", preview.content.copy_content),
            ("/", self.filter_bar.field.setFocus),
        ):
            _add_key(self, key, deed, everywhere)
        for widget in (self.table, preview.content.text):
            _add_key(widget, "V", preview.verify_button.click, Qt.ShortcutContext.WidgetShortcut)
        _add_key(self.table, "Ctrl+C", preview.copy_digest, Qt.ShortcutContext.WidgetShortcut)

    async def _refresh(self) -> None:
        source, wanted = self._source, self.filter_bar.wanted
        try:
            if source is not None:
                await self._ask(source, wanted)
        except HelixError as error:
            self._complain(error)
        finally:
            self._refreshing = False
        if self._again:
            self._again = False
            self.refresh()

    async def _ask(self, source: CacheSource, wanted: CacheFilter) -> None:
        totals, ids = await source.totals(), await source.ids(wanted)
        if source is not self._source or wanted != self.filter_bar.wanted:
            self._again = source is self._source or self._again
            return
        self._notice.hide()
        self._totals = totals
        chosen, bar = self._sought or self.table.current_digest(), self.table.verticalScrollBar()
        place = bar.value()
        added = self.model.set_ids(ids)
        if added > 0 and place > 0:
            bar.setValue(place + added * self.table.verticalHeader().defaultSectionSize())
        self._restore(chosen, place, rebuilt=added < 0)
        self._show_what_there_is()

    def _restore(self, chosen: str, place: int, *, rebuilt: bool) -> None:
        row = self.model.row_of(chosen) if chosen else -1
        if chosen == self._sought:
            self._sought = ""
            if row >= 0:
                self.table.choose(row)
                return
        if rebuilt and row >= 0:
            self.table.setCurrentIndex(self.model.index(row, 0))
            self.table.verticalScrollBar().setValue(place)
        elif rebuilt and self.model.rowCount():
            self.table.choose(0)
        elif row < 0:
            self._chose("")

    def _show_what_there_is(self) -> None:
        listed, wanted = self.model.rowCount(), self.filter_bar.wanted
        bare = self._totals.entries == 0 and listed == 0
        self.nothing.setVisible(bare)
        self.splitter.setVisible(not bare)
        self.filter_bar.setVisible(not bare)
        self._pages.setCurrentWidget(self.table if listed or not wanted.narrows else self.no_match)
        self.preview.setVisible(listed > 0)
        self.no_match.say(
            f"Nothing fits “{wanted.text}”." if wanted.text else "Nothing fits this filter.",
            "Clear the filter",
        )
        self.filter_bar.show_totals(self._totals, listed)

    def _chose(self, digest: str) -> None:
        if digest != self.preview.digest:
            self.preview.show_state(None)
        self.selection_changed.emit(digest)

    def _complain(self, error: HelixError) -> None:
        self._trouble.setText(str(error))
        self._notice.show()

    def _more(self, anchor: QWidget) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction("Verify all entries", self.verify_all_requested.emit)
        menu.addAction("Refresh", self.refresh)
        menu.addSeparator()
        columns = self.table.columns_menu()
        columns.setTitle("Columns")
        columns.setParent(menu, columns.windowFlags())
        menu.addMenu(columns)
        menu_below(menu, anchor)


def _add_key(widget: QWidget, key: str, deed: Callable[[], object], context: Qt.ShortcutContext) -> None:
    action = QAction(widget)
    action.setShortcut(QKeySequence(key))
    action.setShortcutContext(context)
    action.triggered.connect(lambda _: deed())
    widget.addAction(action)


def _row_menu(browser: CacheBrowser) -> QMenu:
    """The menu of the chosen entry."""
    menu = QMenu(browser)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    digest = browser.table.current_digest()
    menu.addAction("Forget…", lambda: browser.forget_requested.emit(digest)).setEnabled(bool(digest))
    return menu
