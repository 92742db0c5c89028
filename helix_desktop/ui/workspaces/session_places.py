"""Pins and archives sessions, with Undo."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import QObject

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.session import EventRecorded
from helix_desktop.domain.store import ListPlace
from helix_desktop.domain.text_format import ellipsize_title
from helix_desktop.ui.kit.commands import set_action_words
from helix_desktop.ui.kit.intents import ArchiveSession, PinSession, handles
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.shell.commands import OWN_PLACE
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.workspaces.controller import WorkspaceController
from helix_desktop.words.sessions import session_title
from helix_desktop.words.translation import Translator

tr = Translator("Workspaces")

_MOVED = "session-moved"


class _ListMove(NamedTuple):
    """A session that was moved in the list: its workspace, from where, and to where."""

    workspace_id: str
    session_id: str
    previous: ListPlace
    place: ListPlace


class SessionPlaceController(QObject):
    """Binds Pin and Archive, in the list for any session and in the menu for the one on screen."""

    def __init__(
        self, window: MainWindow, session: Session, workspace_controller: WorkspaceController
    ) -> None:
        super().__init__(window)
        self._session, self._sidebar = session, workspace_controller.sidebar
        self._commands = window.commands
        self._moved: _ListMove | None = None  # what the notice is about
        start, sidebar = session.start, window.sidebar
        sidebar.session_pin_requested.connect(
            lambda identity, pinned: start(self._move(identity, pinned=pinned), "pin session")
        )
        sidebar.session_archive_requested.connect(
            lambda identity, archived: start(self._move(identity, archived=archived), "archive session")
        )
        window.intents.add(self)
        session.changed.connect(self._show_actions)
        workspace_controller.on(EventRecorded, self._on_event)
        sidebar.session_deleted.connect(self._on_deleted)
        self._start = start

    def _on_event(self, workspace: OpenWorkspace, session_id: str, _: EventRecorded) -> None:
        """Follow the events of a session; a notice that is not true any more goes."""
        self._show_actions()
        conversation, moved = workspace.find_open(session_id), self._moved
        if moved is None or conversation is None or session_id != moved.session_id:
            return
        if conversation.session.transcript.place != moved.place:
            self._session.notices.end(_MOVED)

    def _on_deleted(self, session_id: str) -> None:
        if self._moved is not None and session_id == self._moved.session_id:
            self._session.notices.end(_MOVED)

    def _show_actions(self) -> None:
        """Let the menu say what it would do with the session on screen; a subagent's goes with its parent."""
        place = self._session.transcript.place
        self._commands.meet(OWN_PLACE, not self._session.transcript.parent)
        pin = tr("Unpin session") if place.pinned else tr("Pin session")
        set_action_words(self._commands.pin_session, pin)
        archive = tr("Unarchive session") if place.archived else tr("Archive session")
        set_action_words(self._commands.archive_session, archive)

    @handles(PinSession)
    async def _toggle_pin(self) -> None:
        shown = self._session.conversation.session
        await self._move(shown.id, pinned=not shown.transcript.place.pinned)

    @handles(ArchiveSession)
    async def _toggle_archive(self) -> None:
        shown = self._session.conversation.session
        await self._move(shown.id, archived=not shown.transcript.place.archived)

    async def _move(
        self, session_id: str, *, pinned: bool | None = None, archived: bool | None = None
    ) -> None:
        workspace = self._session.workspace
        previous = await workspace.move_in_list(session_id, pinned=pinned, archived=archived)
        transcript = (await workspace.open_session(session_id)).session.transcript
        title = ellipsize_title(session_title(transcript.title))
        self._moved = _ListMove(workspace.id, session_id, previous, transcript.place)

        def undo() -> None:
            self._start(self._undo(session_id), "undo")

        self._session.notices.notify(
            Notice(
                _MOVED,
                _moved_text(title, pinned, archived),
                tr("A new message unarchives it.") if archived else "",
                answers=(Answer(tr("Undo"), undo, session_id),),
                workspace_id=workspace.id,
                is_brief=True,
            )
        )
        await self._sidebar.refresh()

    async def _undo(self, session_id: str) -> None:
        self._session.notices.end(_MOVED)
        moved, self._moved = self._moved, None
        workspace = self._session.app.open_workspaces.get(moved.workspace_id) if moved is not None else None
        if moved is None or workspace is None:
            return
        if session_id in {
            info.id for info in await workspace.sessions()
        }:  # else it is in the trash meanwhile
            place = moved.previous
            await workspace.move_in_list(session_id, pinned=place.pinned, archived=place.archived)
            await self._sidebar.refresh()


def _moved_text(title: str, pinned: bool | None, archived: bool | None) -> str:
    match pinned, archived:
        case _, True:
            return tr("“{title}” archived.", title=title)
        case _, False:
            return tr("“{title}” unarchived.", title=title)
        case True, _:
            return tr("“{title}” pinned.", title=title)
    return tr("“{title}” unpinned.", title=title)
