"""The cache browser: every tool output of the workspace, found, looked at, verified and recalled."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from helix_desktop.context.errors import HelixError
from helix_desktop.ui.cache_browser.choices import of_state
from helix_desktop.ui.cache_browser.columns import COLUMNS, NUMBER_OF
from helix_desktop.ui.cache_browser.commands import add_keys, sort_menu
from helix_desktop.ui.cache_browser.filter_bar import FilterBar
from helix_desktop.ui.cache_browser.mentions import Mentions
from helix_desktop.ui.cache_browser.model import CacheModel
from helix_desktop.ui.cache_browser.preview import Preview
from helix_desktop.ui.cache_browser.row_menu import row_menu
from helix_desktop.ui.cache_browser.rows import (
    MOST_LISTED,
    CacheFilter,
    CacheFound,
    CacheProgress,
    CacheSource,
    CacheTotals,
    PreviewState,
)
from helix_desktop.ui.cache_browser.table import CacheTable, menu_below
from helix_desktop.ui.elements import EmptyState, Words
from helix_desktop.ui.intents import Start
from helix_desktop.ui.theme import LIGHT, Theme
from helix_desktop.ui.times import Now, wall_clock
from helix_desktop.ui.widgets import PushButton, retint

_WORD = re.compile(r'"([^"]+)"|(\S+)')
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
    handover_requested = Signal(str, int)  # session and seq of a handover that a search found

    def __init__(self, start: Start, now: Now = wall_clock) -> None:
        """`start` owns the coroutines that ask the source; `now` is for words like "2 min ago"."""
        super().__init__()
        self._start, self._theme = start, LIGHT
        self._source: CacheSource | None = None
        self._totals = CacheTotals()
        self._refreshing = self._again = False
        self._sought = ""
        self._shown, self._searching = CacheFilter(), False
        self.model = CacheModel(start, self, now)
        self.table = CacheTable(self.model, now)
        self.preview = Preview(start, now)
        self.filter_bar = FilterBar(now)
        self.mentions = Mentions()
        self.nothing = EmptyState("database", _NOTHING_YET, "Go to the chat")
        self.no_match = EmptyState("search", "Nothing fits this filter.", "Clear the filter")
        self._trouble = Words("", 13, "error")
        self._lay_out()
        self._wire()
        add_keys(self, self.filter_bar, self.table, self.preview)
        retint(self, LIGHT)

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

    @property
    def selected(self) -> str:
        """The digest of the entry that is selected, or will be once it is listed; empty without one."""
        return self._sought or self.table.current_digest()

    def show_preview(self, state: PreviewState) -> None:
        """Show a content, if it is still the one that is selected."""
        if state.row.digest == self.table.current_digest():
            self.preview.show_state(state)
            self.preview.content.seek(longest_word(self._shown.text) if state.row.hit else "")

    def set_verified(self, digest: str, ok: bool, text: str) -> None:
        """Tell the outcome of a check, for example "verified 14:31"."""
        if not ok:
            self.model.mark_damaged(digest)
        if digest == self.preview.digest:
            self.preview.set_verified("shield-check" if ok else "shield-alert", text, "ok" if ok else "error")

    def set_progress(self, progress: CacheProgress | None) -> None:
        """Show a long work with its Cancel; None: it is over."""
        self.filter_bar.show_progress(progress)

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
        for part in (self.filter_bar, self.mentions, self._notice):
            column.addWidget(part)
        column.addWidget(self.splitter, 1)
        column.addWidget(self.nothing, 1)
        self.nothing.hide()

    def _wire(self) -> None:
        self.table.chosen.connect(self._chose)
        self.table.opened.connect(self.preview.content.text.setFocus)
        self.table.sort_requested.connect(lambda key: self.filter_bar.sort_by(COLUMNS[NUMBER_OF[key]]))
        self.table.menu_requested.connect(self._row_menu)
        self.mentions.chosen.connect(self.handover_requested)
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
        totals = await source.totals()
        self.filter_bar.offer(await source.tools(), await source.sessions())
        if not wanted.text:
            self._list(source, wanted, totals, CacheFound(await source.ids(wanted)))
            return
        found = await source.search(wanted)
        mentions = found.handovers
        while self._list(source, wanted, totals, replace(found, handovers=mentions)) and found.cursor:
            found = await source.search(wanted, found.cursor)

    def _list(self, source: CacheSource, wanted: CacheFilter, totals: CacheTotals, found: CacheFound) -> bool:
        """Show what was found, if it is still what is wanted."""
        if source is not self._source or wanted != self.filter_bar.wanted:
            self._again = source is self._source or self._again
            return False
        self._notice.hide()
        self._totals, self._searching = totals, bool(found.cursor)
        fresh = wanted != self._shown
        turned = self._shown is not None and wanted.sort != self._shown.sort  # to see what is first now
        if fresh:
            self._shown = wanted
            self.model.set_order(wanted.sort, bool(wanted.text))
            self.table.show_found_lines(bool(wanted.text))
        self.mentions.show_links(found.handovers)
        chosen, bar = self._sought or self.table.current_digest(), self.table.verticalScrollBar()
        place = bar.value()
        added = self.model.set_ids(found.ids)
        if added > 0 and place > 0:
            bar.setValue(place + added * self.table.verticalHeader().defaultSectionSize())
        if fresh and not self._sought and self.model.rowCount():
            self.table.choose(0 if wanted.text or turned or not chosen else max(0, self.model.row_of(chosen)))
        else:
            self._restore(chosen, place, rebuilt=added < 0)
        self._show_what_there_is()
        return True

    def _restore(self, chosen: str, place: int, *, rebuilt: bool) -> None:
        row = self.model.row_of(chosen) if chosen else -1
        if chosen == self._sought:
            self._sought = ""
            if row >= 0:
                self.table.choose(row)
                return
        if rebuilt and row >= 0:
            self.table.select_only(self.model.index(row, 0))
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
        waiting = listed or self._searching or not wanted.narrows
        self._pages.setCurrentWidget(self.table if waiting else self.no_match)
        self.preview.setVisible(listed > 0)
        self.no_match.say(
            f"Nothing fits “{wanted.text}”." if wanted.text else "Nothing fits this filter.",
            "Clear the filter",
        )
        said = f"{listed:,} so far, searching…" if self._searching else ""
        if listed >= MOST_LISTED and wanted.text:
            said = f"The first {listed:,} hits of {self._totals.entries:,} entries"
        self.filter_bar.show_totals(self._totals, listed, said)

    def _chose(self, digest: str) -> None:
        if digest != self.preview.digest:
            self.preview.show_state(None)
        self.selection_changed.emit(digest)

    def _complain(self, error: HelixError) -> None:
        self._trouble.setText(str(error))
        self._notice.show()

    def _row_menu(self, at: QPoint) -> None:
        digest = self.table.current_digest()
        if digest:
            menu = row_menu(self.table, self.filter_bar, self.preview)
            menu.addSeparator()
            menu.addAction("Forget…", lambda: self.forget_requested.emit(digest))
            menu.popup(at)

    def _more(self, anchor: QWidget) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction("Verify all entries", self.verify_all_requested.emit)
        menu.addAction("Refresh", self.refresh)
        menu.addAction("Show the trash", partial(self.filter_bar.toggle, of_state("in the trash")))
        menu.addSeparator()
        menu.addMenu(sort_menu(menu, self.filter_bar))
        columns = self.table.columns_menu()
        columns.setTitle("Columns")
        columns.setParent(menu, columns.windowFlags())
        menu.addMenu(columns)
        menu_below(menu, anchor)


def longest_word(text: str) -> str:
    """The word or quoted phrase of a search that says most of where a hit is."""
    return max((found[0] or found[1] for found in _WORD.findall(text)), key=len, default="")
