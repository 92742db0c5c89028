"""Deletes sessions: into the trash, with Undo."""

from __future__ import annotations

from PySide6.QtCore import QObject

from helix_desktop.agent.redaction import delete_session
from helix_desktop.domain.digest import ellipsize
from helix_desktop.domain.store.retention import TRASH_DAYS
from helix_desktop.services.app_services import AppServices
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.dialogs import Choice
from helix_desktop.ui.design.window_state import Banner, BannerAction
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.workspaces.navigator import WorkspaceNavigator

_DELETED = "session deleted"


class DeleteSessionController(QObject):
    """Binds the session list's Delete and its Undo to the workspace on screen."""

    def __init__(
        self,
        window: MainWindow,
        async_actions: AsyncActions,
        services: AppServices,
        navigator: WorkspaceNavigator,
    ) -> None:
        super().__init__(window)
        self._window, self._services, self._navigator = window, services, navigator
        self._deleted_workspace_id = ""  # of the session that Undo would bring back
        start = async_actions.start
        window.sidebar.session_deleted.connect(lambda session: start(self._delete(session), "delete session"))
        window.banners.action_clicked.connect(
            lambda banner, session: start(self._undo(session), "undo delete") if banner == _DELETED else None
        )

    async def _delete(self, session: str) -> None:
        room = self._services.open_workspaces.get(self._navigator.active_workspace_id)
        if room is None:
            return
        running = any(
            conversation.is_running
            for conversation in room.conversations
            if conversation.session.id == session
        )
        if running and not await self._confirm():
            return
        titles = {info.id: info.title for info in await room.store.sessions()}
        current = self._navigator.session_controller.conversation
        if current is not None and current.session.id == session:
            await self._navigator.session_controller.show(room, None)
        await delete_session(room, session)
        self._deleted_workspace_id = room.id
        self._window.banners.show_banner(
            Banner(
                _DELETED,
                "info",
                f"“{ellipsize(titles.get(session, 'The session'))}” is in the trash.",
                f"It stays there for {TRASH_DAYS} days, with all its outputs.",
                actions=(BannerAction(session, "Undo"),),
                workspace=room.id,
            )
        )
        if self._navigator.session_controller.conversation is None:
            await self._navigator.open_workspace(room.id)
        await self._navigator.refresh()

    async def _confirm(self) -> bool:
        answer = await dialogs.ask(
            self._window,
            self._window.theme,
            "Delete a session whose agent is at work?",
            "The agent is stopped. The session goes to the trash and can be brought back.",
            (Choice("", "Keep"), Choice("delete", "Stop and delete", "danger")),
        )
        return answer == "delete"

    async def _undo(self, session: str) -> None:
        self._window.banners.remove(_DELETED)
        workspace = self._services.open_workspaces.get(self._deleted_workspace_id)
        if workspace is None:
            return
        await workspace.store.retention.restore_session(session)
        if self._navigator.active_workspace_id == self._deleted_workspace_id:
            await self._navigator.open_session(session)
