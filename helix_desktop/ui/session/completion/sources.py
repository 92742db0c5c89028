"""What the composer completes, and which messages Up brings back, in the session on screen."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.services.file_index import FileIndex
from helix_desktop.ui.session.completion.commands import CommandCompletions
from helix_desktop.ui.session.completion.contents import ContentCompletions
from helix_desktop.ui.session.completion.files import FileCompletions
from helix_desktop.ui.session.completion.mentions import FileMentions
from helix_desktop.ui.session.completion.models import ModelCompletions
from helix_desktop.ui.session.completion.sent_messages import sent_messages
from helix_desktop.ui.session.composer.controller import ComposerController
from helix_desktop.ui.session.controller_context import ControllerContext


class ComposerCompletions(QObject):
    """Binds the composer's sources of completions to what is on screen."""

    def __init__(
        self,
        context: ControllerContext,
        composer_controller: ComposerController,
        workspace: Callable[[], OpenWorkspace | None],
        conversation: Callable[[], Conversation | None],
    ) -> None:
        """`workspace` and `conversation` return what is on screen."""
        composer = context.views.chat.composer
        super().__init__(composer)
        self._services, self._workspace, self._conversation = context.services, workspace, conversation
        self._attach = composer_controller.attachments.add
        start = context.async_actions.start
        self.files = FileCompletions(self._file_index, conversation, start)
        self.mentions = FileMentions(composer, self._file_index, lambda: (workspace(), conversation()), start)
        self.mentions.looked_up.connect(composer_controller.estimate.count_mentioned)
        commands = CommandCompletions(
            context.services.prompt_files, composer_controller.slash_commands, workspace
        )
        contents = ContentCompletions(
            workspace, conversation, lambda digest: start(self._attach_content(digest), "attach")
        )
        models = ModelCompletions(lambda: context.services.settings, conversation)
        for source in (self.files, contents, commands, models):
            composer.completer.add_source(source, start)
        composer.history.set_source(lambda: sent_messages(conversation()))
        composer.editor.typed.connect(lambda _: self.files.prepare())

    def _file_index(self) -> FileIndex | None:
        workspace = self._workspace()
        if workspace is None or workspace.is_read_only or not workspace.is_trusted():
            return None
        return self._services.tools.file_index(workspace.id)

    async def _attach_content(self, digest: str) -> None:
        workspace = self._workspace()
        if workspace is not None:
            attachment = await workspace.contents.attach(digest)
            if workspace is self._workspace():
                self._attach(attachment)
