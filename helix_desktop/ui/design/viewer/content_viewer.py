"""The framed text of a content: its pages, line numbers, selection by lines, find, copy; and in a dialog."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from PySide6.QtCore import QEvent, QObject, QRect, QRectF, QSignalBlocker, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextCursor,
)
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QStackedWidget, QTextEdit, QTreeWidgetItem, QWidget

from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.async_actions import StartCoroutine
from helix_desktop.ui.design.buttons import IconButton, PushButton
from helix_desktop.ui.design.cards import Card
from helix_desktop.ui.design.choice_fields import AT_END, CheckList
from helix_desktop.ui.design.document_units import count_units
from helix_desktop.ui.design.focus import FocusRing, has_keyboard
from helix_desktop.ui.design.highlight import Highlighter, HighlightJob
from helix_desktop.ui.design.labels import SelectableText, TextLine, label, show_text
from helix_desktop.ui.design.layout import (
    DIALOG_MARGINS,
    FlowBox,
    column,
    line,
    pane,
    row,
    shorten_row,
    splitter,
)
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.style.theme import Themed
from helix_desktop.ui.design.text_fields import SearchField
from helix_desktop.ui.design.viewer.paged_content import MATCH_LIMIT, PAGE_LINES, Match, PagedContent, PageRow
from helix_desktop.words.translation import Translator

tr = Translator("Controls")


class FindShortcut(QObject):
    """Gives Ctrl+F to a pane while the keyboard is in it, before a shortcut of the window takes it."""

    def __init__(self, pane: QWidget, callback: Callable[[], object]) -> None:
        super().__init__(pane)
        self._callback = callback
        pane.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isinstance(event, QKeyEvent) or not event.matches(QKeySequence.StandardKey.Find):
            return False
        if event.type() is QEvent.Type.ShortcutOverride:
            event.accept()
            return True
        if event.type() is QEvent.Type.KeyPress:
            self._callback()
            return True
        return False


_DEBOUNCE_MS = 120  # after the last key, before the search begins


class SearchedContent(Protocol):
    def search(self, query: str) -> Iterator[Match | None]:
        """Yield the hits, and None now and then, as a place to pause."""


class SearchedView(Protocol):
    @property
    def content(self) -> SearchedContent: ...

    @property
    def page_index(self) -> int: ...

    def page_of(self, match: Match) -> int: ...

    def show_match(self, match: Match, others: Iterable[Match]) -> None:
        """Bring a hit into sight and mark it among the others."""

    def clear_matches(self) -> None: ...


class FindLine(QFrame):
    """A field to find words with: Enter and F3 go on, with Shift back; Esc closes."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self.field = SearchField(words)
        self.count = TextLine("", 12, role="muted")
        self.count.setMinimumWidth(96)
        before = IconButton("chevron-up", tr("Previous result (Shift+F3)"), on_click=lambda: self.step(-1))
        after = IconButton("chevron-down", tr("Next result (F3)"), on_click=lambda: self.step(1))
        leave = IconButton("x", tr("Close (Esc)"), on_click=self.close_bar)
        parts = (self.field, 6, self.count, before, after, leave)
        self.setLayout(row(*parts, margins=(10, 6, 8, 6), gap=4, stretch=0))

    def open_bar(self) -> None:
        self.show()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()

    def step(self, offset: int) -> None:
        raise NotImplementedError

    def close_bar(self) -> None:
        raise NotImplementedError

    def keyPressEvent(self, event: QKeyEvent) -> None:
        back = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        match event.key():
            case Qt.Key.Key_Return | Qt.Key.Key_Enter | Qt.Key.Key_F3:
                self.step(-1 if back else 1)
            case Qt.Key.Key_Escape:
                self.close_bar()
            case _:
                super().keyPressEvent(event)


class FindBar(FindLine):
    closed = Signal()
    found = Signal(str)
    """The words that have hits, once all hits are known; empty: there are none now."""

    def __init__(self, text: SearchedView) -> None:
        super().__init__(tr("Find in this content"))
        self._text = text
        self._hits: list[Match] = []
        self._current = 0
        self._line = 0  # from which on the first hit is looked for
        self._results: Iterator[Match | None] = iter(())
        self._debounce = QTimer(self, singleShot=True, interval=_DEBOUNCE_MS)
        self._debounce.timeout.connect(self.search)
        self._continue_timer = QTimer(self, singleShot=True, interval=0)
        self._continue_timer.timeout.connect(self._continue_search)
        self.field.textChanged.connect(lambda _: self._search_soon())

    def open_bar(self) -> None:
        super().open_bar()
        if self.field.text() and not self._hits:
            self.search()

    def find_text(self, query: str, line: int) -> None:
        """Search for words from a line on, without taking the keyboard; without any, go."""
        self._line = line
        with QSignalBlocker(self.field):
            self.field.setText(query)
        self.setVisible(bool(query))
        self.search()

    def _search_soon(self) -> None:
        """Search for what is typed, from the first line on."""
        self._line = 0
        self._debounce.start()

    def close_bar(self) -> None:
        self.clear_hits()
        self.hide()
        self.closed.emit()

    def clear_hits(self) -> None:
        self._continue_timer.stop()
        self._hits = []
        self._current = 0
        self._text.clear_matches()
        self.count.set_text("")
        self.found.emit("")

    def step(self, offset: int) -> None:
        if not self._hits:
            return
        self._current = (self._current + offset) % len(self._hits)
        self._text.show_match(self._hits[self._current], self._hits)
        place = self._current + 1
        count = len(self._hits)
        is_cut = count >= MATCH_LIMIT
        words = tr("{place} of {count}+", place=place, count=count)
        self._show_count(words if is_cut else tr("{place} of {count}", place=place, count=count))

    def _show_count(self, text: str) -> None:
        self.count.set_text(text)
        if has_keyboard(self):  # not while the words come from elsewhere
            announce(self, text)

    def search(self) -> None:
        self.clear_hits()
        if self.field.text():
            self._results = self._text.content.search(self.field.text())
            self._continue_search()

    def _continue_search(self) -> None:
        """Search until the content's next place to pause, so that a large one holds up nobody."""
        for hit in self._results:
            if hit is None:
                self._continue_timer.start()
                return
            self._hits.append(hit)
        if not self._hits:
            self._show_count(tr("No results"))
            return
        first = self._text.page_index
        following = (
            number
            for number, hit in enumerate(self._hits)
            if self._text.page_of(hit) >= first and hit.row + 1 >= self._line
        )
        self._current = next(following, 0)
        self.step(0)
        self.found.emit(self.field.text())


_INLINE_INDEX_BYTES = 256 * 1024  # bytes that are indexed without a thread
_MIN_TEXT_PX = 46  # three lines
_COPY_PX = 34  # width of the copy button without its words
_COPY_HEIGHT_PX = 28  # its height
_ACROSS = Qt.AlignmentFlag.AlignHorizontal_Mask
_COPIED_MS = 1_200  # how long the button says that it has copied

_GUTTER_PAD = 14  # pixels right of the line numbers
_EMPTY = PagedContent(b"")


class _Gutter(QWidget):
    def __init__(self, text: PagedText) -> None:
        super().__init__(text)
        self._text = text

    def sizeHint(self) -> QSize:
        return QSize(self._text.gutter_width(), 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        self._text.paint_gutter(self, event.rect())


class PagedText(Themed, QPlainTextEdit):
    """Read-only text of one page of a content."""

    lines_selected = Signal(int, int)  # first and last line, counted from 1; 0, 0: none
    page_changed = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.content = _EMPTY
        self.page_index = 0  # counted from 0
        self._name = ""
        self._rows: list[PageRow] = []
        self._matches: list[Match] = []  # marked on the page
        self._current_match: Match | None = None
        self._wraps_lines = False
        self._gutter = _Gutter(self)
        FocusRing(self)  # the caret alone is easily missed
        self._highlighter = Highlighter(self)
        self._highlighter.highlighted.connect(self.viewport().update)
        self.setReadOnly(True)
        self.setProperty("kind", "code")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setUndoRedoEnabled(False)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setAccessibleName(tr("Content"))
        self.updateRequest.connect(self._update_gutter)
        self.selectionChanged.connect(lambda: self.lines_selected.emit(*self.selected_lines()))
        self.apply_theme()

    def show_content(self, content: PagedContent, name: str = "") -> None:
        """Show the first page of a content; `name` is the file's, for its colors."""
        self.content = content
        self._name = name.rsplit("/", 1)[-1]
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
        self.page_index = max(0, min(index, self.content.page_count - 1))
        self._rows = self.content.page(self.page_index)
        self.setPlainText("\n".join(row.text for row in self._rows))
        self.clear_matches()
        self.setViewportMargins(self.gutter_width(), 0, 0, 0)
        self._place_gutter()
        self.verticalScrollBar().setValue(0)
        self.horizontalScrollBar().setValue(0)
        self._highlight()
        self.page_changed.emit(self.page_index)

    def show_match(self, match: Match, others: Iterable[Match]) -> None:
        if self.page_of(match) != self.page_index:
            self.show_page(self.page_of(match))
        first = self.page_index * PAGE_LINES
        self._matches = [other for other in others if first <= other.row < first + len(self._rows)]
        self._current_match = match
        self._mark_matches()
        cursor = self._cursor(match)
        cursor.clearSelection()
        self.setTextCursor(cursor)
        self.centerCursor()

    def page_of(self, match: Match) -> int:
        return match.row // PAGE_LINES

    def clear_matches(self) -> None:
        self._matches = []
        self._mark_matches()

    def selected_lines(self) -> tuple[int, int]:
        """Return the first and last selected line, from 1; 0, 0 without a selection, and of hexadecimal."""
        cursor = self.textCursor()
        if not cursor.hasSelection() or not self._rows or self.content.is_binary:
            return 0, 0
        document = self.document()
        base = self.page_index * PAGE_LINES
        begin = document.findBlock(cursor.selectionStart()).blockNumber()
        end = document.findBlock(cursor.selectionEnd())
        row = end.blockNumber()
        if end.position() == cursor.selectionEnd() and row > begin:
            row -= 1
        last = self.content.line_at(base + row)
        return (max(1, self.content.line_at(base + begin)), last) if last else (0, 0)

    def apply_theme(self) -> None:
        super().apply_theme()
        self.setFont(ui_font(12, is_code=True))
        self.setViewportMargins(self.gutter_width(), 0, 0, 0)
        self._gutter.update()
        self._highlight()
        self._mark_matches()

    def gutter_width(self) -> int:
        digits = max(3, len(str(max((row.line_number or 0 for row in self._rows), default=0))))
        digit = QFontMetricsF(ui_font(11, is_code=True)).horizontalAdvance("0")
        return int(digit * digits) + _GUTTER_PAD + 10

    def paint_gutter(self, gutter: QWidget, dirty: QRect) -> None:
        painter = QPainter(gutter)
        painter.fillRect(dirty, QColor(self._theme.code_surface))
        painter.setFont(ui_font(11, is_code=True))
        painter.setPen(QColor(self._theme.faint))
        block = self.firstVisibleBlock()
        line = self.fontMetrics().lineSpacing()
        top = self.blockBoundingGeometry(block).translated(self.contentOffset()).top()
        while block.isValid() and top <= dirty.bottom():
            height = self.blockBoundingRect(block).height()
            at = block.blockNumber()
            number = self._rows[at].line_number if at < len(self._rows) else None
            room = QRectF(0, top, gutter.width() - _GUTTER_PAD, line)
            painter.drawText(room, AT_END, "↪" if number is None else str(number or ""))
            top += height
            block = block.next()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_gutter()

    def _wrap(self) -> None:
        modes = QPlainTextEdit.LineWrapMode
        wraps = self._wraps_lines and not self.content.is_binary
        self.setLineWrapMode(modes.WidgetWidth if wraps else modes.NoWrap)

    def _place_gutter(self) -> None:
        inside = self.contentsRect()
        width = self.gutter_width()
        self._gutter.setGeometry(QRect(inside.left(), inside.top(), width, self.viewport().height()))

    def _update_gutter(self, rect: QRect, dy: int) -> None:
        if dy:
            self._gutter.scroll(0, dy)
        else:
            self._gutter.update(0, rect.y(), self._gutter.width(), rect.height())

    def _cursor(self, match: Match) -> QTextCursor:
        block = self.document().findBlockByNumber(match.row - self.page_index * PAGE_LINES)
        cursor = QTextCursor(block)
        words = block.text()
        start = block.position() + count_units(words[: match.column])
        cursor.setPosition(start)
        end = start + count_units(words[match.column : match.column + match.length])
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        return cursor

    def _mark_matches(self) -> None:
        self.setExtraSelections([self._mark(match) for match in self._matches])

    def _mark(self, match: Match) -> QTextEdit.ExtraSelection:
        is_current = match == self._current_match
        mark = QTextEdit.ExtraSelection()
        mark.cursor = self._cursor(match)
        mark.format.setBackground(QColor(self._theme.seg_output if is_current else self._theme.warn_soft))
        if is_current:
            mark.format.setForeground(QColor("#1a1d24"))
        return mark

    def _highlight(self) -> None:
        self._highlighter.clear()
        if self._name and not self.content.is_binary:
            self._highlighter.add(HighlightJob(self.document(), self._name, self._theme.code))


class _CopyButton(IconButton):
    """An icon with a word behind it, as wide with each of the two; without one where room is short."""

    _is_copied = _is_worded = False

    def __init__(self) -> None:
        super().__init__("copy", tr("Copy all (Ctrl+Shift+C)"), px=14, edge=_COPY_HEIGHT_PX)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)

    def show_copied(self, is_copied: bool) -> None:
        self._is_copied = is_copied
        self.set_icon("check" if is_copied else "copy")

    def show_word(self, is_shown: bool) -> None:
        self._is_worded = is_shown
        self._fit()

    def apply_theme(self) -> None:
        super().apply_theme()
        self._fit()

    def _fit(self) -> None:
        words = (tr("Copy"), tr("Copied"))
        # Qt's own gap behind the icon is too tight.
        self.setText(f" {words[self._is_copied]}" if self._is_worded else "")
        words_px = max(self.fontMetrics().horizontalAdvance(word) for word in words)
        height = max(scaled(_COPY_HEIGHT_PX), self.sizeHint().height())  # some scripts are taller
        self.setFixedSize(scaled(_COPY_PX) + words_px if self._is_worded else scaled(_COPY_HEIGHT_PX), height)


class ContentViewer(Themed, Card):
    indexed = Signal()
    """The content that was given last is on screen: `text.content` is its own."""

    min_facts_px = 0
    """The room in pixels below which the facts at the left of the head go."""

    def __init__(self, start: StartCoroutine | None = None, *, wraps: bool = False) -> None:
        """`start` owns the coroutine that indexes a large content in a thread; else it is done at once.

        `wraps`: long lines are always wrapped, since there is little room; else the user may choose that.
        """
        super().__init__((0, 0, 0, 0), 0, "code")
        self._start = start
        self._data: bytes | None = None
        self._position = ""
        self._search_text = self._name = ""
        self._as_hex = False
        self._first_number = 1
        self._other_form: bytes | None = None
        self.text = PagedText()
        self.pages = QStackedWidget()
        self.pages.addWidget(self.text)
        self.find_bar = FindBar(self.text)
        self.find_bar.hide()
        self.meta = TextLine("", 12, role="muted")
        self.position_label = TextLine("", 12, role="muted")
        self._problem = SelectableText("", 13, "error")
        self._problem.setContentsMargins(14, 12, 14, 12)
        self._problem.setAlignment(Qt.AlignmentFlag.AlignTop | self._problem.alignment() & _ACROSS)
        self._problem.hide()  # also until there is a content: an empty label would take the keyboard
        self.copy_button = _CopyButton()
        self.copy_button.clicked.connect(self.copy_content)
        self.wrap_button = IconButton("wrap-lines", tr("Wrap lines"), px=15, edge=28)
        self.wrap_button.setCheckable(True)
        self.wrap_button.toggled.connect(self.text.set_wrapping)
        self.wrap_button.setParent(self)
        self.wrap_button.setChecked(wraps)
        self.wrap_button.setHidden(wraps)
        FindShortcut(self, self.open_find)
        self._previous_button = IconButton("chevron-left", tr("Previous page"), px=15, edge=28)
        self._next_button = IconButton("chevron-right", tr("Next page"), px=15, edge=28)
        find = IconButton("search", tr("Find (Ctrl+F)"), px=15, edge=28, on_click=self.open_find)
        pages = (self.position_label, self._previous_button, self._next_button)
        buttons = (*(() if wraps else (self.wrap_button,)), find, self.copy_button)
        self._text_tools = (self.position_label, *buttons)
        self.head = row(self.meta, None, *pages, *buttons, margins=(13, 3, 5, 3), gap=4)
        self.head.addStrut(_COPY_HEIGHT_PX)  # also without buttons
        self.body.addLayout(self.head)
        for section in (line(), self.find_bar, self._problem):
            self.body.addWidget(section)
        self.body.addWidget(self.pages, 1)
        self.position_label.is_fixed_width = True
        self.text.setMinimumHeight(_MIN_TEXT_PX)
        floor = QWidget()
        floor.setFixedHeight(7)  # room for the card's round corners below the square text
        self.body.addWidget(floor)
        self._previous_button.clicked.connect(lambda: self.text.show_page(self.text.page_index - 1))
        self._next_button.clicked.connect(lambda: self.text.show_page(self.text.page_index + 1))
        self.text.page_changed.connect(lambda _: self._update_page())

    def apply_theme(self) -> None:
        super().apply_theme()
        self._shorten_head()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._shorten_head()

    def show_data(self, data: bytes | None, name: str = "", problem: str = "", first_number: int = 1) -> None:
        """Show bytes, or say why there are none; `name` is their file's, for the colors.

        `first_number` is that of the first line; other than 1, that is a header.
        """
        if data is self._data and data is not None:  # what shows it stays, the text or something else
            show_text(self._problem, problem)
            return
        self._show_problem(problem, has_data=data is not None)
        self._data = data
        self._name = name
        self._as_hex = False
        self._first_number = first_number
        self._other_form = None
        self._show_rows()

    def show_content(self, content: PagedContent, name: str = "") -> None:
        """Show bytes that are indexed already; `name` is their file's, for the colors."""
        self._show_problem("", has_data=True)
        self._data = content.data
        self._name = name
        self._as_hex = False
        self._first_number = 1
        self._other_form = None
        self.find_bar.clear_hits()
        self._show(content)

    def _show_problem(self, problem: str, *, has_data: bool) -> None:
        show_text(self._problem, problem)
        for part in (self.pages, *self._text_tools):
            part.setVisible(has_data)

    def set_hex(self, on: bool) -> None:
        """Show text as hexadecimal, or as text again; what is no text is hexadecimal in any case."""
        if on != self._as_hex:
            self._as_hex = on
            self._show_rows()

    def show_form(self, form: bytes | None) -> None:
        """Show the content in another form, such as indented; None stands for the bytes themselves."""
        if form is not self._other_form:
            self._other_form = form
            self._show_rows()

    @property
    def _shown_data(self) -> bytes | None:
        return self._data if self._other_form is None else self._other_form

    def copy_content(self) -> None:
        data = self._shown_data
        if data is not None:
            QGuiApplication.clipboard().setText(data.decode(errors="replace"))
            self.copy_button.show_copied(True)
            QTimer.singleShot(_COPIED_MS, self.copy_button, lambda: self.copy_button.show_copied(False))

    def _show_position(self, is_shown: bool) -> None:
        self.position_label.set_text(self._position if is_shown else "")

    def _shorten_head(self) -> None:
        """Take away what the head can do without: the word of a button, the place in the text, the facts.

        The word goes before the facts are cut: they are figures, and the icon says the same as the word.
        """
        edges = self.body.contentsMargins()
        width = self.contentsRect().width() - edges.left() - edges.right()
        self._show_position(True)
        self.meta.setVisible(True)
        self.meta.setMinimumWidth(self.meta.sizeHint().width())
        shorten_row(self.head, width, (self.copy_button.show_word,))
        self.meta.setMinimumWidth(self.min_facts_px)
        shorten_row(self.head, width, (self._show_position, self.meta.setVisible))

    def find_text(self, text: str, line: int = 0) -> None:
        """Mark these words and show the first of them from a line on; the keyboard stays where it is.

        No words: end that.
        """
        if text or self._search_text:
            self.find_bar.find_text(text, line)
        self._search_text = text

    def open_find(self) -> None:
        if self._data is not None:
            self.find_bar.open_bar()

    def _show_rows(self) -> None:
        data = self._shown_data or b""
        as_hex = self._as_hex
        self.find_bar.clear_hits()
        if self._start is None or len(data) <= _INLINE_INDEX_BYTES:
            self._show(PagedContent(data, as_hex=as_hex, first_number=self._first_number))
        else:
            self.text.show_content(PagedContent(b""), self._name)
            self._start(self._index(data, as_hex), "index preview")

    def _show_text_parts(self, on: bool) -> None:
        """Show what belongs to the text: pages, find, its number of lines."""
        for part in self._text_tools:
            part.setVisible(on)
        if on:
            self._update_page()
        else:
            self.find_bar.hide()
            for button in (self._previous_button, self._next_button):
                button.hide()

    async def _index(self, data: bytes, as_hex: bool) -> None:
        first = self._first_number
        content = await asyncio.to_thread(PagedContent, data, as_hex=as_hex, first_number=first)
        if self._shown_data is data and self._as_hex == as_hex:
            self._show(content)

    def _show(self, content: PagedContent) -> None:
        self.text.show_content(content, self._name)
        if not self.find_bar.isHidden() and content.row_count:
            self.find_bar.search()
        self.indexed.emit()

    def _update_page(self) -> None:
        content = self.text.content
        page = self.text.page_index
        self.wrap_button.setEnabled(not content.is_binary)
        self._previous_button.setEnabled(page > 0)
        self._next_button.setEnabled(page + 1 < content.page_count)
        for button in (self._previous_button, self._next_button):
            button.setVisible(content.page_count > 1)
        self._position = _position_text(content, page)
        self._shorten_head()


def _position_text(content: PagedContent, page: int) -> str:
    """Return which lines are on a page; how many there are where all of them are."""
    begin = content.first_line
    count = content.last_line - content.first_line + 1
    if content.page_count == 1:
        lines = tr.plural(count, "%n line", "%n lines")
        return tr.plural(count, "%n row of hex", "%n rows of hex") if content.is_binary else lines
    first = content.line_at(page * PAGE_LINES)
    last = content.line_at(min((page + 1) * PAGE_LINES, content.row_count) - 1)
    if content.is_binary:
        return tr("{first}–{last} of {count} rows of hex", first=first, last=last, count=count)
    if begin > 1:  # the numbers of a part of a file are those of the file
        first = max(first, begin)
        end = content.last_line
        return tr("lines {first}–{last} of {begin}–{end}", first=first, last=last, begin=begin, end=end)
    if first == last:  # a long one has several pages
        return tr("part of line {line} of {count}", line=first, count=count)
    return tr("{first}–{last} of {count} lines", first=first, last=last, count=count)


_SIZE = (940, 680)
_MIN_SIZE = (560, 480)
_BESIDE_PX = 80  # of the window that it is opened from, above and below
_LIST_PX = 250  # first width of the list
_TEXT_PX = 640  # first width of a text
_SEARCHED_FROM = 12  # names
TEXT_NAME = Qt.ItemDataRole.UserRole
"""What holds the name of a text in an item of the list."""


class TextsDialog(SizedDialog):
    """Names at the left, the text of the current one at the right; a single text has all of it."""

    def __init__(
        self,
        parent: QWidget,
        title: str,
        notes: Iterable[str],
        texts: Mapping[str, str | None],
        *,
        below: Sequence[QWidget] = (),
        buttons: Sequence[PushButton] = (),
        start: StartCoroutine | None = None,
    ) -> None:
        """`notes` stand above the `texts`, of which None is still to come, `below` and `buttons` under them.

        `start` owns what indexes a long text.
        """
        height = max(_MIN_SIZE[1], min(_SIZE[1], parent.window().height() - _BESIDE_PX))
        super().__init__(parent, title, (_SIZE[0], height), _MIN_SIZE)
        self.texts = dict(texts)
        self.viewer = ContentViewer(start)
        self.viewer.wrap_button.setChecked(True)
        self.field = SearchField(tr("Search names"))
        self.field.setVisible(len(texts) >= _SEARCHED_FROM)
        self.field.textChanged.connect(self._filter)
        self.list = CheckList(title)
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # files differ at the end of their names
        for name in texts:
            item = QTreeWidgetItem([name])
            item.setData(0, TEXT_NAME, name)
            item.setToolTip(0, name)
            self.list.addTopLevelItem(item)
        names = pane(column(self.field, self.list, gap=6))
        names.setVisible(len(texts) > 1)
        split = splitter(names, self.viewer, sizes=(_LIST_PX, _TEXT_PX), handle_px=12)
        split.setStretchFactor(1, 1)
        close = PushButton(tr("Close"), "" if buttons else "primary", name="close", on_click=self.reject)
        words = [label(title, "title"), *(label(note, "muted", wrap=True) for note in notes)]
        foot = FlowBox([close, *buttons], right_from=0)
        body = column(*words, split, *below, foot, margins=DIALOG_MARGINS, gap=10)
        body.setStretchFactor(split, 1)
        self.setLayout(body)
        self.list.currentItemChanged.connect(lambda *_: self.show_current())
        self.list.setCurrentItem(self.list.items()[0])
        first = self.list if len(texts) > 1 else self.viewer.text
        first.setFocus()

    def show_current(self) -> None:
        item = self.list.currentItem()
        name = item.data(0, TEXT_NAME) if item is not None else ""
        text = self.texts.get(name)
        self.viewer.show_data(None if text is None else text.encode("utf-8", "replace"), name)

    def _filter(self, typed: str) -> None:
        self.list.filter(typed)
        shown = [item for item in self.list.items() if not item.isHidden()]
        if shown and self.list.currentItem() not in shown:
            self.list.setCurrentItem(shown[0])
