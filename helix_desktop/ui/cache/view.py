"""The cache browser: every tool output of the workspace, found, looked at, verified and recalled."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace
from PySide6.QtCore import QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.text_format import ellipsize_title
from helix_desktop.system.clock import ClockMs, wall_clock_ms
from helix_desktop.ui.cache.chip_row import ChipRow
from helix_desktop.ui.cache.columns import COLUMN_INDEX, COLUMNS
from helix_desktop.ui.cache.commands import CacheCommands
from helix_desktop.ui.cache.entry_actions import EntryActions, UndoTrash, VerifyAllEntries
from helix_desktop.ui.cache.filter_bar import CacheFilterBar
from helix_desktop.ui.cache.filter_options import state_option
from helix_desktop.ui.cache.preview.pane import Preview
from helix_desktop.ui.cache.row_menu import row_menu
from helix_desktop.ui.cache.rows import (
    MAX_LISTED,
    CacheFilter,
    CacheProgress,
    CacheSearchResults,
    CacheSource,
    CacheTotals,
    HandoverLink,
    PreviewState,
)
from helix_desktop.ui.cache.table import CacheTable
from helix_desktop.ui.cache.table_model import CacheTableModel
from helix_desktop.ui.design.async_actions import StartCoroutine
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.cards import EmptyState
from helix_desktop.ui.design.focus import mark_pane_stop
from helix_desktop.ui.design.help_link import HelpLink
from helix_desktop.ui.design.labels import SelectableText, TextLine
from helix_desktop.ui.design.layout.boxes import column as stack_of
from helix_desktop.ui.design.menus import popup_below
from helix_desktop.ui.design.mirror import set_margins
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.themed import Themed
from helix_desktop.ui.design.viewer.find_shortcut import FindShortcut
from helix_desktop.ui.kit.commands import PageKeys, add_shortcut
from helix_desktop.ui.kit.intents import OpenFolder, ShowPage, perform
from helix_desktop.words.errors import error_text
from helix_desktop.words.translation import Translator

tr = Translator("Cache")

_SLOW_MS = 250

_WORD = re.compile(r'"([^"]+)"|(\S+)')

_MAX_TITLE_CHARS = 32  # characters of a session's title on a chip


class HandoverHits(QWidget):
    """Shows links to handovers; hidden while there are none."""

    handover_clicked = Signal(str, int)  # session, seq

    def __init__(self) -> None:
        super().__init__()
        self._links: Sequence[HandoverLink] = ()
        self.caption = TextLine("", 12, role="muted")
        self.caption.is_fixed_width = True
        self.caption.setFixedHeight(scaled(21))  # a chip's, so that both stand on one line
        self.chips = ChipRow()
        row = QHBoxLayout(self)
        set_margins(row, 18, 0, 12, 11)
        row.setSpacing(9)
        row.addWidget(self.caption, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self.chips, 1, Qt.AlignmentFlag.AlignTop)
        self.hide()

    def show_links(self, links: Sequence[HandoverLink]) -> None:
        if links == self._links:
            return
        self._links = links
        self.caption.set_text(tr.plural(len(links), "Also in a handover:", "Also in %n handovers:"))
        self.chips.show_chips(
            [
                (
                    "bookmark" if link.is_checkpoint else "git-compare",
                    f"{ellipsize_title(link.title or link.session_id[:8], _MAX_TITLE_CHARS)} · e{link.seq}",
                    f"{link.excerpt}\n{tr('Show in timeline')}",
                    partial(self.handover_clicked.emit, link.session_id, link.seq),
                )
                for link in links
            ]
        )
        self.setVisible(bool(links))


def add_cache_shortcuts(browser: QWidget, bar: CacheFilterBar, actions: EntryActions) -> None:
    everywhere, here = Qt.ShortcutContext.WidgetWithChildrenShortcut, Qt.ShortcutContext.WidgetShortcut
    table, preview, keys = actions.table, actions.preview, actions.keys
    FindShortcut(browser, preview.content.open_find)
    for command, action in (
        ("cache_recall", actions.recall),
        ("cache_save", actions.export),
        ("cache_copy", preview.content.copy_content),
        ("cache_filter", bar.field.setFocus),
    ):
        keys.add_shortcut(command, browser, action, everywhere)
    for key in ("Down", "Return", "Enter"):
        add_shortcut(bar.field, key, table.focus_table, here)
    add_shortcut(bar.field, "Escape", bar.field.clear, here)
    keys.add_shortcut("cache_verify", table, actions.verify, here)
    keys.add_shortcut("cache_verify", preview.content.text, preview.verify_button.click, here)
    keys.add_shortcut("cache_pin", table, actions.toggle_pin, here)
    keys.add_shortcut("cache_trash", table, actions.move_to_trash, here)
    add_shortcut(table, "Ctrl+Z", partial(actions.perform, UndoTrash()), here)
    add_shortcut(table, "Ctrl+C", actions.copy_digests, here)


class CacheBrowser(Themed, QWidget):
    """Table and preview over a CacheSource; what the user asks for comes from `entry_actions`."""

    cancel_requested = Signal()  # of the work that set_progress shows
    selection_changed = Signal(str)  # digest; empty when nothing is selected
    handover_requested = Signal(str, int)  # session and seq of a handover that a search found

    def __init__(
        self, start: StartCoroutine, clock: ClockMs = wall_clock_ms, parent: QWidget | None = None
    ) -> None:
        """`start` owns the coroutines that ask the source; `now` is for words like "2 min ago"."""
        super().__init__(parent)
        self._start = start
        self._source: CacheSource | None = None
        self._totals, self._is_counted, self._unindexed = CacheTotals(), True, 0
        self._is_refreshing = self._refresh_again = False
        self._is_listed = False  # the entries of the source: until then none of them are left out
        self._pending_digest = ""
        self._choices_source: CacheSource | None = None  # that is asked for what a filter can name
        self._current_filter, self._is_searching = CacheFilter(), False
        self._canceled_filter: CacheFilter | None = None  # whose search the user ended
        self._slow = QTimer(self, singleShot=True, interval=_SLOW_MS)  # until an answer is said to be slow
        self._slow.timeout.connect(self._update_visibility)
        self.model = CacheTableModel(start, self, clock)
        self.table = CacheTable(self.model, clock)
        mark_pane_stop(self.table)
        self.keys = PageKeys(CacheCommands, self)
        self.preview = Preview(start, clock, self.keys)
        self.entry_actions = EntryActions(self.table, self.preview, self.keys)
        self.filter_bar = CacheFilterBar(clock)
        self.handover_hits = HandoverHits()
        self.empty = EmptyState("database", "")
        self.no_match = EmptyState("search", tr("No entries match this filter"), tr("Clear filter"))
        self.loading = EmptyState("database", tr("Loading…"))
        self._error = SelectableText("", 13, "error")
        self._lay_out()
        self._wire()
        add_cache_shortcuts(self, self.filter_bar, self.entry_actions)

    def set_source(self, source: CacheSource | None) -> None:
        """Show another workspace's cache; None shows nothing."""
        self._source = source
        self._is_refreshing = self._refresh_again = False  # what the former source still lists is dropped
        self._pending_digest, self._canceled_filter = "", None
        self.model.set_source(source)
        self.preview.show_state(None)
        self.handover_hits.show_links(())
        self._notice.hide()
        self._totals, self._is_counted, self._is_listed = CacheTotals(), source is None, False
        self._is_searching, self._unindexed = False, 0
        if source is not None:
            self._slow.start()
        self._update_visibility()
        if source is not None:
            self.refresh()

    def refresh(self) -> None:
        """Ask the source again; selection and place on screen stay."""
        if self._is_refreshing:
            self._refresh_again = True
        elif self._source is not None:
            self._is_refreshing = True
            self._start(self._refresh(), "cache refresh")

    def _update_preview(self) -> None:
        row = self.model.row_of(self.preview.digest)
        if row >= 0 and (entry := self.model.entry(row)) is not None:
            self.preview.update_row(entry)

    def select(self, digest: str) -> None:
        """Bring an entry into sight and select it, if need be without the filter."""
        row = self.model.row_of(digest)
        if row >= 0:
            self._pending_digest = ""
            self.table.select_row(row)
            return
        self._pending_digest = digest
        if self.filter_bar.current_filter.is_narrowing:
            self.filter_bar.clear()
        else:
            self.refresh()

    @property
    def selected(self) -> str:
        """Return the digest of the entry that is selected, or will be once listed; empty without one."""
        return self._pending_digest or self.table.current_digest()

    def show_preview(self, state: PreviewState) -> None:
        """Show a content, if it is still the one that is selected."""
        if state.row.digest == self.table.current_digest():
            self.preview.show_state(state)
            words = _longest_word(self._current_filter.text) if state.row.is_hit_inside else ""
            self.preview.content.find_text(words)

    def set_verified(self, digest: str, ok: bool, text: str) -> None:
        """Show the outcome of a check, for example "verified 14:31"."""
        if not ok:
            self.model.pages.mark_damaged(digest)
        if digest == self.preview.digest:
            self.preview.set_verified("shield-check" if ok else "shield-alert", text, "ok" if ok else "error")

    def set_progress(self, progress: CacheProgress | None) -> None:
        """Show a long work with its Cancel; None: it is over."""
        self.filter_bar.progress_row.show_progress(progress)

    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(self.rect(), QColor(self._theme.canvas))

    def _lay_out(self) -> None:
        self._pages = QStackedWidget(self)
        for page in (self.table, self.no_match, self.loading):
            self._pages.addWidget(page)
        self.splitter = QSplitter(Qt.Orientation.Vertical, self)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.setHandleWidth(5)
        self.splitter.addWidget(self._pages)
        self.splitter.addWidget(self.preview)
        for part in range(self.splitter.count()):  # halves: the content is to be read in the smallest window
            self.splitter.setStretchFactor(part, 1)
        self.splitter.setSizes([400, 400])
        self._pages.setMinimumHeight(120)
        self._notice = QWidget(self)
        row = QHBoxLayout(self._notice)
        row.setContentsMargins(18, 0, 18, 10)
        retry = PushButton(tr("Retry"), name="try_again")
        retry.clicked.connect(self.refresh)
        row.addWidget(self._error, 1)
        row.addWidget(retry, 0, Qt.AlignmentFlag.AlignTop)
        self._notice.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        saved = tr("Every tool output is saved here, byte for byte, under its SHA-256.")
        self._first_sight = HelpLink("cached", saved)
        above = QWidget(self)
        above.setLayout(stack_of(self.filter_bar, self._first_sight, self.handover_hits, self._notice, gap=0))
        column.addWidget(above)
        column.addWidget(self.splitter, 1)
        column.addWidget(self.empty, 1)
        self.empty.hide()

    def _wire(self) -> None:
        self.table.entry_selected.connect(self._on_selected)
        self.table.selectionModel().selectionChanged.connect(
            lambda: self.filter_bar.show_selected(self.table.selected_count())
        )
        self.table.opened.connect(self.preview.content.text.setFocus)
        self.model.dataChanged.connect(self._update_preview)
        self.table.sort_requested.connect(lambda key: self.filter_bar.sort_by(COLUMNS[COLUMN_INDEX[key]]))
        self.table.menu_requested.connect(self._show_row_menu)
        self.handover_hits.handover_clicked.connect(self.handover_requested)
        self.filter_bar.search_cancel_requested.connect(self._cancel_search)
        self.filter_bar.changed.connect(self._slow.start)
        self.filter_bar.changed.connect(self.refresh)
        self.filter_bar.menu_requested.connect(self._show_more_menu)
        self.filter_bar.cancel_requested.connect(self.cancel_requested)
        self.preview.content.find_bar.closed.connect(self.preview.content.text.setFocus)
        self.model.pages.failed.connect(self._show_error)
        self.empty.button_clicked.connect(self._leave_empty_page)
        self.no_match.button_clicked.connect(self.filter_bar.clear)

    async def _refresh(self) -> None:
        source, cache_filter = self._source, self.filter_bar.current_filter
        try:
            if source is not None:
                await self._query(source, cache_filter)
        except HelixError as error:
            if source is self._source:
                self._is_searching = False
                self._show_error(error)
        finally:
            if source is self._source:
                self._is_refreshing = False
        if source is self._source and self._refresh_again:
            self._refresh_again = False
            self.refresh()

    async def _query(self, source: CacheSource, cache_filter: CacheFilter) -> None:
        if not (self._is_listed or cache_filter.text):
            self._show_first(source, cache_filter, await source.first_ids(cache_filter))
        totals = await source.totals()
        if source is not self._source:
            return
        self._totals, self._is_counted = totals, True
        self._update_visibility()
        await self._list(source, cache_filter, totals)
        if source is self._source and source is not self._choices_source:
            self._choices_source = source
            self._start(self._read_choices(source), "cache filter choices")

    async def _read_choices(self, source: CacheSource) -> None:
        """Read what a filter can name: after the rows, and the next ones don't wait for it.

        While the search index is behind, every entry is looked at for the names of tools.
        """
        try:
            tools, sessions = await source.tools(), await source.sessions()
            if source is self._source:
                self.filter_bar.set_available(tools, sessions)
        except HelixError as error:
            if source is self._source:
                self._show_error(error)
        finally:
            if source is self._choices_source:
                self._choices_source = None

    async def _list(self, source: CacheSource, cache_filter: CacheFilter, totals: CacheTotals) -> None:
        if cache_filter != self._canceled_filter:
            self._canceled_filter = None
        if not cache_filter.text:
            self._show_results(
                source, cache_filter, totals, CacheSearchResults(await source.ids(cache_filter))
            )
            return
        if cache_filter == self._canceled_filter:
            return
        results = await source.search(cache_filter)
        mentions = results.handovers
        while (
            self._show_results(source, cache_filter, totals, replace(results, handovers=mentions))
            and results.cursor
            and cache_filter != self._canceled_filter
        ):
            results = await source.search(cache_filter, results.cursor)

    def _cancel_search(self) -> None:
        """End the search for what the filter says; what it found so far stays until that changes."""
        self._canceled_filter = self.filter_bar.current_filter
        self._is_searching = False
        self.filter_bar.field.setFocus()  # from the button that goes
        self._update_visibility()

    def _refresh_all(self) -> None:
        """Ask the source again, also for what a search that was canceled had not reached."""
        self._canceled_filter = None
        self.refresh()

    def _show_first(self, source: CacheSource, cache_filter: CacheFilter, ids: bytes) -> None:
        if ids and source is self._source and cache_filter == self.filter_bar.current_filter:
            self._notice.hide()
            self.model.set_ids(ids)
            if not self._pending_digest:
                self.table.select_row(0)
            self._update_visibility()

    def _show_results(
        self, source: CacheSource, cache_filter: CacheFilter, totals: CacheTotals, results: CacheSearchResults
    ) -> bool:
        """Show results if the filter is still the same; return whether it is."""
        if source is not self._source or cache_filter != self.filter_bar.current_filter:
            self._refresh_again = source is self._source or self._refresh_again
            return False
        self._notice.hide()
        self._totals, self._is_listed, self._unindexed = totals, True, results.unindexed
        self._is_searching = bool(results.cursor) and cache_filter != self._canceled_filter
        fresh = cache_filter != self._current_filter
        turned = (
            self._current_filter is not None and cache_filter.sort != self._current_filter.sort
        )  # to see what is first now
        if fresh:
            self._current_filter = cache_filter
            self.model.set_order(cache_filter.sort, bool(cache_filter.text))
            self.table.columns.set_searching(bool(cache_filter.text))
        self.handover_hits.show_links(results.handovers)
        current_digest, bar = (
            self._pending_digest or self.table.current_digest(),
            self.table.verticalScrollBar(),
        )
        place = bar.value()
        added = self.model.set_ids(results.digests)
        if added > 0 and place > 0:
            bar.setValue(place + added * self.table.verticalHeader().defaultSectionSize())
        if fresh and not self._pending_digest and self.model.rowCount():
            self.table.select_row(
                0
                if cache_filter.text or turned or not current_digest
                else max(0, self.model.row_of(current_digest))
            )
        else:
            self._restore(current_digest, place, rebuilt=added < 0)
        self._update_visibility()
        return True

    def _restore(self, digest: str, scroll_value: int, *, rebuilt: bool) -> None:
        row = self.model.row_of(digest) if digest else -1
        if digest == self._pending_digest:
            self._pending_digest = ""
            if row >= 0:
                self.table.select_row(row)
                return
        if rebuilt and row >= 0:
            self.table.select_only(self.model.index(row, 0))
            self.table.verticalScrollBar().setValue(scroll_value)
        elif rebuilt and self.model.rowCount():
            self.table.select_row(0)
        elif row < 0:
            self._on_selected("")

    def _update_visibility(self) -> None:
        listed, cache_filter = self.model.rowCount(), self.filter_bar.current_filter
        bare = self._is_counted and self._totals.entries == 0 and listed == 0
        if self._source is not None:
            sentence = tr("No cached outputs yet. Tool outputs appear here as the agent works.")
            self.empty.set_content(sentence, tr("Write a message"))
        else:
            sentence = tr("No workspace is open. Open a folder to see its cached outputs.")
            self.empty.set_content(sentence, tr("Open folder…"))
        self.empty.setVisible(bare)
        self.splitter.setVisible(not bare)
        self.filter_bar.setVisible(not bare)
        self._first_sight.setContentsMargins(18, 11 if bare else 0, 18, 4)
        is_stale = self._is_listed and cache_filter != self._current_filter  # as the rows are
        is_behind = self._is_searching and not is_stale and self._unindexed > 0
        total = self._totals.entries
        indexing = CacheProgress(total - self._unindexed, total) if is_behind else None
        self.filter_bar.search_row.show_progress(indexing)
        is_searched = cache_filter != self._canceled_filter and not self._is_searching
        is_complete = is_searched and self._notice.isHidden()
        waiting = listed or not is_complete or is_stale or not cache_filter.is_narrowing
        is_slow = not (self._is_counted or listed or self._slow.isActive()) and self._notice.isHidden()
        self._pages.setCurrentWidget(self.loading if is_slow else self.table if waiting else self.no_match)
        self.preview.setVisible(listed > 0)
        self.no_match.set_content(
            tr("No entries match “{query}”", query=cache_filter.text)
            if cache_filter.text
            else tr("No entries match this filter"),
            tr("Clear filter"),
        )
        if is_slow:
            self.filter_bar.clear_totals()  # the page says it
        if is_slow or (is_stale and self._slow.isActive()):
            return
        self.filter_bar.show_totals(
            self._totals, listed if self._is_listed else self._totals.entries, self._status(is_stale)
        )

    def _status(self, is_stale: bool) -> str:
        """Return how far the list is, `is_stale` if it is another filter's; empty once it is complete."""
        if not self._is_counted:
            return tr("Loading…") if self._notice.isHidden() else tr("Not loaded")
        cache_filter = self.filter_bar.current_filter
        listed, total = self.model.rowCount(), self._totals.entries
        if is_stale and self._notice.isHidden():
            return self._work_status(cache_filter, total)
        if listed >= MAX_LISTED and cache_filter.text:
            return tr.plural(
                listed,
                "First match in {total} entries",
                "First %n matches in {total} entries",
                total=total,
            )
        if self._is_searching:
            return tr.plural(listed, "Searching… %n match so far", "Searching… %n matches so far")
        if cache_filter == self._canceled_filter:
            return tr.plural(listed, "Search canceled. %n match so far", "Search canceled. %n matches so far")
        return ""

    def _work_status(self, cache_filter: CacheFilter, total: int) -> str:
        """Return what is done to list by a filter, while the rows are still those of another one."""
        if cache_filter.text:
            return tr.plural(total, "Searching %n entry…", "Searching %n entries…")
        if cache_filter.sort != self._current_filter.sort:
            return tr.plural(total, "Sorting %n entry…", "Sorting %n entries…")
        return tr.plural(total, "Filtering %n entry…", "Filtering %n entries…")

    def _leave_empty_page(self) -> None:
        perform(self, ShowPage("chat") if self._source is not None else OpenFolder())

    def _on_selected(self, digest: str) -> None:
        if digest != self.preview.digest:
            self.preview.show_state(None)
        self.selection_changed.emit(digest)

    def _show_error(self, error: HelixError) -> None:
        self._error.setText(error_text(error))
        self._notice.show()
        self._update_visibility()

    def _show_row_menu(self, position: QPoint) -> None:
        if self.table.current_digest():
            row_menu(self.entry_actions, self.filter_bar).popup(position)

    def _show_more_menu(self, anchor: QWidget) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(tr("Verify all entries"), partial(perform, self, VerifyAllEntries()))
        menu.addAction(tr("Refresh"), self._refresh_all)
        menu.addAction(tr("Show trash"), partial(self.filter_bar.toggle, state_option("in_trash")))
        menu.addSeparator()
        menu.addMenu(self.filter_bar.sort_menu(menu))
        columns = self.table.columns.menu()
        columns.setTitle(tr("Columns"))
        columns.setParent(menu, columns.windowFlags())
        menu.addMenu(columns)
        popup_below(menu, anchor)


def _longest_word(text: str) -> str:
    """Return the word or quoted phrase of a search that says most of where a hit is."""
    return max((groups[0] or groups[1] for groups in _WORD.findall(text)), key=len, default="")
