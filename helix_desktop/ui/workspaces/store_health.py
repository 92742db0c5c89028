"""Shows a store's health: what was repaired when it was opened, and damage that is met later."""

from __future__ import annotations

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.errors import HelixError
from helix_desktop.ui.design.window_state import Banner
from helix_desktop.ui.shell.banners import BannerArea
from helix_desktop.words.store_reports import repair_notice
from helix_desktop.words.translation import translate


async def watch_store_health(workspace: OpenWorkspace, banners: BannerArea) -> None:
    """Show what was repaired, once, and from now on each damaged content, until the user dismisses it."""

    def show(error: HelixError) -> None:
        banners.show_banner(
            Banner(
                error.what,
                "warning",
                translate(error.what),
                translate(error.why),
                translate(error.fix),
                workspace=workspace.id,
            )
        )

    health = workspace.store.health
    health.listen(show)
    report = health.report
    if report is not None:
        show(repair_notice(report))
        await health.acknowledge()
