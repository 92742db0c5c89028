"""Searches everything for the panel of Ctrl+Shift+F, and opens what the user chooses where it stands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Any

from msgspec.structs import replace
from PySide6.QtCore import QObject, QTimer

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.listeners import OnProgress
from helix_desktop.domain.retention import DAY_MS
from helix_desktop.domain.text_search import word_spans
from helix_desktop.services.search import SearchFindings, SearchHit, SearchRequest, SessionHits
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.ui.kit.intents import OpenCacheEntry
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.session.navigation import SessionNavigation
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.shell.search_panel import MoreRow, ResultGroup, ResultRow, SearchPanel
from helix_desktop.ui.workspaces.controller import WorkspaceController
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


class RunningSearch:
    """Searches for one thing at a time, and again while some of the messages are not in the index.

    `on_found` is called with what is found so far and, at the end, with True. `terms` are the words.
    """

    def __init__(
        self, parent: QObject, session: Session, on_found: Callable[[SearchFindings, bool], None]
    ) -> None:
        self._session, self._service, self._on_found = session, session.app.search, on_found
        self.terms: tuple[str, ...] = ()
        self.findings = SearchFindings(SearchRequest(""))
        self._task: asyncio.Task[None] | None = None
        self._show_timer = QTimer(parent, singleShot=True, interval=_SHOW_MS)
        self._show_timer.timeout.connect(lambda: on_found(self.findings, False))
        self._again_timer = QTimer(parent, singleShot=True, interval=_AGAIN_MS)
        self._again_timer.timeout.connect(lambda: self.start(self.findings.request))

    def start(self, request: SearchRequest) -> None:
        """Search in place of what is searched for now. Raises InvalidInput."""
        self.stop()
        self.terms = request.terms
        self._task = self._session.start(self._find(request), "search")

    def stop(self) -> None:
        self._again_timer.stop()
        self._show_timer.stop()
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def end(self) -> None:
        """Stop, and close the stores that were opened for it."""
        self.stop()
        self._session.start(self._service.release(), "close searched stores")

    async def _find(self, request: SearchRequest) -> None:
        is_again = self.findings.request == request
        findings = SearchFindings(request)
        async with aclosing(self._service.find(request)) as parts:
            async for part in parts:
                findings.add(part)
                if not is_again:
                    self.findings = findings
                    if not self._show_timer.isActive():
                        self._show_timer.start()
        self.findings = findings
        self._show_timer.stop()
        self._on_found(findings, True)
        if findings.unindexed[0]:
            self._again_timer.start()
            closed = {workspace for workspace, (behind, _) in findings.progress.items() if behind}
            closed -= self._session.app.open_workspaces.keys()  # open ones do it by themselves
            if closed and not is_again and not self._service.is_indexing:
                self._session.start(self._index(closed), "index closed workspaces")

    async def _index(self, workspaces: Collection[str]) -> None:
        def index(on_progress: OnProgress) -> Coroutine[Any, Any, None]:
            return self._service.index_closed(on_progress, workspaces)

        await self._session.job(tr("Indexing sessions for search…"), index, tr("Cancel"))


def indexing_note(findings: SearchFindings) -> str:
    """Say that not all could be searched yet; empty if all was."""
    behind, events = findings.unindexed
    if not behind:
        return ""
    share = format_whole_percent((events - behind) / events)
    return tr("Still indexing ({share}): older messages may be missing.", share=share)


async def show_message(
    workspace_controller: WorkspaceController,
    navigation: SessionNavigation,
    place: tuple[str, str, int],
    terms: Sequence[str],
) -> None:
    """Show the message at a `place` (workspace, session, event), and mark the longest of the words there."""
    workspace_id, session_id, seq = place
    await workspace_controller.open_in_front(workspace_id, session_id)
    mark = max(terms, key=len, default="")
    other = workspace_controller.other_window_with(workspace_id, session_id)
    if other is not None:
        other.show_event(seq, mark)
    elif workspace_controller.session.id == session_id:
        navigation.show_event(seq, mark=mark)


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
        self._window, self._session = window, session
        self._panel: SearchPanel  # once it has been opened
        self._workspaces, self._navigation = workspace_controller, navigation
        self._search = RunningSearch(self, session, self._show)
        self._announced = SearchRequest("")
        window.lazy_search_panel.when_built(self._follow)

    def _follow(self, panel: SearchPanel) -> None:
        session, self._panel = self._session, panel
        panel.requested.connect(self._request)
        panel.chosen.connect(self._choose)
        panel.closed.connect(self._search.end)
        panel.allow_here(session.has_workspace)
        session.changed.connect(lambda: panel.allow_here(session.has_workspace))

    def _request(self) -> None:
        """Search for what the panel says, in place of what is searched for now."""
        panel = self._panel
        here = (self._session.workspace_id,) if panel.is_here and self._session.workspace_id else ()
        since = wall_clock_ms() - panel.days * DAY_MS if panel.days else 0
        if panel.words:
            self._start(SearchRequest(panel.words, panel.kinds, here, since))
            return
        self._search.stop()
        panel.show_results(())
        panel.show_state(tr("Type words to search all workspaces. All of them must be in one place."), "")

    def _start(self, request: SearchRequest) -> None:
        try:
            self._search.start(request)
        except InvalidInput as error:
            self._panel.show_results(())
            self._panel.show_state(error_text(error), "")
        else:
            self._panel.show_state(tr("Searching…"), "")

    def _show(self, findings: SearchFindings, is_over: bool) -> None:
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
        if is_over:
            self._say(findings)

    def _say(self, findings: SearchFindings) -> None:
        """Say what was found, and what was not searched and why."""
        notes = list(filter(None, [indexing_note(findings)]))
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
        if findings.request != self._announced:
            self._announced = findings.request
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
        request = self._search.findings.request
        if isinstance(row, ResultRow):
            self._session.start(self._open(row, self._search.terms), "show what was found")
        elif row.session_id:
            self._start(replace(request, workspaces=(row.workspace_id,), session=row.session_id))
        else:
            self._start(replace(request, all_outputs=True))

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
