"""Sidebar, center and panel side by side: which are shown, how wide, and that this is remembered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from PySide6.QtCore import QByteArray, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QApplication, QSplitter, QWidget

from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.kit.intents import TogglePane, handles

PANEL_MIN_WINDOW_PX = 1280
SIDEBAR_MIN_WINDOW_PX = 760
"""Widths of the window, at 100 % text, below which a pane folds away by itself: the panel only as long as
the user has not opened it."""
LAYOUT_NAMES = ("geometry", "splitter", "sidebar", "inspector", "page", "workspace")
"""The keys of a layout store that each window has its own values for; all windows share the others."""
_STORED_NAMES = {"sidebar": "sidebar", "panel": "inspector"}
"""The key in a layout store for whether a pane is shown."""
_FIRST_WIDTHS = (272, 796, 308)
_SIDE_SHARES = (0.14, 0.165)
"""Of all that is there, until the user moves a handle: a large window has room for longer titles."""
_WIDEST_SIDES = (350, 400)
"""The most pixels that these shares are."""
_SIDES_PX = 328  # the rail and the sidebar


class LayoutStore(NamedTuple):
    """Storage for the window's sizes, as bytes by key; `load` returns b"" for an unknown key."""

    load: Callable[[str], bytes]
    save: Callable[[str, bytes], None]


class Panes(QSplitter):
    """Shows what the user wants, as far as the place has it and the window has room for it."""

    panes_shown = Signal(bool, bool)
    """Whether sidebar and panel are shown now."""
    changed = Signal()
    """The user moved a handle, or wants a pane shown or hidden."""

    def __init__(self, sidebar: QWidget, center: QWidget, panel: QWidget, layout_store: LayoutStore) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._sidebar = sidebar
        self._panel = panel
        self._layout_store = layout_store
        self._requested = {  # b"": no wish yet
            pane: layout_store.load(stored_name) for pane, stored_name in _STORED_NAMES.items()
        }
        self._available = {"sidebar": False, "panel": False}
        self._fits = (False, False)  # whether there is room for the sidebar, and the panel
        self._is_sidebar_alone = False
        for pane in (sidebar, center, panel):
            self.addWidget(pane)
        self.setHandleWidth(1)
        self.setChildrenCollapsible(False)
        self.setStretchFactor(1, 1)
        self.setSizes(list(_FIRST_WIDTHS))
        widths = layout_store.load("splitter")
        self._has_own_widths = bool(widths)
        if widths:
            self.restoreState(QByteArray(widths))
        self.splitterMoved.connect(self._on_moved)

    def set_available(self, sidebar: bool, panel: bool) -> None:
        self._available = {"sidebar": sidebar, "panel": panel}
        self._lay_out()

    def show_sidebar_alone(self, is_alone: bool) -> None:
        """Show the sidebar where there is room for it and no panel meanwhile, whatever the user wants."""
        self._is_sidebar_alone = is_alone
        self._lay_out()

    def fit(self, width: int) -> None:
        """Fold panes away, or bring them back, for a new width of the window in pixels, or new text size."""
        larger = fonts.scale(QApplication.font()) - 1.0  # words need more room, the panes keep their widths
        sidebar = width >= SIDEBAR_MIN_WINDOW_PX + larger * (SIDEBAR_MIN_WINDOW_PX - _SIDES_PX)
        panel = width >= PANEL_MIN_WINDOW_PX + larger * (PANEL_MIN_WINDOW_PX - _SIDES_PX - _FIRST_WIDTHS[2])
        if (sidebar, panel) != self._fits:
            self._fits = sidebar, panel
            self._lay_out()

    @handles(TogglePane)
    def toggle(self, name: Literal["sidebar", "panel"]) -> None:
        """Show or hide a pane, also where it is narrow, and remember it."""
        shown = {"sidebar": self._sidebar.isVisibleTo(self), "panel": self._panel.isVisibleTo(self)}
        shown[name] = not shown[name]
        self._requested[name] = b"on" if shown[name] else b"off"
        self._layout_store.save(_STORED_NAMES[name], self._requested[name])
        self.changed.emit()
        self._apply(**shown)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give both sides their share of a large window, until the user moves a handle."""
        super().resizeEvent(event)
        if not self._has_own_widths:
            left, right = (
                max(first, min(widest, round(self.width() * share)))
                for first, widest, share in zip(_FIRST_WIDTHS[::2], _WIDEST_SIDES, _SIDE_SHARES, strict=True)
            )
            self.setSizes([left, max(0, self.width() - left - right), right])

    def save(self) -> None:
        self._layout_store.save("splitter", bytes(self.saveState().data()))

    def _on_moved(self) -> None:
        self._has_own_widths = True
        self.changed.emit()

    def _lay_out(self) -> None:
        self._apply(
            self._requested["sidebar"] != b"off" and self._fits[0],
            self._requested["panel"] == b"on" or (self._requested["panel"] != b"off" and self._fits[1]),
        )

    def _apply(self, sidebar: bool, panel: bool) -> None:
        sidebar = self._fits[0] if self._is_sidebar_alone else sidebar and self._available["sidebar"]
        panel = panel and self._available["panel"] and not self._is_sidebar_alone
        self._sidebar.setVisible(sidebar)
        self._panel.setVisible(panel)
        self.panes_shown.emit(sidebar, panel)
