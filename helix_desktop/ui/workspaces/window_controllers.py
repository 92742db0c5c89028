"""Puts a window's controllers together, each with those it works with."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any

from PySide6.QtWidgets import QDialog

from helix_desktop.domain.errors import HelixError
from helix_desktop.ui.design.style.stylesheet import Appearance
from helix_desktop.ui.design.window_placement import bring_to_front
from helix_desktop.ui.session.approvals import ApprovalController
from helix_desktop.ui.session.background_jobs import BackgroundJobs
from helix_desktop.ui.session.banners import SessionBanners
from helix_desktop.ui.session.call_jobs import CallJobs
from helix_desktop.ui.session.changes.controller import ChangesController
from helix_desktop.ui.session.changes.first_copy import FirstCopyJob
from helix_desktop.ui.session.changes.revert_flow import RevertFlow
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.ui.session.drafts.unsaved import UnsavedDraft
from helix_desktop.ui.session.hold import HoldController
from helix_desktop.ui.session.inspector.actions import InspectorActions
from helix_desktop.ui.session.inspector.request import RequestPresenter
from helix_desktop.ui.session.mode import ModeController
from helix_desktop.ui.session.navigation import SessionNavigation
from helix_desktop.ui.session.prompt_file_actions import PromptFileActions
from helix_desktop.ui.session.recall import RecallController
from helix_desktop.ui.session.rewrite_controller import RewriteController
from helix_desktop.ui.session.side_questions import SideQuestionController
from helix_desktop.ui.session.tool_actions import ToolCardController
from helix_desktop.ui.session.turn_commands import TurnCommands
from helix_desktop.ui.session.view_state import ViewStateController
from helix_desktop.ui.session.window_group import ShownSession
from helix_desktop.ui.shell.tour_stops import TourController
from helix_desktop.ui.shell.tray import Tray
from helix_desktop.ui.workspaces.backup import BackupController
from helix_desktop.ui.workspaces.branches import BranchController
from helix_desktop.ui.workspaces.cache_export import CacheExportController
from helix_desktop.ui.workspaces.cache_filters import CacheFilterController
from helix_desktop.ui.workspaces.cleanup import CleanupController
from helix_desktop.ui.workspaces.controller import WorkspaceController
from helix_desktop.ui.workspaces.delete_session import DeleteSessionController
from helix_desktop.ui.workspaces.git import GitController
from helix_desktop.ui.workspaces.import_export import ImportExportController
from helix_desktop.ui.workspaces.job_runner import JobRunner
from helix_desktop.ui.workspaces.list_controller import WorkspaceListController
from helix_desktop.ui.workspaces.notifications import NotificationController
from helix_desktop.ui.workspaces.open_external import ExternalOpenController
from helix_desktop.ui.workspaces.quit import QuitController
from helix_desktop.ui.workspaces.redaction import RedactionController
from helix_desktop.ui.workspaces.rewind import RewindController
from helix_desktop.ui.workspaces.session_places import SessionPlaceController
from helix_desktop.ui.workspaces.session_search import SessionSearchPresenter
from helix_desktop.ui.workspaces.settings.data_presenter import DataDialogs
from helix_desktop.ui.workspaces.settings.presenter import SettingsPresenter
from helix_desktop.ui.workspaces.sidebar_presenter import SidebarPresenter
from helix_desktop.ui.workspaces.switcher_presenter import SwitcherPresenter
from helix_desktop.ui.workspaces.trust import TrustController


class WindowControllers:
    """Binds a window to the services; what the app's other windows may ask of it."""

    def __init__(self, context: ControllerContext, appearance: Appearance) -> None:
        self.services, self.active_workspace = context.services, context.active_workspace
        self.window, self.windows, self._async_actions = (
            context.window,
            context.windows,
            context.async_actions,
        )
        self.session_controller = SessionController(context)
        self.sidebar = SidebarPresenter(context, self.session_controller)
        self.trust = TrustController(context, self.session_controller, self.sidebar)
        self.jobs = JobRunner(context.window.jobs)
        self.workspace_controller = WorkspaceController(
            context, self.session_controller, self.sidebar, self.trust, self.jobs
        )
        context.windows.lists_changed.connect(self._follow_lists)
        context.windows.settings_changed.connect(self._follow_settings)
        self._add_session_controllers(context)
        self._add_workspace_controllers(context)
        dialogs = DataDialogs(self.cleanup.clean_up, self.cleanup.show_trash, self.redaction.redact)
        self.settings = SettingsPresenter(context, self.session_controller, self.trust, appearance, dialogs)
        self.settings.move_confirmed.connect(self.settings.close)  # it would cover the question
        self.settings.move_confirmed.connect(self.quit_controller.move)
        self.external_open = ExternalOpenController(
            context, self.workspace_controller, self.navigation, self.import_export
        )

    def _add_session_controllers(self, context: ControllerContext) -> None:
        session = self.session_controller
        ViewStateController(session, context.services.view_states, context.async_actions)
        self.rewrites = RewriteController(
            context, session, self.workspace_controller.session_opener.continue_with
        )
        self.navigation = SessionNavigation(context, session)
        self.recalls = RecallController(context, session)
        self.inspector_actions = InspectorActions(
            context, session, self.navigation.show_event, self.navigation.show_cache_entry
        )
        self.request_window = RequestPresenter(context, session)
        self.reverts = RevertFlow(context)
        ChangesController(context, session, self.reverts)
        ToolCardController(context, session)
        CallJobs(context, session)
        TurnCommands(context, session)
        FirstCopyJob(context, session)
        ApprovalController(context, session)
        SideQuestionController(context, session)
        SessionBanners(context.window.banners, session)
        HoldController(context, session)
        ModeController(context, session)
        PromptFileActions(context, session)

    @property
    def shown_session(self) -> ShownSession:
        """Return the workspace and the session on screen."""
        conversation = self.session_controller.conversation
        session_id = conversation.session.id if conversation is not None else ""
        return ShownSession(self.active_workspace.id, session_id)

    @property
    def settings_dialog(self) -> QDialog | None:
        """Return the settings window that is open over this one; None if there is none."""
        return self.settings.open_dialog

    @property
    def background_jobs(self) -> Mapping[str, BackgroundJobs]:
        """Return what runs in the background, by session, in all open workspaces."""
        return self.session_controller.background_jobs

    async def show_session(self, workspace_id: str, session_id: str | None) -> None:
        """Show a session of a workspace: a new one for None, the last one if the id is empty.

        Without a workspace, show the welcome page. An error is shown in the window.
        """
        await self.start(self._show_session(workspace_id, session_id), "show session")

    async def _show_session(self, workspace_id: str, session_id: str | None) -> None:
        if workspace_id:
            await self.workspace_controller.open_workspace(workspace_id, session_id=session_id)
        else:
            self.workspace_controller.show_welcome()
            await self.sidebar.refresh()

    def open_in_front(self, workspace_id: str, session_id: str) -> None:
        """Show a session here, unless another window shows it, and bring the window to the front."""
        self.start(self.workspace_controller.open_in_front(workspace_id, session_id), "go there")

    def _on_tray_clicked(self, workspace_id: str, session_id: str) -> None:
        """Show what a message is about in the window in use: this one may be closed meanwhile."""
        current = self.windows.current
        self.windows.show()
        bring_to_front(current.window)
        if workspace_id:
            current.open_in_front(workspace_id, session_id)

    def show_event(self, seq: int, mark: str) -> None:
        """Show an event of the session on screen in the chat, and mark some words there."""
        self.navigation.show_event(seq, mark=mark)

    async def hide_session(self) -> None:
        """Take the session off the screen and store its draft; the workspace stays."""
        await self.session_controller.show(self.session_controller.workspace, None)

    async def leave_workspace(self) -> None:
        """Take the workspace off the screen until it is open again, and store the draft."""
        await self.workspace_controller.leave()

    async def clear(self) -> None:
        """Take session and workspace off the screen and store the draft; what runs goes on."""
        for banner_id in self.window.banners.banner_ids():  # seen, and not for who opens the window next
            self.window.banners.remove(banner_id)
        self.window.sidebar.search.clear()
        self.quit_controller.tray.withdraw()
        self.active_workspace.id, self.workspace_controller.session_opener.requested_ids = "", ("", "")
        await self.session_controller.show(None, None)

    def start(self, coroutine: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Begin something that this window was asked for; an error is shown in it."""
        return self._async_actions.start(coroutine, name)

    def show_error(self, error: HelixError) -> None:
        """Show an error in the window."""
        self._async_actions.show_error(error)

    def _follow_lists(self, window: object) -> None:
        """Show workspaces and sessions as another window left them."""
        if window is not self.window and self in self.windows.open_windows:
            self.sidebar.schedule_refresh()
            self.session_controller.schedule_refresh()  # the cache may have changed

    def _follow_settings(self, window: object) -> None:
        """Show trust and models as another window left them."""
        if window is not self.window and self in self.windows.open_windows:
            self.trust.show()
            self.session_controller.follow_models()

    async def save_drafts(self) -> list[UnsavedDraft]:
        """Store what the user wrote; return what can't be stored."""
        return await self.session_controller.composer.drafts.save_all()

    def unsaved_settings(self) -> list[str]:
        """Return the titles of the settings where something was typed and not saved."""
        return self.settings.unsaved_pages()

    async def end_tasks(self) -> None:
        """End what the window's actions started, and start nothing more."""
        await self._async_actions.scope.close(for_good=True)
        await self.settings.policy.close()

    def _add_workspace_controllers(self, context: ControllerContext) -> None:
        workspaces, window = self.workspace_controller, context.window
        tray = Tray(window, context.async_actions.start)
        self.notifications = NotificationController(
            window, context.services, tray, is_current=lambda: context.windows.current is self
        )
        window.waiting_sessions.session_requested.connect(self.open_in_front)
        workspaces.session_updated.connect(self.notifications.on_update)
        self.jobs.ended.connect(self.notifications.on_job_ended)
        tray.clicked.connect(self._on_tray_clicked)
        context.windows.activated.connect(tray.clear_message)
        tray.quit_requested.connect(window.quit_requested)
        self.quit_controller = QuitController(context, self, tray)
        WorkspaceListController(context, workspaces)
        SwitcherPresenter(context, workspaces, self.navigation)
        SessionSearchPresenter(context, workspaces, self.navigation)
        DeleteSessionController(context, workspaces)
        SessionPlaceController(context, workspaces)
        BranchController(context, workspaces, self.reverts)
        GitController(context, workspaces)
        self.tour = TourController(
            window, context.views.chat.view, context.views.timeline, context.views.inspector
        )
        workspaces.sample_opened.connect(self.tour.offer)
        self.session_controller.session_changed.connect(self.tour.end_with_session)
        RewindController(context, workspaces, self.reverts)
        BackupController(context, self.jobs)
        CacheFilterController(context, self.session_controller)
        self.cache_export = CacheExportController(context, self.jobs)
        self.cleanup = CleanupController(context, self.sidebar)
        self.redaction = RedactionController(context, workspaces)
        self.import_export = ImportExportController(context, workspaces, self.jobs)
