"""The text field of the composer: grows from one line to eight, and knows when Enter means send."""

from __future__ import annotations

from pathlib import Path

import msgspec
from PySide6.QtCore import QEvent, QMimeData, Qt, Signal
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragMoveEvent,
    QDropEvent,
    QFocusEvent,
    QGuiApplication,
    QImage,
    QInputMethodEvent,
    QKeyEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QFrame, QWidget

from helix_desktop.domain.image import MAX_EDGE_PX
from helix_desktop.ui.design.drops import answer_drag, has_mentions, read_drag
from helix_desktop.ui.design.fields import TextArea
from helix_desktop.ui.design.viewer.picture import png_bytes

PASTED_IMAGE, DROPPED_IMAGE = "Pasted image", "Dropped image"  # names in the message, as models read them
LONG_TEXT_CHARS, LONG_TEXT_LINES = 2_000, 30
"""What is pasted above either goes along as a chip: some 500 tokens, or four times what the field shows.

Nobody writes a message of that length by hand, and what stays in the text fits into a preview's tokens."""


class AddedFile(msgspec.Struct, frozen=True, eq=False):
    """A file that is not read yet, or pixels from the clipboard; no two are equal: pixels have no hash."""

    name: str
    source: Path | QImage

    @property
    def path(self) -> Path | None:
        """The file; None for pixels."""
        return self.source if isinstance(self.source, Path) else None

    def png(self) -> bytes:
        """Return pixels as PNG, no larger than models look at; nothing for a file."""
        if isinstance(self.source, Path):
            return b""
        pixels, size, mode = self.source, MAX_EDGE_PX, Qt.TransformationMode.SmoothTransformation
        if max(pixels.width(), pixels.height()) > size:
            pixels = pixels.scaled(size, size, Qt.AspectRatioMode.KeepAspectRatio, mode)
        return png_bytes(pixels)


def files_from_mime(mime: QMimeData, image_name: str = PASTED_IMAGE) -> list[AddedFile]:
    """Return the files or the image in what was pasted or dropped; none if anything else is in it.

    `image_name` names an image that is no file.
    """
    if has_mentions(mime):
        return []
    paths = [Path(url.toLocalFile()) for url in mime.urls() if url.isLocalFile()]
    if mime.hasUrls():
        are_files = len(paths) == len(mime.urls()) and not any(path.is_dir() for path in paths)
        return [AddedFile(path.name, path) for path in paths] if are_files else []
    pixels = mime.imageData() if mime.hasImage() else None
    return [AddedFile(image_name, pixels)] if isinstance(pixels, QImage) and not pixels.isNull() else []


_MAX_LINES = 8
_PAD = 4  # pixels above and below the text
_OPENING = "([{<\"'`"  # characters that a word may follow without a space


class Editor(TextArea):
    """A plain text editor; emits `submitted` to send, `files_added` with files and images that are pasted,
    `long_text_pasted` with a text that is too long to stand in the field.

    `steer_submitted` is emitted to send it into the running turn, `typed` with what the user typed, once that
    is in the text: not with what is pasted, put in, or still being composed by an input method.
    """

    submitted = Signal()
    typed = Signal(str)
    steer_submitted = Signal()
    scroll_key_pressed = Signal(QKeyEvent)
    """A key that scrolls the conversation, pressed where there is nothing to scroll."""
    files_added = Signal(object)
    long_text_pasted = Signal(str)

    _placeholders: tuple[str, ...] = ("",)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.verticalScrollBar().valueChanged.connect(self._stay_at_top)
        self.enter_sends = True
        self._is_drop = False  # what is put in was dropped
        self._awaits_letter = False  # a dead key or Compose was pressed, and its letter is still to come
        self._is_letter_down = False  # the key whose press put in a text, until it is released
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(_PAD)
        self.textChanged.connect(self.fit_height)
        # Where a completion breaks the line, Qt knows it only after it told of the text.
        self.document().documentLayout().documentSizeChanged.connect(self.fit_height)
        self.fit_height()

    @property
    def is_composing(self) -> bool:
        return bool(self.composition)

    def set_placeholders(self, *texts: str) -> None:
        """Show the first of these that fits, else the last, while nothing is typed."""
        if texts != self._placeholders:
            self._placeholders = texts
            self._fit_placeholder()

    def setPlaceholderText(self, text: str) -> None:
        self.set_placeholders(text)

    def _fit_placeholder(self) -> None:
        room = self.viewport().width() - 2 * _PAD
        fitting = (text for text in self._placeholders if self.fontMetrics().horizontalAdvance(text) <= room)
        super().setPlaceholderText(next(fitting, self._placeholders[-1]))
        self.viewport().update()  # Qt paints it only when it comes or goes: another text stood there unseen

    def commit_composition(self) -> None:
        """Put into the text what an input method still composes, as it stands on screen."""
        before, composition = self.toPlainText(), self.composition
        QGuiApplication.inputMethod().commit()
        if composition and self.toPlainText() == before:  # some drop it instead, as if the user had left
            committed = QInputMethodEvent()
            committed.setCommitString(composition)
            self.inputMethodEvent(committed)

    def fit_height(self) -> None:
        """Be as tall as the text, between one line and eight."""
        lines = min(_MAX_LINES, max(1, round(self.document().size().height())))
        tall = lines * self.fontMetrics().lineSpacing() + 2 * _PAD + 1
        if tall != self.height() or tall != self.maximumHeight():
            self.setFixedHeight(tall)
        full = self.document().size().height() > _MAX_LINES
        if self.document().isEmpty():
            self._fit_placeholder()
        policy = Qt.ScrollBarPolicy
        self.setVerticalScrollBarPolicy(policy.ScrollBarAsNeeded if full else policy.ScrollBarAlwaysOff)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Send or break the line on Enter, as the user chose; never while something is being composed."""
        is_accent_dropped, self._awaits_letter = self._awaits_letter, False
        if self._scrolls_conversation(event):
            self.scroll_key_pressed.emit(event)
            return
        if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter) or self.is_composing:
            super().keyPressEvent(event)
            if event.text().isprintable() and event.text():
                self.typed.emit(event.text())
            return
        if is_accent_dropped:
            return
        modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        control = modifiers == Qt.KeyboardModifier.ControlModifier
        if modifiers == Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier:
            self.steer_submitted.emit()
        elif control or (self.enter_sends and modifiers == Qt.KeyboardModifier.NoModifier):
            self.submitted.emit()
        elif modifiers in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier):
            self.insertPlainText("\n")
            self.ensureCursorVisible()
        else:
            event.ignore()

    def _scrolls_conversation(self, event: QKeyEvent) -> bool:
        """Return True for a page key while all of the text is in sight; Ctrl+Home and End without one."""
        match event.key(), event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            case (Qt.Key.Key_PageUp | Qt.Key.Key_PageDown, Qt.KeyboardModifier.NoModifier):
                return self.verticalScrollBarPolicy() == Qt.ScrollBarPolicy.ScrollBarAlwaysOff
            case (Qt.Key.Key_Home | Qt.Key.Key_End, Qt.KeyboardModifier.ControlModifier):
                return self.document().isEmpty()
        return False

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        """Notice a dead key: where Qt composes the letter itself, only the key's release comes here."""
        super().keyReleaseEvent(event)
        key, is_compose = event.key(), event.key() == Qt.Key.Key_Multi_key
        if is_compose or Qt.Key.Key_Dead_Grave <= key <= Qt.Key.Key_Dead_Longsolidusoverlay:
            self._awaits_letter = not self._is_letter_down
        else:
            self._is_letter_down = False

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Forget a dead key whose letter goes elsewhere."""
        self._awaits_letter = self._is_letter_down = False
        super().focusOutEvent(event)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        super().inputMethodEvent(event)
        self._awaits_letter, self._is_letter_down = False, bool(event.commitString())
        if event.commitString() and not self.is_composing:
            self.typed.emit(event.commitString())

    def type_text(self, text: str) -> None:
        """Put in what was typed elsewhere, as if it had been typed here."""
        self.insertPlainText(text)
        self.typed.emit(text)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take a text where it is dropped; what goes along with the message is the composer's."""
        if read_drag(event.mimeData()).has_text:
            super().dragEnterEvent(event)
            self._answer_copy(event)
        else:
            event.ignore()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        super().dragMoveEvent(event)
        self._answer_copy(event)

    def dropEvent(self, event: QDropEvent) -> None:
        """Put the text in; what comes from elsewhere stays apart from the words around it."""
        self._is_drop = event.source() not in {self, self.viewport()}
        super().dropEvent(event)
        self._is_drop = False
        self._answer_copy(event)

    def _answer_copy(self, event: QDropEvent) -> None:
        """Take text of others as a copy; within the field it can be moved."""
        if event.isAccepted() and event.source() not in {self, self.viewport()}:
            answer_drag(event, is_accepted=True)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return bool(files_from_mime(source)) or super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Files, images and long texts go along with the message; everything else is text in it."""
        files, text = files_from_mime(source), source.text()
        if files:
            self.files_added.emit(files)
        elif len(text) > LONG_TEXT_CHARS or text.count("\n") >= LONG_TEXT_LINES:
            self.long_text_pasted.emit(text)
        elif self._is_drop:
            super().insertFromMimeData(self._with_spaces(text))
        else:
            super().insertFromMimeData(source)

    def insert_dropped(self, source: QMimeData) -> None:
        """Put in what was dropped near the field, apart from the words at the cursor."""
        self._is_drop = True
        self.insertFromMimeData(source)
        self._is_drop = False

    def _with_spaces(self, text: str) -> QMimeData:
        """Return a text with the spaces that it needs at the cursor, to run into no word."""
        cursor, document = self.textCursor(), self.document()
        start, after = cursor.selectionStart(), document.characterAt(cursor.selectionEnd())
        before = document.characterAt(start - 1) if start else " "
        needs_space = not (before.isspace() or before in _OPENING or text[:1].isspace())
        data = QMimeData()
        data.setText(" " * needs_space + text + " " * (after.isalnum() and not text[-1:].isspace()))
        return data

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit_height()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self.fit_height()

    def _stay_at_top(self) -> None:
        """Scroll back what fits: Qt scrolls to the cursor before the box has grown, and leaves it so."""
        if self.verticalScrollBarPolicy() == Qt.ScrollBarPolicy.ScrollBarAlwaysOff:
            self.verticalScrollBar().setValue(0)
