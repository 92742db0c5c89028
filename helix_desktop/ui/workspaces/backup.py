"""Backs up all workspaces into a folder: one file each, with progress, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from helix_desktop.domain.errors import HelixError, InvalidInput
from helix_desktop.domain.listeners import OnProgress
from helix_desktop.domain.store_reports import ExportResult
from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.services.backup import BackupService
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.kit.notices import Notice, show_folder
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.words.numbers import format_size
from helix_desktop.words.translation import Translator, translate
from helix_desktop.workspaces.registry import WorkspaceRecord

text = TextContext("Workspaces")
tr = Translator("Workspaces")

_STEPS_PER_WORKSPACE = 1_000  # of the bar, for each workspace
_MAX_NAMED = 3  # workspaces that could not be written, listed by name


class _BackupSummary(NamedTuple):
    """What came of a backup so far: files, and the names of what is not whole, with why."""

    requested: int
    files: list[ExportResult]
    problems: list[tuple[str, str]]


async def back_up(window: MainWindow, session: Session) -> None:
    """Ask for a folder, and write each workspace to a file in it. Raises InvalidInput."""
    backup = session.app.backup
    records, errors = backup.stored_workspaces(), backup.unreadable_workspaces()
    if errors and not records:
        raise errors[0]
    if not records:
        raise InvalidInput(text("Nothing to back up."), text("No workspace has data yet."))
    folder = await dialogs.pick_folder(window, tr("Choose a backup folder"))
    if folder is None:
        return
    await backup.check_folder(folder)
    problems = [(tr("Not backed up"), translate(error.what)) for error in errors]
    summary = _BackupSummary(len(records) + len(errors), [], problems)
    ended = await session.job(
        tr.plural(summary.requested, "Backing up %n workspace", "Backing up %n workspaces"),
        lambda tell: _write(backup, records, folder, summary, tell),
        tr("Files of workspaces that are done stay in the folder."),
    )
    session.notify(_notice(summary, folder, canceled=ended is None))


async def _write(
    backup: BackupService,
    records: Sequence[WorkspaceRecord],
    folder: Path,
    summary: _BackupSummary,
    on_progress: OnProgress,
) -> bool:
    for number, record in enumerate(records):

        def report(done: int, size: int, before: int = number) -> None:
            on_progress(
                before * _STEPS_PER_WORKSPACE + done * _STEPS_PER_WORKSPACE // max(1, size),
                len(records) * _STEPS_PER_WORKSPACE,
            )

        try:
            result = await backup.back_up(record.id, folder, report)
        except HelixError as error:
            summary.problems.append((record.name, translate(join_sentences(error.what, error.why))))
            continue
        summary.files.append(result)
        lost = len(result.totals.lost) + len(result.totals.left_out)
        if lost:
            problem = tr.plural(
                lost,
                "%n part is damaged and isn't in the file.",
                "%n parts are damaged and aren't in the file.",
            )
            summary.problems.append((record.name, problem))
    return True


def _notice(summary: _BackupSummary, folder: Path, canceled: bool) -> Notice:
    what = _result_text(summary)
    if canceled:
        what = translate(join_sentences(tr("Backup canceled."), what))
    problems = [
        tr("{workspace}: {problem}", workspace=name, problem=problem)
        for name, problem in summary.problems[:_MAX_NAMED]
    ]
    more = len(summary.problems) - _MAX_NAMED
    if more > 0:
        problems.append(tr.plural(more, "and %n more", "and %n more", "problems"))
    return Notice(
        "backup",
        what,
        "\n".join(problems) or tr("Folder: {folder}", folder=folder),
        answers=(show_folder(folder),) if summary.files else (),
        level="warning" if summary.problems else "info",
    )


def _result_text(summary: _BackupSummary) -> str:
    count, size = len(summary.files), format_size(sum(result.file_size for result in summary.files))
    if not count:
        return tr("No workspace was backed up.")
    if count == summary.requested:
        return tr.plural(
            count,
            "%n workspace backed up: {size}, verified.",
            "%n workspaces backed up: {size}, verified.",
            size=size,
        )
    return tr.plural(
        summary.requested,
        "{count} of %n workspace backed up: {size}, verified.",
        "{count} of %n workspaces backed up: {size}, verified.",
        count=count,
        size=size,
    )
