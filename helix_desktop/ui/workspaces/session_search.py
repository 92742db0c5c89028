"""Finds sessions of the workspace on screen by the words of their messages, for the list of sessions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QObject, QTimer

from helix_desktop.domain.errors import StoreError
from helix_desktop.services.message_search import ExcerptSize, MessageHit, MessageSearch
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.session.navigation import SessionNavigation
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.shell.sidebar.session_rows import FoundMessage
from helix_desktop.ui.workspaces.controller import WorkspaceController
from helix_desktop.ui.workspaces.running_message_search import RunningMessageSearch
from helix_desktop.ui.workspaces.searched_sessions import searched_sessions, show_message
from helix_desktop.words.translation import Translator

tr = Translator("Workspaces")

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
        start = session.start
        self._sidebar.messages_requested.connect(self._request)
        self._sidebar.message_selected.connect(lambda *where: start(self._open(*where), "show message"))
        self._sidebar.session_selected.connect(lambda _: self._search.forget())

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

    async def _open(self, session_id: str, seq: int) -> None:
        """Open a session at a message that was found in it."""
        self._search.forget()
        place = (self._session.workspace_id, session_id, seq)
        try:
            await show_message(self._workspace_controller, self._navigation, place, self._search.terms)
        finally:
            self._workspace_controller.session_opener.take_keyboard()
