"""The main window's banners for MCP servers: one waits for consent, lacks a secret, or has new tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject

from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.ui.design.safe_text import escape_invisible
from helix_desktop.ui.design.shell_data import Banner, BannerAction
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.words.translation import Translator, translate

tr = Translator("MCP")
_ID, _SECRET_ID, _NEW_TOOLS_ID = "mcp-consent", "mcp-secret", "mcp-new-tools"
_FAILED_ID = "mcp-failed"
_REVIEW, _ENTER = "look", "enter"
_NAMES, _NAME_CHARS = 6, 40  # of new tools that a banner names


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
            changes = [
                path
                for server in record.servers
                if server.name in waiting and server.approved_ms
                for path in server.consent_changes
            ]
            why = (
                tr("Files that it runs have changed: {files}.", files=tuple(_short_names(changes)))
                if changes
                else tr("A new or changed server starts only after you approve it.")
            )
            self._banners.show_banner(
                Banner(
                    _ID, "warning", title, why,
                    actions=(BannerAction(_REVIEW, tr("Review…")),),
                    workspace_id=active,
                )
            )  # fmt: skip


class McpSecretBanner(QObject):
    """Says once per start and workspace that a server does not run, since a secret of it is gone."""

    def __init__(
        self,
        context: ControllerContext,
        session_controller: SessionController,
        enter_secret: Callable[[str], object],
    ) -> None:
        """`enter_secret` opens the settings at the secret of a server."""
        super().__init__(context.window)
        self._banners, self._services = context.window.banners, context.services
        self._active_workspace = context.active_workspace
        self._announced: dict[str, tuple[str, ...]] = {}  # servers in the banner, by workspace
        self._dismissed: set[str] = set()  # workspaces
        self._enter_secret = enter_secret
        self._services.mcp_servers.listen(self._on_change)
        session_controller.session_changed.connect(self._show)
        self._banners.action_clicked.connect(self._on_action)
        self._banners.dismissed.connect(self._on_dismissed)

    def _on_dismissed(self, banner_id: str) -> None:
        if banner_id == _SECRET_ID:
            self._dismissed.add(self._active_workspace.id)

    def _on_action(self, banner_id: str, _: str) -> None:
        lacking = self._services.mcp_servers.servers_lacking_secrets(self._active_workspace.id)
        if banner_id == _SECRET_ID and lacking:
            self._enter_secret(lacking[0])

    def _on_change(self, workspace_id: str) -> None:
        if workspace_id == self._active_workspace.id:
            self._show()

    def _show(self) -> None:
        """Show it, name another server in it, or remove it once all have their secrets."""
        active = self._active_workspace.id
        if self._active_workspace.opened is None or active in self._dismissed:
            return
        lacking = self._services.mcp_servers.servers_lacking_secrets(active)
        if lacking == self._announced.get(active, ()) or self._is_being_started(active):
            return
        self._announced[active] = lacking
        if lacking:
            self._banners.show_banner(self._banner(active, lacking))
        else:
            self._banners.remove(_SECRET_ID, active)

    def _is_being_started(self, workspace_id: str) -> bool:
        """Return True while a server of the banner is tried again: it may lack its secret still."""
        return any(
            self._services.mcp_servers.is_starting(workspace_id, name)
            for name in self._announced.get(workspace_id, ())
        )

    def _banner(self, workspace_id: str, servers: tuple[str, ...]) -> Banner:
        title = tr.plural(
            len(servers),
            "The MCP server {names} can't start: its secret is missing.",
            "%n MCP servers can't start, since their secrets are missing: {names}.",
            names=servers,
        )
        why = tr("Secrets that aren't in a keychain last only until Helix closes.")
        enter = BannerAction(_ENTER, tr("Enter secret…"))
        return Banner(_SECRET_ID, "warning", title, why, actions=(enter,), workspace_id=workspace_id)


class McpFailureBanner(QObject):
    """Names a server that doesn't run, with the last line that it printed, until it runs again."""

    def __init__(
        self,
        context: ControllerContext,
        session_controller: SessionController,
        on_review: Callable[[str], object],
    ) -> None:
        """`on_review` opens the settings at a server."""
        super().__init__(context.window)
        self._banners, self._services = context.window.banners, context.services
        self._active_workspace = context.active_workspace
        self._announced: dict[str, tuple[str, ...]] = {}  # servers in the banner, by workspace
        self._services.mcp_servers.listen(self._on_change)
        session_controller.session_changed.connect(self._show)
        self._banners.action_clicked.connect(
            lambda banner_id, _: (
                on_review(self._announced[self._active_workspace.id][0]) if banner_id == _FAILED_ID else None
            )
        )

    def _on_change(self, workspace_id: str) -> None:
        if workspace_id == self._active_workspace.id:
            self._show()

    def _show(self) -> None:
        """Show it when another server fails; one that is tried again stays in it until it runs."""
        active = self._active_workspace.id
        if self._active_workspace.opened is None:
            return
        servers = self._services.mcp_servers
        awaiting_consent = self._services.registry.get(active).servers_awaiting_consent
        announced, lacking = self._announced.get(active, ()), servers.servers_lacking_secrets(active)
        failures = {
            failure.server: failure
            for failure in servers.failures(active)
            if failure.server not in {*lacking, *awaiting_consent}
            and (failure.server in announced or not servers.is_starting(active, failure.server))
        }
        names = tuple(failures)
        if names == announced:
            return
        self._announced[active] = names
        self._banners.remove(_FAILED_ID, active)
        if not names:
            return
        title = tr.plural(
            len(names),
            "The MCP server {names} isn't running.",
            "%n MCP servers aren't running: {names}.",
            names=names,
        )
        self._banners.show_banner(
            Banner(
                _FAILED_ID,
                "warning",
                title,
                translate(failures[names[0]].reason),
                actions=(BannerAction(_REVIEW, tr("Review…")),),
                workspace_id=active,
            )
        )


class NewToolsBanner(QObject):
    """Says that a running server has come to offer more tools than it did when it started."""

    def __init__(
        self,
        context: ControllerContext,
        session_controller: SessionController,
        on_review: Callable[[str], object],
    ) -> None:
        """`on_review` opens the settings at the tools of a server."""
        super().__init__(context.window)
        self._banners, self._services = context.window.banners, context.services
        self._active_workspace, self._on_review = context.active_workspace, on_review
        self._announced: dict[str, dict[str, tuple[str, ...]]] = {}  # tools by server, by workspace
        self._shown_server = ""
        self._services.mcp_servers.listen(self._on_change)
        session_controller.session_changed.connect(self._show)
        self._banners.action_clicked.connect(
            lambda banner_id, _: on_review(self._shown_server) if banner_id == _NEW_TOOLS_ID else None
        )

    def _on_change(self, workspace_id: str) -> None:
        if workspace_id == self._active_workspace.id:
            self._show()

    def _show(self) -> None:
        """Name what each server offers that no banner has named yet."""
        active = self._active_workspace.id
        if self._active_workspace.opened is None:
            return
        later, announced = self._services.mcp_servers.later_tools(active), self._announced.get(active, {})
        new = {
            server: tuple(tool for tool in tools if tool not in announced.get(server, ()))
            for server, tools in later.items()
        }
        servers = [server for server, tools in new.items() if tools]
        if not servers:
            return
        self._announced[active] = later
        self._shown_server = servers[0]
        counts = [
            tr.plural(
                len(new[server]), "{server} has %n new tool.", "{server} has %n new tools.", server=server
            )
            for server in servers
        ]
        self._banners.show_banner(
            Banner(
                _NEW_TOOLS_ID,
                "info",
                join_sentences(*counts),
                _new_tools_text([tool for server in servers for tool in new[server]]),
                actions=(BannerAction(_REVIEW, tr("Review…")),),
                workspace_id=active,
            )
        )


def _short_names(names: Sequence[str]) -> list[str]:
    return [ellipsize(escape_invisible(name), _NAME_CHARS) for name in names[:_NAMES]]


def _new_tools_text(tools: Sequence[str]) -> str:
    names = ", ".join(_short_names(tools))
    if len(tools) > _NAMES:
        return tr("The agent can ask to use: {names} …", names=names)
    return tr("The agent can ask to use: {names}", names=names)
