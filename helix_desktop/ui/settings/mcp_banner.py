"""Says in the main window that an MCP server waits for the person's consent."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from helix_desktop.ui.frame.rows import Banner, BannerAction
from helix_desktop.ui.main_window import MainWindow
from helix_desktop.ui.ports import Desk
from helix_desktop.ui.shell import Shell

_ID, _LOOK = "mcp-consent", "look"


class ConsentBanner(QObject):
    """Stands while a server of the workspace on screen is not what was agreed to."""

    def __init__(self, window: MainWindow, shell: Shell, desk: Desk, look: Callable[[], None]) -> None:
        """`look` opens the page of MCP servers."""
        super().__init__(window)
        self._window, self._shell, self._desk = window, shell, desk
        self._said: dict[str, tuple[str, ...]] = {}  # servers that wait, by workspace
        desk.servers.listen(lambda _: self.show())
        shell.work.shown.connect(self.show)
        window.banners.acted.connect(lambda banner, _: look() if banner == _ID else None)

    def show(self) -> None:
        """Show or remove it, as the servers are now; a dismissed one stays away until another waits."""
        active = self._shell.active
        if active not in self._desk.rooms:
            return
        record = self._desk.registry.get(active)
        waiting = tuple(one.name for one in record.servers if one.enabled and not one.agreed)
        waiting = waiting if record.trusted else ()
        if waiting == self._said.get(active, ()):
            return
        self._said[active] = waiting
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
                    actions=(BannerAction(_LOOK, "Look at it…"),),
                    workspace=active,
                )
            )  # fmt: skip
