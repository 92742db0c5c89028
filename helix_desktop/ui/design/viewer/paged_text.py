"""A reader for contents of any size: line numbers, pages, selection by lines, highlights."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextCursor,
)
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QTextEdit, QWidget

from helix_desktop.ui.design.document_units import count_units
from helix_desktop.ui.design.focus import FocusRing
from helix_desktop.ui.design.highlight import Highlighter, HighlightJob
from helix_desktop.ui.design.mirror import keep_left_to_right
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.style.theme import LIGHT, Theme
from helix_desktop.ui.design.themed import Themed, set_style_sheet
from helix_desktop.ui.design.viewer.paged_content import PAGE_LINES, Match, PagedContent, PageRow
from helix_desktop.words.translation import Translator

tr = Translator("Controls")

_GUTTER_PAD = 14  # pixels right of the line numbers
_EMPTY = PagedContent(b"")


class _Gutter(QWidget):
    """The strip of line numbers."""

    def __init__(self, text: PagedText) -> None:
        super().__init__(text)
        self._text = text

    def sizeHint(self) -> QSize:
        """Return the width of the largest number."""
        return QSize(self._text.gutter_width(), 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the numbers of the visible rows."""
        self._text.paint_gutter(self, event.rect())


class PagedText(Themed, QPlainTextEdit):
    """Read-only text of one page of a content."""

    lines_selected = Signal(int, int)  # first and last line, counted from 1; 0, 0: none
    page_changed = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # code
        self._content, self._page_index, self._name = _EMPTY, 0, ""
        self._rows: list[PageRow] = []
        self._wraps_lines = False
        self._gutter = _Gutter(self)
        FocusRing(self)  # the caret alone is easily missed
        self._highlighter = Highlighter(self)
        self._highlighter.highlighted.connect(self.viewport().update)
        self.setReadOnly(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setUndoRedoEnabled(False)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setAccessibleName(tr("Content"))
        self.updateRequest.connect(self._update_gutter)
        self.selectionChanged.connect(self._emit_selected_lines)
        self.tint(LIGHT)

    @property
    def content(self) -> PagedContent:
        """Return what is shown."""
        return self._content

    @property
    def page_index(self) -> int:
        """Return the page on screen, counted from 0."""
        return self._page_index

    def show_content(self, content: PagedContent, name: str = "") -> None:
        """Show the first page of a content; `name` is the file's, for its colors."""
        self._content, self._name = content, name.rsplit("/", 1)[-1]
        self._wrap()
        self.show_page(0)

    def set_wrapping(self, on: bool) -> None:
        """Break lines that are longer than there is room for, or scroll sideways; hexadecimal always does."""
        self._wraps_lines = on
        first = self.firstVisibleBlock()
        self._wrap()
        self.verticalScrollBar().setValue(first.firstLineNumber())

    def show_page(self, index: int) -> None:
        """Show another page; numbers beyond the ends stand for the ends."""
        self._page_index = max(0, min(index, self._content.page_count - 1))
        self._rows = self._content.page(self._page_index)
        self.setPlainText("\n".join(row.text for row in self._rows))
        self.setExtraSelections([])
        self.setViewportMargins(self.gutter_width(), 0, 0, 0)
        self._place_gutter()
        self.verticalScrollBar().setValue(0)
        self.horizontalScrollBar().setValue(0)
        self._highlight()
        self.page_changed.emit(self._page_index)

    def show_line(self, line: int) -> None:
        """Bring a line, from 1, to the top, with the cursor in it."""
        row = self._content.row_of_line(line)
        if row // PAGE_LINES != self._page_index:
            self.show_page(row // PAGE_LINES)
        block = self.document().findBlockByNumber(row - self._page_index * PAGE_LINES)
        self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())
        self.setTextCursor(QTextCursor(block))
        self.verticalScrollBar().setValue(block.firstLineNumber())

    def show_match(self, match: Match, others: Iterable[Match]) -> None:
        """Bring a hit into sight and mark it among the others."""
        if self.page_of(match) != self._page_index:
            self.show_page(self.page_of(match))
        first = self._page_index * PAGE_LINES
        here = [other for other in others if first <= other.row < first + len(self._rows)]
        marks = [self._highlight_selection(other, other == match) for other in here]
        self.setExtraSelections(marks)
        cursor = self._cursor(match)
        cursor.clearSelection()
        self.setTextCursor(cursor)
        self.centerCursor()

    def page_of(self, match: Match) -> int:
        """Return the page that a hit stands on."""
        return match.row // PAGE_LINES

    def clear_matches(self) -> None:
        """Take all marks away."""
        self.setExtraSelections([])

    def selected_lines(self) -> tuple[int, int]:
        """Return the first and last selected line, from 1; 0, 0 without a selection, and of hexadecimal."""
        cursor = self.textCursor()
        if not cursor.hasSelection() or not self._rows or self._content.is_binary:
            return 0, 0
        document, base = self.document(), self._page_index * PAGE_LINES
        last = document.findBlock(cursor.selectionEnd())
        row = last.blockNumber()
        if (
            last.position() == cursor.selectionEnd()
            and row > document.findBlock(cursor.selectionStart()).blockNumber()
        ):
            row -= 1
        begin = document.findBlock(cursor.selectionStart()).blockNumber()
        return self._content.line_at(base + begin), self._content.line_at(base + row)

    def tint(self, theme: Theme) -> None:
        """Paint with these tokens, at the text size in force, from now on."""
        super().tint(theme)
        self.setFont(ui_font(12, is_code=True))
        set_style_sheet(
            self,
            f"QPlainTextEdit, QPlainTextEdit:focus {{ background: {theme.code_surface}; color: {theme.text};"
            f" border: 0; border-radius: 0; padding: 0; font-family: '{fonts.MONO_FAMILY}';"
            f" font-size: {scaled(12)}px;"
            f" selection-background-color: {theme.text_selection}; selection-color: {theme.text}; }}",
        )
        self.setViewportMargins(self.gutter_width(), 0, 0, 0)
        self._gutter.update()
        self._highlight()

    def gutter_width(self) -> int:
        """Return the width of the largest line number of the page, in pixels."""
        digits = max(3, len(str(max((row.line_number for row in self._rows), default=0))))
        return (
            int(QFontMetricsF(ui_font(11, is_code=True)).horizontalAdvance("0") * digits) + _GUTTER_PAD + 10
        )

    def paint_gutter(self, gutter: QWidget, dirty: QRect) -> None:
        """Draw line numbers to the left of the rows in sight."""
        painter = QPainter(gutter)
        keep_left_to_right(painter)
        painter.fillRect(dirty, QColor(self._theme.code_surface))
        painter.setFont(ui_font(11, is_code=True))
        painter.setPen(QColor(self._theme.faint))
        block, line = self.firstVisibleBlock(), self.fontMetrics().lineSpacing()
        top = self.blockBoundingGeometry(block).translated(self.contentOffset()).top()
        while block.isValid() and top <= dirty.bottom():
            height = self.blockBoundingRect(block).height()
            number = (
                self._rows[block.blockNumber()].line_number if block.blockNumber() < len(self._rows) else 0
            )
            painter.drawText(
                QRectF(0, top, gutter.width() - _GUTTER_PAD, line),
                Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter,
                str(number) if number else "↪",
            )
            top += height
            block = block.next()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the line numbers next to the text."""
        super().resizeEvent(event)
        self._place_gutter()

    def _wrap(self) -> None:
        modes = QPlainTextEdit.LineWrapMode
        wraps = self._wraps_lines and not self._content.is_binary
        self.setLineWrapMode(modes.WidgetWidth if wraps else modes.NoWrap)

    def _place_gutter(self) -> None:
        inside, width = self.contentsRect(), self.gutter_width()
        self._gutter.setGeometry(QRect(inside.left(), inside.top(), width, self.viewport().height()))

    def _update_gutter(self, rect: QRect, dy: int) -> None:
        if dy:
            self._gutter.scroll(0, dy)
        else:
            self._gutter.update(0, rect.y(), self._gutter.width(), rect.height())

    def _emit_selected_lines(self) -> None:
        self.lines_selected.emit(*self.selected_lines())

    def _cursor(self, match: Match) -> QTextCursor:
        block = self.document().findBlockByNumber(match.row - self._page_index * PAGE_LINES)
        cursor, words = QTextCursor(block), block.text()
        start = block.position() + count_units(words[: match.column])
        cursor.setPosition(start)
        end = start + count_units(words[match.column : match.column + match.length])
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        return cursor

    def _highlight_selection(self, match: Match, is_current: bool) -> QTextEdit.ExtraSelection:
        mark = QTextEdit.ExtraSelection()
        mark.cursor = self._cursor(match)
        background = self._theme.seg_output if is_current else self._theme.warn_soft
        mark.format.setBackground(QColor(background))
        if is_current:
            mark.format.setForeground(QColor("#1a1d24"))
        return mark

    def _highlight(self) -> None:
        self._highlighter.clear()
        if self._name and not self._content.is_binary:
            self._highlighter.add(HighlightJob(self.document(), self._name, self._theme.code))
