"""Quick look: the preview over the whole list, and from there on to the next entry."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QSplitter, QWidget

from helix_desktop.ui.cache.preview.pane import Preview
from helix_desktop.ui.cache.table import CacheTable
from helix_desktop.ui.design.page_keys import PageKeys

_Key = Qt.Key
_STEPS = {_Key.Key_Up: -1, _Key.Key_Down: 1}
_TO_THE_CONTENT = (_Key.Key_PageUp, _Key.Key_PageDown, _Key.Key_Home, _Key.Key_End)


class QuickLook(QObject):
    """Gives the preview all the room of the browser, and takes it back.

    Its own key and Esc close it, Up and Down go to another entry; while the keyboard is in the content
    they do with Alt.
    """

    def __init__(
        self,
        splitter: QSplitter,
        table: CacheTable,
        preview: Preview,
        keys: PageKeys,
        covered: Sequence[QWidget],
    ) -> None:
        """`splitter` holds the list and the preview; `covered` is what stands above the preview."""
        super().__init__(splitter)
        self._splitter, self._table, self._preview = splitter, table, preview
        self._covered, self._keys = covered, keys
        self._sizes: Sequence[int] = ()
        self.is_open = False
        content = preview.content
        for part in (preview, content.text):
            part.installEventFilter(self)
        content.part_built.connect(lambda part: part.installEventFilter(self))
        table.quick_look_requested.connect(self.open)
        preview.quick_look_button.clicked.connect(self.toggle)

    def open(self) -> None:
        """Show the preview of the current entry over the list, and give it the keyboard."""
        if self.is_open or not self._table.currentIndex().isValid():
            return
        self.is_open, self._sizes = True, self._splitter.sizes()
        self._cover(True)
        self._preview.setFocus(Qt.FocusReason.OtherFocusReason)

    def close(self) -> None:
        """Show the list again, and give it the keyboard."""
        if self.is_open:
            self.is_open = False
            self._cover(False)
            self._splitter.setSizes(self._sizes)
            self._table.setFocus(Qt.FocusReason.OtherFocusReason)
            self._table.scrollTo(self._table.currentIndex())

    def toggle(self) -> None:
        """Open it, or close it."""
        if self.is_open:
            self.close()
        else:
            self.open()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take the keys that close it, or lead to another entry."""
        if not self.is_open or not isinstance(event, QKeyEvent) or event.type() is not QEvent.Type.KeyPress:
            return False
        key, modifiers = _Key(event.key()), event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        of_preview = watched is self._preview
        is_own_key = self._keys.command_of(event) == "cache_quick_look"
        if is_own_key or (key is _Key.Key_Escape and not modifiers):
            if not event.isAutoRepeat():
                self.close()
            return True
        if key in _STEPS and (of_preview or modifiers == Qt.KeyboardModifier.AltModifier):
            self._preview.setFocus(Qt.FocusReason.OtherFocusReason)  # the content's page may go
            self._table.step(_STEPS[key])
            return True
        if key in _TO_THE_CONTENT and of_preview:
            QApplication.sendEvent(self._preview.content.page, event)
            return True
        return False

    def _cover(self, on: bool) -> None:
        for part in self._covered:
            part.setHidden(on)
        self._preview.show_as_quick_look(on)
