"""The shell: which workspace and session are on screen, and what every command of the window does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from helix_desktop.agent.housekeeping import run_housekeeping
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.session_updates import ResponseDelta, Update
from helix_desktop.domain.errors import HelixError, StoreClosed, WorkspaceMissing
from helix_desktop.domain.events.session import NEW_TITLE
from helix_desktop.domain.store.retention import RetentionRule
from helix_desktop.services.app_services import AppServices
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.window_placement import bring_to_front
from helix_desktop.ui.design.window_state import Banner, error_banner
from helix_desktop.ui.session.approvals import ApprovalController
from helix_desktop.ui.session.controller import SessionController, SessionViews
from helix_desktop.ui.session.mode import ModeController
from helix_desktop.ui.session.navigation import SessionNavigation
from helix_desktop.ui.session.rewrite_controller import RewriteController
from helix_desktop.ui.session.spend_approval_banners import SpendApprovalBanners
from helix_desktop.ui.session.tool_actions import ToolCardController
from helix_desktop.ui.session.view_state import ViewStateKeeper
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.shell.tray import Tray
from helix_desktop.ui.workspaces.backup import BackupController
from helix_desktop.ui.workspaces.cleanup import CleanupController
from helix_desktop.ui.workspaces.import_export import ImportExportController
from helix_desktop.ui.workspaces.list_controller import WorkspaceListController
from helix_desktop.ui.workspaces.notifications import NotificationController
from helix_desktop.ui.workspaces.quit import QuitController
from helix_desktop.ui.workspaces.sidebar_presenter import SidebarPresenter
from helix_desktop.ui.workspaces.store_health import watch_store_health
from helix_desktop.ui.workspaces.trust import TrustController
from helix_desktop.workspaces.record import WorkspaceRecord

_COALESCE_MS = 250
_CLOSED_BANNER = "workspace closed"


class WorkspaceController(QObject):
    """Binds the window to the app services."""

    workspace_opened = Signal(str)
    """A workspace was opened for the first time in this run."""

    def __init__(
        self, window: MainWindow, views: SessionViews, async_actions: AsyncActions, services: AppServices
    ) -> None:
        super().__init__(window)
        self._window, self._async_actions, self._services = window, async_actions, services
        self.session_controller = SessionController(window, views, async_actions)
        self.session_controller.composer.folder_of = lambda identity: Path(
            services.registry.get(identity).path
        )
        SpendApprovalBanners(window, self.session_controller)
        ViewStateKeeper(self.session_controller, services.view_states, async_actions)
        self.rewrites = RewriteController(window, views, self.session_controller, async_actions)
        self.navigation = SessionNavigation(window, views, self.session_controller, async_actions)
        ToolCardController(self.session_controller, async_actions)
        ApprovalController(window, self.session_controller, async_actions)
        self.session_controller.session_requested.connect(
            lambda session: async_actions.start(self.open_session(session), "open session")
        )
        views.cache.handover_requested.connect(
            lambda session, seq: async_actions.start(self.show_handover(session, seq), "show handover")
        )
        ModeController(window, self.session_controller, async_actions, services)
        tray = Tray(window)
        self.notifications = NotificationController(window, services, tray)
        tray.clicked.connect(lambda: bring_to_front(window))
        tray.clicked.connect(self.notifications.on_clicked)
        tray.quit_requested.connect(window.close)
        self.quit_controller = QuitController(window, async_actions, services, tray)
        self.notifications.open_requested.connect(
            lambda *where: async_actions.start(self._open_and_raise(*where), "go there")
        )
        self.trust = TrustController(
            window, self.session_controller, async_actions, services, self._on_trust_changed
        )
        self._sidebar = SidebarPresenter(window)
        self.active_workspace_id = ""
        self._unsubscribers: dict[str, Callable[[], None]] = {}
        self._requested_ids = ("", "")  # workspace and session that the user asked for last
        self._new_session_lock = asyncio.Lock()
        self._recounting: set[str] = set()  # rooms whose sessions are being counted
        self._refresh_timer = QTimer(self)
        self._refresh_timer.setSingleShot(True)
        self._refresh_timer.setInterval(_COALESCE_MS)
        self._refresh_timer.timeout.connect(lambda: async_actions.start(self.refresh(), "refresh sidebar"))
        self.workspace_list = WorkspaceListController(window, async_actions, services, self)
        self.import_export = ImportExportController(window, async_actions, services, self)
        self.backup = BackupController(window, async_actions, services, self.import_export)
        self.cleanup = CleanupController(window, views.cache, async_actions, services, self)
        self.session_controller.usage_changed.connect(self._schedule_refresh)
        self._connect()

    def _connect(self) -> None:
        window, start = self._window, self._async_actions.start
        actions = window.commands
        actions.new_session.triggered.connect(lambda: start(self.new_session(), "new session"))
        window.rail.workspace_selected.connect(
            lambda identity: start(self.open_workspace(identity), "switch")
        )
        window.switcher.workspace_selected.connect(
            lambda identity: start(self.open_workspace(identity), "switch")
        )
        window.switcher.add_requested.connect(actions.open_folder.trigger)
        for dropped in (window.rail.folder_dropped, window.welcome.folder_dropped):
            dropped.connect(lambda path: start(self.open_folder(Path(path)), "open folder"))
        window.missing_folder.read_only_requested.connect(
            lambda: start(self.open_workspace(self.active_workspace_id, read_only=True), "open read-only")
        )
        window.sidebar.session_selected.connect(
            lambda session: start(self.open_session(session), "open session")
        )
        window.sidebar.session_renamed.connect(lambda *names: start(self._rename_session(*names), "rename"))
        window.top_bar.renamed.connect(lambda *names: start(self._rename_session(*names), "rename"))
        window.welcome.sample_requested.connect(lambda: start(self.open_sample(), "sample"))

    async def restore_last(self, path: Path | None = None, sample: bool = False) -> None:
        """Show the workspace that was asked for, else the last one, else the welcome page."""
        for problem in self._services.problems:
            self.show_error(problem)
        if sample:
            await self.open_sample()
            return
        if path is not None:
            await self.open_folder(path)
            return
        listed = [record.id for record in self._services.registry.list_workspaces()]
        last = next(
            (workspace_id for workspace_id in self._services.settings.recent if workspace_id in listed),
            listed[0] if listed else "",
        )
        if last:
            await self.open_workspace(last)
            if self.session_controller.conversation is not None:
                self._window.show_page(self._window.last_page())
        else:
            self._window.show_center_page("welcome")

    def show_error(self, error: HelixError) -> None:
        """Show an error on top of the center, until it is dismissed."""
        self._window.banners.show_banner(error_banner(error, *self._window.banners.context_ids))

    async def open_sample(self) -> None:
        """Open the guided sample with a session, so that its first message can be sent at once."""
        record = await self._services.sample_workspace()
        await self.open_workspace(record.id)
        await self._ensure_session(record.id)

    async def open_folder(self, path: Path) -> None:
        """Open a folder as a workspace, in its last session or a new one; ask whether to trust a new folder.

        Raises WorkspaceMissing.
        """
        record = self._services.registry.add(path)
        await self.open_workspace(record.id)
        await self._ensure_session(record.id)
        if (
            not record.trusted
            and self.active_workspace_id == record.id
            and record.id in self._services.open_workspaces
        ):
            self._async_actions.start(self.trust.ask(record.id), "trust")

    async def _ensure_session(self, workspace_id: str) -> None:
        """Let the user type into the workspace just opened: into its last session, else a new one."""
        if self.active_workspace_id != workspace_id or self.session_controller.workspace is None:
            return  # it cannot be opened, or the user has gone elsewhere
        if self._requested_ids == (workspace_id, "") and self.session_controller.conversation is None:
            await self.new_session()
        elif self.session_controller.conversation is not None:
            self._window.commands.focus_composer.trigger()

    async def _on_trust_changed(self) -> None:
        self.session_controller.composer.show_availability()
        if self._window.page() == "chat":
            self.session_controller.composer.widget.editor.setFocus()
        await self.refresh()

    async def open_workspace(self, workspace_id: str, read_only: bool = False) -> None:
        """Show another workspace, also one without its folder; what runs in the former one goes on."""
        self.active_workspace_id, self._requested_ids = workspace_id, (workspace_id, "")
        self._window.banners.remove(_CLOSED_BANNER, workspace_id)
        record = self._services.registry.get(workspace_id)
        try:
            workspace = await self.import_export.run_job(
                f"{record.name} is damaged and is being mended",
                lambda tell: self._services.open_workspace(workspace_id, read_only, tell),
            )
        except HelixError as error:
            if self.active_workspace_id == workspace_id:
                await self._show_closed(record, error)
            return
        if self.active_workspace_id != workspace_id:
            return
        if workspace_id not in self._unsubscribers:
            self._unsubscribers[workspace_id] = workspace.listen(
                lambda session, update: self._on_update(workspace, session, update)
            )
            self.workspace_opened.emit(workspace_id)
            await watch_store_health(workspace, self._window.banners)
            self._services.mcp_servers.start(workspace_id)
            self._async_actions.start(
                self._services.cache_endpoints.start(workspace_id), f"share cache {workspace_id}"
            )
            self._async_actions.start(
                self._run_housekeeping(workspace, RetentionRule(record.quota, record.unused_ms)), "tidy"
            )
        await self._services.save_settings(self._services.settings.with_recent(workspace_id))
        self.session_controller.sample_messages = await self._services.sample_messages(workspace_id)
        session_ids = [info.id for info in await workspace.sessions()]
        if self._requested_ids != (workspace_id, ""):
            return  # the user has chosen one meanwhile
        session_id = record.session if record.session in session_ids else next(iter(session_ids), "")
        await self._show_session(workspace, session_id)

    async def _run_housekeeping(self, workspace: OpenWorkspace, rule: RetentionRule) -> None:
        with suppress(StoreClosed):  # it was closed again meanwhile: another time will do
            await run_housekeeping(workspace, rule)

    async def _show_closed(self, record: WorkspaceRecord, error: HelixError) -> None:
        """Show why a workspace cannot be opened; what belongs to another one leaves the screen."""
        await self.session_controller.show(None, None)
        self._window.banners.set_context(record.id, "")
        if isinstance(error, WorkspaceMissing):
            self._window.missing_folder.show_workspace(record.name, record.path)
            self._window.show_center_page("missing")
        else:
            self._window.no_session.show_workspace(record.name, 1)
            self._window.show_center_page("empty")
            self._window.banners.show_banner(
                Banner(_CLOSED_BANNER, "error", error.what, error.why, error.fix, workspace=record.id)
            )
        await self.refresh()

    def _on_update(self, workspace: OpenWorkspace, session: str, update: Update) -> None:
        self.notifications.on_update(workspace, session, update)
        if not isinstance(update, ResponseDelta):
            self._schedule_refresh()

    def _schedule_refresh(self) -> None:
        if not self._refresh_timer.isActive():
            self._refresh_timer.start()

    async def _show_session(self, workspace: OpenWorkspace, session: str) -> None:
        self._requested_ids = (workspace.id, session)
        if not session:
            await self.session_controller.show(workspace, None)
            name = self._services.registry.get(workspace.id).name
            self._window.no_session.show_workspace(name, 0)
            self._window.show_center_page("empty")
        else:
            conversation = await workspace.open_session(session)
            if self._requested_ids != (workspace.id, session) or self.active_workspace_id != workspace.id:
                return
            self._window.show_center_page("work")
            await self.session_controller.show(workspace, conversation)
            self._services.registry.change(workspace.id, session=session)
            if self._window.page() == "chat":
                self.session_controller.composer.widget.editor.setFocus()
        await self.refresh()

    async def refresh(self) -> None:
        """Show workspaces and sessions as they are now."""
        workspace = self._services.open_workspaces.get(self.active_workspace_id)
        conversation = self.session_controller.conversation
        complete = await self._sidebar.show_sessions(
            workspace, conversation.session.id if conversation else ""
        )
        self._sidebar.show_workspaces(self._services, self.active_workspace_id)
        if workspace is not None and not complete and workspace.id not in self._recounting:
            self._async_actions.start(self._recount(workspace), "recount sessions")

    async def _recount(self, workspace: OpenWorkspace) -> None:
        """Count the sessions whose figures are not known, then show them."""
        self._recounting.add(workspace.id)
        try:
            with suppress(StoreClosed):
                if await workspace.recount_missing():
                    await self.refresh()
        finally:
            self._recounting.discard(workspace.id)

    async def open_session(self, session: str) -> None:
        """Show another session of this workspace."""
        workspace = self._services.open_workspaces.get(self.active_workspace_id)
        if workspace is not None:
            await self._show_session(workspace, session)

    async def _open_and_raise(self, workspace_id: str, session: str) -> None:
        """Show a session, of whichever workspace, and bring the window in front."""
        bring_to_front(self._window)
        if self.active_workspace_id != workspace_id:
            await self.open_workspace(workspace_id)
        if self.active_workspace_id == workspace_id:
            await self.open_session(session)
            self._window.show_page("chat")

    async def show_handover(self, session: str, seq: int) -> None:
        """Show a handover of a session of this workspace in the timeline."""
        if (
            self.session_controller.conversation is None
            or self.session_controller.conversation.session.id != session
        ):
            await self.open_session(session)
        self.session_controller.reveal(seq)

    async def new_session(self) -> None:
        """Begin a session in this workspace, unless there is one in which nothing was said yet: open that."""
        if self.active_workspace_id and self.active_workspace_id not in self._services.open_workspaces:
            await self.open_workspace(
                self.active_workspace_id
            )  # it could not be opened before; maybe it can now
        elif not self.active_workspace_id:
            await self.workspace_list.pick_folder()
        workspace = self._services.open_workspaces.get(self.active_workspace_id)
        if workspace is None:
            return
        async with self._new_session_lock:  # a key that is held down begins one session, not twenty
            fresh = [
                info.id
                for info in await workspace.sessions()
                if not info.messages and info.title == NEW_TITLE
            ]
            session = fresh[0] if fresh else (await workspace.create_session()).session.id
        await self._show_session(workspace, session)
        self._window.show_page("chat")
        self._window.commands.focus_composer.trigger()

    async def reopen(self, workspace_id: str) -> None:
        """Let go of a workspace and open it again, as its folder is now."""
        await self.close_workspace(workspace_id)
        await self.open_workspace(workspace_id)

    async def close_workspace(self, workspace_id: str) -> None:
        """End what runs in a workspace, and take it off the screen."""
        if workspace_id == self.active_workspace_id:
            await self.session_controller.show(None, None)
        await self._services.close_workspace(workspace_id)
        self._unsubscribers.pop(workspace_id, None)

    async def _rename_session(self, session: str, title: str) -> None:
        workspace = self._services.open_workspaces.get(self.active_workspace_id)
        if workspace is not None and title.strip():
            conversation = await workspace.open_session(session)
            await conversation.rename(title.strip())
            await self.refresh()
