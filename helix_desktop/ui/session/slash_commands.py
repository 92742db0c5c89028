"""Runs the built-in slash commands: each is an action of the window, some of them with arguments."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from PySide6.QtGui import QAction

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.slash_command import SLASH
from helix_desktop.domain.translatable_text import TextContext, verbatim
from helix_desktop.ui.shell.actions import WindowActions
from helix_desktop.words.slash_commands import SlashCommand

text = TextContext("Slash commands")

RunWithArguments: TypeAlias = Callable[[str], Coroutine[Any, Any, None]]
"""Does an action with what was typed behind its command. Raises HelixError; then the text is kept."""


class SlashCommands:
    """The window's actions by their commands. Who does an action says what its arguments mean."""

    def __init__(self, actions: WindowActions) -> None:
        self._actions = actions
        self._with_arguments: dict[str, RunWithArguments] = {}

    def on_arguments(self, action: str, run: RunWithArguments) -> None:
        """Let `run` do an action where arguments are typed; without any the action itself is triggered."""
        self._with_arguments[action] = run

    def is_available(self, command: SlashCommand) -> bool:
        """Return True if a command can be run now."""
        return self._action(command).isEnabled()

    def _action(self, command: SlashCommand) -> QAction:
        action: QAction = getattr(self._actions, command.action)
        return action

    async def run(self, command: SlashCommand, arguments: str) -> None:
        """Run a command. Raises InvalidInput if it cannot be used now, or not with these arguments."""
        name = SLASH + command.name
        if not self.is_available(command):
            reason = self._action(command).statusTip()
            raise InvalidInput(
                text("{command} can't be used now.", command=name), verbatim(f"{reason}.") if reason else ""
            )
        if not arguments:
            self._action(command).trigger()
        elif command.action in self._with_arguments:
            await self._with_arguments[command.action](arguments)
        else:
            raise InvalidInput(
                text("{command} takes no arguments.", command=name),
                text("It was typed with {arguments}.", arguments=repr(arguments[:40])),
                text("Type {command} alone.", command=name),
                remedies=("send_as_message",),
            )
