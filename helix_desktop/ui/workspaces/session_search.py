"""Searches of messages: in the list, for sessions of the workspace on screen; in the switcher, for all."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import aclosing, suppress
from datetime import datetime

from PySide6.QtCore import QObject

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.errors import InvalidInput, StoreError
from helix_desktop.domain.store import SessionSummary, SessionVersions
from helix_desktop.domain.text_search import ExcerptSize, word_spans
from helix_desktop.services.search import SearchFindings, SearchRequest
from helix_desktop.ui.kit.intents import GoToSession, OpenListedSession, handles
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.session.navigation import SessionNavigation
from helix_desktop.ui.session.window_group import WindowGroup
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.shell.sidebar.session_rows import FoundMessage
from helix_desktop.ui.shell.sidebar.workspace_rows import WorkspaceBadge
from helix_desktop.ui.shell.switcher import MessageRow, SessionRow
from helix_desktop.ui.workspaces.controller import WorkspaceController
from helix_desktop.ui.workspaces.search_everything import RunningSearch, indexing_note, show_message
from helix_desktop.ui.workspaces.sidebar_presenter import unused_sessions
from helix_desktop.words.direction import dotted
from helix_desktop.words.sessions import session_title
from helix_desktop.words.times import format_short_time
from helix_desktop.words.translation import Translator, translate

tr = Translator("Workspaces")

_MAX_SESSIONS, _NARROW = 200, ExcerptSize(room=32, lead=10)  # in the list
_MAX_MESSAGES, _WIDE = 30, ExcerptSize(room=80, lead=30)  # in the switcher


class SessionSearchPresenter(QObject):
    """Searches while the list has a filter."""

    def __init__(
        self,
        window: MainWindow,
        session: Session,
        workspace_controller: WorkspaceController,
        navigation: SessionNavigation,
    ) -> None:
        super().__init__(window)
        self._sidebar, self._session = window.sidebar, session
        self._workspace_controller, self._navigation = workspace_controller, navigation
        self._search = RunningSearch(self, session, self._show)
        self._sidebar.messages_requested.connect(self._request)
        window.intents.add(self)

    def _request(self, query: str) -> None:
        """Search for words, in place of what is searched for now."""
        self._search.stop()
        if query:
            here, size = (self._session.workspace_id,), _MAX_SESSIONS
            try:
                self._search.start(
                    SearchRequest(query, ("message",), here, per_session=1, limit=size, excerpt=_NARROW)
                )
            except InvalidInput:
                self._sidebar.show_searched(query, "")

    def _show(self, findings: SearchFindings, is_over: bool) -> None:
        query = findings.request.query
        hits = [found.hits[0] for found in findings.sessions()]
        found = {hit.session: FoundMessage(hit.seq, hit.excerpt, hit.session) for hit in hits}
        self._sidebar.show_found(query, found)
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
            self._sidebar.show_searched(query, " ".join(filter(None, notes)))

    @handles(OpenListedSession)
    async def _open(self, session_id: str, seq: int) -> None:
        """Show the message that was found, if it is one."""
        if not seq:
            return
        place = (self._session.workspace_id, session_id, seq)
        try:
            await show_message(self._workspace_controller, self._navigation, place, self._search.terms)
        finally:
            self._workspace_controller.session_opener.take_keyboard()


class SwitcherPresenter(QObject):
    """Lists when the switcher opens, and searches while it is open."""

    def __init__(
        self,
        window: MainWindow,
        session: Session,
        windows: WindowGroup,
        workspace_controller: WorkspaceController,
        navigation: SessionNavigation,
    ) -> None:
        super().__init__(window)
        self._window, self._services, self._switcher = window, session.app, window.switcher
        self._session, self._windows = session, windows
        self._search = RunningSearch(self, session, self._show)
        self._listing: asyncio.Task[None] | None = None  # of what is in closed workspaces
        switcher, start = self._switcher, session.start
        switcher.opened.connect(lambda: start(self._show_sessions(), "list sessions"))
        switcher.closed.connect(self._end)
        workspace_controller.workspace_opened.connect(lambda _: start(self._list_again(), "list sessions"))
        switcher.messages_requested.connect(self._request)
        self._workspace_controller, self._navigation = workspace_controller, navigation
        window.intents.add(self)

    @handles(GoToSession)
    async def _go_to(self, workspace_id: str, session_id: str, seq: int) -> None:
        """Show a session, or one of its messages that was found."""
        place, terms = (workspace_id, session_id, seq), self._search.terms
        if seq:
            await show_message(self._workspace_controller, self._navigation, place, terms)
        else:
            self._window.leave_settings()
            await self._workspace_controller.open_in_front(workspace_id, session_id)

    async def _show_sessions(self) -> None:
        """List the sessions of all workspaces: those of open ones at once, the others a moment later."""
        listed = list[tuple[str, SessionSummary]]()
        for workspace in list(self._services.open_workspaces.values()):
            with suppress(StoreError):  # it says so itself
                summaries = await workspace.store.sessions()
                unused = await unused_sessions(workspace, summaries, self._windows)
                listed += [(workspace.id, summary) for summary in summaries if summary.id not in unused]
        self._switcher.show_sessions(self._rows(listed))
        if self._listing is not None:
            self._listing.cancel()
        self._listing = self._session.start(self._add_closed(listed), "list closed sessions")

    async def _add_closed(self, listed: Sequence[tuple[str, SessionSummary]]) -> None:
        """List the sessions of workspaces that are not open, too."""
        if not self._switcher.isVisible():
            return
        found, unread = list(listed), list[str]()
        async with aclosing(self._services.closed_sessions.list_by_workspace()) as closed:
            async for record, summaries in closed:
                if summaries is None:
                    unread.append(record.name)
                found += [(record.id, summary) for summary in summaries or ()]
        self._switcher.show_unread(unread)
        self._switcher.show_sessions(self._rows(found))

    async def _list_again(self) -> None:
        """List and search also what was opened while the switcher is open."""
        if self._switcher.isVisible():
            await self._show_sessions()
            self._switcher.search_again()

    def _rows(self, listed: Iterable[tuple[str, SessionSummary]]) -> list[SessionRow]:
        """Return a row for each session, last used first: of versions the one on screen, else the newest."""
        newest_first = sorted(listed, key=lambda session: session[1].updated, reverse=True)
        versions = SessionVersions(summary for _, summary in newest_first)
        on_screen = self._session.id
        now, rows = datetime.now(), list[SessionRow]()
        for workspace_id, summary in newest_first:
            ids = versions.ids_of(summary.id)
            if summary.id != (on_screen if on_screen in ids else versions.row_of(summary).id):
                continue
            is_archived = versions.place_of(summary).archived
            kind = tr("Subagent") if summary.parent else tr("Archived") if is_archived else ""
            parts = (
                self._name_of(workspace_id),
                kind,
                translate(summary.counts.text) if summary.counts is not None else "",
            )
            icon = "git-branch" if versions.parent_of(summary) else "message-square"
            rows.append(
                SessionRow(
                    workspace_id,
                    summary.id,
                    session_title(summary.title),
                    dotted(parts),
                    format_short_time(max(version.updated for version in versions.of(summary)), now),
                    _badge(self._services.open_workspaces.get(workspace_id), versions.of(summary)),
                    active=summary.id == on_screen,
                    archived=is_archived,
                    icon="bot" if summary.parent else icon,
                )
            )
        return rows

    def _name_of(self, workspace_id: str) -> str:
        return self._switcher.name_of(workspace_id) or self._services.registry.get(workspace_id).name

    def _request(self, query: str) -> None:
        self._search.stop()
        if query:
            size = _MAX_MESSAGES
            try:
                self._search.start(
                    SearchRequest(query, ("message",), per_session=size, limit=size, excerpt=_WIDE)
                )
            except InvalidInput:
                self._switcher.show_searching(False)

    def _show(self, findings: SearchFindings, is_over: bool) -> None:
        now, rows = datetime.now(), list[MessageRow]()
        for found in findings.sessions():
            title = "" if found.summary is None else session_title(found.summary.title)
            for hit in found.hits:
                is_own = hit.speaker == "user"
                parts = (tr("You") if is_own else tr("Agent"), self._name_of(found.workspace_id), title)
                rows.append(
                    MessageRow(
                        found.workspace_id,
                        hit.session,
                        hit.seq,
                        hit.excerpt,
                        dotted(parts),
                        format_short_time(hit.at, now),
                        is_own,
                        word_spans(hit.excerpt, findings.request.terms),
                    )
                )
        self._switcher.show_messages(findings.request.query, rows[:_MAX_MESSAGES])
        if is_over:
            self._switcher.show_searching(False, indexing_note(findings))

    def _end(self) -> None:
        if self._listing is not None:
            self._listing.cancel()
            self._listing = None
        self._search.end()


def _badge(workspace: OpenWorkspace | None, versions: Sequence[SessionSummary]) -> WorkspaceBadge:
    """Return the badge of a session with these versions; `workspace` is None if it is not open."""
    if workspace is None:
        return "interrupted" if any(version.interrupted for version in versions) else ""
    found = [workspace.find_open(version.id) for version in versions]
    conversations = [conversation for conversation in found if conversation is not None]
    if any(conversation.asks for conversation in conversations):
        return "waiting"
    if any(conversation.is_running for conversation in conversations):
        return "running"
    return "interrupted" if any(map(workspace.is_interrupted, versions)) else ""
