"""Find in a content: its key, a field, how many hits there are, and the way from one to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QApplication, QWidget

from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.buttons import IconButton
from helix_desktop.ui.design.fields import SearchField
from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.design.layout.boxes import row
from helix_desktop.ui.design.viewer.paged_content import MATCH_LIMIT, Match
from helix_desktop.words.translation import Translator

tr = Translator("Controls")


class FindShortcut(QObject):
    """Gives Ctrl+F to a pane while the keyboard is in it, before a shortcut of the window takes it."""

    def __init__(self, pane: QWidget, callback: Callable[[], object]) -> None:
        """Call `callback` each time; the pane owns this object."""
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
    def page_index(self) -> int:
        """Return the page on screen, counted from 0."""
        ...

    def page_of(self, match: Match) -> int:
        """Return the page that a hit stands on."""

    def show_match(self, match: Match, others: Iterable[Match]) -> None:
        """Bring a hit into sight and mark it among the others."""

    def clear_matches(self) -> None:
        """Take all marks away."""


class FindBar(QWidget):
    closed = Signal()
    found = Signal(str)
    """The words that have hits, once all hits are known; empty: there are none now."""

    def __init__(self, text: SearchedView) -> None:
        super().__init__()
        self._text = text
        self._hits: list[Match] = []
        self._current = 0
        self._results: Iterator[Match | None] = iter(())
        self.field = SearchField(tr("Find in this content"))
        self.count = TextLine("", 12, role="muted")
        self.count.setMinimumWidth(96)
        before = IconButton("chevron-up", tr("Previous result (Shift+F3)"), on_click=lambda: self.step(-1))
        after = IconButton("chevron-down", tr("Next result (F3)"), on_click=lambda: self.step(1))
        leave = IconButton("x", tr("Close (Esc)"), on_click=self.close_bar)
        parts = (self.field, 6, self.count, before, after, leave)
        self.setLayout(row(*parts, margins=(10, 6, 8, 6), gap=4, stretch=0))
        self._debounce = QTimer(self, singleShot=True, interval=_DEBOUNCE_MS)
        self._debounce.timeout.connect(self.search)
        self._continue_timer = QTimer(self, singleShot=True, interval=0)
        self._continue_timer.timeout.connect(self._continue_search)
        self.field.textChanged.connect(lambda _: self._debounce.start())

    def open_bar(self) -> None:
        self.show()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()
        if self.field.text() and not self._hits:
            self.search()

    def find_text(self, query: str) -> None:
        """Search for words without taking the keyboard; without any, go."""
        with QSignalBlocker(self.field):
            self.field.setText(query)
        self.setVisible(bool(query))
        self.search()

    def close_bar(self) -> None:
        self.clear_hits()
        self.hide()
        self.closed.emit()

    def clear_hits(self) -> None:
        self._continue_timer.stop()
        self._hits, self._current = [], 0
        self._text.clear_matches()
        self.count.set_text("")
        self.found.emit("")

    def step(self, offset: int) -> None:
        """Go `offset` hits on, round the ends."""
        if not self._hits:
            return
        self._current = (self._current + offset) % len(self._hits)
        self._text.show_match(self._hits[self._current], self._hits)
        place, count = self._current + 1, len(self._hits)
        self._show_count(
            tr("{place} of {count}+", place=place, count=count)
            if count >= MATCH_LIMIT
            else tr("{place} of {count}", place=place, count=count)
        )

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go to the next hit on Enter and F3, with Shift to the previous one; close on Esc."""
        back = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        match event.key():
            case Qt.Key.Key_Return | Qt.Key.Key_Enter | Qt.Key.Key_F3:
                self.step(-1 if back else 1)
            case Qt.Key.Key_Escape:
                self.close_bar()
            case _:
                super().keyPressEvent(event)

    def _show_count(self, text: str) -> None:
        self.count.set_text(text)
        focused = QApplication.focusWidget()
        if focused is not None and self.isAncestorOf(focused):  # not while the words come from elsewhere
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
        self._current = next((n for n, hit in enumerate(self._hits) if self._text.page_of(hit) >= first), 0)
        self.step(0)
        self.found.emit(self.field.text())
