"""Completes words while a message is typed: opens the popup, asks the source, handles the keys."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeAlias

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QTextCursor
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from helix_desktop.domain.errors import HelixError
from helix_desktop.ui.chat.composer.completion import (
    CompletionItem,
    CompletionSource,
    TypedWord,
    find_typed_word,
)
from helix_desktop.ui.chat.composer.completion_popup import CompletionPopup, completion_text
from helix_desktop.ui.chat.composer.editor import Editor
from helix_desktop.ui.chat.style import ChatStyle
from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.document_units import count_units, slice_units
from helix_desktop.words.translation import Translator, translate

tr = Translator("Composer")

SLOW_MS = 150
"""A source that answers later than this is shown to be at work."""
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
StartTask: TypeAlias = Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]]


class Completer(QObject):
    """Binds an editor to its completions.

    The popup opens only when the user types a trigger; what is pasted, restored or being composed by an
    input method opens nothing. Enter is taken only while there is a row to accept that differs from the text.
    """

    def __init__(self, editor: Editor, anchor: QWidget) -> None:
        """The popup stands above `anchor`."""
        super().__init__(editor)
        self._editor, self._anchor = editor, anchor
        self._sources: tuple[CompletionSource, ...] = ()
        self._start: StartTask | None = None
        self._style: ChatStyle | None = None
        self._popup: CompletionPopup | None = None
        self._word: TypedWord | None = None
        self._task: asyncio.Task[None] | None = None
        self._request = 0
        self._is_answered = False
        self._accepts_next = False  # Enter came before the answer to what is typed
        self._slow = QTimer(self, singleShot=True, interval=SLOW_MS)
        self._slow.timeout.connect(self._show_busy)
        editor.typed.connect(self._on_typed)
        editor.cursorPositionChanged.connect(self._on_cursor_moved)
        editor.installEventFilter(self)

    @property
    def popup(self) -> CompletionPopup | None:
        """The popup while it is open."""
        return self._popup if self._word is not None else None

    def add_source(self, source: CompletionSource, start: StartTask) -> None:
        """Complete from one more source; `start` runs its coroutines."""
        self._sources = (*self._sources, source)
        self._start = start

    def set_style(self, style: ChatStyle) -> None:
        """Take the colors and sizes of the chat."""
        self._style = style
        if self._popup is not None and isValid(self._popup):
            self._popup.set_style(style)
            self._place()

    def open_here(self) -> None:
        """Complete the word at the cursor, however it came there."""
        word = self._word_at_cursor()
        if word is not None and not self._editor.is_composing:
            self._ask(word)

    def close(self) -> None:
        """Hide the popup; an answer that is still to come is dropped."""
        self._word = None
        self._request += 1
        self._accepts_next = False
        self._slow.stop()
        if self._task is not None:
            self._task.cancel()
            self._task = None
        if self._popup is not None and isValid(self._popup):
            self._popup.hide()
            self._popup.show_rows("", ())
            for followed in (self._editor.window(), self._anchor):
                followed.removeEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take the keys of the popup while it is open, and close it when the user goes elsewhere."""
        if watched is not self._editor:
            if event.type() in (QEvent.Type.Resize, QEvent.Type.Move):
                self._place()
            return False
        if self._word is None:
            return self._opens(event)
        if event.type() in (QEvent.Type.FocusOut, QEvent.Type.Hide):
            self.close()
        elif event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            return not self._editor.is_composing and self._on_key(event)
        return False

    def _opens(self, event: QEvent) -> bool:
        """Open the popup for Ctrl+Space; return True if that was the key."""
        if event.type() != QEvent.Type.KeyPress or not isinstance(event, QKeyEvent):
            return False
        if event.key() != Qt.Key.Key_Space or event.modifiers() != Qt.KeyboardModifier.ControlModifier:
            return False
        self.open_here()
        return True

    def _on_typed(self, text: str) -> None:
        if self._word is not None or not any(source.trigger[-1] in text for source in self._sources):
            return
        word = self._word_at_cursor()
        if word is None:
            return
        trigger_end = word.start + count_units(word.source.trigger)
        if trigger_end > self._editor.textCursor().position() - count_units(text):
            self._ask(word)

    def _on_cursor_moved(self) -> None:
        if self._word is None:
            return
        word = self._word_at_cursor()
        if word is None or word.source is not self._word.source or word.start != self._word.start:
            self.close()
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
        self._word, self._is_answered, self._accepts_next = word, False, False
        self._request += 1
        if self._task is not None:
            self._task.cancel()
        if not self._slow.isActive():
            self._slow.start()
        self._task = self._start(self._answer(self._request, word), "complete")

    async def _answer(self, request: int, word: TypedWord) -> None:
        problem = ""
        rows: Sequence[CompletionItem] = ()
        try:
            rows = await word.source.completions(word.query)
        except HelixError as error:
            problem = translate(error.what)
        if request != self._request:
            return  # an answer to what was typed before
        self._slow.stop()
        self._task = None
        self._is_answered = True
        self._show(word, rows, problem or ("" if rows else word.source.empty_text))

    def _show(self, word: TypedWord, rows: Sequence[CompletionItem], note: str) -> None:
        popup = self._open_popup()
        popup.show_rows(word.source.name, rows)
        popup.show_note(note or word.source.hint)
        self._appear(popup)
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
        self._appear(popup)
        if not popup.completions:
            self._announce(tr("Searching…"))

    def _open_popup(self) -> CompletionPopup:
        window = self._editor.window()
        if self._popup is None or not isValid(self._popup) or self._popup.parentWidget() is not window:
            self._popup = CompletionPopup(window)
            self._popup.accepted.connect(self._accept)
            if self._style is not None:
                self._popup.set_style(self._style)
        return self._popup

    def _appear(self, popup: CompletionPopup) -> None:
        self._place()
        popup.show()
        popup.raise_()
        for followed in (self._editor.window(), self._anchor):
            followed.installEventFilter(self)

    def _place(self) -> None:
        if self._word is not None and self._popup is not None and isValid(self._popup):
            self._popup.place(self._anchor)

    def _on_key(self, event: QKeyEvent) -> bool:
        """Return True if a key was the popup's."""
        plain = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier == Qt.KeyboardModifier.NoModifier
        key = event.key()
        if key == Qt.Key.Key_Escape:
            self.close()
            return True
        popup = self._popup
        has_rows = popup is not None and popup.isVisible() and bool(popup.completions)
        if key in _ENTER and (not plain or not has_rows or self._is_typed_out()):
            self.close()
            return False
        if not plain or popup is None or not has_rows:
            return False
        steps: dict[int, int] = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}
        page = popup.rows_in_sight()
        pages: dict[int, int] = {Qt.Key.Key_PageDown: page, Qt.Key.Key_PageUp: -page}
        if key in steps:
            self._select((popup.row + steps[key]) % len(popup.completions))
        elif key in pages:
            self._select(max(0, min(len(popup.completions) - 1, popup.row + pages[key])))
        elif key in (*_ENTER, Qt.Key.Key_Tab):
            if self._is_answered:
                self._accept(popup.row)
            else:
                self._accepts_next = True
        else:
            return False
        return True

    def _is_typed_out(self) -> bool:
        """Return True if the selected row would put in what is there already: Enter sends then.

        Before the answer to what is typed, one of the rows of the answer before has to be it.
        """
        if self._word is None or self._popup is None:
            return False
        rows, row = self._popup.completions, self._popup.row
        typed = self._word.source.trigger + self._word.query
        return typed in [
            completion.text for completion in (rows[row : row + 1] if self._is_answered else rows)
        ]

    def _select(self, number: int) -> None:
        assert self._popup is not None
        self._popup.select(number)
        self._announce(self._row_text(number))

    def _row_text(self, number: int) -> str:
        rows = self._popup.completions if self._popup is not None else ()
        return tr(
            "{row}, {number} of {count}",
            row=completion_text(rows[number]),
            number=number + 1,
            count=len(rows),
        )

    def _accept(self, number: int) -> None:
        word, popup = self._word, self._popup
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
