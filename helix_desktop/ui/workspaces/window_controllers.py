"""Puts a window's controllers together, each with those it works with."""

from __future__ import annotations

from helix_desktop.domain.events.conversation import ApprovalGiven
from helix_desktop.domain.events.session import ModeChanged
from helix_desktop.ui.design.style.stylesheet import Appearance
from helix_desktop.ui.session.approvals import ApprovalController
from helix_desktop.ui.session.call_jobs import CallJobs
from helix_desktop.ui.session.changes.controller import ChangesController
from helix_desktop.ui.session.changes.first_copy import FirstCopyJob
from helix_desktop.ui.session.changes.revert_flow import RevertFlow
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.ui.session.hold import HoldController
from helix_desktop.ui.session.inspector.actions import InspectorActions
from helix_desktop.ui.session.inspector.request import RequestPresenter
from helix_desktop.ui.session.last_change import LastChangeController
from helix_desktop.ui.session.mode import ModeController
from helix_desktop.ui.session.navigation import SessionNavigation
from helix_desktop.ui.session.notices import follow_session
from helix_desktop.ui.session.prompt_file_actions import PromptFileActions
from helix_desktop.ui.session.recall import RecallController
from helix_desktop.ui.session.rewrite_controller import RewriteController
from helix_desktop.ui.session.side_questions import SideQuestionController
from helix_desktop.ui.session.tool_actions import ToolCardController
from helix_desktop.ui.session.turn_commands import TurnCommands
from helix_desktop.ui.session.view_state import ViewStateController
from helix_desktop.ui.shell.tray import Tray
from helix_desktop.ui.workspaces.backup import BackupController
from helix_desktop.ui.workspaces.branches import BranchController
from helix_desktop.ui.workspaces.cache_export import CacheExportController
from helix_desktop.ui.workspaces.cleanup import CleanupController
from helix_desktop.ui.workspaces.controller import WorkspaceController
from helix_desktop.ui.workspaces.delete_session import DeleteSessionController
from helix_desktop.ui.workspaces.git import GitController
from helix_desktop.ui.workspaces.import_export import ImportExportController
from helix_desktop.ui.workspaces.list_controller import WorkspaceListController
from helix_desktop.ui.workspaces.notifications import NotificationController, NotifiedUpdate
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
    """Binds a window to the services."""

    def __init__(self, context: ControllerContext, appearance: Appearance) -> None:
        self.services, self.active_workspace = context.services, context.active_workspace
        self.window, self.windows, self.async_actions = context.window, context.windows, context.async_actions
        self.session_controller = SessionController(context)
        self.sidebar = SidebarPresenter(context, self.session_controller)
        self.trust = TrustController(context, self.session_controller, self.sidebar)
        self.workspace_controller = WorkspaceController(
            context, self.session_controller, self.sidebar, self.trust
        )
        self._add_session_controllers(context)
        self._add_workspace_controllers(context)
        dialogs = DataDialogs(self.cleanup.clean_up, self.cleanup.show_trash, self.redaction.redact)
        self.settings = SettingsPresenter(context, self.session_controller, self.trust, appearance, dialogs)
        self.settings.move_confirmed.connect(self.quit_controller.move)
        self.external_open = ExternalOpenController(
            context, self.workspace_controller, self.navigation, self.import_export
        )

    def _add_session_controllers(self, context: ControllerContext) -> None:
        session = self.session_controller
        ViewStateController(
            session, context.services.view_states, context.services.registry, context.async_actions
        )
        self.rewrites = RewriteController(
            context, session, self.workspace_controller.session_opener.continue_with
        )
        self.last_change = LastChangeController(context, session)
        self.navigation = SessionNavigation(context, session)
        self.recalls = RecallController(context, session)
        self.inspector_actions = InspectorActions(
            context, session, self.navigation.show_event, self.navigation.show_cache_entry
        )
        RequestPresenter(context, session)
        self.reverts = RevertFlow(context)
        ChangesController(context, session, self.reverts)
        ToolCardController(context, session)
        CallJobs(context, session)
        TurnCommands(context, session)
        FirstCopyJob(context, session)
        ApprovalController(context, session)
        SideQuestionController(context, session)
        follow_session(context, session)
        HoldController(context, session)
        mode = ModeController(context, session)
        self.workspace_controller.on(ApprovalGiven, mode.follow_approval)
        self.workspace_controller.on(ModeChanged, mode.follow_mode)
        PromptFileActions(context, session)

    def _add_workspace_controllers(self, context: ControllerContext) -> None:
        workspaces, window = self.workspace_controller, context.window
        tray = Tray(window, context.async_actions.start)
        self.notifications = NotificationController(
            window, context.services, tray, is_current=lambda: context.windows.current.window is window
        )
        window.waiting_sessions.session_requested.connect(
            lambda *place: context.async_actions.start(workspaces.show_waiting(*place), "go there")
        )
        workspaces.on(NotifiedUpdate, self.notifications.on_update)
        window.jobs.ended.connect(self.notifications.on_job_ended)
        tray.clicked.connect(context.windows.open_in_current)
        context.windows.activated.connect(tray.clear_message)
        self.quit_controller = QuitController(context, tray)
        WorkspaceListController(context, workspaces)
        SwitcherPresenter(context, workspaces, self.navigation)
        SessionSearchPresenter(context, workspaces, self.navigation)
        DeleteSessionController(context, workspaces)
        SessionPlaceController(context, workspaces)
        BranchController(context, workspaces, self.reverts)
        GitController(context, workspaces)
        RewindController(context, workspaces, self.reverts)
        backup = BackupController(context)
        self.cache_export = CacheExportController(context)
        self.cleanup = CleanupController(context, self.sidebar)
        self.redaction = RedactionController(context, workspaces)
        self.import_export = ImportExportController(
            context, workspaces, backup.back_up, self.cache_export.export
        )
