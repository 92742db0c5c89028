"""Formulas as images: drawn on another thread, kept, and put on the line of the words around them."""

from __future__ import annotations

import math
import threading
from queue import SimpleQueue
from typing import NamedTuple, TypeAlias

from PySide6.QtCore import QByteArray, QObject, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QFont, QFontMetrics, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

from helix_desktop.ui.chat.markdown.formula_drawing import FormulaDrawing, draw_formula

_POLL_MS = 60  # until the next look which formulas are drawn: their texts are laid out again
_MAX_KEPT = 1_000  # drawings of some 10 KB each
_SCALE = 1.16  # of the math font's size, so that its letters are as high as those of the text around


class Formula(NamedTuple):
    source: str
    displayed: bool


_Drawn: TypeAlias = tuple[Formula, FormulaDrawing | None]


class FormulaImage(NamedTuple):
    """A formula in one color, its measures in pixels of the document.

    Text in `font` reaches as far below the baseline as the image does.
    """

    image: QImage
    width: float
    height: float
    font: QFont


class FormulaDrawings(QObject):
    """The formulas of a chat; they are drawn by a thread, since each takes from 3 to 300 ms."""

    drawn = Signal(frozenset)
    """These formulas can be found now, or are known to be none that can be drawn."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._drawings: dict[Formula, FormulaDrawing | None] = {}
        self._waiting: dict[Formula, None] = {}  # in the order in which they were asked for
        self._results: SimpleQueue[_Drawn] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._timer = QTimer(self, interval=_POLL_MS)
        self._timer.timeout.connect(self._take_drawings)

    def find(self, formula: Formula) -> FormulaDrawing | None:
        """Return the drawing of a formula; None if there is none yet, or none at all."""
        if formula not in self._drawings:
            self._waiting[formula] = None
            if not self._timer.isActive():
                self._timer.start()
        return self._drawings.get(formula)

    def is_waiting(self, formula: Formula) -> bool:
        return formula in self._waiting

    def _take_drawings(self) -> None:
        """Take what the thread has drawn, and start it again for what was asked for meanwhile."""
        is_working = self._thread is not None and self._thread.is_alive()
        drawn = dict(self._results.get_nowait() for _ in range(self._results.qsize()))
        self._drawings |= drawn
        for formula in drawn:
            self._waiting.pop(formula, None)
        while len(self._drawings) > _MAX_KEPT:
            del self._drawings[next(iter(self._drawings))]
        if not self._waiting:
            self._timer.stop()
        elif not is_working:
            arguments = (tuple(self._waiting), self._results)
            self._thread = threading.Thread(target=_draw, args=arguments, name="helix-formulas", daemon=True)
            self._thread.start()
        if drawn:
            self.drawn.emit(frozenset(drawn))


def formula_image(drawing: FormulaDrawing, font: QFont, color: QColor, ratio: float) -> FormulaImage:
    """Return a formula that fits words in `font`, in a color, for a screen with `ratio` pixels to a pixel."""
    em = font.pixelSize() * _SCALE
    lower = QFont(font)
    while QFontMetrics(lower).descent() < drawing.depth * em:
        lower.setPixelSize(lower.pixelSize() + 1)
    descent = QFontMetrics(lower).descent()
    width, height = drawing.width * em, drawing.height * em
    above = height - drawing.depth * em  # the baseline
    line_height = descent + max(above, float(QFontMetrics(font).ascent()))
    size = QSize(math.ceil(width * ratio), math.ceil(line_height * ratio))
    image = QImage(size, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    area = QRectF(0, size.height() - (descent + above) * ratio, width * ratio, height * ratio)
    QSvgRenderer(QByteArray(drawing.svg.encode())).render(painter, area)
    painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceIn)
    painter.fillRect(image.rect(), color)
    painter.end()
    image.setDevicePixelRatio(ratio)
    return FormulaImage(image, image.width() / ratio, image.height() / ratio, lower)


def _draw(formulas: tuple[Formula, ...], results: SimpleQueue[_Drawn]) -> None:
    for formula in formulas:
        results.put((formula, draw_formula(formula.source, displayed=formula.displayed)))
