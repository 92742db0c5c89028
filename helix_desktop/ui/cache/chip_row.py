"""The chips below the filter bar: each says a condition that holds; a click removes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from helix_desktop.ui.design.layout.flow import place_flow
from helix_desktop.ui.design.pill import Pill
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import Themed, retint


class ChipRow(Themed, QWidget):
    """Pills in a row that breaks where the room ends; hidden while there are none."""

    def __init__(self) -> None:
        super().__init__()
        self._chips: list[Pill] = []
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.hide()

    @property
    def texts(self) -> list[str]:
        return [chip.text() for chip in self._chips]

    def show_chips(self, chips: Sequence[tuple[str, str, str, Callable[[], object]]]) -> None:
        """Show chips, each by its icon, its words, its hint, and what a click on it does."""
        for chip in self._chips:
            chip.setParent(None)
            chip.deleteLater()
        self._chips = []
        for glyph, words, hint, action in chips:
            chip = Pill(words, "accent", glyph, clickable=True)
            chip.setToolTip(hint)
            chip.setParent(self)
            # Queued: the deed may take the chip away while Qt is still inside its click.
            chip.clicked.connect(lambda _=False, action=action: action(), Qt.ConnectionType.QueuedConnection)
            retint(chip, self._theme)
            chip.show()
            self._chips.append(chip)
        self.setVisible(bool(self._chips))
        self.setFixedHeight(max(1, place_flow(self._chips, max(self.width(), 1))))

    def sizeHint(self) -> QSize:
        return QSize(200, self.height())

    def tint(self, theme: Theme) -> None:
        super().tint(theme)
        for chip in self._chips:
            chip.tint(theme)
        self.setFixedHeight(max(1, place_flow(self._chips, max(self.width(), 1))))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        height = max(1, place_flow(self._chips, self.width()))
        if height != self.height():
            self.setFixedHeight(height)
