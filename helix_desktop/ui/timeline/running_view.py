"""The phases of a compaction under way, as a widget."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from helix_desktop.ui.design.mirror import mirror
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.theme import Themed
from helix_desktop.ui.kit.boxes import PaintState, Pen
from helix_desktop.ui.timeline.card_data import PHASES, Phase
from helix_desktop.ui.timeline.small_cards import paint_phases, phases_name


class PhaseSteps(Themed, QWidget):
    def __init__(self) -> None:
        super().__init__()
        self._phase = PHASES[0]
        self.apply_theme()

    def set_phase(self, phase: Phase) -> None:
        self._phase = phase
        self.setAccessibleName(phases_name(phase))
        self.update()

    def apply_theme(self) -> None:
        super().apply_theme()
        self.setFixedHeight(scaled(24))

    def sizeHint(self) -> QSize:
        return QSize(420, scaled(24))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, place = QPainter(self), QRectF(self.rect())
        mirror(painter, place)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        paint_phases(Pen(painter, self._theme, PaintState(QRectF())), place, self._phase)
