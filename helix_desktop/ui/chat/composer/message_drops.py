"""Drops on the chat: outputs are recalled, files and images attached, folders listed, text is inserted."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QWidget

from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.ui.chat.composer.composer import Composer
from helix_desktop.ui.chat.composer.editor import DROPPED_IMAGE, AddedFile, files_from_mime
from helix_desktop.ui.design.drops import DragContent, DropHint, answer_drag, read_drag
from helix_desktop.words.translation import Translator

tr = Translator("Composer")


class MessageDrops(QObject):
    """Takes what can go along with the next message; the sign for it stands over the composer."""

    def __init__(self, place: QWidget, composer: Composer, hint: DropHint, *, takes_folders: bool) -> None:
        """Without `takes_folders`, a folder is left to the window, which opens it."""
        super().__init__(place)
        self._composer, self._hint, self._takes_folders = composer, hint, takes_folders
        place.setAcceptDrops(True)
        place.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QDragEnterEvent):
            dragged = read_drag(event.mimeData())
            if not self._takes(dragged):
                event.ignore()
                return True
            is_refusal = not self._composer.isEnabled()
            words = tr("No message can be written here now.") if is_refusal else _words(dragged)
            self._hint.show_text(words, is_refusal=is_refusal)
            answer_drag(event, is_accepted=True)
        elif isinstance(event, QDragMoveEvent):
            answer_drag(event, is_accepted=not self._hint.is_refusal)
        elif isinstance(event, QDropEvent):
            self._hint.hide()
            answer_drag(event, is_accepted=self._composer.isEnabled())
            if self._composer.isEnabled():
                self._drop(event, read_drag(event.mimeData()))
        elif event.type() is QEvent.Type.DragLeave:
            self._hint.hide()
        else:
            return False
        return True

    def _takes(self, dragged: DragContent) -> bool:
        if dragged.archive is not None:
            return False  # the window imports it
        return dragged.is_for_message and (self._takes_folders or not dragged.folders)

    def _drop(self, event: QDropEvent, dragged: DragContent) -> None:
        if dragged.digests:
            self._composer.entries_dropped.emit(list(dragged.digests))
            return
        if dragged.has_text:
            self._composer.editor.insert_dropped(event.mimeData())
            self._composer.editor.setFocus(Qt.FocusReason.OtherFocusReason)
            return
        paths = (*dragged.files, *dragged.folders)
        files = [AddedFile(path.name, path) for path in paths]
        files = files or files_from_mime(event.mimeData(), DROPPED_IMAGE)
        if files:
            self._composer.files_added.emit(files)


def _words(dragged: DragContent) -> str:
    """Return what a drop on the chat does."""
    if dragged.digests:
        count = len(dragged.digests)
        return tr.plural(
            count, "Drop to recall %n cached output into the message",
            "Drop to recall %n cached outputs into the message",
        )  # fmt: skip
    if dragged.has_text:
        return tr("Drop to insert the text into the message")
    return _words_of_files(dragged) or tr("Drop to attach the image")


def _words_of_files(dragged: DragContent) -> str:
    """Return what becomes of files and folders; empty if there are none."""
    files, folders = len(dragged.files), len(dragged.folders)
    if dragged.left_out:
        return tr.plural(
            dragged.left_out, "Drop to attach the first {count}. %n more is too many at once.",
            "Drop to attach the first {count}. %n more are too many at once.", count=files + folders,
        )  # fmt: skip
    if files and folders:
        names = tr.plural(folders, "the list of %n folder", "the lists of %n folders")
        return tr.plural(
            files, "Drop to attach %n file and {lists}", "Drop to attach %n files and {lists}", lists=names
        )
    if folders > 1:
        return tr("Drop to attach the lists of files in {count} folders", count=folders)
    if folders:
        return tr(
            "Drop to attach a list of the files in “{folder}”",
            folder=escape_hidden_name(dragged.folders[0].name),
        )
    return tr.plural(files, "Drop to attach %n file", "Drop to attach %n files") if files else ""
