"""Says below the text which of the files that it mentions will be attached, and which do not exist."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtCore import QObject, QTimer

from helix_desktop.services.file_index import FileIndex, MentionedFiles
from helix_desktop.ui.chat.composer.composer import Composer
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
        found = await index.look_up(text) if index is not None else MentionedFiles()
        if index is self._index() and text == self._composer.text():
            parts = (translate(found.missing_text), translate(found.attached_text))
            self._composer.set_note(" · ".join(filter(None, parts)), is_warning=bool(found.missing))
