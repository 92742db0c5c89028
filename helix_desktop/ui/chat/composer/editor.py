"""The text field of the composer: when Enter means send, what is pasted, and completion of words."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from unicodedata import category

import msgspec
from PySide6.QtCore import QEvent, QMimeData, QObject, QPoint, QRectF, Qt, QTimer, Signal
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
    QTextCursor,
)
from PySide6.QtWidgets import QFrame, QWidget
from shiboken6 import isValid

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.image import MAX_EDGE_PX
from helix_desktop.ui.chat.style import SMALL, UI
from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.document_units import count_units, slice_units
from helix_desktop.ui.design.drops import answer_drag, has_mentions, read_drag
from helix_desktop.ui.design.labels import ElidedLabel, IconLabel
from helix_desktop.ui.design.layout import column, pane, row
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.text_fields import TextArea
from helix_desktop.ui.design.viewer.picture import png_bytes
from helix_desktop.ui.kit.boxes import Box, Drawing, Icon, Pen, Text
from helix_desktop.ui.rows.quick_picker import Line, PickerList, cast_shadow
from helix_desktop.words.translation import Translator, translate

tr = Translator("Composer")

# Names in the message, as models read them.
PASTED_IMAGE = "Pasted image"
DROPPED_IMAGE = "Dropped image"
LONG_TEXT_CHARS = 2_000
"""A pasted text that is longer goes along as a chip: it has some 500 tokens or more.

Nobody writes a message of that length by hand, and what stays in the text fits into a preview's tokens."""
LONG_TEXT_LINES = 30
"""So does one of as many lines: four times what the field shows."""


class AddedFile(msgspec.Struct, frozen=True, eq=False):
    """A file that is not read yet, or pixels from the clipboard; no two are equal: pixels have no hash."""

    name: str
    source: Path | QImage

    @property
    def path(self) -> Path | None:
        return self.source if isinstance(self.source, Path) else None

    def png(self) -> bytes:
        """Return pixels as PNG, no larger than models look at; nothing for a file."""
        if isinstance(self.source, Path):
            return b""
        pixels = self.source
        size = MAX_EDGE_PX
        mode = Qt.TransformationMode.SmoothTransformation
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
        before = self.toPlainText()
        composition = self.composition
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
        is_accent_dropped = self._awaits_letter
        self._awaits_letter = False
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
        key = event.key()
        is_compose = event.key() == Qt.Key.Key_Multi_key
        if is_compose or Qt.Key.Key_Dead_Grave <= key <= Qt.Key.Key_Dead_Longsolidusoverlay:
            self._awaits_letter = not self._is_letter_down
        else:
            self._is_letter_down = False

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._awaits_letter = self._is_letter_down = False
        super().focusOutEvent(event)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        super().inputMethodEvent(event)
        self._awaits_letter = False
        self._is_letter_down = bool(event.commitString())
        if event.commitString() and not self.is_composing:
            self.typed.emit(event.commitString())

    def type_text(self, text: str) -> None:
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
        files = files_from_mime(source)
        text = source.text()
        if files:
            self.files_added.emit(files)
        elif len(text) > LONG_TEXT_CHARS or text.count("\n") >= LONG_TEXT_LINES:
            self.long_text_pasted.emit(text)
        elif self._is_drop:
            super().insertFromMimeData(self._with_spaces(text))
        else:
            super().insertFromMimeData(source)

    def insert_dropped(self, source: QMimeData) -> None:
        self._is_drop = True
        self.insertFromMimeData(source)
        self._is_drop = False

    def _with_spaces(self, text: str) -> QMimeData:
        """Return a text with the spaces that it needs at the cursor, to run into no word."""
        cursor = self.textCursor()
        document = self.document()
        start = cursor.selectionStart()
        after = document.characterAt(cursor.selectionEnd())
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


_OPENING_CATEGORIES = ("Ps", "Pi")  # categories of brackets and quotes that open


class CompletionItem(msgspec.Struct, frozen=True):
    """A row of the popup: an icon, a title and a detail, with the positions of matched letters in both.

    `text` takes the place of what was typed, trigger and all. With `is_partial` it is the beginning of more,
    such as a folder, and the popup stays open. `key` is what its source knows it by.
    """

    text: str
    title: str
    detail: str = ""
    icon: str = "file"
    title_matches: tuple[int, ...] = ()
    detail_matches: tuple[int, ...] = ()
    is_partial: bool = False
    key: str = ""


class CompletionSource:
    """Completes what begins with a trigger, typed at the start of a word."""

    trigger: str
    """A character, or a command and the space behind it, whose arguments are completed."""
    only_at_start = False
    """True if the word has to be the first of the message."""
    name: str
    """What is completed, for screen readers: "Files"."""
    hint = ""
    """What else can be typed, in a few words."""
    empty_text: str
    """What is said when nothing matches."""

    def takes(self, query: str) -> bool:
        """Return False for a query that means something else, as `#12` does: there is no popup then."""
        return True

    async def completions(self, query: str) -> Sequence[CompletionItem]:
        """Return what completes a query, best first. May be canceled. Raises HelixError."""
        raise NotImplementedError

    def accept(self, completion: CompletionItem) -> None: ...


class TypedWord(NamedTuple):
    """The word that is being completed: its source, where its trigger is, and what follows it."""

    source: CompletionSource
    start: int
    query: str


def find_typed_word(line: str, is_first_line: bool, sources: Iterable[CompletionSource]) -> TypedWord | None:
    """Return the word at the end of a line, up to the cursor, that a source completes.

    One in quotes may hold spaces.
    """
    for source in sources:
        start = _trigger_before(line, source.trigger)
        is_here = start >= 0 and not (source.only_at_start and (start or not is_first_line))
        query = line[start + len(source.trigger) :]
        if is_here and source.takes(query):
            return TypedWord(source, start, query)
    return None


def _trigger_before(line: str, trigger: str) -> int:
    """Return where the trigger of the last word is; -1 if there is none."""
    start = line.rfind(trigger)
    while start >= 0:
        before = line[start - 1] if start else " "
        may_begin = before.isspace() or before in "\"'<" or category(before) in _OPENING_CATEGORIES
        if may_begin and _is_one_word(line[start + len(trigger) :]):
            break
        start = line.rfind(trigger, 0, start)
    return start


def _is_one_word(query: str) -> bool:
    if not query.startswith('"'):
        return not any(char.isspace() for char in query)
    end = query.find('"', 1)
    while end > 0 and query[end - 1] == "\\":
        end = query.find('"', end + 1)
    return end < 0 or not any(char.isspace() for char in query[end:])


SLOW_MS = 150
"""A source that answers later than this is shown to be at work."""
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
StartTask: TypeAlias = Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]]

_LINE_PX = 30
_MAX_ROWS = 8
_EDGE_PX = 6  # around the lines
_GAP_PX = 6  # between popup and composer
_MIN_WIDTH_PX = 240


def _draw_completion(line: Line, width: float) -> Box:
    completion: CompletionItem = line.value

    def draw(pen: Pen, box: QRectF) -> None:
        pen.write(Icon(completion.icon), box.left() + scaled(9), box)
        room = box.adjusted(scaled(9 + 15 + 9), 0, -scaled(9), 0)
        used = _write_marked(pen, room, completion.title, completion.title_matches, UI, "text")
        room.setLeft(room.left() + used + scaled(10))
        if room.width() > scaled(30):
            _write_marked(pen, room, completion.detail, completion.detail_matches, SMALL, "muted")

    return Drawing((0, _LINE_PX), draw)


class CompletionPopup(QFrame):
    """Rows above the composer; the keyboard stays in the text."""

    accepted = Signal(int)
    """The user clicked a row."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setObjectName("completions")
        self.setProperty("role", "popup")
        self.completions: Sequence[CompletionItem] = ()
        self.list_view = PickerList(_draw_completion)
        self.list_view.setObjectName("completion_rows")
        self.list_view.clicked.connect(lambda index: self.accepted.emit(index.row()))
        self._note = ElidedLabel(role="faint")
        self._note.setObjectName("completion_note")
        self._spinner = IconLabel("loader-circle", px=14, color_token="muted")
        self._foot = pane(row(self._spinner, self._note, margins=(9, 6, 9, 4), gap=7, stretch=1))
        self.setLayout(column(self.list_view, self._foot, margins=(_EDGE_PX,) * 4, gap=0))
        cast_shadow(self, 28, 6, 60)
        self.hide()

    def show_rows(self, name: str, completions: Sequence[CompletionItem]) -> None:
        """Show these rows, the first one selected; `name` is read by screen readers."""
        self.completions = completions
        words = [completion_text(completion) for completion in completions]
        rows = zip(completions, words, strict=True)
        self.list_view.set_rows([Line(row, row.title, _LINE_PX, text, text) for row, text in rows])
        self.setAccessibleName(name)
        self.list_view.setAccessibleName(name)
        self.list_view.setVisible(bool(completions))
        if completions:
            self.list_view.choose(0)

    def show_note(self, text: str, is_busy: bool = False) -> None:
        """Show a line below the rows, empty for none; with `is_busy` behind a spinner."""
        self._note.set_full_text(text)
        self._spinner.setVisible(is_busy)
        self._foot.setVisible(bool(text))

    def place(self, anchor: QWidget) -> None:
        """Appear above a widget, as wide as it is, and as high as the rows need and the window allows."""
        window = self.parentWidget()
        assert window is not None
        corner = anchor.mapTo(window, QPoint(0, 0))
        wide = min(max(anchor.width(), _MIN_WIDTH_PX), window.width() - 2 * _GAP_PX)
        self._note.ensurePolished()  # before it is shown first, it would tell a height without its style
        foot = self._foot.sizeHint().height() if not self._foot.isHidden() else 0
        rest = foot + 2 * _EDGE_PX + 2
        line = scaled(_LINE_PX)
        whole_lines = max(1, (corner.y() - 2 * _GAP_PX - rest) // line)
        high = min(_MAX_ROWS, len(self.completions), whole_lines) * line + rest
        left = max(_GAP_PX, min(corner.x(), window.width() - wide - _GAP_PX))
        self.setGeometry(left, max(_GAP_PX, corner.y() - high - _GAP_PX), wide, high)
        self.show()
        self.raise_()


def completion_text(completion: CompletionItem) -> str:
    return ", ".join(part for part in (completion.title, completion.detail) if part)


def _write_marked(pen: Pen, room: QRectF, text: str, matches: Sequence[int], px: int, color: str) -> float:
    """Write a line with its matched letters strong; return how wide it is, at most the room."""
    marked = set(matches)
    parts = list[Text]()
    for is_match, group in groupby(range(len(text)), key=marked.__contains__):
        part = "".join(text[at] for at in group)
        look = ("accent_text", 600) if is_match else (color, 400)
        parts.append(Text(part, px, *look))
    block = QRectF(room)
    block.setWidth(min(room.width(), sum(part.width() - 1 for part in parts) + 1))
    left = block.left()
    for run in parts:
        left = pen.write(run, left, block) - 1
        if left >= block.right() - 1:
            break
    return block.width()


class Completer(QObject):
    """Binds an editor to its completions.

    The popup opens only when the user types a trigger; what is pasted, restored or being composed by an
    input method opens nothing. Enter is taken only while there is a row to accept that differs from the text.
    """

    def __init__(self, editor: Editor, anchor: QWidget) -> None:
        super().__init__(editor)
        self._editor = editor
        self._anchor = anchor
        self._sources: tuple[CompletionSource, ...] = ()
        self._start: StartTask | None = None
        self.popup: CompletionPopup | None = None  # while it is open
        self._word: TypedWord | None = None
        self._ended: tuple[CompletionSource, int] | None = None  # where a word became none of a source
        self._task: asyncio.Task[None] | None = None  # that answers; another one cancels it
        self._is_answered = False
        self._accepts_next = False  # Enter came before the answer to what is typed
        self._slow = QTimer(self, singleShot=True, interval=SLOW_MS)
        self._slow.timeout.connect(self._show_busy)
        editor.typed.connect(self._on_typed)
        editor.cursorPositionChanged.connect(self._on_cursor_moved)
        editor.installEventFilter(self)

    def add_source(self, source: CompletionSource, start: StartTask) -> None:
        """Complete from one more source; `start` runs its coroutines."""
        self._sources = (*self._sources, source)
        self._start = start

    def open_here(self) -> None:
        word = self._word_at_cursor()
        if word is not None and not self._editor.is_composing:
            self._ask(word)

    def close(self) -> None:
        """Hide the popup; an answer that is still to come is dropped."""
        self._word = self._ended = None
        self._accepts_next = False
        self._slow.stop()
        if self._task is not None:
            self._task.cancel()
            self._task = None
        popup = self.popup
        self.popup = None
        if popup is not None and isValid(popup):
            popup.hide()
            popup.deleteLater()
            for followed in (self._editor.window(), self._anchor):
                followed.removeEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is not self._editor:
            if self.popup is not None and event.type() in (QEvent.Type.Resize, QEvent.Type.Move):
                self.popup.place(self._anchor)
            return False
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if self._word is not None:
                return not self._editor.is_composing and self._on_key(event)
            if event.key() == Qt.Key.Key_Space and event.modifiers() == Qt.KeyboardModifier.ControlModifier:
                self.open_here()
                return True
        elif self._word is not None and event.type() in (QEvent.Type.FocusOut, QEvent.Type.Hide):
            self.close()
        return False

    def _on_typed(self, text: str) -> None:
        if self._word is not None or (word := self._word_at_cursor()) is None:
            return
        trigger_end = word.start + count_units(word.source.trigger)
        is_typed = trigger_end > self._editor.textCursor().position() - count_units(text)
        if is_typed or self._ended == (word.source, word.start):
            self._ask(word)

    def _on_cursor_moved(self) -> None:
        if self._word is None:
            return
        word = self._word_at_cursor()
        if word is None or word.source is not self._word.source or word.start != self._word.start:
            ended = self._word.source, self._word.start
            self.close()
            self._ended = ended
        elif word.query != self._word.query:
            self._ask(word)

    def _word_at_cursor(self) -> TypedWord | None:
        cursor = self._editor.textCursor()
        if self._start is None or cursor.hasSelection():
            return None
        block = cursor.block()
        line = slice_units(block.text(), 0, cursor.positionInBlock())
        word = find_typed_word(line, block.blockNumber() == 0, self._sources)
        if word is None:
            return None
        return word._replace(start=block.position() + count_units(line[: word.start]))

    def _ask(self, word: TypedWord) -> None:
        assert self._start is not None
        self._word = word
        self._is_answered = False
        self._accepts_next = False
        if self._task is not None:
            self._task.cancel()
        if not self._slow.isActive():
            self._slow.start()
        self._task = self._start(self._answer(word), "complete")

    async def _answer(self, word: TypedWord) -> None:
        rows: Sequence[CompletionItem] = ()
        try:
            rows = await word.source.completions(word.query)
            note = "" if rows else word.source.empty_text
        except HelixError as error:
            note = translate(error.what)
        self._slow.stop()
        self._task = None
        self._is_answered = True
        popup = self._open_popup()
        popup.show_rows(word.source.name, rows)
        popup.show_note(note or word.source.hint)
        popup.place(self._anchor)
        if self._accepts_next and rows:
            self._accept(0)
        elif rows:
            count = tr.plural(len(rows), "%n result", "%n results")
            self._announce(f"{word.source.name}: {count}. {self._row_text(0)}")
        else:
            self._announce(note)

    def _show_busy(self) -> None:
        if self._word is None:
            return
        popup = self._open_popup()
        popup.show_note(tr("Searching…"), is_busy=True)
        popup.place(self._anchor)
        if not popup.completions:
            self._announce(tr("Searching…"))

    def _open_popup(self) -> CompletionPopup:
        if self.popup is None:
            self.popup = CompletionPopup(self._editor.window())
            self.popup.accepted.connect(self._accept)
            for followed in (self._editor.window(), self._anchor):
                followed.installEventFilter(self)
        return self.popup

    def _on_key(self, event: QKeyEvent) -> bool:
        plain = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier == Qt.KeyboardModifier.NoModifier
        key = event.key()
        if key == Qt.Key.Key_Escape:
            self.close()
            return True
        popup = self.popup
        has_rows = popup is not None and bool(popup.completions)
        if key in _ENTER and (not plain or not has_rows or self._is_typed_out()):
            self.close()
            return False
        if not plain or popup is None or not has_rows:
            return False
        view = popup.list_view
        page = max(1, view.viewport().height() // scaled(_LINE_PX))  # the rows in sight
        steps: dict[int, int] = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}
        pages: dict[int, int] = {Qt.Key.Key_PageDown: page, Qt.Key.Key_PageUp: -page}
        if key in steps or key in pages:
            if key in steps:
                view.move_choice(steps[key])
            else:
                view.choose(max(0, min(len(popup.completions) - 1, view.row + pages[key])))
            self._announce(self._row_text(view.row))
        elif key in (*_ENTER, Qt.Key.Key_Tab):
            if self._is_answered:
                self._accept(view.row)
            else:
                self._accepts_next = True
        else:
            return False
        return True

    def _is_typed_out(self) -> bool:
        """Return True if the selected row would put in what is there already: Enter sends then.

        Before the answer to what is typed, one of the rows of the answer before has to be it.
        """
        if self._word is None or self.popup is None:
            return False
        rows = self.popup.completions
        row = self.popup.list_view.row
        typed = self._word.source.trigger + self._word.query
        possible = rows[row : row + 1] if self._is_answered else rows
        return any(completion.text == typed for completion in possible)

    def _row_text(self, number: int) -> str:
        rows = self.popup.completions if self.popup is not None else ()
        row = completion_text(rows[number])
        return tr("{row}, {number} of {count}", row=row, number=number + 1, count=len(rows))

    def _accept(self, number: int) -> None:
        word = self._word
        popup = self.popup
        if word is None or popup is None or not 0 <= number < len(popup.completions):
            return
        completion = popup.completions[number]
        cursor = self._editor.textCursor()
        follows_space = slice_units(cursor.block().text(), cursor.positionInBlock())[:1].isspace()
        is_word = bool(completion.text) and not completion.is_partial
        end = cursor.position()
        if not completion.is_partial:
            self.close()
        cursor.setPosition(word.start)
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText(completion.text + (" " if is_word and not follows_space else ""))
        if is_word and follows_space:
            cursor.movePosition(QTextCursor.MoveOperation.NextCharacter)
        self._editor.setTextCursor(cursor)
        self._editor.setFocus()
        word.source.accept(completion)
        if is_word:
            self.open_here()  # the arguments of a command

    def _announce(self, text: str) -> None:
        announce(self._editor, text)
