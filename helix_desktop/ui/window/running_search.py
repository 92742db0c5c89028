"""Searches messages and outputs for session list and switcher, and all for the panel of Ctrl+Shift+F."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.listeners import OnProgress
from helix_desktop.domain.text_search import ExcerptSize
from helix_desktop.services.search import SearchFindings, SearchRequest
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.window.sidebar.session_rows import FoundMessage
from helix_desktop.words.numbers import format_whole_percent
from helix_desktop.words.translation import Translator

if TYPE_CHECKING:
    from helix_desktop.ui.window.sidebar.sidebar import Sidebar

tr = Translator("Workspaces")

_SHOW_MS = 60  # between two times that what was found is shown
_AGAIN_MS = 1_500  # until it searches again what is being indexed
_MAX_SESSIONS, _NARROW = 200, ExcerptSize(room=32, lead=10)  # in the session list


class RunningSearch:
    """Searches for one thing at a time, and again while some of the messages are not in the index.

    `on_found` is called with what is found so far and, at the end, with True.
    """

    def __init__(
        self, parent: QObject, session: Session, on_found: Callable[[SearchFindings, bool], None]
    ) -> None:
        self._session, self._service, self._on_found = session, session.app.search, on_found
        self.findings = SearchFindings(SearchRequest(""))
        self.mark = ""  # the longest of the words, which is marked where it stands in a message
        self._task: asyncio.Task[None] | None = None
        self._show_timer = QTimer(parent, singleShot=True, interval=_SHOW_MS)
        self._show_timer.timeout.connect(lambda: on_found(self.findings, False))
        self._again_timer = QTimer(parent, singleShot=True, interval=_AGAIN_MS)
        self._again_timer.timeout.connect(lambda: self.start(self.findings.request))

    def start(self, request: SearchRequest) -> None:
        """Search in place of what is searched for now. Raises InvalidInput."""
        self.stop()
        self.mark = max(request.terms, key=len, default="")
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


def search_sessions(sidebar: Sidebar, session: Session) -> None:
    """Search the messages of the workspace on screen while the session list has a filter."""

    def request(query: str) -> None:
        search.stop()
        if query:
            here, size = (session.workspace_id,), _MAX_SESSIONS
            try:
                search.start(
                    SearchRequest(query, ("message",), here, per_session=1, limit=size, excerpt=_NARROW)
                )
            except InvalidInput:
                sidebar.show_searched(query, "")

    def show(findings: SearchFindings, is_over: bool) -> None:
        query, hits = findings.request.query, [found.hits[0] for found in findings.sessions()]
        found = {hit.session: FoundMessage(hit.seq, hit.excerpt, hit.session, search.mark) for hit in hits}
        sidebar.show_found(query, found)
        if is_over:
            notes = [tr("Titles and messages of this workspace."), indexing_note(findings)]
            if findings.has_more:
                notes.append(
                    tr.plural(
                        len(found),
                        "Only the newest %n session with these words in its messages.",
                        "Only the newest %n sessions with these words in their messages.",
                    )
                )
            if findings.errors:
                notes[0] = tr("Titles only: the messages can't be searched.")
            sidebar.show_searched(query, " ".join(filter(None, notes)))

    search = RunningSearch(sidebar, session, show)
    sidebar.messages_requested.connect(request)
