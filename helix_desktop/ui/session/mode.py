"""Changes the mode of the session on screen, and shows which it is."""

from __future__ import annotations

from PySide6.QtCore import QObject

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.choices import PermissionMode
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.events.conversation import ApprovalGiven
from helix_desktop.domain.events.session import ModeChanged
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.kit.commands import action_shortcut, set_action_words
from helix_desktop.ui.kit.intents import NextMode, SetMode, handles
from helix_desktop.ui.kit.notices import Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.session.composer_controller import runs_demo_calls
from helix_desktop.ui.shell.commands import WindowCommands, mode_menu
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.words.translation import Translator, translate

tr = Translator("Session")
text = TextContext("Session")

_ORDER: tuple[PermissionMode, ...] = ("ask", "plan", "auto")
_NO_SANDBOX = "no-sandbox"
_ASK_EXCEPT_DEMO = text("Ask before every change, except demo calls")


class ModeController(QObject):
    def __init__(self, window: MainWindow, session: Session) -> None:
        super().__init__(window)
        self._window, self._session = window, session
        self._chat = window.pages.chat
        self._button = self._chat.composer.mode_button
        self._button.setMenu(mode_menu(self._button, window.commands))
        self._shows_demo_runs = False
        actions = window.commands
        self._actions = {"ask": actions.mode_ask, "plan": actions.mode_plan, "auto": actions.mode_auto}
        window.intents.add(self)
        actions.next_mode.changed.connect(self.show)
        session.changed.connect(self.show)
        session.model_changed.connect(self.show)

    def show(self) -> None:
        mode = self._session.conversation.mode if self._session.has_conversation else "ask"
        self._actions[mode].setChecked(True)
        demo_runs = self._shows_demo_runs = runs_demo_calls(self._session)
        ask = _ASK_EXCEPT_DEMO if demo_runs else WindowCommands.mode_ask.words
        set_action_words(self._actions["ask"], translate(ask))
        key = action_shortcut(self._window.commands.next_mode)
        self._button.show_mode(mode, demo_runs=demo_runs, key=key)

    def follow_approval(self, workspace: OpenWorkspace, _session: str, approval: ApprovalGiven) -> None:
        """Follow an answer in any session of a workspace: it may let demo calls run in all."""
        if approval.rule or approval.mode or not self._session.shows(workspace):
            return
        if runs_demo_calls(self._session) != self._shows_demo_runs:
            self._session.follow_models()

    def follow_mode(self, workspace: OpenWorkspace, _session: str, _: ModeChanged) -> None:
        """Follow the mode of any session of a workspace: it is its subagents' too."""
        if self._session.shows(workspace):
            self.show()

    @handles(NextMode)
    async def set_next_mode(self) -> None:
        mode = self._session.conversation.mode
        await self._set_mode(_ORDER[(_ORDER.index(mode) + 1) % len(_ORDER)])

    @handles(SetMode)
    async def set_mode(self, mode: str) -> None:
        """Set the mode of this name. Raises InvalidInput."""
        known = next((known for known in _ORDER if known == mode.lower()), None)
        if known is None:
            raise InvalidInput(
                text("{words} isn't a mode.", words=repr(mode[:40])),
                fix=text("Modes are {modes}.", modes=_ORDER),
            )
        await self._set_mode(known)

    async def _set_mode(self, mode: PermissionMode) -> None:
        workspace, conversation = self._session.workspace, self._session.conversation
        try:
            await conversation.set_mode(mode)
        finally:
            self.show()
        self._chat.view.announce(self._button.accessibleName())
        self._session.notices.end(_NO_SANDBOX)
        if mode == "auto" and not await self._session.app.tools.is_sandboxed(workspace.id):
            self._session.notify(
                Notice(
                    _NO_SANDBOX,
                    tr("Auto mode still asks before running commands."),
                    tr(
                        "Commands here can reach the network, or files outside the workspace. "
                        "Files are edited without asking."
                    ),
                    workspace_id=workspace.id,
                    session_id=conversation.session.id,
                )
            )
