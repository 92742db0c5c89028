"""Says below the text which of the files that it mentions will be attached, and which cannot be."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.domain.files.mention import Mention, format_lines
from helix_desktop.domain.slash_command import parse_slash_input
from helix_desktop.services.file_index import FileIndex, MentionedFiles
from helix_desktop.ui.chat.composer.composer import Composer
from helix_desktop.words.numbers import format_token_count
from helix_desktop.words.slash_commands import find_slash_command
from helix_desktop.words.translation import Translator, translate

tr = Translator("Composer")

_CHECK_AFTER_MS = 250
_TriedFile = Attachment | InvalidInput


class FileMentions(QObject):
    """Looks the mentions of the composer's text up after a pause; never in the way of sending."""

    looked_up = Signal(object)
    """The attachments that the mentioned files would be: list[Attachment]."""

    def __init__(
        self,
        composer: Composer,
        index: Callable[[], FileIndex | None],
        on_screen: Callable[[], tuple[OpenWorkspace | None, Conversation | None]],
        start: Callable[[Coroutine[Any, Any, None], str], object],
    ) -> None:
        """`index` returns the files of the workspace on screen."""
        super().__init__(composer)
        self._composer, self._index, self._on_screen = composer, index, on_screen
        self._tried: dict[Mention, _TriedFile] = {}  # of the text that was looked up last
        self._tried_in: Conversation | None = None
        self._timer = QTimer(self, singleShot=True, interval=_CHECK_AFTER_MS)
        self._timer.timeout.connect(lambda: start(self._check(), "look up mentions"))
        composer.text_changed.connect(lambda _: self._timer.start())

    async def _check(self) -> None:
        index, text, (workspace, conversation) = self._index(), self._composer.text(), self._on_screen()
        found, tried = MentionedFiles(), dict[Mention, _TriedFile]()
        if index and workspace and conversation and not _is_built_in_command(text):
            found = await index.look_up(text)
            before = self._tried if conversation is self._tried_in else {}
            for mention in found.files:
                tried[mention] = before.get(mention) or await _try(workspace, conversation, mention)
        if conversation is self._on_screen()[1] and text == self._composer.text():
            self._tried, self._tried_in = tried, conversation
            refused = [result for result in tried.values() if isinstance(result, InvalidInput)]
            problems = [f"{translate(error.what)} {translate(error.why)}" for error in refused]
            self.looked_up.emit([result for result in tried.values() if isinstance(result, Attachment)])
            missing_texts = (translate(found.missing_text), _other_names_text(found.other_names))
            parts = (*missing_texts, _folders_text(found.folders), *problems, _attached_text(tried))
            self._composer.set_note(
                " · ".join(filter(None, parts)), is_warning=bool(found.missing or refused)
            )


async def _try(workspace: OpenWorkspace, conversation: Conversation, mention: Mention) -> _TriedFile:
    try:
        return await workspace.contents.try_attach_file(conversation.session.id, *mention[:3])
    except InvalidInput as error:
        return error


def _attached_text(tried: dict[Mention, _TriedFile]) -> str:
    """Say which files go along with the message, and their tokens."""
    attached = {
        mention.path + format_lines(mention.first_line, mention.last_line): result.tokens
        for mention, result in tried.items()
        if isinstance(result, Attachment)
    }
    if not attached:
        return ""
    tokens = format_token_count(sum(attached.values()))
    return tr("Attaches {files} (≈ {tokens})", files=tuple(attached), tokens=tokens)


def _other_names_text(names: tuple[str, ...]) -> str:
    """Say which names are of no file; empty for none."""
    if not names:
        return ""
    return tr("No file named {files} (sent as text, Ctrl+Space completes a name)", files=names)


def _folders_text(folders: tuple[str, ...]) -> str:
    """Say of which folders only the name goes along; empty for none."""
    return tr("Sent as text, without files: folder {folders}", folders=folders) if folders else ""


def _is_built_in_command(text: str) -> bool:
    """Return True for a text that is no message: nothing goes along with it."""
    typed = parse_slash_input(text)
    return typed is not None and find_slash_command(typed.name) is not None
