"""Asks before the app ends while the agent works."""

from __future__ import annotations

from typing import Protocol

from PySide6.QtCore import QObject, Signal

from helix_desktop.context.digest import ellipsize
from helix_desktop.context.event import NEW_TITLE
from helix_desktop.ui import dialogs
from helix_desktop.ui.dialogs import Choice
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.main_window import MainWindow
from helix_desktop.ui.ports import Desk

_QUIT, _HIDE = "quit", "hide"


class HidingPlace(Protocol):
    """Where the window goes while the app keeps running: the system's tray."""

    def available(self) -> bool:
        """Return whether there is one."""
        ...

    def hide_window(self) -> None:
        """Hide the window there."""
        ...


class QuitPresenter(QObject):
    """Decides what closing the window does: quit, at once or after a question, or hide in the tray."""

    agreed = Signal()
    """The app is to end."""

    def __init__(self, window: MainWindow, intents: Intents, desk: Desk, tray: HidingPlace) -> None:
        super().__init__(window)
        self._window, self._desk = window, desk
        self.tray = tray
        self._asking = False
        window.closing.connect(lambda: intents.start(self._close(), "quit"))

    async def _close(self) -> None:
        running = self._running()
        if not running:
            self.agreed.emit()
            return
        if self._asking:
            return
        self._asking = True
        try:
            answer = await self._ask(running)
        finally:
            self._asking = False
        if answer == _QUIT:
            self.agreed.emit()
        elif answer == _HIDE:
            self.tray.hide_window()

    def _running(self) -> list[str]:
        """Return the titles of the sessions whose agent is at work, in every open workspace."""
        return [
            conversation.session.transcript.title or NEW_TITLE
            for room in self._desk.rooms.values()
            for conversation in room.conversations
            if conversation.running
        ]

    async def _ask(self, running: list[str]) -> str:
        choices = [Choice("", "Cancel"), Choice(_QUIT, "Stop and quit", "danger")]
        if self.tray.available():
            choices.append(Choice(_HIDE, "Keep running in tray", "primary"))
        if len(running) == 1:
            which = f"The agent is working in “{ellipsize(running[0])}”."
        else:
            which = f"The agent is working in {len(running)} sessions."
        self._window.show()
        return await dialogs.ask(
            self._window,
            self._window.theme,
            "Quit while the agent is working?",
            f"{which} Quitting stops it. Everything so far is saved, and you can continue later.",
            choices,
        )
