"""User actions on the list of sessions: pin, archive, delete, each with Undo."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import QObject

from helix_desktop.agent.open_workspace import OpenWorkspace, delete_session
from helix_desktop.agent.session import EventRecorded
from helix_desktop.domain.retention import TRASH_DAYS
from helix_desktop.domain.store import ListPlace, SessionVersions
from helix_desktop.domain.text_format import ellipsize_title
from helix_desktop.ui.chat.drafts.session_drafts import SessionDrafts
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.kit.commands import set_action_words
from helix_desktop.ui.kit.intents import (
    ArchiveSession,
    PinSession,
    RefreshLists,
    RestoreSession,
    TrashSession,
    handles,
)
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.kit.window_commands import OWN_PLACE
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.window_group import WindowGroup
from helix_desktop.ui.window.workspace_controller import WorkspaceController
from helix_desktop.words.sessions import session_title
from helix_desktop.words.translation import Translator

tr = Translator("Workspaces")


_MOVED = "session-moved"
DELETED_SESSION = "session-deleted"
"""Of the notice that a session is in the trash: what takes it out of there ends it."""


class _ListMove(NamedTuple):
    workspace_id: str
    session_id: str
    previous: ListPlace
    place: ListPlace


class SessionListController(QObject):
    """Pins, archives and deletes: in the list any session, in the menu the one on screen."""

    def __init__(
        self,
        window: MainWindow,
        session: Session,
        windows: WindowGroup,
        workspace_controller: WorkspaceController,
        drafts: SessionDrafts,
    ) -> None:
        super().__init__(window)
        self._window, self._windows, self._drafts = window, windows, drafts
        self._session, self._workspace_controller = session, workspace_controller
        self._commands = window.commands
        self._moved: _ListMove | None = None  # what the notice is about
        self._deleted: dict[str, str] = {}  # session and its workspace, the last deleted at the end
        window.intents.add(self)
        session.changed.connect(self._show_actions)
        workspace_controller.on(EventRecorded, self._on_event)
        self._start = session.start

    def _on_event(self, workspace: OpenWorkspace, session_id: str, _: EventRecorded) -> None:
        """Follow the events of a session; a notice that is not true any more goes."""
        self._show_actions()
        conversation, moved = workspace.find_open(session_id), self._moved
        if moved is None or conversation is None or session_id != moved.session_id:
            return
        if conversation.session.transcript.place != moved.place:
            self._session.notices.end(_MOVED)

    def _show_actions(self) -> None:
        """Let the menu say what it would do with the session on screen; a subagent's goes with its parent."""
        place = self._session.transcript.place
        self._commands.set_met(OWN_PLACE, not self._session.transcript.parent)
        pin = tr("Unpin session") if place.pinned else tr("Pin session")
        set_action_words(self._commands.pin_session, pin)
        archive = tr("Unarchive session") if place.archived else tr("Archive session")
        set_action_words(self._commands.archive_session, archive)

    @handles(PinSession)
    async def _pin(self, session_id: str, is_on: bool) -> None:
        if not session_id:
            shown = self._session.conversation.session
            session_id, is_on = shown.id, not shown.transcript.place.pinned
        await self._move(session_id, pinned=is_on)

    @handles(ArchiveSession)
    async def _archive(self, session_id: str, is_on: bool) -> None:
        if not session_id:
            shown = self._session.conversation.session
            session_id, is_on = shown.id, not shown.transcript.place.archived
        await self._move(session_id, archived=is_on)

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
        await self._session.run(RefreshLists())

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
            await self._session.run(RefreshLists())

    @handles(TrashSession)
    async def _delete(self, session_id: str) -> None:
        if self._moved is not None and session_id == self._moved.session_id:
            self._session.notices.end(_MOVED)
        workspace = self._session.workspace
        listed = await workspace.store.sessions()
        versions = SessionVersions(listed).ids_of(session_id)
        running = any(
            conversation.is_running
            for conversation in workspace.conversations
            if conversation.session.id in versions
        )
        if running and not await dialogs.confirm(
            self._window,
            tr("Stop the agent and move this session to the trash?"),
            tr("You can restore the session."),
            "delete",
            tr("Stop and move to trash"),
        ):
            return
        has_keyboard = self._window.sidebar.session_list.hasFocus()
        titles = {info.id: info.title for info in listed}
        gone = {*versions, *(info.id for info in listed if info.parent in versions)}
        async with self._windows.away_from_sessions(self._window, workspace.id, gone):
            if self._session.id in gone:
                await self._session.show(workspace, None)
            await delete_session(workspace, session_id)
        for version in versions:
            self._drafts.unsaved.hide(version)
        self._deleted.pop(session_id, None)
        self._deleted[session_id] = workspace.id
        has_branches = any(info.branch_of in versions and info.id not in versions for info in listed)
        if not self._session.has_conversation:
            await self._workspace_controller.open_workspace(workspace.id)

        def undo() -> None:
            self._start(self._undo_delete(session_id), "undo delete")

        self._session.notify(
            Notice(
                DELETED_SESSION,
                _deleted_text(ellipsize_title(titles.get(session_id) or tr("Session")), len(versions)),
                _restore_text(has_branches=has_branches),
                answers=(Answer(tr("Undo"), undo, session_id),),
                workspace_id=workspace.id,
                is_brief=True,
            )
        )
        await self._session.run(RefreshLists())
        self._return_keyboard(has_keyboard)

    def _return_keyboard(self, has_keyboard: bool) -> None:
        """Let the list keep the keyboard that the opening of a session gives to the message."""
        if has_keyboard:
            self._window.sidebar.session_list.setFocus()

    @handles(RestoreSession)
    async def _undo_last(self) -> None:
        """Restore the session of the workspace on screen that was deleted last in this run."""
        here = self._session.workspace_id
        for session_id in [session for session, place in reversed(self._deleted.items()) if place == here]:
            if await self._restore(session_id):
                return

    async def _undo_delete(self, session_id: str) -> None:
        await self._restore(session_id)

    async def _restore(self, session_id: str) -> bool:
        """Restore a session, on screen if its workspace is; return False if it was not in the trash."""
        workspace = self._session.app.open_workspaces.get(self._deleted.pop(session_id, ""))
        self._session.notices.end(DELETED_SESSION)
        if workspace is None:
            return False
        retention = workspace.store.retention
        trashed = SessionVersions((await retention.trash()).sessions)
        restored = [await retention.restore_session(version) for version in trashed.ids_of(session_id)]
        if not any(restored):
            return False
        if self._session.workspace_id == workspace.id:
            has_keyboard = self._window.sidebar.session_list.hasFocus()
            await self._workspace_controller.open_session(session_id)
            self._return_keyboard(has_keyboard)
        return True


def _moved_text(title: str, pinned: bool | None, archived: bool | None) -> str:
    match pinned, archived:
        case _, True:
            return tr("“{title}” archived.", title=title)
        case _, False:
            return tr("“{title}” unarchived.", title=title)
        case True, _:
            return tr("“{title}” pinned.", title=title)
    return tr("“{title}” unpinned.", title=title)


def _deleted_text(title: str, versions: int) -> str:
    if versions == 1:
        return tr("“{title}” moved to the trash.", title=title)
    return tr.plural(
        versions,
        "“{title}” and its %n version moved to the trash.",
        "“{title}” with its %n versions moved to the trash.",
        title=title,
    )


def _restore_text(*, has_branches: bool) -> str:
    if has_branches:
        return tr(
            "You can restore it and its outputs from the trash for {days} days. Its branches stay.",
            days=TRASH_DAYS,
        )
    return tr("You can restore it and its outputs from the trash for {days} days.", days=TRASH_DAYS)
