"""Sidebar, centre and inspector beside each other: which are shown, how wide, and that it is remembered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QByteArray, Qt, Signal
from PySide6.QtWidgets import QApplication, QSplitter, QWidget

from helix_desktop.ui import fonts

INSPECTOR_NEEDS_PX = 1120
SIDEBAR_NEEDS_PX = 760
"""Widths of the window, at 100 % text, below which a pane folds away by itself."""
_FIRST_WIDTHS = (272, 826, 278)
_BESIDE_PX = 328  # the rail and the sidebar


@dataclass(frozen=True, slots=True)
class LayoutMemory:
    """Where the window keeps sizes: by key, as bytes; `recall` gives b"" for what it does not know."""

    recall: Callable[[str], bytes]
    remember: Callable[[str, bytes], None]


class Panes(QSplitter):
    """Shows what the user wants, as far as the place has it and the window has room for it."""

    shown = Signal(bool, bool)
    """Whether sidebar and inspector are shown now."""
    changed = Signal()
    """The user moved a handle, or wants a pane shown or hidden."""

    def __init__(self, sidebar: QWidget, centre: QWidget, inspector: QWidget, memory: LayoutMemory) -> None:
        """Take three panes; widths and wishes come back from the memory."""
        super().__init__(Qt.Orientation.Horizontal)
        self._sidebar, self._inspector, self._memory = sidebar, inspector, memory
        self._wanted = {key: memory.recall(key) != b"off" for key in ("sidebar", "inspector")}
        self._has = {"sidebar": False, "inspector": False}
        self._fits = (False, False)  # whether there is room for the sidebar, and the inspector
        for pane in (sidebar, centre, inspector):
            self.addWidget(pane)
        self.setHandleWidth(1)
        self.setChildrenCollapsible(False)
        self.setStretchFactor(1, 1)
        self.setSizes(list(_FIRST_WIDTHS))
        widths = memory.recall("splitter")
        if widths:
            self.restoreState(QByteArray(widths))
        self.splitterMoved.connect(lambda *_: self.changed.emit())

    def offer(self, sidebar: bool, inspector: bool) -> None:
        """Say which panes the place has at all."""
        self._has = {"sidebar": sidebar, "inspector": inspector}
        self._lay_out()

    def fit(self, width: int) -> None:
        """Fold panes away, or bring them back, for a new width of the window in pixels, or new text size."""
        larger = fonts.scale(QApplication.font()) - 1.0  # words need more room, the panes keep their widths
        sidebar = width >= SIDEBAR_NEEDS_PX + larger * (SIDEBAR_NEEDS_PX - _BESIDE_PX)
        inspector = width >= INSPECTOR_NEEDS_PX + larger * (
            INSPECTOR_NEEDS_PX - _BESIDE_PX - _FIRST_WIDTHS[2]
        )
        if (sidebar, inspector) != self._fits:
            self._fits = sidebar, inspector
            self._lay_out()

    def want_sidebar(self, wanted: bool) -> None:
        """Show or hide the sidebar, also where it is narrow, and remember it."""
        self._want("sidebar", wanted)
        self._apply(wanted, self._inspector.isVisibleTo(self))

    def want_inspector(self, wanted: bool) -> None:
        """Show or hide the inspector, also where it is narrow, and remember it."""
        self._want("inspector", wanted)
        self._apply(self._sidebar.isVisibleTo(self), wanted)

    def save(self) -> None:
        """Remember the widths."""
        self._memory.remember("splitter", bytes(self.saveState().data()))

    def _want(self, key: str, wanted: bool) -> None:
        self._wanted[key] = wanted
        self._memory.remember(key, b"on" if wanted else b"off")
        self.changed.emit()

    def _lay_out(self) -> None:
        self._apply(
            self._wanted["sidebar"] and self._fits[0],
            self._wanted["inspector"] and self._fits[1],
        )

    def _apply(self, sidebar: bool, inspector: bool) -> None:
        sidebar, inspector = sidebar and self._has["sidebar"], inspector and self._has["inspector"]
        self._sidebar.setVisible(sidebar)
        self._inspector.setVisible(inspector)
        self.shown.emit(sidebar, inspector)
