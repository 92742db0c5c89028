"""Tells a person of a store's health: what was mended when it was opened, and damage that is met later."""

from __future__ import annotations

from helix_desktop.agent.ports import Store
from helix_desktop.context.errors import HelixError
from helix_desktop.ui.frame.banner import BannerArea
from helix_desktop.ui.frame.rows import Banner


async def watch(store: Store, banners: BannerArea) -> None:
    """Show what was mended, once, and from now on each damaged content, until the person dismisses it."""

    def show(error: HelixError) -> None:
        banners.show_banner(Banner(error.what, "warning", error.what, error.why, error.fix))

    store.health.listen(show)
    report = store.health.report
    if report is not None:
        show(report.notice)
        await store.health.told()
