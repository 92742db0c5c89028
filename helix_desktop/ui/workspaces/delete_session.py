"""Deletes sessions: into the trash, with Undo."""

from __future__ import annotations

from PySide6.QtCore import QObject

from helix_desktop.agent.open_workspace import delete_session
from helix_desktop.domain.retention import TRASH_DAYS
from helix_desktop.domain.store import SessionVersions
from helix_desktop.domain.text_format import ellipsize_title
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.dialogs import DialogChoice
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.session.drafts.session_drafts import SessionDrafts
from helix_desktop.ui.session.window_group import WindowGroup
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.workspaces.controller import WorkspaceController
from helix_desktop.words.translation import Translator

tr = Translator("Workspaces")

DELETED_SESSION = "session-deleted"
"""Of the notice that a session is in the trash: what takes it out of there ends it."""


class DeleteSessionController(QObject):
    """Binds the session list's Delete and its Undo to the workspace on screen."""

    def __init__(
        self,
        window: MainWindow,
        session: Session,
        windows: WindowGroup,
        workspace_controller: WorkspaceController,
        drafts: SessionDrafts,
    ) -> None:
        super().__init__(window)
        self._window, self._windows, self._services = window, windows, session.app
        self._session, self._workspace_controller, self._drafts = session, workspace_controller, drafts
        self._deleted: dict[str, str] = {}  # session and its workspace, the last deleted at the end
        start = self._start = session.start
        window.sidebar.session_deleted.connect(
            lambda session_id: start(self._delete(session_id), "delete session")
        )
        window.sidebar.session_list.undo_requested.connect(lambda: start(self._undo_last(), "undo delete"))

    async def _delete(self, session_id: str) -> None:
        workspace = self._session.workspace
        listed = await workspace.store.sessions()
        versions = SessionVersions(listed).ids_of(session_id)
        running = any(
            conversation.is_running
            for conversation in workspace.conversations
            if conversation.session.id in versions
        )
        if running and not await self._confirm():
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
            self._start(self._undo(session_id), "undo delete")

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
        await self._workspace_controller.sidebar.refresh()
        self._return_keyboard(has_keyboard)

    def _return_keyboard(self, has_keyboard: bool) -> None:
        """Let the list keep the keyboard that the opening of a session gives to the message."""
        if has_keyboard:
            self._window.sidebar.session_list.setFocus()

    async def _confirm(self) -> bool:
        answer = await dialogs.ask(
            self._window,
            self._window.theme,
            tr("Stop the agent and move this session to the trash?"),
            tr("You can restore the session."),
            (DialogChoice("", tr("Cancel")), DialogChoice("delete", tr("Stop and move to trash"), "danger")),
        )
        return answer == "delete"

    async def _undo_last(self) -> None:
        """Restore the session of the workspace on screen that was deleted last in this run."""
        here = self._session.workspace_id
        for session_id in [session for session, place in reversed(self._deleted.items()) if place == here]:
            if await self._restore(session_id):
                return

    async def _undo(self, session_id: str) -> None:
        await self._restore(session_id)

    async def _restore(self, session_id: str) -> bool:
        """Restore a session, on screen if its workspace is; return False if it was not in the trash."""
        workspace = self._services.open_workspaces.get(self._deleted.pop(session_id, ""))
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
            await self._workspace_controller.session_opener.open_session(session_id)
            self._return_keyboard(has_keyboard)
        return True


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
