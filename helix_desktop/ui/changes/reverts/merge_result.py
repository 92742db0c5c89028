"""The result of a three-way merge: an editor that knows which of its text comes from which chunk."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QTextCursor

from helix_desktop.domain.file_history.merge import Chunk, ChunkChoice, Merge
from helix_desktop.ui.changes.reverts.merge_sides import CodeEdit
from helix_desktop.ui.design.document_units import count_units
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.words.translation import Translator

tr = Translator("Changes")

_SUGGESTED: ChunkChoice = "ours"  # what stands in the result of a conflict until the user decides
_CRLF = b"\r\n"


class MergeResult(CodeEdit):
    """Every chunk is a range of the text; what nobody edited is written byte for byte as it was."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__(tr("Result"))
        self.setObjectName("merge_result")
        self._merge, self._encoding = Merge(()), "utf-8"
        self._starts = [0]  # of each chunk in the text, in UTF-16 units, and the end
        self._choices: list[ChunkChoice | None] = []
        self._edited: set[int] = set()
        self._is_replacing = False
        self.current = -1
        """The chunk that the buttons are about; -1: none."""
        self.document().contentsChange.connect(self._on_change)

    @property
    def places(self) -> list[int]:
        """The chunks in which the sides differ."""
        return [
            number for number, chunk in enumerate(self._merge.chunks) if chunk.kind not in ("same", "both")
        ]

    @property
    def first_place(self) -> int:
        """The first conflict, else the first difference; -1: there is none."""
        conflicts = [number for number in self.places if self._merge.chunks[number].kind == "conflict"]
        return next(iter((*conflicts, *self.places)), -1)

    @property
    def open_conflicts(self) -> int:
        """How many conflicts nobody has decided."""
        return sum(
            chunk.kind == "conflict" and self._choices[number] is None and number not in self._edited
            for number, chunk in enumerate(self._merge.chunks)
        )

    @property
    def current_choice(self) -> ChunkChoice | None:
        """Whose lines stand in the current chunk; None: nobody decided, or the user's own."""
        if self.current < 0 or self.current in self._edited:
            return None
        return self._choices[self.current]

    def show_merge(self, merge: Merge, encoding: str = "utf-8") -> None:
        """Begin with a merge; conflicts have the lines of now until they are decided."""
        self._merge, self._encoding = merge, encoding
        self._choices = [chunk.choice for chunk in merge.chunks]
        self._edited.clear()
        texts = [self._text(number) for number in range(len(merge.chunks))]
        self._is_replacing = True
        self.setPlainText("".join(texts))
        self._is_replacing = False
        self._starts = [0]
        for text in texts:
            self._starts.append(self._starts[-1] + count_units(text))
        self._show_chunks()

    def neighbor(self, by: int) -> int:
        """Return the next place (1) or the previous one (-1); the current one at the end."""
        ahead = [number for number in self.places if (number - self.current) * by > 0]
        return (ahead[0] if by > 0 else ahead[-1]) if ahead else self.current

    def go_to(self, number: int) -> None:
        """Make a chunk the current one, and bring it into sight."""
        self.current = number
        if number >= 0:
            cursor = self.textCursor()
            cursor.setPosition(self._starts[number])
            self.setTextCursor(cursor)
            self.centerCursor()
        self._show_chunks()

    def choose(self, choice: ChunkChoice) -> None:
        """Put the lines of a side, or of both, into the current chunk."""
        number = self.current
        if number < 0:
            return
        self._choices[number] = choice
        self._edited.discard(number)
        text = self._text(number)
        cursor = self._range(number)
        self._is_replacing = True
        cursor.insertText(text)
        self._is_replacing = False
        delta = self._starts[number] + count_units(text) - self._starts[number + 1]
        self._starts[number + 1 :] = [start + delta for start in self._starts[number + 1 :]]
        self._show_chunks()

    def data(self) -> bytes:
        """Return the bytes of the result."""
        parts: list[bytes] = []
        line_end = self._merge.line_end
        for number in range(len(self._merge.chunks)):
            part = self._edited_bytes(number) if number in self._edited else b"".join(self._lines(number))
            if part and parts and not parts[-1].endswith(line_end):
                parts.append(line_end)
            if part:
                parts.append(part)
        return b"".join(parts)

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme."""
        super().tint(theme)
        self._show_chunks()

    def _lines(self, number: int) -> tuple[bytes, ...]:
        chunk, choice = self._merge.chunks[number], self._choices[number] or _SUGGESTED
        return _lines_of(chunk, choice)

    def _text(self, number: int) -> str:
        """Return a chunk as it is shown: with an end of line where another chunk follows."""
        data = b"".join(self._lines(number))
        text = data.decode(self._encoding, "replace").replace("\r\n", "\n")
        is_last = number == len(self._merge.chunks) - 1
        return text + "\n" if text and not text.endswith("\n") and not is_last else text

    def _edited_bytes(self, number: int) -> bytes:
        text = self._range(number).selectedText().replace("\u2029", "\n").replace("\u2028", "\n")
        if self._has_carriage_returns:
            text = text.replace("\n", "\r\n")
        return text.encode(self._encoding, "replace")

    @property
    def _has_carriage_returns(self) -> bool:
        """Whether the first line of the file as it is now ends with them."""
        first = next((line for chunk in self._merge.chunks for line in chunk.ours), b"")
        return first.endswith(_CRLF.decode().encode(self._encoding))

    def _range(self, number: int) -> QTextCursor:
        cursor = QTextCursor(self.document())
        cursor.setPosition(self._starts[number])
        cursor.setPosition(self._starts[number + 1], QTextCursor.MoveMode.KeepAnchor)
        return cursor

    def _on_change(self, position: int, removed: int, added: int) -> None:
        """Keep the ranges of the chunks, and note which of them the user edited."""
        if self._is_replacing or not self._choices:
            return
        end, delta = position + removed, added - removed
        last = len(self._choices) - 1
        first_touched = max(number for number in range(last + 1) if self._starts[number] <= position)
        touched = {first_touched} | {
            number for number in range(last + 1) if position < self._starts[number] < end
        }
        self._edited |= touched

        def moved(start: int) -> int:
            if start <= position:
                return start
            return position + added if start <= end else start + delta

        self._starts = [moved(start) for start in self._starts]
        self._starts[-1] = self.document().characterCount() - 1
        self._show_chunks()

    def _show_chunks(self) -> None:
        backgrounds = []
        for number in self.places:
            start, end = self._starts[number], self._starts[number + 1]
            first = self.document().findBlock(start).blockNumber()
            behind = self.document().findBlock(max(start, end - 1)).blockNumber() + 1
            is_open = self._merge.chunks[number].kind == "conflict" and (
                self._choices[number] is None and number not in self._edited
            )
            theme = self._theme
            color = theme.warn_soft if is_open else theme.ok_soft
            if end > start:
                backgrounds.append((first, behind, theme.accent_soft if number == self.current else color))
        self.show_backgrounds(backgrounds)
        self.changed.emit()


def _lines_of(chunk: Chunk, choice: ChunkChoice) -> tuple[bytes, ...]:
    match choice:
        case "base":
            return chunk.base
        case "theirs":
            return chunk.theirs
        case "ours_theirs":
            return (*chunk.ours, *chunk.theirs)
        case "theirs_ours":
            return (*chunk.theirs, *chunk.ours)
    return chunk.ours
