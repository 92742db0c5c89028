"""One side of a three-way view: its lines, level with those of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QColor, QFont, QTextCursor, QTextFormat
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QScrollBar, QTextEdit, QWidget

from helix_desktop.domain.file_history.merge import Chunk
from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.design.layout.boxes import column
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.theme import LIGHT, Theme
from helix_desktop.ui.design.themed import Themed, set_style_sheet

Side: TypeAlias = Literal["base", "ours", "theirs"]


class CodeEdit(Themed, QPlainTextEdit):
    """A plain text in the code font, with backgrounds behind ranges of its lines."""

    def __init__(self, name: str) -> None:
        """`name` is what screen readers call it."""
        super().__init__()
        self.setAccessibleName(name)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # code
        self.setTabChangesFocus(True)

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme and the text size in force."""
        super().tint(theme)
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


def _display_lines(lines: Sequence[bytes], encoding: str) -> list[str]:
    """Return lines as they are shown, without their ends; bytes that are no text as replacement signs."""
    return [line.decode(encoding, "replace").rstrip("\r\n") for line in lines]


def _chunk_height(chunk: Chunk) -> int:
    """Return how many lines a chunk takes on the side where it is longest."""
    return max(len(chunk.base), len(chunk.ours), len(chunk.theirs))


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

    @property
    def scroll_bar(self) -> QScrollBar:
        """The vertical scroll bar."""
        return self.text.verticalScrollBar()

    def show_chunks(self, chunks: Sequence[Chunk], encoding: str = "utf-8") -> None:
        """Show the lines of this side."""
        self._chunks, self._starts = chunks, []
        lines: list[str] = []
        for chunk in chunks:
            own: tuple[bytes, ...] = getattr(chunk, self._side)
            self._starts.append(len(lines))
            lines += _display_lines(own, encoding)
            lines += [""] * (_chunk_height(chunk) - len(own))
        self.text.setPlainText("\n".join(lines))
        self._show_backgrounds()

    def go_to(self, number: int) -> None:
        """Bring a chunk into sight and mark it; -1: none."""
        self._current = number
        if 0 <= number < len(self._starts):
            self.text.setTextCursor(QTextCursor(self.text.document().findBlockByNumber(self._starts[number])))
            self.text.centerCursor()
        self._show_backgrounds()

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme."""
        super().tint(theme)
        self._show_backgrounds()

    def _show_backgrounds(self) -> None:
        theme = self._theme or LIGHT
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
