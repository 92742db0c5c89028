"""The prompt files of the workspace on screen, in the command palette."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction

from helix_desktop.domain.slash_command import SLASH, PromptFile
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.ui.kit.intents import FocusComposer, ShowCommands, handles
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.words.translation import Translator

tr = Translator("Window")


class PromptFileActions(QObject):
    """Offers each prompt file as a command that begins a message; they are read when the palette opens."""

    def __init__(self, window: MainWindow, session: Session) -> None:
        super().__init__(window)
        self._window, self._session = window, session
        self._files: tuple[PromptFile, ...] = ()
        self._actions: list[QAction] = []
        window.intents.add(self)

    @handles(ShowCommands)
    async def _read(self) -> None:
        files: tuple[PromptFile, ...] = ()
        if self._session.has_conversation:
            catalog = await self._session.app.prompt_files.read(self._session.workspace.id)
            files = tuple(catalog.files.values())
        if files != self._files:
            previous, self._actions = self._actions, [self._action(file) for file in files]
            self._files = files
            self._window.help_windows.command_list.offer(tr("Prompt files"), self._actions)
            for action in previous:
                action.deleteLater()

    def _action(self, file: PromptFile) -> QAction:
        words = f"{SLASH}{file.name} {file.argument_hint}".rstrip()
        words = " · ".join(filter(None, (words, file.description)))
        action = QAction(escape_hidden_name(words).replace("&", "&&"), self)
        action.setObjectName(f"prompt:{file.name}")
        action.triggered.connect(lambda: self._begin_message(file))
        return action

    def _begin_message(self, file: PromptFile) -> None:
        """Put the command in front of what is typed, which becomes its arguments."""
        self._window.perform(FocusComposer())
        composer = self._window.pages.chat.composer
        composer.set_text(f"{SLASH}{file.name} {composer.text()}")
