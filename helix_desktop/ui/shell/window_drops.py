"""Drops anywhere on the window: folders open, exports are imported; of all else it says where it can go."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QWidget

from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.ui.design.drops import DragContent, DropHint, answer_drag, read_drag
from helix_desktop.words.translation import Translator

tr = Translator("Window")


class WindowDrops(QObject):
    """Takes what no part of the window takes itself."""

    folder_dropped = Signal(str)
    archive_dropped = Signal(str)

    def __init__(self, window: QWidget, covered: QWidget) -> None:
        """`covered` is the part of the window that says what a drop does."""
        super().__init__(window)
        self.hint = DropHint(covered)
        window.setAcceptDrops(True)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Handle the drags and drops of the window."""
        if isinstance(event, QDragEnterEvent):
            dragged = read_drag(event.mimeData())
            self.hint.show_text(_words(dragged), is_refusal=not _is_taken(dragged))
            answer_drag(event, is_accepted=True)
        elif isinstance(event, QDragMoveEvent):
            answer_drag(event, is_accepted=not self.hint.is_refusal)
        elif isinstance(event, QDropEvent):
            self.hint.hide()
            dragged = read_drag(event.mimeData())
            answer_drag(event, is_accepted=_is_taken(dragged))
            if dragged.folders:
                self.folder_dropped.emit(str(dragged.folders[0]))
            elif dragged.archive is not None:
                self.archive_dropped.emit(str(dragged.archive))
        elif event.type() is QEvent.Type.DragLeave:
            self.hint.hide()
        else:
            return False
        return True


def _is_taken(dragged: DragContent) -> bool:
    return bool(dragged.folders or dragged.archive)


def _words(dragged: DragContent) -> str:
    """Return what a drop on the window does, or why it does nothing."""
    if dragged.folders:
        folder = escape_hidden_name(dragged.folders[0].name)
        return tr("Drop to open “{folder}” as a workspace", folder=folder)
    if dragged.archive is not None:
        return tr("Drop to import “{file}”", file=escape_hidden_name(dragged.archive.name))
    if dragged.is_for_message:
        return tr("Only a folder can be opened here. Drop files, text and cached outputs on the chat.")
    return tr("Only files, folders, images and text can be dropped.")
