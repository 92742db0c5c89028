"""What the window's controllers share: the window, its session views, its tasks, and the services."""

from __future__ import annotations

import msgspec

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.errors import WorkspaceMissing
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.services.app_services import AppServices
from helix_desktop.ui.cache.view import CacheBrowser
from helix_desktop.ui.changes.view import ChangesPage
from helix_desktop.ui.chat.page import ChatPage
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.inspector.view import Inspector
from helix_desktop.ui.session.window_group import WindowGroup
from helix_desktop.ui.settings.app_settings import AppSettings, WorkspaceSettings
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.timeline.view import Timeline

text = TextContext("Session")


class SessionViews(msgspec.Struct, frozen=True):
    """The widgets that show a conversation."""

    chat: ChatPage
    cache: CacheBrowser
    timeline: Timeline
    changes: ChangesPage
    inspector: Inspector


class ActiveWorkspace:
    """The workspace on screen, which may be one that could not be opened."""

    def __init__(self, services: AppServices) -> None:
        self._services = services
        self.id = ""
        """Empty if there is none."""
        self.is_opening = False
        """True from when it is to be opened until it is on screen, or cannot be."""

    @property
    def opened(self) -> OpenWorkspace | None:
        """Return the workspace; None if there is none on screen, or it is not open."""
        return self._services.open_workspaces.get(self.id)

    def require(self) -> OpenWorkspace:
        """Return the workspace. Raises WorkspaceMissing if there is none on screen, or it is not open."""
        workspace = self.opened
        if workspace is None:
            raise WorkspaceMissing(text("No workspace is open."), fix=text("Open a workspace first."))
        return workspace


class ControllerContext:
    """What every controller of the window works with."""

    def __init__(
        self,
        window: MainWindow,
        views: SessionViews,
        async_actions: AsyncActions,
        services: AppServices,
        windows: WindowGroup,
    ) -> None:
        """`windows` are all windows of the app, this one among them."""
        self.window, self.views, self.windows = window, views, windows
        self.async_actions, self.services = async_actions, services
        window.intents.async_actions = async_actions
        self.active_workspace = ActiveWorkspace(services)
        self.settings = AppSettings(window, services, async_actions)
        self.workspace_settings = WorkspaceSettings(
            self.settings, services, async_actions, lambda: self.active_workspace.id
        )
