"""Searches everything for the panel of Ctrl+Shift+F, and opens what the user chooses where it stands."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from datetime import datetime

import msgspec
from PySide6.QtCore import QObject, QTimer

from helix_desktop.domain.errors import HelixError, InvalidInput
from helix_desktop.domain.retention import DAY_MS
from helix_desktop.domain.text_search import word_spans
from helix_desktop.services.search import SearchFindings, SearchHit, SearchRequest, SessionHits
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.ui.kit.intents import OpenCacheEntry
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.session.navigation import SessionNavigation
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.shell.search_panel import MoreRow, ResultGroup, ResultRow
from helix_desktop.ui.workspaces.controller import WorkspaceController
from helix_desktop.ui.workspaces.session_search import show_message
from helix_desktop.words.direction import dotted
from helix_desktop.words.errors import error_text
from helix_desktop.words.numbers import format_size, format_whole_percent
from helix_desktop.words.sessions import session_title
from helix_desktop.words.times import format_short_time
from helix_desktop.words.translation import Translator

tr = Translator("Workspaces")

_SHOW_MS = 60  # between two times that the panel shows what was found
_AGAIN_MS = 1_500  # until it searches again what is being indexed
_SHOWN = 400  # lines; more are not built at once


class SearchController(QObject):
    """Searches while the panel is open; what was found stays until the next search."""

    def __init__(
        self,
        window: MainWindow,
        session: Session,
        workspace_controller: WorkspaceController,
        navigation: SessionNavigation,
    ) -> None:
        super().__init__(window)
        self._window, self._panel, self._session = window, window.search_panel, session
        self._workspaces, self._navigation = workspace_controller, navigation
        self._service = session.app.search
        self._task: asyncio.Task[None] | None = None
        self._indexing: asyncio.Task[None] | None = None
        self._findings: SearchFindings | None = None
        self._request = SearchRequest("")
        self._show_timer = QTimer(self, singleShot=True, interval=_SHOW_MS)
        self._show_timer.timeout.connect(self._show)
        self._again_timer = QTimer(self, singleShot=True, interval=_AGAIN_MS)
        self._again_timer.timeout.connect(lambda: self._start(self._request))
        self._panel.requested.connect(self._search)
        self._panel.chosen.connect(self._choose)
        self._panel.closed.connect(self._end)
        session.changed.connect(lambda: self._panel.allow_here(session.has_workspace))

    def _search(self) -> None:
        """Search for what the panel says, in place of what is searched for now."""
        panel = self._panel
        here = (self._session.workspace_id,) if panel.is_here and self._session.workspace_id else ()
        since = wall_clock_ms() - panel.days * DAY_MS if panel.days else 0
        request = SearchRequest(panel.words, panel.kinds, here, since)
        if panel.words:
            self._start(request)
            return
        self._stop()
        self._findings = None
        panel.show_results(())
        panel.show_state(tr("Type words to search all workspaces. All of them must be in one place."), "")

    def _start(self, request: SearchRequest) -> None:
        self._stop()
        self._request = request
        self._task = self._session.start(self._find(request), "search everything")

    async def _find(self, request: SearchRequest) -> None:
        findings = SearchFindings(request)
        is_again = self._findings is not None and self._findings.request == request
        if not is_again:
            self._panel.show_state(tr("Searching…"), "")
        try:
            async with aclosing(self._service.find(request)) as parts:
                async for part in parts:
                    findings.add(part)
                    self._findings = findings
                    if not (is_again or self._show_timer.isActive()):
                        self._show_timer.start()
        except InvalidInput as error:
            self._panel.show_results(())
            self._panel.show_state(error_text(error), "")
            return
        self._findings = findings
        self._show_timer.stop()
        self._show()
        self._say(findings, is_again=is_again)
        behind, _ = findings.unindexed
        if behind:
            self._again_timer.start()
            self._index_closed()

    def _show(self) -> None:
        findings = self._findings
        if findings is not None:
            terms, now = findings.request.terms, datetime.now()
            groups, count = list[ResultGroup](), 0
            for found in findings.sessions():
                if count < _SHOWN:
                    groups.append(self._group(found, terms, now))
                    count += len(groups[-1].rows)
            if findings.outputs_left:
                text = tr("Search large outputs, too")
                groups.append(ResultGroup(tr("Not searched yet"), "", (MoreRow(text=text),)))
            self._panel.show_results(groups)

    def _say(self, findings: SearchFindings, *, is_again: bool) -> None:
        """Say what was found, and what was not searched and why."""
        notes = list[str]()
        behind, events = findings.unindexed
        if behind:
            share = format_whole_percent((events - behind) / events)
            notes.append(tr("Still indexing ({share}): older messages may be missing.", share=share))
        if findings.errors:
            names = ", ".join(self._name_of(workspace_id) for workspace_id in findings.errors)
            notes.append(tr("Can't be searched: {names}. Open it to see why.", names=names))
        if findings.has_more:
            notes.append(tr("Only the newest results. Add a word to narrow them down."))
        if findings.request.session:
            notes.append(tr("Only one session. Change a word to search all."))
        filters = self._panel.days or self._panel.is_here or len(self._panel.kinds) == 1
        nothing = tr("No results with these filters.") if filters else tr("No results. Try fewer words.")
        self._panel.show_state(nothing, " ".join(notes))
        if not is_again:
            sessions = len(findings.sessions())
            places = tr.plural(findings.count, "%n result", "%n results")
            self._panel.announce(
                f"{places} {tr.plural(sessions, 'in %n session', 'in %n sessions')}" if sessions else nothing
            )

    def _group(self, found: SessionHits, terms: tuple[str, ...], now: datetime) -> ResultGroup:
        workspace, summary = self._name_of(found.workspace_id), found.summary
        if summary is None:
            title, parts = tr("Outputs of deleted sessions"), [workspace]
        else:
            title = session_title(summary.title)
            archived = tr("Archived") if summary.archived else ""
            parts = [workspace, archived, format_short_time(summary.updated, now)]
        session_id = "" if summary is None else summary.id
        rows = [self._row(found.workspace_id, session_id, hit, terms, now) for hit in found.hits]
        more = MoreRow(found.workspace_id, session_id, tr("More in this session"))
        is_more = found.has_more and summary is not None
        return ResultGroup(title, dotted(parts), (*rows, *([more] if is_more else [])))

    def _row(
        self, workspace_id: str, session_id: str, hit: SearchHit, terms: tuple[str, ...], now: datetime
    ) -> ResultRow:
        source = f"{hit.tool} {hit.target}".strip() if hit.kind == "output" else ""
        size = format_size(hit.size) if hit.kind == "output" else ""
        return ResultRow(
            workspace_id,
            session_id,
            hit.kind,
            hit.seq,
            hit.digest,
            hit.speaker == "user",
            hit.excerpt or source,
            dotted((source, size, format_short_time(hit.at, now))),
            word_spans(hit.excerpt, terms),
        )

    def _name_of(self, workspace_id: str) -> str:
        return self._session.app.registry.get(workspace_id).name

    def _choose(self, row: ResultRow | MoreRow) -> None:
        if isinstance(row, ResultRow):
            self._session.start(self._open(row, self._request.terms), "show what was found")
        elif row.session_id:
            self._start(
                msgspec.structs.replace(self._request, workspaces=(row.workspace_id,), session=row.session_id)
            )
        else:
            self._start(msgspec.structs.replace(self._request, all_outputs=True))

    async def _open(self, row: ResultRow, terms: tuple[str, ...]) -> None:
        """Open a session where something was found: a message marked, an output in the cache browser."""
        self._window.leave_settings()
        if not row.digest:
            terms = terms if row.kind == "message" else ()
            await show_message(
                self._workspaces, self._navigation, (row.workspace_id, row.session_id, row.seq), terms
            )
            return
        if row.session_id:
            await self._workspaces.open_in_front(row.workspace_id, row.session_id)
        elif self._session.workspace_id != row.workspace_id:
            await self._workspaces.open_workspace(row.workspace_id)
        other = self._workspaces.other_window_with(row.workspace_id, row.session_id)
        (self._window if other is None else other.window).perform(OpenCacheEntry(row.digest))

    def _index_closed(self) -> None:
        """Have closed workspaces indexed, once at a time; open ones do it by themselves."""
        if self._indexing is None or self._indexing.done():
            self._indexing = self._session.start(self._run_index(), "index closed workspaces")

    async def _run_index(self) -> None:
        words, cancel = tr("Indexing sessions for search…"), tr("Cancel")
        try:
            await self._session.job(words, self._service.index_closed, cancel)
        except HelixError:
            return  # searching says what is wrong with a workspace

    def _stop(self) -> None:
        self._again_timer.stop()
        self._show_timer.stop()
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _end(self) -> None:
        self._stop()
        if self._indexing is None or self._indexing.done():
            self._session.start(self._service.release(), "close searched stores")
