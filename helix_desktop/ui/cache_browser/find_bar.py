"""Find in the preview: a field, how many hits there are, and the way from one to the next."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QWidget

from helix_desktop.ui.accessibility import announce
from helix_desktop.ui.cache_browser.paged_text import PagedText
from helix_desktop.ui.cache_browser.pages import MATCH_LIMIT, Match
from helix_desktop.ui.elements import Line
from helix_desktop.ui.widgets import IconButton, SearchField

_PAUSE_MS = 120  # after the last key, before the search begins


class FindBar(QWidget):
    """Searches the content that a PagedText shows."""

    closed = Signal()

    def __init__(self, text: PagedText) -> None:
        super().__init__()
        self._text = text
        self._hits: list[Match] = []
        self._at = 0
        self._searching: Iterator[Match | None] = iter(())
        self.field = SearchField("Find in this content")
        self.count = Line("", 12, role="muted")
        self.count.setMinimumWidth(96)
        before, after = (
            IconButton("chevron-up", "Previous hit (Shift+F3)"),
            IconButton("chevron-down", "Next hit (F3)"),
        )
        leave = IconButton("x", "Close (Esc)")
        before.clicked.connect(lambda: self.step(-1))
        after.clicked.connect(lambda: self.step(1))
        leave.clicked.connect(self.leave)
        row = QHBoxLayout(self)
        row.setContentsMargins(10, 6, 8, 6)
        row.setSpacing(4)
        row.addWidget(self.field, 1)
        row.addSpacing(6)
        for part in (self.count, before, after, leave):
            row.addWidget(part)
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(_PAUSE_MS)
        self._soon.timeout.connect(self._begin)
        self._next = QTimer(self)
        self._next.setSingleShot(True)
        self._next.setInterval(0)
        self._next.timeout.connect(self._search_on)
        self.field.textChanged.connect(lambda _: self._soon.start())

    def enter(self) -> None:
        """Show the bar and let the person type."""
        self.show()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()
        if self.field.text() and not self._hits:
            self._begin()

    def seek(self, words: str) -> None:
        """Search for words without taking the keyboard; without any, go."""
        self.field.blockSignals(True)
        self.field.setText(words)
        self.field.blockSignals(False)
        self.setVisible(bool(words))
        self._begin()

    def leave(self) -> None:
        """Hide the bar and its marks."""
        self.forget()
        self.hide()
        self.closed.emit()

    def search_again(self) -> None:
        """Search for the same words: another content is shown now."""
        self._begin()

    def forget(self) -> None:
        """Drop all hits: the content is another one now."""
        self._next.stop()
        self._hits, self._at = [], 0
        self._text.clear_matches()
        self.count.set_text("")

    def step(self, by: int) -> None:
        """Go `by` hits on, round the ends."""
        if not self._hits:
            return
        self._at = (self._at + by) % len(self._hits)
        self._text.show_match(self._hits[self._at], self._hits)
        more = "+" if len(self._hits) >= MATCH_LIMIT else ""
        self._show_count(f"{self._at + 1:,} of {len(self._hits):,}{more}")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter and F3 go on, with Shift back; Esc closes."""
        back = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        match event.key():
            case Qt.Key.Key_Return | Qt.Key.Key_Enter | Qt.Key.Key_F3:
                self.step(-1 if back else 1)
            case Qt.Key.Key_Escape:
                self.leave()
            case _:
                super().keyPressEvent(event)

    def _show_count(self, text: str) -> None:
        self.count.set_text(text)
        focused = QApplication.focusWidget()
        if focused is not None and self.isAncestorOf(focused):  # not while the words come from elsewhere
            announce(self, text)

    def _begin(self) -> None:
        self.forget()
        if self.field.text():
            self._searching = self._text.content.search(self.field.text())
            self._search_on()

    def _search_on(self) -> None:
        """Search until the content's next place to pause, so that a large one holds up nobody."""
        for hit in self._searching:
            if hit is None:
                self._next.start()
                return
            self._hits.append(hit)
        if not self._hits:
            self._show_count("No hit")
            return
        first = self._text.page
        self._at = next((n for n, hit in enumerate(self._hits) if self._text.page_of(hit) >= first), 0)
        self.step(0)
