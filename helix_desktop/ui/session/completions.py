"""What the composer completes in the session on screen."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.services.file_index import FileIndex
from helix_desktop.ui.session.command_completions import CommandCompletions
from helix_desktop.ui.session.context import ControllerContext
from helix_desktop.ui.session.file_completions import FileCompletions
from helix_desktop.ui.session.file_mentions import FileMentions
from helix_desktop.ui.session.slash_commands import SlashCommands


class ComposerCompletions(QObject):
    """Binds the composer's sources of completions to what is on screen."""

    def __init__(
        self,
        context: ControllerContext,
        slash_commands: SlashCommands,
        workspace: Callable[[], OpenWorkspace | None],
        conversation: Callable[[], Conversation | None],
    ) -> None:
        """`workspace` and `conversation` return what is on screen."""
        composer = context.views.chat.composer
        super().__init__(composer)
        self._services, self._workspace = context.services, workspace
        start = context.async_actions.start
        self.files = FileCompletions(self._file_index, conversation, start)
        self.mentions = FileMentions(composer, self._file_index, start)
        commands = CommandCompletions(context.services.prompt_files, slash_commands, workspace)
        for source in (self.files, commands):
            composer.completer.add_source(source, start)
        composer.editor.typed.connect(lambda _: self.files.prepare())

    def _file_index(self) -> FileIndex | None:
        workspace = self._workspace()
        if workspace is None or workspace.is_read_only:
            return None
        return self._services.tools.file_index(workspace.id)
