"""Finds sessions of the workspace on screen by the words of their messages, for the list of sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

from PySide6.QtCore import QObject, QTimer

from helix_desktop.domain.errors import InvalidInput, StoreError
from helix_desktop.domain.search_query import parse_query
from helix_desktop.domain.text_format import plain_line
from helix_desktop.services.message_search import MessageSearch
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.ui.session.navigation import SessionNavigation
from helix_desktop.ui.shell.sidebar.session_rows import FoundMessage
from helix_desktop.ui.workspaces.controller import WorkspaceController
from helix_desktop.ui.workspaces.searched_sessions import searched_sessions, show_message
from helix_desktop.words.translation import Translator

tr = Translator("Workspaces")

_MAX_SESSIONS = 200
_LEAD_CHARS = 10  # of a line before its first word: the list is narrow
_SHOW_MS = 100  # between two times that the list shows what was found


class SessionSearchPresenter(QObject):
    """Searches while the list has a filter, and forgets what it read once the user opens a session."""

    def __init__(
        self,
        context: ControllerContext,
        workspace_controller: WorkspaceController,
        navigation: SessionNavigation,
    ) -> None:
        super().__init__(context.window)
        self._sidebar, self._async_actions = context.window.sidebar, context.async_actions
        self._active_workspace, self._workspace_controller = context.active_workspace, workspace_controller
        self._navigation = navigation
        self._words = ""
        self._terms: Sequence[str] = ()
        self._found: dict[str, FoundMessage] = {}
        self._search: MessageSearch | None = None
        self._task: asyncio.Task[None] | None = None
        self._show_timer = QTimer(self, singleShot=True, interval=_SHOW_MS)
        self._show_timer.timeout.connect(self._show)
        start = context.async_actions.start
        self._sidebar.messages_requested.connect(self._request)
        self._sidebar.message_selected.connect(lambda *where: start(self._open(*where), "show message"))
        self._sidebar.session_selected.connect(lambda _: self._forget())

    def _request(self, query: str) -> None:
        """Search for words, in place of what is searched for now; forget all when the filter is empty."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self._show_timer.stop()
        self._words, self._found = query, {}
        if query:
            self._task = self._async_actions.start(self._find(query), "search messages")
        elif not self._sidebar.search.text():
            self._forget()

    async def _find(self, query: str) -> None:
        try:
            self._terms = parse_query(query)
        except InvalidInput:
            self._terms = ()
        workspace = self._active_workspace.opened
        if not self._terms or workspace is None:
            self._sidebar.show_searched(query, "")
            return
        try:
            sessions = await searched_sessions(workspace)
        except StoreError:  # it says so itself
            self._sidebar.show_searched(query, "")
            return
        search = self._search
        if search is None:
            search = self._search = MessageSearch(sessions, per_session=1, lead_chars=_LEAD_CHARS)
        else:
            search.set_sessions(sessions)
        try:
            async with aclosing(search.find(self._terms, _MAX_SESSIONS)) as found:
                async for hits in found:
                    for hit in hits:
                        self._found[hit.session_id] = FoundMessage(hit.seq, plain_line(hit.excerpt))
                    if not self._show_timer.isActive():
                        self._show_timer.start()
            self._show()
            self._sidebar.show_searched(query, self._note(len(search.unread)))
        finally:
            if search is not self._search:  # forgotten meanwhile, and it went on to read
                self._async_actions.start(search.forget(), "forget messages")

    def _show(self) -> None:
        self._show_timer.stop()
        self._sidebar.show_found(self._words, dict(self._found))

    def _note(self, unread: int) -> str:
        """Return what was searched, and what was not."""
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

    def _forget(self) -> None:
        if self._search is not None:
            self._async_actions.start(self._search.forget(), "forget messages")
            self._search = None

    async def _open(self, session_id: str, seq: int) -> None:
        """Open a session at a message that was found in it."""
        self._forget()
        place = (self._active_workspace.id, session_id, seq)
        try:
            await show_message(self._workspace_controller, self._navigation, place, self._terms)
        finally:
            self._workspace_controller.session_opener.take_keyboard()
