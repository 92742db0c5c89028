"""Fills the switcher with the sessions of all workspaces, finds messages in them, and goes where it says."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from contextlib import aclosing, suppress
from datetime import datetime

from PySide6.QtCore import QObject

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.errors import StoreError
from helix_desktop.domain.store import SessionSummary, SessionVersions
from helix_desktop.domain.text_search import normalize, original_index
from helix_desktop.services.message_search import MessageHit, MessageSearch, SearchedSession
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.session.navigation import SessionNavigation
from helix_desktop.ui.session.window_group import WindowGroup
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.shell.sidebar.workspace_rows import WorkspaceBadge
from helix_desktop.ui.shell.switcher.rows import MessageRow, SessionRow
from helix_desktop.ui.workspaces.controller import WorkspaceController
from helix_desktop.ui.workspaces.running_message_search import RunningMessageSearch
from helix_desktop.ui.workspaces.searched_sessions import searched_sessions, show_message
from helix_desktop.ui.workspaces.unused_sessions import unused_sessions
from helix_desktop.words.direction import dotted
from helix_desktop.words.sessions import session_title
from helix_desktop.words.times import format_short_time
from helix_desktop.words.translation import Translator, translate

tr = Translator("Workspaces")

_MAX_MESSAGES = 30


class SwitcherPresenter(QObject):
    """Lists when the switcher opens, searches while it is open, and forgets what it read when it closes."""

    def __init__(
        self,
        window: MainWindow,
        session: Session,
        windows: WindowGroup,
        workspace_controller: WorkspaceController,
        navigation: SessionNavigation,
    ) -> None:
        super().__init__(window)
        self._services, self._switcher = session.app, window.switcher
        self._sessions: dict[tuple[str, str], SearchedSession] = {}
        self._session, self._windows = session, windows
        self._search = RunningMessageSearch(session.actions, MessageSearch)
        self._listing: asyncio.Task[None] | None = None  # of what is in closed workspaces
        switcher, start = self._switcher, session.start
        switcher.opened.connect(lambda: start(self._show_sessions(), "list sessions"))
        switcher.closed.connect(self._forget)
        workspace_controller.workspace_opened.connect(lambda _: start(self._list_again(), "list sessions"))
        switcher.messages_requested.connect(self._request)
        switcher.session_selected.connect(
            lambda *where: start(workspace_controller.open_in_front(*where), "open session")
        )
        switcher.message_selected.connect(
            lambda *place: start(
                show_message(workspace_controller, navigation, place, self._search.terms), "show message"
            )
        )
        switcher.new_session_requested.connect(
            lambda identity: start(workspace_controller.new_session_in(identity), "new session")
        )

    async def _show_sessions(self) -> None:
        """List the sessions of all workspaces: those of open ones at once, the others a moment later."""
        listed: list[SearchedSession] = []
        for workspace in list(self._services.open_workspaces.values()):
            with suppress(StoreError):  # it says so itself
                sessions = await searched_sessions(workspace)
                summaries = [session.summary for session in sessions]
                unused = await unused_sessions(workspace, summaries, self._windows)
                listed += [session for session in sessions if session.summary.id not in unused]
        self._list(listed)
        if self._listing is not None:
            self._listing.cancel()
        self._listing = self._session.start(self._add_closed(listed), "list closed sessions")

    async def _add_closed(self, listed: Sequence[SearchedSession]) -> None:
        """List, and search, the sessions of workspaces that are not open, too."""
        if not self._switcher.isVisible():
            return
        found, unread = list(listed), list[str]()
        async with aclosing(self._services.closed_sessions.list_by_workspace()) as closed:
            async for name, sessions in closed:
                if sessions is None:
                    unread.append(name)
                else:
                    found += sessions
        self._switcher.show_unread(unread)
        if self._switcher.isVisible():
            self._list(found)
            self._switcher.search_again()

    def _list(self, listed: Iterable[SearchedSession]) -> None:
        """Show and search these sessions, last used first."""
        newest_first = sorted(listed, key=lambda session: session.summary.updated, reverse=True)
        self._sessions = {(session.workspace_id, session.summary.id): session for session in newest_first}
        if self._switcher.isVisible():
            self._search.set_sessions(newest_first)
        versions = SessionVersions(session.summary for session in newest_first)
        self._switcher.show_sessions(self._rows(newest_first, versions))

    async def _list_again(self) -> None:
        """List and search also what was opened while the switcher is open."""
        if self._switcher.isVisible():
            self._forget()
            await self._show_sessions()
            self._switcher.search_again()

    def _rows(self, newest_first: Iterable[SearchedSession], versions: SessionVersions) -> list[SessionRow]:
        """Return a row for each session: of several versions the one on screen, else the newest."""
        on_screen = self._session.id
        now, rows = datetime.now(), list[SessionRow]()
        for session in newest_first:
            summary, ids = session.summary, versions.ids_of(session.summary.id)
            if summary.id != (on_screen if on_screen in ids else versions.row_of(summary).id):
                continue
            is_archived = versions.place_of(summary).archived
            kind = tr("Subagent") if summary.parent else tr("Archived") if is_archived else ""
            parts = (
                self._name_of(session.workspace_id),
                kind,
                translate(summary.counts.text) if summary.counts is not None else "",
            )
            icon = "git-branch" if versions.parent_of(summary) else "message-square"
            rows.append(
                SessionRow(
                    session.workspace_id,
                    summary.id,
                    session_title(summary.title),
                    dotted(parts),
                    format_short_time(max(version.updated for version in versions.of(summary)), now),
                    _badge(self._services.open_workspaces.get(session.workspace_id), versions.of(summary)),
                    active=summary.id == on_screen,
                    archived=is_archived,
                    icon="bot" if summary.parent else icon,
                )
            )
        return rows

    def _name_of(self, workspace_id: str) -> str:
        return self._switcher.name_of(workspace_id) or self._services.registry.get(workspace_id).name

    def _request(self, query: str) -> None:
        """Search for words, in place of what is searched for now."""
        self._search.stop()
        if query:
            self._search.start(query, self._find(query))

    async def _find(self, query: str) -> None:
        if not self._search.has_sessions:
            await self._show_sessions()
        await self._search.find(
            _MAX_MESSAGES, lambda hits: self._switcher.add_messages(query, self._message_rows(hits))
        )
        self._switcher.show_searching(self._listing is not None and not self._listing.done())

    def _message_rows(self, hits: Sequence[MessageHit]) -> list[MessageRow]:
        now, rows = datetime.now(), []
        for hit in hits:
            title = session_title(self._sessions[hit.workspace_id, hit.session_id].summary.title)
            is_own = hit.speaker == "user"
            parts = (tr("You") if is_own else tr("Agent"), self._name_of(hit.workspace_id), title)
            rows.append(
                MessageRow(
                    hit.workspace_id,
                    hit.session_id,
                    hit.seq,
                    hit.excerpt,
                    dotted(parts),
                    format_short_time(hit.at_ms, now),
                    is_own,
                    _marks(hit.excerpt, self._search.terms),
                )
            )
        return rows

    def _forget(self) -> None:
        if self._listing is not None:
            self._listing.cancel()
            self._listing = None
        self._search.stop()
        self._search.forget()
        self._sessions = {}
        self._session.start(self._services.closed_sessions.release(), "close searched stores")


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


def _marks(text: str, terms: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Return where the words of a search stand in a line."""
    folded = normalize(text)
    found = (match.span() for term in terms for match in re.finditer(re.escape(term), folded))
    places = (
        (original_index(text, folded, start), original_index(text, folded, end - 1) + 1)
        for start, end in found
    )
    return tuple(sorted(places))
