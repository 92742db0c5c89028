"""Says below the text which of the files that it mentions will be attached, and which do not exist."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtCore import QObject, QTimer

from helix_desktop.domain.slash_command import parse_slash_input
from helix_desktop.services.file_index import FileIndex, MentionedFiles
from helix_desktop.ui.chat.composer.composer import Composer
from helix_desktop.words.slash_commands import find_slash_command
from helix_desktop.words.translation import translate

_CHECK_AFTER_MS = 250


class FileMentions(QObject):
    """Looks the mentions of the composer's text up after a pause; never in the way of sending."""

    def __init__(
        self,
        composer: Composer,
        index: Callable[[], FileIndex | None],
        start: Callable[[Coroutine[Any, Any, None], str], object],
    ) -> None:
        """`index` returns the files of the workspace on screen."""
        super().__init__(composer)
        self._composer, self._index = composer, index
        self._timer = QTimer(self, singleShot=True, interval=_CHECK_AFTER_MS)
        self._timer.timeout.connect(lambda: start(self._check(), "look up mentions"))
        composer.text_changed.connect(lambda _: self._timer.start())

    async def _check(self) -> None:
        index, text = self._index(), self._composer.text()
        found = MentionedFiles()
        if index is not None and not _is_built_in_command(text):
            found = await index.look_up(text)
        if index is self._index() and text == self._composer.text():
            parts = (translate(found.missing_text), translate(found.attached_text))
            self._composer.set_note(" · ".join(filter(None, parts)), is_warning=bool(found.missing))


def _is_built_in_command(text: str) -> bool:
    """Return True for a text that is no message: nothing goes along with it."""
    typed = parse_slash_input(text)
    return typed is not None and find_slash_command(typed.name) is not None
