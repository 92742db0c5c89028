"""The Outputs page: every tool output of the workspace, found, looked at, verified and recalled."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtWidgets import QStackedWidget, QWidget

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ContentDamaged, HelixError
from helix_desktop.domain.store import NO_TOTALS
from helix_desktop.domain.translatable_text import TextContext, system_reason
from helix_desktop.services.entry_export import file_name
from helix_desktop.system.clock import ClockMs, wall_clock_ms
from helix_desktop.ui.design.async_actions import StartCoroutine
from helix_desktop.ui.design.buttons import PushButton, popup_below
from helix_desktop.ui.design.cards import EmptyState, ThemedBackground
from helix_desktop.ui.design.dialogs import pick_save_file
from helix_desktop.ui.design.focus import mark_pane_stop
from helix_desktop.ui.design.labels import SelectableText, TextLine
from helix_desktop.ui.design.layout import column, pane, row, splitter
from helix_desktop.ui.design.viewer.content_viewer import FindShortcut
from helix_desktop.ui.kit.commands import CacheCommands, EntryMenu, PageKeys, add_shortcut
from helix_desktop.ui.kit.intents import OpenFolder, ShowPage, handles, perform
from helix_desktop.ui.kit.notices import Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.outputs.entry_actions import (
    EntryActions,
    PinEntries,
    RestoreEntries,
    SaveEntry,
    UndoTrash,
    VerifyAllEntries,
    VerifyEntries,
)
from helix_desktop.ui.outputs.filter_bar import CacheFilterBar, state_option
from helix_desktop.ui.outputs.preview import Preview
from helix_desktop.ui.outputs.rows import (
    COLUMN_INDEX,
    COLUMNS,
    DIGEST_BYTES,
    MAX_LISTED,
    CacheFilter,
    CacheSearchResults,
    PreviewState,
)
from helix_desktop.ui.outputs.source import OutputSource
from helix_desktop.ui.outputs.table import CacheTable, CacheTableModel
from helix_desktop.words.translation import Translator, error_text, translate

text = TextContext("Outputs")
tr = Translator("Outputs")

_MAX_CHOSEN = 1_000  # rows that stay selected when others were used since
_PROGRESS_STEP = 25  # entries between two steps of the progress bar
_VERIFIED = "verified"

_SLOW_MS = 250

_WORD = re.compile(r'"([^"]+)"|(\S+)')


class OutputsPage(ThemedBackground):
    """Table and preview over a OutputSource; what the user asks for comes from `entry_actions`."""

    _session: Session
    """Whose workspace it shows; without one it shows what it is given."""

    def __init__(
        self, start: StartCoroutine, clock: ClockMs = wall_clock_ms, parent: QWidget | None = None
    ) -> None:
        """`start` owns the coroutines that ask the source; `now` is for words like "2 min ago"."""
        super().__init__(parent)
        self._start = start
        self._source: OutputSource | None = None
        self._totals = NO_TOTALS
        self._is_counted = True
        self._unindexed = 0
        self._entries: OutputSource | None = None  # the same, while a workspace is on screen
        self._verified: dict[tuple[str, str], str] = {}  # when, in words, by workspace and digest
        self._verify_task: asyncio.Task[None] | None = None
        self._preview_task: asyncio.Task[None] | None = None
        self._is_refreshing = self._refresh_again = False
        self._is_listed = False  # the entries of the source: until then none of them are left out
        self._pending_digest = ""
        self._marked = ("", "", 0)  # a digest, words in that content, and the line from which they count
        self._choices_source: OutputSource | None = None  # that is asked for what a filter can name
        self._current_filter = CacheFilter()
        self._is_searching = False
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
        self.empty = EmptyState("database", "")
        self.no_match = EmptyState("search", tr("No entries match this filter"), tr("Clear filter"))
        self.loading = EmptyState("database", tr("Loading…"))
        self._error = SelectableText("", 13, "error")
        self._pages = QStackedWidget(self)
        for page in (self.table, self.no_match, self.loading):
            self._pages.addWidget(page)
        halves = (self._pages, self.preview)
        self.splitter = splitter(*halves, across=False, sizes=(400, 400), handle_px=5)
        for part in range(self.splitter.count()):  # halves: the content is to be read in the smallest window
            self.splitter.setStretchFactor(part, 1)
        self._pages.setMinimumHeight(120)
        retry = PushButton(tr("Retry"), name="try_again", on_click=self.refresh)
        self._notice = pane(row(self._error, retry, margins=(18, 0, 18, 10), stretch=0, top=[retry]))
        self._notice.hide()
        saved = tr(
            "Every output is stored whole under the SHA-256 of its bytes, also when cached or compacted."
        )
        self._lead = pane(row(TextLine(saved, role="muted")))
        above = pane(column(self.filter_bar, self._lead, self._notice, gap=0))
        body = column(above, self.splitter, self.empty, gap=0)
        body.setStretch(1, 1)
        body.setStretch(2, 1)
        self.setLayout(body)
        self.empty.hide()
        self.table.entry_selected.connect(self._on_selected)
        self.table.selectionModel().selectionChanged.connect(
            lambda: self.filter_bar.show_selected(self.table.selected_count())
        )
        self.table.opened.connect(self.preview.content.text.setFocus)
        self.model.dataChanged.connect(self._update_preview)
        self.table.sort_requested.connect(lambda key: self.filter_bar.sort_by(COLUMNS[COLUMN_INDEX[key]]))
        self.table.menu_requested.connect(self._show_row_menu)
        self.filter_bar.search_row.cancel.clicked.connect(self._cancel_search)
        self.filter_bar.progress_row.cancel.clicked.connect(self._cancel_verifying)
        self.filter_bar.changed.connect(self._slow.start)
        self.filter_bar.changed.connect(self.refresh)
        self.filter_bar.more.clicked.connect(self._show_more_menu)
        self.preview.content.find_bar.closed.connect(self.preview.content.text.setFocus)
        self.model.failed.connect(self._show_error)
        self.empty.button_clicked.connect(
            lambda: perform(self, ShowPage("chat") if self._source is not None else OpenFolder())
        )
        self.no_match.button_clicked.connect(self.filter_bar.clear)
        self._add_shortcuts()

    def set_source(self, source: OutputSource | None) -> None:
        self._source = source
        self._is_refreshing = self._refresh_again = False  # what the former source still lists is dropped
        self._pending_digest = ""
        self._canceled_filter = None
        self.model.set_source(source)
        self.preview.show_state(None)
        self._notice.hide()
        self._totals = NO_TOTALS
        self._is_counted = source is None
        self._is_listed = False
        self._is_searching = False
        self._unindexed = 0
        self.filter_bar.has_damaged = False
        if source is not None:
            self._slow.start()
        self._update_visibility()
        if source is not None:
            self.refresh()

    def refresh(self) -> None:
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

    def mark(self, digest: str, words: str, line: int) -> None:
        """Mark words in a content whenever it is shown, from a line on; until then another one may be."""
        self._marked = (digest, words, line)
        if self.preview.digest == digest:
            self.preview.content.find_text(words, line)

    @property
    def selected(self) -> str:
        """Return the digest of the entry that is selected, or will be once listed; empty without one."""
        return self._pending_digest or self.table.current_digest()

    def show_preview(self, state: PreviewState) -> None:
        """Show a content, if it is still the one that is selected."""
        if state.row.digest == self.table.current_digest():
            self.preview.show_state(state)
            digest, words, line = self._marked
            if digest != state.row.digest:
                if not self._pending_digest:
                    self._marked = ("", "", 0)
                words = _longest_word(self._current_filter.text) if state.row.is_hit_inside else ""
                line = 0
            self.preview.content.find_text(words, line)

    def set_verified(self, digest: str, ok: bool, text: str) -> None:
        if not ok:
            self.filter_bar.has_damaged = True
            self.model.mark_damaged(digest)
        if digest == self.preview.digest:
            self.preview.set_verified("shield-check" if ok else "shield-alert", text, "ok" if ok else "error")

    def _add_shortcuts(self) -> None:
        everywhere = Qt.ShortcutContext.WidgetWithChildrenShortcut
        here = Qt.ShortcutContext.WidgetShortcut
        actions = self.entry_actions
        table = self.table
        preview = self.preview
        field = self.filter_bar.field
        keys = self.keys
        FindShortcut(self, preview.content.open_find)
        for command, action in (
            ("cache_recall", actions.recall),
            ("cache_save", actions.export),
            ("cache_copy", preview.content.copy_content),
            ("cache_filter", field.setFocus),
        ):
            keys.add_shortcut(command, self, action, everywhere)
        for key in ("Down", "Return", "Enter"):
            add_shortcut(field, key, table.focus_table, here)
        add_shortcut(field, "Escape", field.clear, here)
        keys.add_shortcut("cache_verify", table, actions.verify, here)
        keys.add_shortcut("cache_verify", preview.content.text, actions.verify, here)
        keys.add_shortcut("cache_pin", table, actions.toggle_pin, here)
        keys.add_shortcut("cache_trash", table, actions.move_to_trash, here)
        add_shortcut(table, "Ctrl+Z", partial(perform, self, UndoTrash()), here)
        add_shortcut(table, "Ctrl+C", actions.copy_digests, here)

    async def _refresh(self) -> None:
        source = self._source
        cache_filter = self.filter_bar.current_filter
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

    async def _query(self, source: OutputSource, cache_filter: CacheFilter) -> None:
        if not (self._is_listed or cache_filter.text):
            self._show_first(source, cache_filter, await source.first_ids(cache_filter))
        totals = await source.totals()
        if source is not self._source:
            return
        self._totals = totals
        self._is_counted = True
        self._update_visibility()
        await self._list(source, cache_filter)
        if source is self._source and source is not self._choices_source:
            self._choices_source = source
            self._start(self._read_choices(source), "cache filter choices")

    async def _read_choices(self, source: OutputSource) -> None:
        """Read what a filter can name: after the rows, and the next ones don't wait for it.

        While the search index is behind, every entry is looked at for the names of tools.
        """
        try:
            tools = await source.tools()
            sessions = await source.sessions()
            if source is self._source:
                self.filter_bar.set_available(tools, sessions)
        except HelixError as error:
            if source is self._source:
                self._show_error(error)
        finally:
            if source is self._choices_source:
                self._choices_source = None

    async def _list(self, source: OutputSource, cache_filter: CacheFilter) -> None:
        if cache_filter != self._canceled_filter:
            self._canceled_filter = None
        if not cache_filter.text:
            self._show_results(source, cache_filter, CacheSearchResults(await source.ids(cache_filter)))
            return
        if cache_filter == self._canceled_filter:
            return
        results = await source.search(cache_filter)
        while (
            self._show_results(source, cache_filter, results)
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

    def _show_first(self, source: OutputSource, cache_filter: CacheFilter, ids: bytes) -> None:
        if ids and source is self._source and cache_filter == self.filter_bar.current_filter:
            self._notice.hide()
            self.model.set_ids(ids)
            if not self._pending_digest:
                self.table.select_row(0)
            self._update_visibility()

    def _show_results(
        self, source: OutputSource, cache_filter: CacheFilter, results: CacheSearchResults
    ) -> bool:
        """Show results if the filter is still the same; return whether it is."""
        if source is not self._source or cache_filter != self.filter_bar.current_filter:
            self._refresh_again = source is self._source or self._refresh_again
            return False
        self._notice.hide()
        self._is_listed = True
        self._unindexed = results.unindexed
        self._is_searching = bool(results.cursor) and cache_filter != self._canceled_filter
        fresh = cache_filter != self._current_filter
        turned = cache_filter.sort != self._current_filter.sort  # to see what is first now
        if fresh:
            self._current_filter = cache_filter
            self.model.set_order(cache_filter.sort, bool(cache_filter.text))
            self.table.columns.set_searching(bool(cache_filter.text))
        current_digest = self.selected
        bar = self.table.verticalScrollBar()
        chosen = self.table.selected_digests() if self.table.selected_count() <= _MAX_CHOSEN else ()
        place = bar.value()
        first = self.table.rowAt(0)
        # Two, as one of them may be what was used now, and have gone to the top.
        is_scrolled = place > 0 and first >= 0
        seen = range(first, min(first + 2, self.model.rowCount())) if is_scrolled else range(0)
        digests = self.model.digests(seen)
        added = self.model.set_ids(results.digests)
        rows = [self.model.row_of(digest) for digest in digests]
        moved = [row - at for row, at in zip(rows, seen, strict=True) if row >= 0]
        if moved:
            place += min(moved, key=abs) * self.table.verticalHeader().defaultSectionSize()
            bar.setValue(place)
        if fresh and not self._pending_digest and self.model.rowCount():
            stays = current_digest and not (cache_filter.text or turned)
            self.table.select_row(max(0, self.model.row_of(current_digest)) if stays else 0)
        else:
            self._restore(current_digest, chosen, place, rebuilt=added < 0)
        self._update_visibility()
        return True

    def _restore(self, digest: str, chosen: Sequence[str], scroll_value: int, *, rebuilt: bool) -> None:
        row = self.model.row_of(digest) if digest else -1
        if digest == self._pending_digest:
            if row < 0 and digest and not self._current_filter.text:  # of a kind that isn't listed
                self.filter_bar.field.setText(digest)
                return
            self._pending_digest = ""
            if row >= 0:
                self.table.select_row(row)
                return
        if rebuilt and row >= 0:
            self.table.select_only(self.model.index(row, 0))
            self.table.select_also(chosen)
            self.table.verticalScrollBar().setValue(scroll_value)
        elif rebuilt and self.model.rowCount():
            self.table.select_row(0)
        elif row < 0:
            self._on_selected("")

    def _update_visibility(self) -> None:
        listed = self.model.rowCount()
        cache_filter = self.filter_bar.current_filter
        bare = self._is_counted and self._totals.entries == 0 and listed == 0
        sentence = tr("No outputs yet. What the agent reads and runs appears here.")
        if self._source is None:
            sentence = tr("No workspace is open. Open a folder to see its outputs.")
        self.empty.set_content(sentence, tr("Go to chat") if self._source else tr("Open folder…"))
        self.empty.setVisible(bare)
        self.splitter.setVisible(not bare)
        self.filter_bar.setVisible(not bare)
        self._lead.setContentsMargins(18, 11 if bare else 0, 18, 4)
        is_stale = self._is_listed and cache_filter != self._current_filter  # as the rows are
        is_behind = self._is_searching and not is_stale and self._unindexed > 0
        total = self._totals.entries
        indexed = total - self._unindexed
        indexing = tr.plural(  # with the index a search would be faster
            total,
            "Indexing… {done} of %n entry; results so far",
            "Indexing… {done} of %n entries; results so far",
            done=indexed,
        )
        self.filter_bar.search_row.show_progress(indexing if is_behind else "", indexed, total)
        is_searched = cache_filter != self._canceled_filter and not self._is_searching
        is_complete = is_searched and self._notice.isHidden()
        waiting = listed or not is_complete or is_stale or not cache_filter.is_narrowing
        is_slow = not (self._is_counted or listed or self._slow.isActive()) and self._notice.isHidden()
        page: QWidget = self.table if waiting else self.no_match
        if is_slow:
            page = self.loading
        self._pages.setCurrentWidget(page)
        self.preview.setVisible(listed > 0)
        sentence = tr("No entries match this filter")
        if cache_filter.text:
            sentence = tr("No entries match “{query}”", query=cache_filter.text)
        self.no_match.set_content(sentence, tr("Clear filter"))
        if is_slow:
            self.filter_bar.clear_count()  # the page says it
        if is_slow or (is_stale and self._slow.isActive()):
            return
        self.filter_bar.show_count(listed if self._is_listed else total, self._status(is_stale))

    def _status(self, is_stale: bool) -> str:
        """Return how far the list is, `is_stale` if it is another filter's; empty once it is complete."""
        if not self._is_counted:
            return tr("Loading…") if self._notice.isHidden() else tr("Not loaded")
        cache_filter = self.filter_bar.current_filter
        listed = self.model.rowCount()
        total = self._totals.entries
        if is_stale and self._notice.isHidden():  # the rows are still those of another filter
            if cache_filter.text:
                return tr.plural(total, "Searching %n entry…", "Searching %n entries…")
            if cache_filter.sort != self._current_filter.sort:
                return tr.plural(total, "Sorting %n entry…", "Sorting %n entries…")
            return tr.plural(total, "Filtering %n entry…", "Filtering %n entries…")
        if listed >= MAX_LISTED and cache_filter.text:
            return tr.plural(
                listed, "First match in {total} entries", "First %n matches in {total} entries", total=total
            )
        if self._is_searching:
            return tr.plural(listed, "Searching… %n match so far", "Searching… %n matches so far")
        if cache_filter == self._canceled_filter:
            return tr.plural(listed, "Search canceled. %n match so far", "Search canceled. %n matches so far")
        return ""

    def _on_selected(self, digest: str) -> None:
        if digest != self.preview.digest:
            self.preview.show_state(None)
        if self._entries is not None:
            self._cancel_preview()  # what nobody looks at any more is not read
            if digest:
                self._preview_task = self._session.start(self._preview(self._entries, digest), "preview")

    def _show_error(self, error: HelixError) -> None:
        self._error.setText(error_text(error))
        self._notice.show()
        self._update_visibility()

    def _show_row_menu(self, position: QPoint) -> None:
        if self.table.current_digest():
            self.entry_actions.menu(self.filter_bar).popup(position)

    def _show_more_menu(self) -> None:
        menu = EntryMenu(self)
        bar = self.filter_bar
        menu.add("cache-verify-all", tr("Verify all outputs"), VerifyAllEntries())
        menu.add("cache-refresh", tr("Refresh"), self._refresh_all)
        menu.add("cache-show-trash", tr("Show trash"), partial(bar.toggle, state_option("in_trash")))
        menu.addSeparator()
        menu.addMenu(bar.sort_menu(menu))
        menu.addMenu(self.table.columns.menu(menu))
        popup_below(menu, bar.more)

    def follow(self, session: Session) -> None:
        self._session = session
        session.changed.connect(self._show_workspace)
        self._show_workspace()
        session.on_refresh_page("outputs", self.refresh)

    def _show_workspace(self) -> None:
        session = self._session
        self._cancel_verifying()
        self._cancel_preview()
        has_workspace = session.has_workspace
        find = session.find_conversation
        self._entries = OutputSource(session.workspace, find) if has_workspace else None
        self.set_source(self._entries)

    def _cancel_preview(self) -> None:
        if self._preview_task is not None:
            self._preview_task.cancel()

    async def _preview(self, source: OutputSource, digest: str) -> None:
        workspace = self._session.workspace
        rows = await source.rows([digest])
        if not rows:
            return
        try:
            data = await workspace.store.get(digest)
        except ContentDamaged as error:
            source.damaged.add(digest)
            self.filter_bar.has_damaged = True
            self.show_preview(PreviewState(rows[0], None, error_text(error)))
            return
        if not self._session.shows(workspace):
            return
        self.show_preview(PreviewState(rows[0], data))
        if verified := self._verified.get((workspace.id, digest)):
            self.set_verified(digest, True, verified)

    @handles(VerifyEntries)
    async def verify(self, digests: Sequence[str]) -> None:
        """Verify contents; the verdict on the one in the preview is shown there, on several in a notice."""
        workspace = self._session.workspace
        source = self._entries
        if source is None:
            return
        damaged = 0
        for digest in digests:
            if not await self._verify_one(workspace, source, digest):
                damaged += 1
        if len(digests) > 1:
            self._notify_result(workspace.id, len(digests), damaged)

    async def _verify_one(self, workspace: OpenWorkspace, source: OutputSource, digest: str) -> bool:
        """Verify a content, show the verdict, and remember a good one while the window lives."""
        verdict = await workspace.contents.verify(digest)
        words = translate(verdict.text)
        self._verified.pop((workspace.id, digest), None)
        if verdict.is_valid:
            self._verified[workspace.id, digest] = words
        else:
            source.damaged.add(digest)
        self.set_verified(digest, verdict.is_valid, words)
        return verdict.is_valid

    @handles(PinEntries)
    async def pin(self, digests: Sequence[str], is_pinned: bool) -> None:
        for digest in digests:
            await self._session.workspace.store.retention.pin(digest, is_pinned)
        await self._show_change(digests)

    @handles(RestoreEntries)
    async def restore(self, digests: Sequence[str]) -> None:
        await self._session.workspace.store.retention.restore(digests)
        await self._show_change(digests)

    async def _show_change(self, digests: Sequence[str]) -> None:
        self.refresh()
        if self._entries is not None and self.preview.digest in digests:
            await self._preview(self._entries, self.preview.digest)

    @handles(VerifyAllEntries)
    def start_verify_all(self) -> None:
        if self._verify_task is None:
            self._verify_task = self._session.start(self._verify_all(), "verify all")

    async def _verify_all(self) -> None:
        workspace = self._session.workspace
        source = self._entries
        try:
            if source is None:
                return
            ids = await workspace.store.digests()
            digests = [ids[at : at + DIGEST_BYTES].hex() for at in range(0, len(ids), DIGEST_BYTES)]
            total = len(digests)
            for done, digest in enumerate(digests):
                if done % _PROGRESS_STEP == 0:
                    words = tr.plural(
                        total, "Verifying {done} of %n entry", "Verifying {done} of %n entries", done=done
                    )
                    self.filter_bar.progress_row.show_progress(words, done, total)
                await self._verify_one(workspace, source, digest)
            self._notify_result(workspace.id, total, len(source.damaged))
        finally:
            self._verify_task = None
            self.filter_bar.progress_row.show_progress("")

    def _notify_result(self, workspace_id: str, verified: int, damaged: int) -> None:
        if not damaged:
            what = tr.plural(verified, "%n entry verified.", "%n entries verified.")
            why = tr("Their bytes match their SHA-256.")
            self._session.notify(Notice(_VERIFIED, what, why, workspace_id=workspace_id, is_brief=True))
            return
        what = tr.plural(
            damaged, "%n of {total} entries is damaged.", "%n of {total} entries are damaged.", total=verified
        )
        why = tr("Their bytes no longer match their SHA-256.")
        fix = tr("Filter by Damaged to see them. Run the tool again to repair an entry.")
        self._session.notify(Notice(_VERIFIED, what, why, fix, level="error", workspace_id=workspace_id))
        self.refresh()

    def _cancel_verifying(self) -> None:
        if self._verify_task is not None:
            self._verify_task.cancel()

    @handles(SaveEntry)
    async def export(self, digest: str) -> None:
        store = self._session.workspace.store
        entry = await store.entry(digest)
        place = await pick_save_file(self, tr("Save output"), file_name(entry))
        if place is None:
            return
        data = await store.get(digest)
        try:
            await asyncio.to_thread(place.write_bytes, data)
        except OSError as error:
            what = text("Couldn't save {file}.", file=place)
            raise HelixError(what, system_reason(error), text("Choose another folder.")) from error
        content = await asyncio.to_thread(place.read_bytes)
        self.set_verified(digest, digest_of(content) == digest, tr("Saved as {file}", file=place.name))


def _longest_word(text: str) -> str:
    """Return the word or quoted phrase of a search that says most of where a hit is."""
    return max((groups[0] or groups[1] for groups in _WORD.findall(text)), key=len, default="")
