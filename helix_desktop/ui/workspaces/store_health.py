"""Shows what an opening repaired or took back, and damage that is met later."""

from __future__ import annotations

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.errors import HelixError
from helix_desktop.services.history_storage import WorkspaceHistoryStorage
from helix_desktop.ui.design.shell_data import UNDONE_CHANGES, Banner, BannerAction
from helix_desktop.ui.shell.banners import BannerArea
from helix_desktop.words.file_changes import auto_run_texts
from helix_desktop.words.store_reports import repair_notice
from helix_desktop.words.translation import Translator, translate

tr = Translator("Changes")


async def watch_store_health(workspace: OpenWorkspace, banners: BannerArea) -> None:
    """Show what was repaired, once, and from now on each damaged content, until the user dismisses it."""
    health = workspace.store.health
    health.listen(lambda error: _show(error, workspace, banners))
    report = health.report
    if report is not None:
        _show(repair_notice(report), workspace, banners)
        await health.acknowledge()


async def report_history_damage(
    workspace: OpenWorkspace, history: WorkspaceHistoryStorage, banners: BannerArea
) -> None:
    """Show, once, that a file history was damaged and replaced by a new one. Raises StoreError."""
    damage = await history.notice()
    if damage is not None:
        _show(damage, workspace, banners)


async def report_undone_changes(workspace: OpenWorkspace, banners: BannerArea) -> None:
    """Show what was taken back because a command was cut off when the app ended."""
    store = workspace.services.auto_run
    changes = await store.unreported() if store is not None else ()
    if not changes:
        return
    change_ids = ",".join(change.change_id for change in changes if change.outcome == "removed")
    banners.show_banner(
        Banner(
            UNDONE_CHANGES,
            "warning",
            tr("A command was cut off before its changes were reported."),
            "\n".join(auto_run_texts(changes)),
            actions=(BannerAction(change_ids, tr("Restore")),) if change_ids else (),
            workspace_id=workspace.id,
        )
    )


def _show(error: HelixError, workspace: OpenWorkspace, banners: BannerArea) -> None:
    banners.show_banner(
        Banner(
            error.what,
            "warning",
            translate(error.what),
            translate(error.why),
            translate(error.fix),
            workspace_id=workspace.id,
        )
    )
