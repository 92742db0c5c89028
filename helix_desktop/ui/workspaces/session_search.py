"""Searches of messages: in the list, for sessions of the workspace on screen; in the switcher, for all."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import aclosing, suppress
from datetime import datetime
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, QTimer

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.errors import InvalidInput, StoreError
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.store import SessionSummary, SessionVersions
from helix_desktop.domain.text_search import ExcerptSize, parse_query, word_spans
from helix_desktop.services.message_search import MessageHit, MessageSearch, SearchedSession
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.kit.intents import GoToSession, OpenListedSession, handles
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.session.navigation import SessionNavigation
from helix_desktop.ui.session.window_group import WindowGroup
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.shell.sidebar.session_rows import FoundMessage
from helix_desktop.ui.shell.sidebar.workspace_rows import WorkspaceBadge
from helix_desktop.ui.shell.switcher import MessageRow, SessionRow
from helix_desktop.ui.workspaces.controller import WorkspaceController
from helix_desktop.ui.workspaces.sidebar_presenter import unused_sessions
from helix_desktop.words.direction import dotted
from helix_desktop.words.sessions import session_title
from helix_desktop.words.times import format_short_time
from helix_desktop.words.translation import Translator, translate

tr = Translator("Workspaces")


async def searched_sessions(workspace: OpenWorkspace) -> list[SearchedSession]:
    """Return the sessions of a workspace that is open. Raises StoreError."""
    summaries = await workspace.store.sessions()
    return [
        SearchedSession(workspace.id, summary, _log_reader(workspace, summary.id)) for summary in summaries
    ]


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


def _log_reader(workspace: OpenWorkspace, session_id: str) -> Callable[[], Awaitable[list[RecordedEvent]]]:
    async def read() -> list[RecordedEvent]:
        conversation = workspace.find_open(session_id)
        # A copy: the log of an open session grows.
        return (
            await workspace.store.events(session_id) if conversation is None else [*conversation.session.log]
        )

    return read


class RunningMessageSearch:
    """Searches the same sessions for other words, until it is told to forget them and what it read.

    `terms` are the words of the newest search.
    """

    def __init__(
        self, async_actions: AsyncActions, create_search: Callable[[Sequence[SearchedSession]], MessageSearch]
    ) -> None:
        self._async_actions, self._create_search = async_actions, create_search
        self.terms: Sequence[str] = ()
        self._search: MessageSearch | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def has_sessions(self) -> bool:
        return self._search is not None

    def set_sessions(self, sessions: Sequence[SearchedSession]) -> None:
        if self._search is None:
            self._search = self._create_search(sessions)
        else:
            self._search.set_sessions(sessions)

    def start(self, query: str, find: Coroutine[Any, Any, None]) -> None:
        """Begin what calls `find` for a query, in place of what runs; an invalid one has no words."""
        self.stop()
        try:
            self.terms = parse_query(query)
        except InvalidInput:
            self.terms = ()
        self._task = self._async_actions.start(find, "search messages")

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def find(self, limit: int, on_found: Callable[[Sequence[MessageHit]], None]) -> int:
        """Call `on_found` with the messages of each session; return how many sessions could not be read."""
        search = self._search
        if search is None or not self.terms:
            return 0
        try:
            async with aclosing(search.find(self.terms, limit)) as found:
                async for hits in found:
                    on_found(hits)
        finally:
            if search is not self._search:  # forgotten meanwhile, and it went on to read
                self._drop(search)
        return len(search.unread)

    def forget(self) -> None:
        """Drop the sessions, and what was read of them; what runs goes on."""
        if self._search is not None:
            self._drop(self._search)
            self._search = None

    def _drop(self, search: MessageSearch) -> None:
        self._async_actions.start(search.forget(), "forget messages")


_MAX_SESSIONS = 200
_NARROW = ExcerptSize(room=32, lead=10)
_SHOW_MS = 100  # between two times that the list shows what was found


class SessionSearchPresenter(QObject):
    """Searches while the list has a filter, and forgets what it read once the user opens a session."""

    def __init__(
        self,
        window: MainWindow,
        session: Session,
        workspace_controller: WorkspaceController,
        navigation: SessionNavigation,
    ) -> None:
        super().__init__(window)
        self._sidebar = window.sidebar
        self._session, self._workspace_controller = session, workspace_controller
        self._navigation = navigation
        self._words = ""
        self._found: dict[str, FoundMessage] = {}
        self._search = RunningMessageSearch(
            session.actions, partial(MessageSearch, per_session=1, excerpt_size=_NARROW)
        )
        self._show_timer = QTimer(self, singleShot=True, interval=_SHOW_MS)
        self._show_timer.timeout.connect(self._show)
        self._sidebar.messages_requested.connect(self._request)
        window.intents.add(self)

    def _request(self, query: str) -> None:
        """Search for words, in place of what is searched for now; forget all when the filter is empty."""
        self._search.stop()
        self._show_timer.stop()
        self._words, self._found = query, {}
        if query:
            self._search.start(query, self._find(query))
        elif not self._sidebar.search.text():
            self._search.forget()

    async def _find(self, query: str) -> None:
        workspace = self._session.opened
        if not self._search.terms or workspace is None:
            self._sidebar.show_searched(query, "")
            return
        try:
            self._search.set_sessions(await searched_sessions(workspace))
        except StoreError:  # it says so itself
            self._sidebar.show_searched(query, "")
            return
        unread = await self._search.find(_MAX_SESSIONS, self._on_found)
        self._show()
        self._sidebar.show_searched(query, self._note(unread))

    def _on_found(self, hits: Sequence[MessageHit]) -> None:
        for hit in hits:
            self._found[hit.session_id] = FoundMessage(hit.seq, hit.excerpt, hit.session_id)
        if not self._show_timer.isActive():
            self._show_timer.start()

    def _show(self) -> None:
        self._show_timer.stop()
        self._sidebar.show_found(self._words, dict(self._found))

    def _note(self, unread: int) -> str:
        notes = [tr("Titles and messages of this workspace.")]
        if len(self._found) >= _MAX_SESSIONS:
            notes.append(
                tr.plural(
                    _MAX_SESSIONS,
                    "Only the newest %n session with these words in its messages.",
                    "Only the newest %n sessions with these words in their messages.",
                )
            )
        if unread:
            notes.append(
                tr.plural(
                    unread,
                    "%n session can't be read and isn't searched.",
                    "%n sessions can't be read and aren't searched.",
                )
            )
        return " ".join(notes)

    @handles(OpenListedSession)
    async def _open(self, session_id: str, seq: int) -> None:
        """Forget what was searched, and show the message that was found, if it is one."""
        self._search.forget()
        if not seq:
            return
        place = (self._session.workspace_id, session_id, seq)
        try:
            await show_message(self._workspace_controller, self._navigation, place, self._search.terms)
        finally:
            self._workspace_controller.session_opener.take_keyboard()


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
        self._window, self._services, self._switcher = window, session.app, window.switcher
        self._sessions: dict[tuple[str, str], SearchedSession] = {}
        self._session, self._windows = session, windows
        self._search = RunningMessageSearch(session.actions, MessageSearch)
        self._listing: asyncio.Task[None] | None = None  # of what is in closed workspaces
        switcher, start = self._switcher, session.start
        switcher.opened.connect(lambda: start(self._show_sessions(), "list sessions"))
        switcher.closed.connect(self._forget)
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
                    word_spans(hit.excerpt, self._search.terms),
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
