"""`cache repair` and `cache verify`: the full check of a store and its file history, and the repair."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import suppress

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.ports import Store
from helix_desktop.cli.output import (
    ProgressPrinter,
    as_builtins,
    content_name,
    print_err,
    print_notice,
    print_out,
)
from helix_desktop.domain.errors import StoreError
from helix_desktop.domain.file_history.changes import FileHistoryCheck
from helix_desktop.domain.store_reports import IntegrityReport, RepairReport
from helix_desktop.services.app_services import AppServices
from helix_desktop.store.remote.client import RemoteStore
from helix_desktop.system.exit_codes import FAILED
from helix_desktop.words.store_reports import history_check_lines, repair_notice
from helix_desktop.words.translation import Translator, error_text, translate

tr = Translator("Command line")

_REPAIR_COMMAND = "helix-desktop cache repair --workspace PATH"
_IMPORT_COMMAND = "helix-desktop cache import"


async def report_repairs(services: AppServices, workspace: OpenWorkspace) -> None:
    """Print on standard error what was repaired when the store or its file history was opened, once."""
    store = workspace.store
    report = store.health.report
    if report is not None:
        print_notice(error_text(repair_notice(report)))
        await store.health.acknowledge()
    await _report_history_damage(services, workspace)


async def _report_history_damage(services: AppServices, workspace: OpenWorkspace) -> None:
    with suppress(StoreError):  # whoever needs the file history says why it can't be read
        if (damage := await services.file_histories.maintenance(workspace.id).notice()) is not None:
            print_notice(error_text(damage))


async def repair(args: argparse.Namespace, services: AppServices, workspace: OpenWorkspace) -> int:
    """Check everything and repair it; return 0 if nothing is lost."""
    report = workspace.store.health.report
    integrity, history = await _check_all(services, workspace)
    if integrity.problems or history.problems:
        await services.close_workspace(workspace.id)
        on_progress = ProgressPrinter(tr("Repairing")).update
        # Opening repairs what the check found.
        workspace = await services.open_workspace(workspace.id, read_only=True, on_progress=on_progress)
        report = workspace.store.health.report or report
        integrity = await _check_store(workspace.store)
    if not history.is_sound:
        await services.file_histories.maintenance(workspace.id).repair(history)
    await _report_history_damage(services, workspace)
    if args.json:
        print_out(
            json.dumps(
                {**_checks_json(integrity, history), "mended": as_builtins(report) if report else None}
            )
        )
    else:
        _print(integrity, history, report)
    if integrity.is_of_another_version:
        print_notice(_another_version_text())
    elif integrity.problems:
        print_notice(_unrepaired_text(is_open_elsewhere=isinstance(workspace.store, RemoteStore)))
    if report is not None:
        await workspace.store.health.acknowledge()
    is_lossless = integrity.is_sound and history.is_sound and (report is None or report.is_lossless)
    return 0 if is_lossless else FAILED


async def verify_all(args: argparse.Namespace, services: AppServices, workspace: OpenWorkspace) -> int:
    """Check everything without changing it; return 0 if all is valid."""
    integrity, history = await _check_all(services, workspace)
    is_sound = integrity.is_sound and history.is_sound
    if args.json:
        print_out(json.dumps(_checks_json(integrity, history)))
        return 0 if is_sound else FAILED
    _print_checks(integrity, history, tr("DAMAGED"))
    if integrity.is_of_another_version:
        print_err(_another_version_text())
    if not history.is_sound or (integrity.problems and not integrity.is_of_another_version):
        print_err(tr("To repair it, run {command} or open the workspace.", command=_REPAIR_COMMAND))
    return 0 if is_sound else FAILED


async def _check_all(
    services: AppServices, workspace: OpenWorkspace
) -> tuple[IntegrityReport, FileHistoryCheck]:
    integrity = await _check_store(workspace.store)
    return integrity, await services.file_histories.maintenance(workspace.id).check(
        ProgressPrinter(tr("Verifying the file history")).update
    )


async def _check_store(store: Store) -> IntegrityReport:
    if not sys.stderr.isatty():
        return await store.health.check()

    def show_progress(done: int, total: int) -> None:
        sys.stderr.write("\r" + tr("{done} of {total} verified", done=done, total=total))

    integrity = await store.health.check(show_progress)
    sys.stderr.write("\r\x1b[K")
    return integrity


def _checks_json(integrity: IntegrityReport, history: FileHistoryCheck) -> dict[str, object]:
    return {
        "verified": integrity.contents,
        "damaged": [content.digest for content in integrity.damaged],
        "problems": list(integrity.problems),
        "file_history": as_builtins(history),
    }


def _print(integrity: IntegrityReport, history: FileHistoryCheck, report: RepairReport | None) -> None:
    if report is not None:
        notice = repair_notice(report)
        print_out("\n".join(map(translate, (notice.what, notice.why, notice.fix))))
    _print_checks(integrity, history, tr("LOST"))
    if report is None and integrity.is_sound and history.is_sound:
        print_out(tr("Nothing needed repair."))


def _print_checks(integrity: IntegrityReport, history: FileHistoryCheck, mark: str) -> None:
    for content in integrity.damaged:
        print_out(f"{content.digest}  {mark}  {content_name(content)}".rstrip())
    for problem in (*integrity.problems, *history_check_lines(history)):
        print_out(translate(problem))
    print_out(verified_text(integrity.contents, len(integrity.damaged)))
    print_out(
        tr(
            "File history: {verified} verified, {damaged} damaged",
            verified=history.contents,
            damaged=len(history.damaged) + len(history.lost_lists) + len(history.problems),
        )
    )


def verified_text(verified: int, damaged: int) -> str:
    return tr("{verified} verified, {damaged} damaged", verified=verified, damaged=damaged)


def _another_version_text() -> str:
    return tr(
        "Another version of Helix Desktop wrote this. Nothing was changed. Open it with the newest one."
    )


def _unrepaired_text(*, is_open_elsewhere: bool) -> str:
    if is_open_elsewhere:
        return tr(
            "Not repaired: this workspace is in use by another running Helix Desktop. Close that window, or "
            "wait until that command ends. It is repaired the next time it opens."
        )
    return tr("Some damage couldn't be repaired. Restore a backup with {command}.", command=_IMPORT_COMMAND)
