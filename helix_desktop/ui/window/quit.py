"""Asks before the app ends while the agent works, or a window closes while something isn't saved."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QDialog

from helix_desktop.domain.errors import StoreWriteFailed
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.ui.chat.drafts.shared_drafts import UnsavedDraft
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.dialogs import DialogChoice
from helix_desktop.ui.design.sized_dialog import bring_to_front
from helix_desktop.ui.kit.intents import Export, Quit, handles
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.settings.data_folder import MoveData
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.notifications import Tray
from helix_desktop.ui.window.window_group import WindowGroup
from helix_desktop.words.sessions import session_title
from helix_desktop.words.translation import Translator, translate

tr = Translator("Workspaces")

_QUIT, _HIDE, _EXPORT = "quit", "hide", "export"


class QuitController(QObject):
    """Decides what closing a window does: one of several closes, the last one quits or hides."""

    confirmed = Signal()
    """The app is to end."""
    move_confirmed = Signal(str, bool)
    """The same, and its data to be moved: to which folder, and whether the old copy is to be removed."""

    def __init__(self, window: MainWindow, session: Session, windows: WindowGroup, tray: Tray) -> None:
        super().__init__(window)
        self._window, self._services = window, session.app
        self._windows, self.tray = windows, tray
        self._is_asking = False
        self._start = session.start
        window.closing.connect(lambda: self._start(self._close(), "close window"))
        window.intents.add(self)

    @handles(MoveData)
    async def _move(self, folder: str, removes_old: bool) -> None:
        """End the app for its data to be moved, unless the user wants to stay for what cannot be saved."""
        if await self._may_lose_drafts():
            self.move_confirmed.emit(folder, removes_old)

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
            _bring_dialog_to_front(asking)
            return
        if self._is_asking:
            return
        self._is_asking, self._windows.asks_to_quit = True, self._window
        try:
            # That question says that everything is saved; what is lost otherwise is asked next.
            running = self._running_titles() if not await self._missing_files() else []
            answer = await self._ask(running) if running else _QUIT
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
        for app_window in self._windows.windows:
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

    def _running_titles(self) -> list[str]:
        """Return the titles of the sessions whose agent is at work, in every open workspace."""
        return [
            session_title(conversation.session.transcript.title)
            for workspace in self._services.open_workspaces.values()
            for conversation in workspace.conversations
            if conversation.is_running
        ]

    async def _ask(self, running: list[str]) -> str:
        choices = [DialogChoice("", tr("Cancel")), DialogChoice(_QUIT, tr("Stop and quit"), "danger")]
        if self.tray.is_available():
            choices.append(DialogChoice(_HIDE, tr("Keep running in tray"), "primary"))
        if len(running) == 1:
            which = tr("The agent is working in “{session}”.", session=ellipsize(running[0]))
        else:
            which = tr.plural(
                len(running), "The agent is working in %n session.", "The agent is working in %n sessions."
            )
        outcome = tr("Quitting stops it. Everything so far is saved, and you can continue later.")
        self._windows.show()
        return await dialogs.ask(
            self._window,
            tr("Quit while the agent is working?"),
            translate(join_sentences(which, outcome)),
            choices,
        )

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
        choices = (
            DialogChoice("", tr("Cancel")),
            DialogChoice(_QUIT, tr("Quit without saving"), "danger"),
            DialogChoice(_EXPORT, tr("Export…"), "primary"),
        )
        self._windows.show()
        answer = await dialogs.ask(
            self._window,
            tr(
                "Quit without saving “{workspace}”?", workspace=self._services.registry.get(workspace_id).name
            ),
            translate(join_sentences(error.what, error.why, error.fix)),
            choices,
        )
        if answer == _EXPORT:
            self._window.perform(Export(workspace_id))
        return answer == _QUIT

    async def _may_lose_settings(self, pages: list[str], is_quit: bool) -> bool:
        why = tr("What you typed in Settings isn't saved yet: {pages}.", pages=", ".join(pages))
        if is_quit:
            return await self._may_lose(tr("Quit without saving your settings?"), why, is_quit)
        return await self._may_lose(tr("Close the window without saving your settings?"), why, is_quit)

    async def _may_lose(self, what: str, why: str, is_quit: bool) -> bool:
        words = tr("Quit without saving") if is_quit else tr("Close without saving")
        self._windows.show()
        return await dialogs.confirm(self._window, what, why, _QUIT, words)


def _bring_dialog_to_front(window: MainWindow) -> None:
    for each in (window, *(dialog for dialog in window.findChildren(QDialog) if dialog.isVisible())):
        bring_to_front(each)
