"""Asks before the app quits too early; says what a crash left."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QDialog

from helix_desktop.domain.errors import StoreWriteFailed
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.ui.chat.drafts_and_attachments import UnsavedDraft
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.dialogs import DialogChoice, exec_async
from helix_desktop.ui.design.sized_dialog import bring_to_front
from helix_desktop.ui.design.viewer.content_viewer import TextsDialog
from helix_desktop.ui.kit.intents import Export, Quit, handles
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.notifications import Tray
from helix_desktop.ui.window.window_group import WindowGroup, WindowPart
from helix_desktop.words.sessions import session_title
from helix_desktop.words.translation import Translator, translate

tr = Translator("Workspaces")
_window_tr = Translator("Window")
log = logging.getLogger(__name__)

_QUIT, _HIDE, _EXPORT = "quit", "hide", "export"


class QuitController(WindowPart):
    """Decides what closing a window does: one of several closes, the last one quits or hides."""

    confirmed = Signal()
    """The app is to end."""

    def __init__(self, window: MainWindow, windows: WindowGroup, tray: Tray) -> None:
        super().__init__(window, windows)
        self.tray = tray
        self._is_asking = False
        window.closing.connect(lambda: self._start(self._close(), "close window"))

    async def _close(self) -> None:
        """Close this window; the only one ends the app."""
        if self._windows.is_only_one(self._window):
            await self._confirm_quit()
        elif not self._is_asking:
            self._is_asking = True
            try:
                # Drafts that can't be saved wait in the other windows.
                app_window = self._windows.find(self._window)
                pages = app_window.unsaved_settings()
                if not pages or await self._may_lose_settings(pages, is_quit=False):
                    await self._windows.close_window(app_window)
            finally:
                self._is_asking = False

    @handles(Quit)
    async def _confirm_quit(self) -> None:
        asking = self._windows.asks_to_quit
        if asking is not None:
            dialogs_of_it = (each for each in asking.findChildren(QDialog) if each.isVisible())
            for each in (asking, *dialogs_of_it):
                bring_to_front(each)
            return
        if self._is_asking:
            return
        self._is_asking, self._windows.asks_to_quit = True, self._window
        try:
            # That question says that everything is saved; what is lost otherwise is asked next.
            running = [
                session_title(conversation.session.transcript.title)
                for workspace in self._services.open_workspaces.values()
                for conversation in workspace.conversations
                if conversation.is_running
            ]
            asks = running and not await self._missing_files()
            answer = await self._ask_about_agents(running) if asks else _QUIT
            if answer == _QUIT and not await self._may_lose_drafts():
                answer = ""
        finally:
            self._is_asking, self._windows.asks_to_quit = False, None
        if answer == _QUIT:
            self.confirmed.emit()
        elif answer == _HIDE:
            self.tray.hide_window()
            self._windows.hide()

    async def _may_lose_drafts(self) -> bool:
        """Save what the user wrote; return False where that can't be and they want to stay."""
        by_session: dict[str, UnsavedDraft] = {}
        for app_window in [*self._windows.windows]:
            by_session |= {draft.session_id: draft for draft in await app_window.save_drafts()}
        missing = await self._missing_files()
        for workspace_id, error in missing.items():
            if not await self._may_lose_workspace(workspace_id, error):
                return False
        drafts = [draft for draft in by_session.values() if draft.workspace.id not in missing]
        if drafts and not await self._may_lose_texts(drafts):
            return False
        pages = [page for app_window in self._windows.open_windows for page in app_window.unsaved_settings()]
        return not pages or await self._may_lose_settings(pages, is_quit=True)

    async def _missing_files(self) -> dict[str, StoreWriteFailed]:
        """Return why nothing can be saved, by workspace, for those whose files are gone."""
        workspaces = [*self._services.open_workspaces.values()]
        errors = {workspace.id: await workspace.store.health.missing_files() for workspace in workspaces}
        return {workspace_id: error for workspace_id, error in errors.items() if error is not None}

    async def _ask(self, what: str, why: str, *choices: DialogChoice) -> str:
        self._windows.show()
        return await dialogs.ask(self._window, what, why, (DialogChoice("", tr("Cancel")), *choices))

    async def _ask_about_agents(self, running: list[str]) -> str:
        choices = [DialogChoice(_QUIT, tr("Stop and quit"), "danger")]
        if self.tray.is_available():
            choices.append(DialogChoice(_HIDE, tr("Keep running in tray"), "primary"))
        if len(running) == 1:
            which = tr("The agent is working in “{session}”.", session=ellipsize(running[0]))
        else:
            which = tr.plural(
                len(running), "The agent is working in %n session.", "The agent is working in %n sessions."
            )
        outcome = tr("Quitting stops it. Everything so far is saved, and you can continue later.")
        why = translate(join_sentences(which, outcome))
        return await self._ask(tr("Quit while the agent is working?"), why, *choices)

    async def _may_lose_texts(self, unsaved: list[UnsavedDraft]) -> bool:
        if len(unsaved) == 1:
            what = tr("Quit without what you wrote in “{session}”?", session=unsaved[0].title)
        else:
            what = tr.plural(
                len(unsaved),
                "Quit without what you wrote in %n session?",
                "Quit without what you wrote in %n sessions?",
            )
        error = unsaved[0].error
        why = translate(join_sentences(error.what, error.why, error.fix))
        return await self._may_lose(what, why, is_quit=True)

    async def _may_lose_workspace(self, workspace_id: str, error: StoreWriteFailed) -> bool:
        """Return True if the user quits without a workspace whose files are gone; it can be exported."""
        name = self._services.registry.get(workspace_id).name
        answer = await self._ask(
            tr("Quit without saving “{workspace}”?", workspace=name),
            translate(join_sentences(error.what, error.why, error.fix)),
            DialogChoice(_QUIT, tr("Quit without saving"), "danger"),
            DialogChoice(_EXPORT, tr("Export…"), "primary"),
        )
        if answer == _EXPORT:
            self._window.perform(Export(workspace_id))
        return answer == _QUIT

    async def _may_lose_settings(self, pages: list[str], is_quit: bool) -> bool:
        why = tr("What you typed in Settings isn't saved yet: {pages}.", pages=", ".join(pages))
        quits, closes = (
            tr("Quit without saving your settings?"),
            tr("Close the window without saving your settings?"),
        )
        return await self._may_lose(quits if is_quit else closes, why, is_quit)

    async def _may_lose(self, what: str, why: str, is_quit: bool) -> bool:
        words = tr("Quit without saving") if is_quit else tr("Close without saving")
        return await self._ask(what, why, DialogChoice(_QUIT, words, "danger")) == _QUIT


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
            self.turns and _window_tr.plural(self.turns, "%n interrupted turn", "%n interrupted turns"),
            self.queued and _window_tr.plural(self.queued, "%n queued message", "%n queued messages"),
            self.drafts and _window_tr.plural(self.drafts, "%n draft", "%n drafts"),
            self.repaired
            and _window_tr("workspace data of {workspaces} (repaired)", workspaces=self.repaired),
        )
        if not any(parts):
            return _window_tr("No work was interrupted. Sessions, drafts and layout are unchanged.")
        recovered = _window_tr(
            "Recovered: {parts}. Sessions and layout are unchanged.", parts=tuple(filter(None, parts))
        )
        names, more = self.sessions[:_MAX_NAMES], len(self.sessions) - _MAX_NAMES
        if more > 0:
            names = (*names, _window_tr.plural(more, "%n more session", "%n more sessions"))
        return f"{recovered} {_window_tr('See {sessions}.', sessions=names)}" if names else recovered


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
    what = _window_tr("Helix Desktop didn't close properly last time.")
    answer = Answer(_window_tr("Show log"), lambda: async_actions.start(show_log(), "crash log"), "show")
    window.notices.notify(Notice("crash", what, recovery.text, answers=(answer,), level="warning"))


async def _show_log(window: MainWindow, read_log: Callable[[], str], folder: Path) -> None:
    text = await asyncio.to_thread(read_log)
    open_folder = PushButton(_window_tr("Open log folder"), name="open_log_folder")
    open_folder.clicked.connect(lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))))
    note = _window_tr("API keys, logins and the path of your home folder are removed. Nothing is sent.")
    title, texts = _window_tr("Log of the last run"), {"log.txt": text}
    await exec_async(TextsDialog(window, title, (note,), texts, buttons=(open_folder,)))
