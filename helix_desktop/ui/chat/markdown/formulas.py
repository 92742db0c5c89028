"""Formulas as images: drawn on another thread, kept, and put on the line of the words around them."""

from __future__ import annotations

import math
import re
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from PySide6.QtCore import QByteArray, QObject, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QFont, QFontMetrics, QImage, QPainter, QTextCharFormat, QTextImageFormat
from PySide6.QtSvg import QSvgRenderer

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from ziamath.mathfont import MathFont

_EM = 48.0  # pixels of the font's size in a drawing
_LONGEST = 400  # characters: drawing them takes about 0.3 s, and making an image of that 15 ms
_MOST_NESTED = 300  # by `_nesting`: what takes about 0.3 s

_EDGE = re.compile(r"\\[{}\\]|[{}]|\\(?:left|right)(?![a-z])|\\(?:begin|end)\{[^{}]*\}")  # of a group
_ENDS = {"{": "}", "\\left": "\\right"}
_ENVIRONMENT = re.compile(r"\\begin\{([^{}]*)\}")
_DRAWN_ENVIRONMENT = re.compile(r"(?:[pbBvV]|small)?matrix|array|cases|split|aligned|align\*|equation\*")
_LEFT_OUT = re.compile(
    r"(?<!\\)%|\\begin\{array\}\{[^}]*\||"
    r"\\(?:hline|tag|label|ref|eqref|color|textcolor|colorbox|href|def|newcommand|renewcommand)(?![A-Za-z])"
)
"""What the library leaves out or shows in another way than it is meant."""
_REWRITTEN = (
    (re.compile(r"\\(begin|end)\{(align|equation)\}"), r"\\\1{\2*}"),  # else it numbers the lines
    (re.compile(r"\\(begin|end)\{gather(?:\*|ed)?\}"), r"\\\1{matrix}"),
    (re.compile(r"\\operatorname\*"), r"\\operatorname"),
    (re.compile(r"\\bmod(?![A-Za-z])"), r"\\;\\mathrm{mod}\\;"),
    (re.compile(r"(\\begin\{(\w*matrix)\}(?:(?!\\begin).)*?\\end\{\2\})(?=\s*[\^_])", re.DOTALL), r"{\1}"),
)
"""What the library reads in another way than TeX, and what it reads as TeX does."""


class FormulaDrawing(NamedTuple):
    """A formula as SVG in black; its measures are in em, `depth` is what lies below the baseline."""

    svg: str
    width: float
    height: float
    depth: float


def draw_formula(source: str, *, displayed: bool) -> FormulaDrawing | None:
    """Draw LaTeX math, alone on its line or within words; None for what can't be drawn as it is meant."""
    for pattern, replacement in _REWRITTEN:
        source = pattern.sub(replacement, source)
    if (
        len(source) > _LONGEST
        or _nesting(source) > _MOST_NESTED
        or _LEFT_OUT.search(source)
        or not all(_DRAWN_ENVIRONMENT.fullmatch(name) for name in _ENVIRONMENT.findall(source))
    ):
        return None
    from ziamath.config import config  # a fifth of a second, and most sessions have no formula
    from ziamath.zmath import Latex

    config.svg2 = False  # paths in their places: Qt draws no symbols of SVG 2
    try:
        formula = Latex(source, size=_EM, inline=not displayed, margin=0.0)
        if not _has_all_signs(formula.mathml, formula.font):
            return None
        root = formula.svgxml()
        svg = formula.svg()
    except Exception:  # noqa: BLE001 - a model wrote the source, and the library raises whatever fails in it
        return None
    _, top, width, height = (float(number) / _EM for number in root.attrib["viewBox"].split())
    return FormulaDrawing(svg, width, height, max(0.0, top + height)) if width > 0 < height else None


def _nesting(source: str) -> int:
    """Return what reading the groups costs: each level of them doubles the library's work (measured).

    Groups that don't close with their own end, which the library closes somewhere, cost too much.
    """
    cost = 0
    ends = list[str]()
    for match in _EDGE.finditer(source):
        sign = match.group()
        if sign.startswith(("{", "\\left", "\\begin")):
            ends.append(_ENDS.get(sign) or sign.replace("begin", "end", 1))
            cost += 1 << min(len(ends), _MOST_NESTED)
        elif sign.startswith(("}", "\\right", "\\end")) and (not ends or ends.pop() != sign):
            return _MOST_NESTED + 1
    return _MOST_NESTED + 1 if ends else cost


def _has_all_signs(formula: Element, font: MathFont) -> bool:
    """Return True if no command is left as its name, and the font has every sign."""
    texts = (element.text for element in formula.iter() if element.text)
    signs = {sign for text in texts for sign in text if not sign.isspace()}
    return "\\" not in signs and all(font.glyphindex(sign) for sign in signs)


_POLL_MS = 60  # until the next look which formulas are drawn: their texts are laid out again
_MAX_KEPT = 1_000  # drawings of some 10 KB each
_SCALE = 1.16  # of the math font's size, so that its letters are as high as those of the text around


class Formula(NamedTuple):
    source: str
    displayed: bool


_Drawn: TypeAlias = tuple[Formula, FormulaDrawing | None]


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


def formula_image(
    drawing: FormulaDrawing, font: QFont, color: QColor, ratio: float
) -> tuple[QImage, QTextImageFormat]:
    """Return a formula that fits words in `font`, in a color, for a screen with `ratio` pixels to a pixel.

    Its format has a font that reaches as far below the baseline as the image does.
    """
    em = font.pixelSize() * _SCALE
    lower = QFont(font)
    while QFontMetrics(lower).descent() < drawing.depth * em:
        lower.setPixelSize(lower.pixelSize() + 1)
    descent = QFontMetrics(lower).descent()
    width = drawing.width * em
    height = drawing.height * em
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
    form = QTextImageFormat()
    form.setFont(lower)
    form.setVerticalAlignment(QTextCharFormat.VerticalAlignment.AlignBaseline)
    form.setWidth(image.width() / ratio)
    form.setHeight(image.height() / ratio)
    return image, form


def _draw(formulas: tuple[Formula, ...], results: SimpleQueue[_Drawn]) -> None:
    for formula in formulas:
        results.put((formula, draw_formula(formula.source, displayed=formula.displayed)))
