"""Changes the mode of the session on screen, and shows which it is."""

from __future__ import annotations

from PySide6.QtCore import QObject

from helix_desktop.agent.update import Happened, Update
from helix_desktop.context.event import ModeChanged, Recorded
from helix_desktop.context.tool import Mode
from helix_desktop.ui.frame.rows import Banner
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.main_window import MainWindow
from helix_desktop.ui.ports import Desk
from helix_desktop.ui.work import Work

_ORDER: tuple[Mode, ...] = ("ask", "plan", "auto")
_NO_SANDBOX = "no sandbox"


class Modes(QObject):
    """Binds the mode's menu and keys to the conversation on screen."""

    def __init__(self, window: MainWindow, work: Work, intents: Intents, desk: Desk) -> None:
        super().__init__(window)
        self._window, self._work, self._intents, self._desk = window, work, intents, desk
        actions = window.commands
        self._actions = {"ask": actions.mode_ask, "plan": actions.mode_plan, "auto": actions.mode_auto}
        for mode, action in zip(_ORDER, self._actions.values(), strict=True):
            action.triggered.connect(lambda _=False, chosen=mode: self._choose(chosen))
        actions.next_mode.triggered.connect(self._next)
        work.shown.connect(self.show)
        work.heard.connect(self._hear)

    def show(self) -> None:
        """Show the mode of the conversation on screen."""
        talk = self._work.conversation
        mode = talk.mode if talk is not None else "ask"
        self._actions[mode].setChecked(True)
        self._window.top_bar.mode.show_mode(mode)

    def _hear(self, update: Update) -> None:
        match update:
            case Happened(recorded=Recorded(event=ModeChanged())):
                self.show()

    def _next(self) -> None:
        talk = self._work.conversation
        if talk is not None:
            self._choose(_ORDER[(_ORDER.index(talk.mode) + 1) % len(_ORDER)])

    def _choose(self, mode: Mode) -> None:
        self._intents.start(self._set(mode), "mode")

    async def _set(self, mode: Mode) -> None:
        talk, room = self._work.conversation, self._work.room
        if talk is None or room is None:
            return
        try:
            await talk.set_mode(mode)
        finally:
            self.show()
        self._work.screens.chat.view.announce(self._window.top_bar.mode.accessibleName())
        self._window.banners.remove(_NO_SANDBOX)
        if mode == "auto" and not await self._desk.tooling.confines(room.id):
            self._window.banners.show_banner(
                Banner(
                    _NO_SANDBOX,
                    "info",
                    "Commands are asked about in mode auto, too.",
                    "Here they cannot be kept in the workspace and off the network. Edits run unasked.",
                    workspace=room.id,
                    session=talk.session.id,
                )
            )
