"""A window with its controllers, as the app's other windows know it."""

from __future__ import annotations

from collections.abc import Mapping

from helix_desktop.domain.errors import HelixError
from helix_desktop.ui.session.background_jobs import BackgroundJobs
from helix_desktop.ui.session.drafts.unsaved import UnsavedDraft
from helix_desktop.ui.session.window_group import ShownSession
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.workspaces.window_controllers import WindowControllers


class ControlledWindow:
    """Does with the controllers what other windows ask for, and follows what they change; see `AppWindow`."""

    def __init__(self, controllers: WindowControllers) -> None:
        self.controllers = controllers
        controllers.windows.lists_changed.connect(self._follow_lists)
        controllers.windows.settings_changed.connect(self._follow_settings)

    @property
    def window(self) -> MainWindow:
        """Return the window itself."""
        return self.controllers.window

    @property
    def shown_session(self) -> ShownSession:
        """Return the workspace and the session on screen."""
        conversation = self.controllers.session_controller.conversation
        session_id = conversation.session.id if conversation is not None else ""
        return ShownSession(self.controllers.active_workspace.id, session_id)

    @property
    def background_jobs(self) -> Mapping[str, BackgroundJobs]:
        """Return what runs in the background, by session, in all open workspaces."""
        return self.controllers.session_controller.background_jobs

    async def show_session(self, workspace_id: str, session_id: str | None) -> None:
        """Show a session of a workspace: a new one for None, the last one if the id is empty.

        Without a workspace, show the welcome page. An error is shown in the window.
        """
        await self.controllers.async_actions.start(
            self._show_session(workspace_id, session_id), "show session"
        )

    async def _show_session(self, workspace_id: str, session_id: str | None) -> None:
        workspace_controller = self.controllers.workspace_controller
        if workspace_id:
            await workspace_controller.open_workspace(workspace_id, session_id=session_id)
        else:
            workspace_controller.show_welcome()
            await self.controllers.sidebar.refresh()

    def open_in_front(self, workspace_id: str, session_id: str) -> None:
        """Show a session here, unless another window shows it, and bring the window to the front."""
        self.controllers.async_actions.start(
            self.controllers.workspace_controller.open_in_front(workspace_id, session_id), "go there"
        )

    def show_event(self, seq: int, mark: str) -> None:
        """Show an event of the session on screen in the chat, and mark some words there."""
        self.controllers.navigation.show_event(seq, mark=mark)

    async def hide_session(self) -> None:
        """Take the session off the screen and store its draft; the workspace stays."""
        session_controller = self.controllers.session_controller
        await session_controller.show(session_controller.workspace, None)

    async def leave_workspace(self) -> None:
        """Take the workspace off the screen until it is open again, and store the draft."""
        await self.controllers.workspace_controller.leave()

    async def clear(self) -> None:
        """Take session and workspace off the screen and store the draft; what runs goes on."""
        self.window.leave_settings()
        for name in self.window.notices.names():  # seen, and not for who opens the window next
            self.window.notices.end(name)
        self.window.sidebar.search.clear()
        self.controllers.quit_controller.tray.withdraw()
        self.controllers.active_workspace.id = ""
        self.controllers.workspace_controller.session_opener.requested_ids = ("", "")
        await self.controllers.session_controller.show(None, None)
        self.controllers.windows.lists_changed.emit(self.window)  # what was typed is a draft only now

    async def save_drafts(self) -> list[UnsavedDraft]:
        """Store what the user wrote; return what can't be stored."""
        return await self.controllers.session_controller.composer.drafts.save_all()

    def unsaved_settings(self) -> list[str]:
        """Return the titles of the settings where something was typed and not saved."""
        return self.controllers.settings.unsaved_pages()

    def show_error(self, error: HelixError) -> None:
        """Show an error in the window."""
        self.controllers.async_actions.show_error(error)

    async def end_tasks(self) -> None:
        """End what the window's actions started, and start nothing more."""
        await self.controllers.async_actions.scope.close(for_good=True)
        await self.controllers.settings.end_replays()

    def _follow_lists(self, window: object) -> None:
        """Show workspaces and sessions as another window left them."""
        if window is not self.window and self in self.controllers.windows.open_windows:
            self.controllers.sidebar.schedule_refresh()
            self.controllers.session_controller.schedule_refresh()  # the cache may have changed

    def _follow_settings(self, window: object) -> None:
        """Show trust and models as another window left them."""
        if window is not self.window and self in self.controllers.windows.open_windows:
            self.controllers.trust.show()
            self.controllers.session_controller.follow_models()
            self.controllers.settings.refresh()
