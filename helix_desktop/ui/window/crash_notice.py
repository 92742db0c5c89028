"""Tells after a crash what was recovered, and shows the log of the run that crashed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.dialogs import exec_async
from helix_desktop.ui.design.viewer.content_viewer import TextsDialog
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.words.translation import Translator

tr = Translator("Window")

_MAX_NAMES = 3  # sessions that are named


class RecoverySummary(msgspec.Struct, frozen=True):
    """What a crashed run left, and is there again: broken-off turns, queued messages, drafts, repairs.

    `sessions` are the titles of the sessions that have any of the first three, each with its workspace.
    """

    turns: int = 0
    queued: int = 0
    drafts: int = 0
    repaired: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()

    def plus(self, other: RecoverySummary) -> RecoverySummary:
        values = zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)
        return RecoverySummary(*(own + more for own, more in values))

    @property
    def text(self) -> str:
        parts = (
            self.turns and tr.plural(self.turns, "%n interrupted turn", "%n interrupted turns"),
            self.queued and tr.plural(self.queued, "%n queued message", "%n queued messages"),
            self.drafts and tr.plural(self.drafts, "%n draft", "%n drafts"),
            self.repaired and tr("workspace data of {workspaces} (repaired)", workspaces=self.repaired),
        )
        if not any(parts):
            return tr("No work was interrupted. Sessions, drafts and layout are unchanged.")
        recovered = tr(
            "Recovered: {parts}. Sessions and layout are unchanged.", parts=tuple(filter(None, parts))
        )
        names, more = self.sessions[:_MAX_NAMES], len(self.sessions) - _MAX_NAMES
        if more > 0:
            names = (*names, tr.plural(more, "%n more session", "%n more sessions"))
        return f"{recovered} {tr('See {sessions}.', sessions=names)}" if names else recovered


def report_crash(
    window: MainWindow,
    async_actions: AsyncActions,
    read_log: Callable[[], str],
    folder: Path,
    recovery: RecoverySummary,
) -> None:
    """Show what was recovered, until it is dismissed; `read_log` gives the redacted log and may block.

    The log lies in `folder`.
    """

    show_log = partial(_show_log, window, read_log, folder)
    what = tr("Helix Desktop didn't close properly last time.")
    answer = Answer(tr("Show log"), lambda: async_actions.start(show_log(), "crash log"), "show")
    window.notices.notify(Notice("crash", what, recovery.text, answers=(answer,), level="warning"))


async def _show_log(window: MainWindow, read_log: Callable[[], str], folder: Path) -> None:
    text = await asyncio.to_thread(read_log)
    open_folder = PushButton(tr("Open log folder"), name="open_log_folder")
    open_folder.clicked.connect(lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))))
    note = tr("API keys, logins and the path of your home folder are removed. Nothing is sent.")
    title, texts = tr("Log of the last run"), {"log.txt": text}
    await exec_async(TextsDialog(window, title, (note,), texts, buttons=(open_folder,)))
