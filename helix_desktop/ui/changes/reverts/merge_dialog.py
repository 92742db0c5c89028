"""The three-way view: what was there before, what is there now, what the change left, and their merge.

The result is an editor that knows which of its text comes from which chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QFont, QShowEvent, QTextCursor, QTextFormat
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QTextEdit, QWidget

from helix_desktop.domain.file_history.merges_and_hunks import Chunk, ChunkChoice, Merge
from helix_desktop.domain.files.content import utf16_encoding
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.ui.design.buttons import IconButton, PushButton
from helix_desktop.ui.design.document_units import count_units
from helix_desktop.ui.design.labels import TextLine, label
from helix_desktop.ui.design.layout import DIALOG_MARGINS, FlowBox, column, pane, splitter
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.theme import Themed, set_style_sheet
from helix_desktop.ui.kit.commands import add_shortcut
from helix_desktop.words.translation import Translator

tr = Translator("Changes")

_SIZE, _MIN_SIZE = (1040, 720), (560, 420)

Side: TypeAlias = Literal["base", "ours", "theirs"]


class CodeEdit(Themed, QPlainTextEdit):
    def __init__(self, name: str) -> None:
        """`name` is what screen readers call it."""
        super().__init__()
        self.setAccessibleName(name)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # code
        self.setTabChangesFocus(True)
        self.apply_theme()

    def apply_theme(self) -> None:
        super().apply_theme()
        theme = self._theme
        set_style_sheet(
            self,
            f"QPlainTextEdit {{ background: {theme.code_surface}; color: {theme.text}; border: 1px solid"
            f" {theme.border}; border-radius: 8px; font-family: '{fonts.MONO_FAMILY}';"
            f" font-size: {fonts.scaled(12)}px; selection-background-color: {theme.text_selection}; }}"
            f" QPlainTextEdit:focus {{ border: 2px solid {theme.accent}; }}",
        )

    def changeEvent(self, event: QEvent) -> None:
        """Keep the font of the style sheet without ligatures, as the diff has it."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            font = self.document().defaultFont()
            font.setFeature(QFont.Tag("calt"), 0)
            self.document().setDefaultFont(font)

    def show_backgrounds(self, backgrounds: Sequence[tuple[int, int, str]]) -> None:
        """Paint the lines from a first to the one before a last in a color."""
        marks = []
        for first, end, color in backgrounds:
            for number in range(first, end):
                mark = QTextEdit.ExtraSelection()
                mark.cursor = QTextCursor(self.document().findBlockByNumber(number))
                mark.format.setBackground(QColor(color))
                mark.format.setProperty(QTextFormat.Property.FullWidthSelection, True)
                marks.append(mark)
        self.setExtraSelections(marks)


class SideView(Themed, QWidget):
    """A heading and the lines of one side; empty lines keep it level with the others."""

    def __init__(self, title: str, side: Side) -> None:
        super().__init__()
        self._side = side
        self._chunks: Sequence[Chunk] = ()
        self._starts: list[int] = []
        self._current = -1
        self.text = CodeEdit(title)
        self.text.setReadOnly(True)
        self.setLayout(column(TextLine(title, 12, 600), self.text, gap=4))
        self.apply_theme()

    def show_chunks(self, chunks: Sequence[Chunk], encoding: str = "utf-8") -> None:
        self._chunks, self._starts = chunks, []
        lines: list[str] = []
        for chunk in chunks:
            own: tuple[bytes, ...] = getattr(chunk, self._side)
            self._starts.append(len(lines))
            lines += [line.decode(encoding, "replace").rstrip("\r\n") for line in own]
            lines += [""] * (max(len(chunk.base), len(chunk.ours), len(chunk.theirs)) - len(own))
        self.text.setPlainText("\n".join(lines))
        self._show_backgrounds()

    def go_to(self, number: int) -> None:
        """Bring a chunk into sight and mark it; -1: none."""
        self._current = number
        if 0 <= number < len(self._starts):
            self.text.setTextCursor(QTextCursor(self.text.document().findBlockByNumber(self._starts[number])))
            self.text.centerCursor()
        self._show_backgrounds()

    def apply_theme(self) -> None:
        super().apply_theme()
        self._show_backgrounds()

    def _show_backgrounds(self) -> None:
        theme = self._theme
        backgrounds = []
        for number, (chunk, start) in enumerate(zip(self._chunks, self._starts, strict=True)):
            own: tuple[bytes, ...] = getattr(chunk, self._side)
            if chunk.kind == "same" or not own:
                continue
            is_changed = own != chunk.base or self._side == "base"
            color = theme.warn_soft if chunk.kind == "conflict" else theme.ok_soft
            if number == self._current:
                color = theme.accent_soft
            if is_changed:
                backgrounds.append((start, start + len(own), color))
        self.text.show_backgrounds(backgrounds)


_SUGGESTED: ChunkChoice = "ours"  # what stands in the result of a conflict until the user decides
_CRLF = b"\r\n"


class MergeResult(CodeEdit):
    """Every chunk is a range of the text; what nobody edited is written byte for byte as it was."""

    changed = Signal()

    def __init__(self) -> None:
        self._merge, self._encoding = Merge(()), "utf-8"  # before `apply_theme` reads it
        super().__init__(tr("Result"))
        self.setObjectName("merge_result")
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
        return sum(map(self._is_open, range(len(self._merge.chunks))))

    def _is_open(self, number: int) -> bool:
        is_decided = self._choices[number] is not None or number in self._edited
        return self._merge.chunks[number].kind == "conflict" and not is_decided

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
        self.current = number
        if number >= 0:
            cursor = self.textCursor()
            cursor.setPosition(self._starts[number])
            self.setTextCursor(cursor)
            self.centerCursor()
        self._show_chunks()

    def choose(self, choice: ChunkChoice) -> None:
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
        parts: list[bytes] = []
        line_end = self._merge.line_end
        for number in range(len(self._merge.chunks)):
            part = self._edited_bytes(number) if number in self._edited else b"".join(self._lines(number))
            if part and parts and not parts[-1].endswith(line_end):
                parts.append(line_end)
            if part:
                parts.append(part)
        return b"".join(parts)

    def apply_theme(self) -> None:
        super().apply_theme()
        self._show_chunks()

    def _lines(self, number: int) -> tuple[bytes, ...]:
        sides = (self._choices[number] or _SUGGESTED).split("_")
        return tuple(line for side in sides for line in getattr(self._merge.chunks[number], side))

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
            theme = self._theme
            color = theme.warn_soft if self._is_open(number) else theme.ok_soft
            if end > start:
                backgrounds.append((first, behind, theme.accent_soft if number == self.current else color))
        self.show_backgrounds(backgrounds)
        self.changed.emit()


class MergeDialog(SizedDialog):
    """Three sides above, the editable result below; accepted: `editor.data` is the user's own merge."""

    def __init__(self, parent: QWidget, path: str, merged: Merge) -> None:
        """Let the user finish the merge of a file: theirs is what was there before the change."""
        super().__init__(parent, tr("Merge {file}", file=escape_hidden_name(path)), _SIZE, _MIN_SIZE)
        self._merge = merged
        self.before = SideView(tr("Before the change"), "theirs")
        self.present = SideView(tr("Now"), "ours")
        self.base = SideView(tr("After the change"), "base")
        self.editor = MergeResult()
        self._sides = (self.before, self.present, self.base)
        self._count = TextLine("", 12, role="muted")
        self._count.setObjectName("conflicts")
        self._previous = IconButton("chevron-up", tr("Previous difference (Shift+F7)"))
        self._next = IconButton("chevron-down", tr("Next difference (F7)"))
        self._previous.clicked.connect(lambda: self.go_to(self.editor.neighbor(-1)))
        self._next.clicked.connect(lambda: self.go_to(self.editor.neighbor(1)))
        self._choices: dict[ChunkChoice, PushButton] = {}
        labels: tuple[tuple[ChunkChoice, str, str], ...] = (
            ("theirs", tr("Use before"), "use-before"),
            ("ours", tr("Use current"), "use-current"),
            ("ours_theirs", tr("Use both"), "use-both"),
            ("base", tr("Use after"), "use-after"),
        )
        for choice, verb, name in labels:
            button = PushButton(verb, "filter", name=name)
            button.setCheckable(True)
            button.clicked.connect(lambda _=False, choice=choice: self._choose(choice))
            self._choices[choice] = button
        self.save = PushButton(tr("Use this result"), "primary", name="save_merge", on_click=self.accept)
        self._cancel = PushButton(tr("Cancel"), name="cancel", on_click=self.reject)
        tools = FlowBox([self._previous, self._next, *self._choices.values(), self._count])
        below = pane(column(tools, self.editor, margins=(0, 8, 0, 0), gap=6, stretch=1))
        split = splitter(splitter(*self._sides), below, across=False)
        lead = tr(
            "The file was changed since. Choose for each difference, or edit the result below. Nothing is "
            "written until you revert."
        )
        title = label(tr("Merge {file}", file=escape_hidden_name(path)), "title", wrap=True)
        words = column(title, label(lead, "muted", wrap=True), gap=5)
        buttons = FlowBox([self._cancel, self.save], right_from=0)
        self.setLayout(column(words, split, buttons, margins=DIALOG_MARGINS, gap=12, stretch=1))
        self.editor.changed.connect(self._update)
        bars = [side.text.verticalScrollBar() for side in self._sides]
        for bar in bars:
            for other in bars:
                if other is not bar:
                    bar.valueChanged.connect(other.setValue)
        anywhere = Qt.ShortcutContext.WindowShortcut
        add_shortcut(self, "F7", lambda: self.go_to(self.editor.neighbor(1)), anywhere)
        add_shortcut(self, "Shift+F7", lambda: self.go_to(self.editor.neighbor(-1)), anywhere)
        base = b"".join(line for chunk in merged.chunks[:1] for line in (*chunk.base, *chunk.ours))
        encoding = utf16_encoding(base) or "utf-8"
        for side in self._sides:
            side.show_chunks(self._merge.chunks, encoding)
        self.editor.show_merge(self._merge, encoding)
        self.go_to(self.editor.first_place)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        QTimer.singleShot(0, self, lambda: self.go_to(self.editor.current))

    def go_to(self, number: int) -> None:
        """Go to a place where the sides differ, by the number of its chunk; -1: there is none."""
        self.editor.go_to(number)
        for side in self._sides:
            side.go_to(number)
        self._update()

    def _choose(self, choice: ChunkChoice) -> None:
        self.editor.choose(choice)
        self._update()

    def _update(self) -> None:
        open_conflicts = self.editor.open_conflicts
        places = len(self.editor.places)
        self._count.set_text(
            tr.plural(open_conflicts, "%n conflict left", "%n conflicts left")
            if open_conflicts
            else tr.plural(places, "%n difference, no conflict left", "%n differences, no conflict left")
        )
        self._count.set_role("warn" if open_conflicts else "ok")
        for choice, button in self._choices.items():
            button.setEnabled(self.editor.current >= 0)
            button.setChecked(choice == self.editor.current_choice)
        self.save.setEnabled(not open_conflicts and bool(self._merge.chunks))
