"""A window with all that serves it, as the app's other windows know it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from helix_desktop.domain.events.conversation import ApprovalGiven
from helix_desktop.domain.events.session import ModeChanged
from helix_desktop.services.app_services import AppServices
from helix_desktop.ui.changes.page import ChangesPage
from helix_desktop.ui.changes.reverts.revert_flow import REVERTED, RevertFlow
from helix_desktop.ui.chat.completion_sources import add_completions
from helix_desktop.ui.chat.composer_controller import ComposerController
from helix_desktop.ui.chat.presenter import ChatPresenter
from helix_desktop.ui.chat.recall_into_message import Recalls
from helix_desktop.ui.chat.session_notices import show_session_notices
from helix_desktop.ui.chat.turn_controller import TurnController
from helix_desktop.ui.comparison.page import ComparisonPage
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.style.stylesheet import Appearance
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.outputs.page import OutputsPage
from helix_desktop.ui.settings.mcp.notices import McpNotices
from helix_desktop.ui.timeline.page import Timeline
from helix_desktop.ui.window.background_jobs import BackgroundJobs, BackgroundProgress, SessionJobs
from helix_desktop.ui.window.branch_controller import BranchController
from helix_desktop.ui.window.cleanup_controller import CleanupController
from helix_desktop.ui.window.import_export import ImportExportController
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.navigation import SessionNavigation, ViewStateController
from helix_desktop.ui.window.notifications import NotificationController, NotifiedUpdate, Tray
from helix_desktop.ui.window.panel_controller import PanelPresenter, PastController
from helix_desktop.ui.window.quit import QuitController
from helix_desktop.ui.window.redaction import RedactionController
from helix_desktop.ui.window.rewrite_controller import RewriteController
from helix_desktop.ui.window.session_lists import SessionLists, unused_sessions
from helix_desktop.ui.window.session_status import SessionStatus
from helix_desktop.ui.window.settings_controller import SettingsController
from helix_desktop.ui.window.trust import TrustController
from helix_desktop.ui.window.window_group import ShownSession, WindowGroup
from helix_desktop.ui.window.workspace_controller import WorkspaceController


class ControlledWindow:
    """Makes the parts that serve a window, does what other windows ask for, and follows what they change."""

    def __init__(
        self,
        window: MainWindow,
        services: AppServices,
        actions: AsyncActions,
        windows: WindowGroup,
        appearance: Appearance,
    ) -> None:
        """`windows` are all windows of the app, to which this one is added next."""
        self.window = window
        self.services = services
        self.windows = windows
        self.async_actions = actions
        window.intents.async_actions = actions
        self.session = window.session = Session(window, services, actions)
        self._show_session_on_pages()
        self._do_what_users_ask(appearance)
        # What other windows ask for.
        self.save_drafts = self.composer.drafts.save_all
        self.unsaved_settings = self.settings.unsaved_pages
        self.leave_workspace = self.workspace_controller.leave
        self.show_error = actions.show_error
        windows.lists_changed.connect(self._follow_lists)
        windows.settings_changed.connect(self._follow_settings)
        self.session.model_chosen.connect(lambda: windows.settings_changed.emit(window))

    def _show_session_on_pages(self) -> None:
        """Make what shows the session on screen; it comes there, and is refreshed, in this order."""
        window = self.window
        session = self.session
        windows = self.windows
        pages = self.window.pages
        SessionStatus(window, windows)
        self.chat = ChatPresenter(pages.chat.model, pages.chat.view.announce, session)
        pages.chat.view.start = session.start
        self.past = PastController(window, windows, self.chat)
        for lazy_page, kind in (
            (pages.timeline, Timeline),
            (pages.changes, ChangesPage),
            (pages.outputs, OutputsPage),
            (pages.comparison, ComparisonPage),
        ):
            lazy_page.when_built(lambda page: page.follow(session))
            window.intents.add_lazy(kind, lazy_page.get)
        others = windows.windows  # the first one has heard all that runs
        self.jobs = SessionJobs(window, session, others[0].background_jobs if others else {})
        self.composer = ComposerController(pages.chat, session, windows.drafts)
        self.composer.switched.connect(window.take_typed_text)
        add_completions(self.composer, session, window.help_windows.command_list.offer)
        self.turn = TurnController(pages.chat, session, self.composer)
        window.stop_offered.connect(pages.chat.composer.offer_stop)
        PanelPresenter(window, windows, self.past)
        session.on_show(self.chat.load)
        window.page_shown.connect(session.refresh_page)
        window.page_shown.connect(window.focus_page)

    def _do_what_users_ask(self, appearance: Appearance) -> None:
        window = self.window
        session = self.session
        windows = self.windows
        pages = self.window.pages
        self.sidebar = SessionLists(window, windows)
        stored = self.composer.attachments.content_stored
        stored.connect(self.sidebar.schedule_refresh)
        stored.connect(lambda: windows.lists_changed.emit(window))
        self.trust = TrustController(window, windows)
        workspaces = self.workspace_controller = WorkspaceController(window, windows, self.sidebar)
        window.picker.follow(session, partial(unused_sessions, windows))
        windows.workspace_opened.connect(lambda _: window.picker.list_again())
        ViewStateController(window, session, self.past)
        self.rewrites = RewriteController(window, windows)
        SessionNavigation(window, windows, self.composer, self.chat, self.past)
        self.recalls = Recalls(session, self.composer.attachments)
        pages.outputs.when_built(self.recalls.follow_preview)
        reverts = RevertFlow(session, pages.changes)
        window.page_shown.connect(lambda _: window.notices.end(REVERTED))
        show_session_notices(session)
        workspaces.on(ApprovalGiven, self.turn.follow_approval)
        workspaces.on(ModeChanged, self.turn.follow_mode)
        workspaces.on(BackgroundProgress, self.jobs.follow)
        tray = Tray(window, session.start)
        self.notifications = NotificationController(
            window, self.services, tray, is_current=lambda: windows.current.window is window
        )
        workspaces.on(NotifiedUpdate, self.notifications.on_update)
        window.jobs.ended.connect(self.notifications.on_job_ended)
        tray.clicked.connect(windows.open_in_current)
        windows.activated.connect(tray.clear_message)
        self.quit_controller = QuitController(window, windows, tray)
        BranchController(window, windows, workspaces, reverts, self.chat)
        self.cleanup = CleanupController(window, windows)
        self.redaction = RedactionController(window, windows, self.composer)
        self.import_export = ImportExportController(window, windows, workspaces)
        McpNotices(session)
        self.settings = SettingsController(window, windows, appearance)

    @property
    def shown_session(self) -> ShownSession:
        return ShownSession(self.session.workspace_id, self.session.id)

    @property
    def background_jobs(self) -> Mapping[str, BackgroundJobs]:
        return self.jobs.background

    async def show_session(self, workspace_id: str, session_id: str | None) -> None:
        """Show a session of a workspace: a new one for None, the last one if the id is empty.

        Without a workspace, show the welcome page. An error is shown in the window.
        """
        await self.async_actions.start(self._show_session(workspace_id, session_id), "show session")

    async def _show_session(self, workspace_id: str, session_id: str | None) -> None:
        if workspace_id:
            await self.workspace_controller.open_workspace(workspace_id, session_id=session_id)
        else:
            self.workspace_controller.show_welcome()
            await self.sidebar.refresh()

    async def hide_session(self) -> None:
        await self.session.show(self.session.workspace if self.session.has_workspace else None, None)

    async def clear(self) -> None:
        """Take session and workspace off the screen and store the draft; what runs goes on."""
        self.window.leave_settings()
        for name in self.window.notices.names():  # seen, and not for who opens the window next
            self.window.notices.end(name)
        self.window.sidebar.search.clear()
        self.quit_controller.tray.withdraw()
        self.session.workspace_id = ""
        self.workspace_controller.requested_ids = ("", "")
        await self.session.show(None, None)
        self.windows.lists_changed.emit(self.window)  # what was typed is a draft only now

    async def end_tasks(self) -> None:
        """End what the window's actions started, and start nothing more."""
        await self.async_actions.scope.close(for_good=True)
        await self.settings.end_replays()

    def _follow_lists(self, window: object) -> None:
        if window is not self.window and self in self.windows.open_windows:
            self.sidebar.schedule_refresh()
            self.session.schedule_refresh()  # the cache may have changed

    def _follow_settings(self, window: object) -> None:
        if window is not self.window and self in self.windows.open_windows:
            self.trust.show()
            self.session.follow_models()
            self.settings.refresh()
