"""Tells a person of a store's health: what was mended when it was opened, and damage that is met later."""

from __future__ import annotations

from helix_desktop.agent.room import Room
from helix_desktop.context.errors import HelixError
from helix_desktop.ui.frame.banner import BannerArea
from helix_desktop.ui.frame.rows import Banner


async def watch(room: Room, banners: BannerArea) -> None:
    """Show what was mended, once, and from now on each damaged content, until the person dismisses it."""

    def show(error: HelixError) -> None:
        banners.show_banner(
            Banner(error.what, "warning", error.what, error.why, error.fix, workspace=room.id)
        )

    health = room.store.health
    health.listen(show)
    report = health.report
    if report is not None:
        show(report.notice)
        await health.told()
