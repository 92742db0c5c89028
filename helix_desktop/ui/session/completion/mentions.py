"""Says below the text which of the files that it mentions will be attached, and which do not exist."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtCore import QObject, QTimer

from helix_desktop.domain.files.mention import Mention, find_mentions, format_lines
from helix_desktop.services.file_index import FileIndex
from helix_desktop.ui.chat.composer.composer import Composer
from helix_desktop.words.translation import Translator

tr = Translator("Composer")

_CHECK_AFTER_MS = 250
_MAX_MENTIONS = 30


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
        mentions = list(dict.fromkeys(_place(mention) for mention in find_mentions(text)))[:_MAX_MENTIONS]
        files, missing = [], []
        for mention in mentions if index is not None else ():
            kind = await index.kind(mention.path) if index is not None else None
            if kind == "file":
                files.append(_name(mention))
            elif kind is None and mention.looks_like_path:
                missing.append(mention.path)
        if index is self._index() and text == self._composer.text():
            self._composer.set_note(_note(files, missing), is_warning=bool(missing))


def _place(mention: Mention) -> Mention:
    return mention._replace(start=0, end=0)


def _name(mention: Mention) -> str:
    return mention.path + format_lines(mention.first_line, mention.last_line)


def _note(files: list[str], missing: list[str]) -> str:
    parts = []
    if missing:
        parts.append(tr("File not found: {files} (sent as text)", files=tuple(missing)))
    if files:
        parts.append(tr("Attaches {files}", files=tuple(files)))
    return " · ".join(parts)
