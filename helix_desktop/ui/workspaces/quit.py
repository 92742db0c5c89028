"""Asks before the app ends while the agent works, or while something that the user wrote is not saved."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.dialogs import Choice
from helix_desktop.ui.session.composer.controller import ComposerController
from helix_desktop.ui.session.composer.unsaved_drafts import UnsavedDraft
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.ui.shell.tray import Tray
from helix_desktop.words.sessions import session_title
from helix_desktop.words.translation import Translator, translate

tr = Translator("Workspaces")

_QUIT, _HIDE = "quit", "hide"


class QuitController(QObject):
    """Decides what closing the window does: quit, at once or after a question, or hide in the tray."""

    confirmed = Signal()
    """The app is to end."""
    move_confirmed = Signal(str, bool)
    """The same, and its data to be moved: to which folder, and whether the old copy is to be removed."""

    def __init__(
        self,
        context: ControllerContext,
        composer: ComposerController,
        tray: Tray,
        unsaved_settings: Callable[[], list[str]],
    ) -> None:
        """`unsaved_settings` returns the titles of the settings where something was typed and not saved."""
        super().__init__(context.window)
        self._window, self._services = context.window, context.services
        self._composer, self.tray = composer, tray
        self._unsaved_settings = unsaved_settings
        self._is_asking = False
        self._start = context.async_actions.start
        context.window.closing.connect(lambda: self._start(self._confirm_close(), "quit"))

    def move(self, target: str, remove_old: bool) -> None:
        """End the app for its data to be moved, unless the user wants to stay for what cannot be saved."""
        self._start(self._confirm_move(target, remove_old), "move data")

    async def _confirm_move(self, target: str, remove_old: bool) -> None:
        if await self._may_lose_drafts():
            self.move_confirmed.emit(target, remove_old)

    async def _confirm_close(self) -> None:
        if self._is_asking:
            return
        self._is_asking = True
        try:
            running = self._running_titles()
            answer = await self._ask(running) if running else _QUIT
            if answer == _QUIT and not await self._may_lose_drafts():
                answer = ""
        finally:
            self._is_asking = False
        if answer == _QUIT:
            self.confirmed.emit()
        elif answer == _HIDE:
            self.tray.hide_window()

    async def _may_lose_drafts(self) -> bool:
        """Save what the user wrote; return False where that can't be and they want to stay."""
        unsaved = await self._composer.save_drafts()
        if unsaved and await self._ask_about(unsaved) != _QUIT:
            return False
        pages = self._unsaved_settings()
        return not pages or await self._ask_about_settings(pages) == _QUIT

    def _running_titles(self) -> list[str]:
        """Return the titles of the sessions whose agent is at work, in every open workspace."""
        return [
            session_title(conversation.session.transcript.title)
            for workspace in self._services.open_workspaces.values()
            for conversation in workspace.conversations
            if conversation.is_running
        ]

    async def _ask(self, running: list[str]) -> str:
        choices = [Choice("", tr("Cancel")), Choice(_QUIT, tr("Stop and quit"), "danger")]
        if self.tray.is_available():
            choices.append(Choice(_HIDE, tr("Keep running in tray"), "primary"))
        if len(running) == 1:
            which = tr("The agent is working in “{session}”.", session=ellipsize(running[0]))
        else:
            which = tr.plural(
                len(running), "The agent is working in %n session.", "The agent is working in %n sessions."
            )
        outcome = tr("Quitting stops it. Everything so far is saved, and you can continue later.")
        self._window.show()
        return await dialogs.ask(
            self._window,
            self._window.theme,
            tr("Quit while the agent is working?"),
            translate(join_sentences(which, outcome)),
            choices,
        )

    async def _ask_about(self, unsaved: list[UnsavedDraft]) -> str:
        if len(unsaved) == 1:
            what = tr("Quit without what you wrote in “{session}”?", session=unsaved[0].title)
        else:
            what = tr.plural(
                len(unsaved),
                "Quit without what you wrote in %n session?",
                "Quit without what you wrote in %n sessions?",
            )
        error = unsaved[0].error
        return await self._ask_to_lose(what, translate(join_sentences(error.what, error.why, error.fix)))

    async def _ask_about_settings(self, pages: list[str]) -> str:
        why = tr("What you typed in Settings isn't saved yet: {pages}.", pages=", ".join(pages))
        return await self._ask_to_lose(tr("Quit without saving your settings?"), why)

    async def _ask_to_lose(self, what: str, why: str) -> str:
        choices = [Choice("", tr("Cancel")), Choice(_QUIT, tr("Quit without saving"), "danger")]
        self._window.show()
        return await dialogs.ask(self._window, self._window.theme, what, why, choices)
