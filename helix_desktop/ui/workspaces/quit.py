"""Asks before the app ends while the agent works, or while something that the user wrote is not saved."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.user_text import join_sentences
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.dialogs import Choice
from helix_desktop.ui.session.composer.controller import ComposerController
from helix_desktop.ui.session.composer.unsaved_drafts import UnsavedDraft
from helix_desktop.ui.session.context import ControllerContext
from helix_desktop.ui.shell.tray import Tray
from helix_desktop.words.sessions import session_title
from helix_desktop.words.translation import Translator, translate

tr = Translator("Workspaces")

_QUIT, _HIDE = "quit", "hide"


class QuitController(QObject):
    """Decides what closing the window does: quit, at once or after a question, or hide in the tray."""

    confirmed = Signal()
    """The app is to end."""

    def __init__(self, context: ControllerContext, composer: ComposerController, tray: Tray) -> None:
        super().__init__(context.window)
        self._window, self._services = context.window, context.services
        self._composer, self.tray = composer, tray
        self._is_asking = False
        start = context.async_actions.start
        context.window.closing.connect(lambda: start(self._confirm_close(), "quit"))

    async def _confirm_close(self) -> None:
        if self._is_asking:
            return
        self._is_asking = True
        try:
            running = self._running_titles()
            answer = await self._ask(running) if running else _QUIT
            unsaved = await self._composer.save_drafts() if answer == _QUIT else []
            if unsaved:
                answer = await self._ask_about(unsaved[0])
        finally:
            self._is_asking = False
        if answer == _QUIT:
            self.confirmed.emit()
        elif answer == _HIDE:
            self.tray.hide_window()

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

    async def _ask_about(self, draft: UnsavedDraft) -> str:
        what = tr("Quit without what you wrote in “{session}”?", session=draft.title)
        error = draft.error
        why = translate(join_sentences(error.what, error.why, error.fix))
        choices = [Choice("", tr("Cancel")), Choice(_QUIT, tr("Quit without saving"), "danger")]
        self._window.show()
        return await dialogs.ask(self._window, self._window.theme, what, why, choices)
