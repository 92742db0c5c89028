"""The main window's banner for an MCP server that waits for the user's consent."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from helix_desktop.services.app_services import AppServices
from helix_desktop.ui.design.window_state import Banner, BannerAction
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.workspaces.controller import WorkspaceController

_ID, _REVIEW = "mcp-consent", "look"


class McpConsentBanner(QObject):
    """Stands while a server of the workspace on screen is not what was agreed to."""

    def __init__(
        self,
        window: MainWindow,
        workspace_controller: WorkspaceController,
        services: AppServices,
        on_review: Callable[[], None],
    ) -> None:
        """`on_review` opens the page of MCP servers."""
        super().__init__(window)
        self._window, self._workspace_controller, self._services = window, workspace_controller, services
        self._announced: dict[str, tuple[str, ...]] = {}  # servers that wait, by workspace
        services.mcp_servers.listen(lambda _: self.show())
        workspace_controller.session_controller.session_changed.connect(self.show)
        window.banners.action_clicked.connect(lambda banner, _: on_review() if banner == _ID else None)

    def show(self) -> None:
        """Show or remove it, as the servers are now; a dismissed one stays away until another waits."""
        active = self._workspace_controller.active_workspace_id
        if active not in self._services.open_workspaces:
            return
        record = self._services.registry.get(active)
        waiting = tuple(
            server.name for server in record.servers if server.enabled and not server.is_consented
        )
        waiting = waiting if record.trusted else ()
        if waiting == self._announced.get(active, ()):
            return
        self._announced[active] = waiting
        self._window.banners.remove(_ID, active)
        if waiting:
            names = ", ".join(waiting)
            whose = (
                f"The MCP server {names} waits" if len(waiting) == 1 else f"MCP servers wait: {names}, all"
            )
            self._window.banners.show_banner(
                Banner(
                    _ID, "warning", f"{whose} for your consent.",
                    "What would be started is not what you agreed to, or was never agreed to.",
                    actions=(BannerAction(_REVIEW, "Look at it…"),),
                    workspace=active,
                )
            )  # fmt: skip
