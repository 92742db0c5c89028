"""The main window's banner for an MCP server that waits for the user's consent."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from helix_desktop.ui.design.shell_data import Banner, BannerAction
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.words.translation import Translator

tr = Translator("MCP")
_ID, _REVIEW = "mcp-consent", "look"


class McpConsentBanner(QObject):
    """Stands while a server of the workspace on screen is not what was agreed to."""

    def __init__(
        self,
        context: ControllerContext,
        session_controller: SessionController,
        on_review: Callable[[], None],
    ) -> None:
        """`on_review` opens the page of MCP servers."""
        super().__init__(context.window)
        self._banners, self._services = context.window.banners, context.services
        self._active_workspace = context.active_workspace
        self._announced: dict[str, tuple[str, ...]] = {}  # servers that wait, by workspace
        self._services.mcp_servers.listen(lambda _: self.show())
        session_controller.session_changed.connect(self.show)
        self._banners.action_clicked.connect(lambda banner_id, _: on_review() if banner_id == _ID else None)

    def show(self) -> None:
        """Show or remove it, as the servers are now; a dismissed one stays away until another waits."""
        active = self._active_workspace.id
        if self._active_workspace.opened is None:
            return
        record = self._services.registry.get(active)
        waiting = record.servers_awaiting_consent
        if waiting == self._announced.get(active, ()):
            return
        self._announced[active] = waiting
        self._banners.remove(_ID, active)
        if waiting:
            title = tr.plural(
                len(waiting),
                "The MCP server {names} needs your approval.",
                "%n MCP servers need your approval: {names}.",
                names=waiting,
            )
            self._banners.show_banner(
                Banner(
                    _ID, "warning", title,
                    tr("A new or changed server starts only after you approve it."),
                    actions=(BannerAction(_REVIEW, tr("Review…")),),
                    workspace_id=active,
                )
            )  # fmt: skip
