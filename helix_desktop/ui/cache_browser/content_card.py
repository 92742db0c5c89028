"""The framed text of the preview: its pages, find, and copy."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QWidget

from helix_desktop.ui.cache_browser.find_bar import FindBar
from helix_desktop.ui.cache_browser.find_key import FindKey
from helix_desktop.ui.cache_browser.paged_text import PagedText
from helix_desktop.ui.cache_browser.pages import PAGE_LINES, PagedContent
from helix_desktop.ui.elements import Card, Line, Words
from helix_desktop.ui.fonts import scaled
from helix_desktop.ui.intents import Start
from helix_desktop.ui.theme import Theme
from helix_desktop.ui.widgets import IconButton, line

_AT_ONCE = 256 * 1024  # bytes that are indexed without a thread
_COPY_PX = (76, 28)
_SAID_MS = 1_200  # how long the button says that it has copied


class ContentCard(Card):
    """Shows bytes as text or hexadecimal."""

    def __init__(self, start: Start | None = None) -> None:
        """`start` owns the coroutine that indexes a large content in a thread; else it is done at once."""
        super().__init__((1, 1, 1, 1), 0)
        self._start = start
        self.holds_code = True
        self._data: bytes | None = None
        self._sought = ""
        self.text = PagedText()
        self.find_bar = FindBar(self.text)
        self.find_bar.hide()
        self.meta = Line("", 12, role="muted")
        self.where = Line("", 12, role="muted")
        self._problem = Words("", 13, "error")
        self._problem.setContentsMargins(14, 12, 14, 12)
        self.copy_button = IconButton("copy", "Copy the whole content (Ctrl+Shift+C)", px=14, edge=28)
        self.copy_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.copy_button.setText(" Copy")
        self.copy_button.clicked.connect(self.copy_content)
        FindKey(self, self.open_find)
        self._back = IconButton("chevron-left", "Page back", px=15, edge=28)
        self._on = IconButton("chevron-right", "Page on", px=15, edge=28)
        self._lay_out()
        self._back.clicked.connect(lambda: self.text.go_page(self.text.page - 1))
        self._on.clicked.connect(lambda: self.text.go_page(self.text.page + 1))
        self.text.page_changed.connect(lambda _: self._tell_page())

    def tint(self, theme: Theme) -> None:
        """Take the colours of a theme, at the text size in force."""
        super().tint(theme)
        self.copy_button.setFixedSize(*map(scaled, _COPY_PX))

    def show_data(self, data: bytes | None, name: str = "", problem: str = "") -> None:
        """Show bytes, or say why there are none; `name` is their file's, for the colours."""
        self._problem.setText(problem)
        self._problem.setVisible(bool(problem))
        for part in (self.text, self.where, self._find, self.copy_button):
            part.setVisible(data is not None)
        if data is self._data and data is not None:
            return
        self._data = data
        self.find_bar.forget()
        if self._start is None or len(data or b"") <= _AT_ONCE:
            self._show(PagedContent(data or b""), name)
        else:
            self._show(PagedContent(b""), name)
            self._start(self._index(data or b"", name), "index preview")

    def copy_content(self) -> None:
        """Put the whole content on the clipboard, as text."""
        if self._data is not None:
            QGuiApplication.clipboard().setText(self._data.decode(errors="replace"))
            self.copy_button.setText(" Copied")
            QTimer.singleShot(_SAID_MS, self.copy_button, lambda: self.copy_button.setText(" Copy"))

    def seek(self, words: str) -> None:
        """Mark these words and show the first of them; the keyboard stays where it is. No words: end that."""
        if words or self._sought:
            self.find_bar.seek(words)
        self._sought = words

    def open_find(self) -> None:
        """Open find, if there is something to find in."""
        if self._data is not None:
            self.find_bar.enter()

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(13, 3, 5, 3)
        head.setSpacing(4)
        self._find = IconButton("search", "Find in this content (Ctrl+F)", px=15, edge=28)
        self._find.clicked.connect(self.open_find)
        head.addWidget(self.meta)
        head.addStretch(1)
        for part in (self.where, self._back, self._on, self._find, self.copy_button):
            head.addWidget(part)
        self.body.addLayout(head)
        for section in (line(), self.find_bar, self._problem):
            self.body.addWidget(section)
        self.body.addWidget(self.text, 1)
        self.where.stiff = True
        floor = QWidget()
        floor.setFixedHeight(7)  # room for the card's round corners below the square text
        self.body.addWidget(floor)

    async def _index(self, data: bytes, name: str) -> None:
        content = await asyncio.to_thread(PagedContent, data)
        if self._data is data:
            self._show(content, name)

    def _show(self, content: PagedContent, name: str) -> None:
        self.text.show_content(content, name)
        if not self.find_bar.isHidden() and content.rows:
            self.find_bar.search_again()

    def _tell_page(self) -> None:
        content, page = self.text.content, self.text.page
        several = content.pages > 1
        for button, more in ((self._back, page > 0), (self._on, page + 1 < content.pages)):
            button.setVisible(several)
            button.setEnabled(more)
        unit = "rows of hex" if content.binary else "lines"
        if not several:
            self.where.set_text(f"{content.lines:,} {unit}" if content.lines != 1 else "1 line")
            return
        first = content.line_at(page * PAGE_LINES)
        last = content.line_at(min((page + 1) * PAGE_LINES, content.rows) - 1)
        self.where.set_text(f"{first:,}–{last:,} of {content.lines:,} {unit}")
