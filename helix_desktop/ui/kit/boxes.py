"""Rows of lists from boxes: a tree of them is measured, placed, painted, hit by the mouse, and read aloud.

All sizes are pixels at 100 % text size; places are pixels on screen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QApplication, QWidget

from helix_desktop.ui.design.cards import PILL_DOT_ROOM, Tone, paint_pill, tone_colors
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.style.icons import pixmap
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.text_direction import text_direction


class HitArea(NamedTuple):
    """An area of a row that can be clicked, or focused with Tab.

    `name` is its object name, and its own in the row.
    """

    name: str
    action: Any
    label: str
    rect: QRectF
    radius: float = 7.0
    tip: str = ""
    is_checked: bool | None = None  # of a choice


class TextMark(NamedTuple):
    """A range of characters with a colored background, for selections and search hits."""

    start: int
    end: int
    color: QColor


@dataclass(slots=True)
class PaintState:
    """How a row looks at this moment: names are those of its areas."""

    clip: QRectF
    hovered: str = ""
    focused: str = ""
    pressed: str = ""
    copied: str = ""
    tick: int = 0  # steps of the spinner
    marks: dict[int, list[TextMark]] = field(default_factory=dict)  # by number of the text


class Pen(NamedTuple):
    qt: QPainter
    theme: Theme
    state: PaintState

    @classmethod
    def of_widget(cls, widget: QWidget, theme: Theme) -> Pen:
        """Return one that paints a widget."""
        painter = QPainter(widget)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        return cls(painter, theme, PaintState(QRectF()))

    def color(self, token: str) -> QColor:
        name, _, percent = token.partition("/")
        color = color_of(getattr(self.theme, name))
        if percent:
            color = QColor(color.red(), color.green(), color.blue(), round(int(percent) * 2.55))
        return color

    def is_active(self, name: str) -> bool:
        return name in (self.state.hovered, self.state.pressed)

    def fill(self, rect: QRectF, color: str) -> None:
        self.qt.fillRect(rect, self.color(color))

    def write(self, box: Box, left: float, line: QRectF) -> float:
        """Paint a box into a line's middle, from a place in it on; return where it ends."""
        wide = max(0.0, min(box.width(), line.right() - left))
        tall = box.height(wide)
        box.place(QRectF(left, line.center().y() - tall / 2, wide, tall))
        box.paint(self)
        return left + wide

    def box(self, rect: QRectF, fill: str, edge: str = "", radius: float = 0, width: float = 1) -> None:
        """Paint a rounded ground with an edge; tokens, empty for none, "token/28" for 28 % of one."""
        self.qt.setPen(QPen(self.color(edge), width) if edge else Qt.PenStyle.NoPen)
        self.qt.setBrush(self.color(fill) if fill else Qt.BrushStyle.NoBrush)
        inset = width / 2 if edge else 0
        self.qt.drawRoundedRect(rect.adjusted(inset, inset, -inset, -inset), radius, radius)


@cache
def color_of(value: str) -> QColor:
    return QColor(value)


@cache
def _face(px: int, weight: int, is_code: bool, _base_px: int) -> tuple[QFont, QFontMetricsF]:
    font = ui_font(px, weight, is_code)
    return font, QFontMetricsF(font)


def face(px: int, weight: int = 400, is_code: bool = False) -> tuple[QFont, QFontMetricsF]:
    return _face(px, weight, is_code, QApplication.font().pixelSize())


@lru_cache(1_000)
def _advance(words: str, px: int, weight: int, is_code: bool, base_px: int) -> float:
    """Return how wide words are; Qt measures slowly, and buttons say the same in many rows."""
    return _face(px, weight, is_code, base_px)[1].horizontalAdvance(words)


class RowText(Protocol):
    """A text of a row that wraps, and is selected; positions in it are UTF-16 units."""

    number: int

    @property
    def y(self) -> float: ...
    @property
    def rect(self) -> QRectF: ...
    @property
    def length(self) -> int: ...
    def text(self, start: int = 0, end: int | None = None) -> str: ...
    def position_at(self, x: float, y: float) -> int: ...
    def word_range(self, position: int, whole_block: bool = False) -> tuple[int, int]: ...


@dataclass(slots=True, eq=False)
class Box:
    """A part of a row; `grow` takes what the others leave, `shrink` gives way where there is too little."""

    grow: bool = field(default=False, kw_only=True)
    shrink: bool = field(default=False, kw_only=True)
    tip: str = field(default="", kw_only=True)
    rect: QRectF = field(default_factory=QRectF, kw_only=True)

    def width(self) -> float:
        return 0.0

    def height(self, width: float) -> float:
        return 0.0

    def place(self, rect: QRectF) -> None:
        self.rect = rect

    def paint(self, pen: Pen) -> None: ...

    def parts(self) -> Iterator[Box]:
        yield self

    @property
    def accessible_text(self) -> str:
        return ""

    @property
    def row_text(self) -> RowText | None:
        return None

    @property
    def areas(self) -> Sequence[HitArea]:
        return ()


@dataclass(slots=True, eq=False)
class Space(Box):
    """Free room, `px` high and wide."""

    px: int = 0

    def width(self) -> float:
        return scaled(self.px)

    def height(self, width: float) -> float:
        return scaled(self.px)


MEASURED = 2_000  # characters: more than any row has room for


@dataclass(slots=True, eq=False)
class TextBox(Box):
    """Words in one font and color, which is a token."""

    words: str
    px: int = 13
    color: str = "text"
    weight: int = 400
    is_code: bool = False

    def face(self) -> tuple[QFont, QFontMetricsF]:
        return face(self.px, self.weight, self.is_code)

    @property
    def accessible_text(self) -> str:
        return self.words


@dataclass(slots=True, eq=False)
class Text(TextBox):
    """One line; cut where there is no room, with the whole of it as its tip. `marks` are what was searched.

    `cut` shortens it to so many pixels; without one it loses its end, or what `elide` says.
    """

    elide: Qt.TextElideMode = Qt.TextElideMode.ElideRight
    cut: Callable[[QFontMetricsF, str, float], str] | None = None
    marks: Sequence[tuple[int, int]] = ()
    _shown: str = ""
    _wide: float = -1.0

    def width(self) -> float:
        if self._wide < 0:
            words = self.words[:MEASURED]
            base_px = QApplication.font().pixelSize()
            self._wide = _advance(words, self.px, self.weight, self.is_code, base_px) + 1
        return self._wide

    def height(self, width: float) -> float:
        return self.face()[1].height()

    def place(self, rect: QRectF) -> None:
        self.rect = rect
        self._shown = self.words
        if rect.width() <= 0:
            self._shown = ""
        elif self.width() > rect.width():
            metrics = self.face()[1]
            room = rect.width()
            words = self.words
            if len(words) > MEASURED:
                words = words[: MEASURED // 2] + words[-MEASURED // 2 :]
            cut = self.cut or (lambda metrics, words, room: metrics.elidedText(words, self.elide, room))
            self._shown = cut(metrics, words, room)
            self.tip = self.words

    def paint(self, pen: Pen) -> None:
        if self.marks and text_direction(self._shown) == Qt.LayoutDirection.LeftToRight:
            self._paint_marks(pen)
        pen.qt.setFont(self.face()[0])
        pen.qt.setPen(pen.color(self.color))
        pen.qt.drawText(self.rect, Qt.AlignmentFlag.AlignVCenter, self._shown)

    def _paint_marks(self, pen: Pen) -> None:
        """Paint behind the words what was searched for; where their beginning is lost, behind their end."""
        metrics = self.face()[1]
        shown = self._shown
        is_end = self.elide is Qt.TextElideMode.ElideLeft
        shift = len(shown) - len(self.words) if is_end else 0
        pairs = enumerate(zip(shown, self.words, strict=False))
        same = next((at for at, (left, whole) in pairs if left != whole), len(shown))
        for start, end in self.marks:
            first = max(start + shift, 1 if shift else 0)
            last = min(end + shift, len(shown))
            if first < last and (shift or first < same):
                left, right = (metrics.horizontalAdvance(shown[:at]) for at in (first, last))
                ground = QRectF(self.rect.x() + left - 1, 0, right - left + 2, metrics.height())
                ground.moveTop(self.rect.center().y() - metrics.height() / 2)
                pen.box(ground, "warn_soft", "", 3)


@dataclass(slots=True, eq=False)
class Icon(Box):
    """A line drawing in a token's color; it turns with the spinners of its list, or not."""

    name: str
    color: str = "muted"
    px: int = 15
    turns: bool = False

    def width(self) -> float:
        return scaled(self.px)

    def height(self, width: float) -> float:
        return scaled(self.px)

    def paint(self, pen: Pen) -> None:
        side = scaled(self.px)
        ratio = pen.qt.device().devicePixelRatio()
        picture = pixmap(self.name, getattr(pen.theme, self.color), side, ratio)
        center = self.rect.center()
        if not self.turns:
            pen.qt.drawPixmap(QPointF(round(center.x() - side / 2), round(center.y() - side / 2)), picture)
            return
        pen.qt.save()
        pen.qt.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        pen.qt.translate(center)
        pen.qt.rotate(pen.state.tick * 30.0)
        pen.qt.drawPixmap(QPointF(-side / 2, -side / 2), picture)
        pen.qt.restore()


@dataclass(slots=True, eq=False)
class Dot(Box):
    """A filled circle of `px` in diameter, in the middle of `line` pixels if it stands beside words."""

    color: str
    px: float = 4
    line: int = 0

    def width(self) -> float:
        return self.px

    def height(self, width: float) -> float:
        return scaled(self.line) if self.line else self.px

    def paint(self, pen: Pen) -> None:
        pen.qt.setPen(Qt.PenStyle.NoPen)
        pen.qt.setBrush(pen.color(self.color))
        pen.qt.drawEllipse(self.rect.center(), self.px / 2, self.px / 2)


_PILL_ICON_PX = 12


@dataclass(slots=True, eq=False)
class Pill(Box):
    """A capsule with words, an icon, or both, or a dot; a `fill` in place of that of its tone."""

    words: str
    tone: Tone = "neutral"
    icon: str = ""
    is_code: bool = False
    px: int = 11
    high: int = 21
    fill: str = ""
    dot: str = ""  # the token of its color

    def width(self) -> float:
        words = int(face(self.px, 500, self.is_code)[1].horizontalAdvance(self.words)) + 18
        words += PILL_DOT_ROOM if self.dot else 0
        if not self.icon:
            return words
        return words + _PILL_ICON_PX + (4 if self.words else -6)

    def height(self, width: float) -> float:
        return scaled(self.high)

    def paint(self, pen: Pen) -> None:
        colors = tone_colors(pen.theme, self.tone)
        if self.fill:
            colors = (colors[0], *2 * (str(getattr(pen.theme, self.fill)),))
        inner = self.rect.adjusted(0.5, 0.5, -0.5, -0.5)
        font, metrics = face(self.px, 500, self.is_code)
        left = 8 + (_PILL_ICON_PX + 4 if self.icon else 0)
        room = inner.width() - left - 6 - (PILL_DOT_ROOM if self.dot else 0)
        shown = metrics.elidedText(self.words, Qt.TextElideMode.ElideRight, room)
        dot = str(getattr(pen.theme, self.dot)) if self.dot else ""
        paint_pill(pen.qt, inner, shown, colors, font, left, dot)
        if self.icon:
            picture = pixmap(self.icon, colors[0], _PILL_ICON_PX, pen.qt.device().devicePixelRatio())
            top = round(self.rect.center().y() - _PILL_ICON_PX / 2)
            pen.qt.drawPixmap(QPointF(self.rect.x() + (8 if self.words else 6), top), picture)

    @property
    def accessible_text(self) -> str:
        return self.words


@dataclass(slots=True, eq=False)
class Drawing(Box):
    """What paints itself, `size` wide and high; `name` says what it shows."""

    size: tuple[int, int]
    draw: Callable[[Pen, QRectF], object]
    name: str = ""

    def width(self) -> float:
        return scaled(self.size[0])

    def height(self, width: float) -> float:
        return scaled(self.size[1]) if self.size[1] > 1 else self.size[1]

    def paint(self, pen: Pen) -> None:
        self.draw(pen, self.rect)

    @property
    def accessible_text(self) -> str:
        return self.name


def paint_box(painter: QPainter, rect: QRectF, theme: Theme, box: Box) -> None:
    high = min(rect.height(), box.height(rect.width()))
    box.place(QRectF(rect.x(), round(rect.y() + (rect.height() - high) / 2), rect.width(), high))
    box.paint(Pen(painter, theme, PaintState(QRectF())))


def rule() -> Drawing:
    return Drawing((0, 1), lambda pen, rect: pen.fill(rect, "border"))


ButtonLook: TypeAlias = Literal[
    "link", "push", "primary", "ghost", "icon", "action", "chip", "card", "head", "fold", "words"
]
_PADS: dict[ButtonLook, tuple[int, int]] = {  # beside and above what is in it
    "link": (3, 4), "push": (14, 6), "primary": (14, 6), "ghost": (14, 6), "icon": (7, 7), "action": (5, 5),
    "chip": (0, 0), "card": (0, 0), "head": (0, 5), "fold": (4, 4), "words": (0, 3),
}  # fmt: skip


@dataclass(slots=True, eq=False)
class Button(Box):
    """A part that can be pressed, by mouse, keyboard and screen reader; `name` finds it in its row."""

    name: str
    action: Any
    content: Box
    label: str
    look: ButtonLook = "link"
    lit: Box | None = None  # what it shows under the pointer, or with the keyboard
    high: int = 0  # if it has a height of its own
    copied: Box | None = None  # what it shows while what it copies has just been copied
    is_checked: bool | None = None  # of a choice: its arrow keys go to the others
    _wide: float = -1.0

    def width(self) -> float:
        if self._wide < 0:
            widest = max(self.content.width(), self.copied.width() if self.copied else 0)
            self._wide = widest + 2 * scaled(_PADS[self.look][0])
        return self._wide

    def height(self, width: float) -> float:
        if self.high:
            return scaled(self.high)
        return self.content.height(width) + 2 * scaled(_PADS[self.look][1])

    def place(self, rect: QRectF) -> None:
        self.rect = rect
        x, y = (scaled(pad) if pad else 0 for pad in _PADS[self.look])
        y = 0 if self.high else y
        for content in filter(None, (self.content, self.lit, self.copied)):
            content.place(rect.adjusted(x, y, -x, -y))

    @property
    def areas(self) -> Sequence[HitArea]:
        if self.rect.isEmpty():  # there is no room for it
            return ()
        radii = {"chip": self.rect.height() / 2, "push": 8.0, "primary": 8.0, "ghost": 8.0}
        radius = radii.get(self.look, 6.0)
        return (HitArea(self.name, self.action, self.label, self.rect, radius, self.tip, self.is_checked),)

    def paint(self, pen: Pen) -> None:
        is_active = pen.is_active(self.name)
        is_lit = is_active or pen.state.focused == self.name
        match self.look:
            case "push":
                pen.box(self.rect, "hover" if is_active else "surface", "border_strong", 8)
            case "primary":
                inset = 3 if pen.state.focused == self.name else 0  # the ring has its color
                accent = pen.color("accent")
                pen.qt.setPen(Qt.PenStyle.NoPen)
                pen.qt.setBrush(accent.darker(112) if is_active else accent)
                pen.qt.drawRoundedRect(self.rect.adjusted(inset, inset, -inset, -inset), 8 - inset, 8 - inset)
            case "link" if is_active:
                pen.box(self.rect, "accent_soft", "", 6)
            case "card" if is_active:
                pen.box(self.rect.adjusted(1, 1, -1, -1), "row_hover", "", 9)
            case "ghost" if is_active:
                pen.box(self.rect, "hover", "", 8)
            case "icon" | "fold" if is_active:
                pen.box(self.rect, "hover", "", 6)
            case "action" if is_lit:
                pen.box(self.rect, "hover", "", 7)
        shown = self.lit if is_lit and self.lit else self.content
        if self.copied and pen.state.copied == self.name:
            shown = self.copied
        shown.paint(pen)
        if self.look == "chip" and is_active:
            pen.box(self.rect, "", "accent", self.rect.height() / 2)

    def parts(self) -> Iterator[Box]:
        yield self


@dataclass(slots=True, eq=False)
class Row(Box):
    """Boxes side by side, in the middle of the row's height or at its top."""

    children: Sequence[Box] = ()
    gap: int = 6
    is_at_top: bool = False
    _own: list[float] | None = None  # widths where there is room

    def width(self) -> float:
        return sum(self._own_widths()) + self.gap * max(0, len(self.children) - 1)

    def _own_widths(self) -> list[float]:
        if self._own is None:
            self._own = [child.width() for child in self.children]
        return self._own

    def _widths(self, room: float) -> list[float]:
        own = [*self._own_widths()]
        spare = room - sum(own) - self.gap * max(0, len(own) - 1)
        takers = [n for n, child in enumerate(self.children) if (child.grow if spare > 0 else child.shrink)]
        for count, n in zip(range(len(takers), 0, -1), sorted(takers, key=own.__getitem__), strict=True):
            share = max(spare / count, -own[n])  # what one can't give, those after it do
            own[n] = own[n] + share
            spare = spare - share
        return own

    def height(self, width: float) -> float:
        sizes = zip(self.children, self._widths(width), strict=True)
        return max((child.height(wide) for child, wide in sizes), default=0.0)

    def place(self, rect: QRectF) -> None:
        self.rect = rect
        x = rect.x()
        for child, wide in zip(self.children, self._widths(rect.width()), strict=True):
            tall = child.height(wide)
            above = 0.0 if self.is_at_top else round((rect.height() - tall) / 2)
            child.place(QRectF(x, rect.y() + above, wide, tall))
            x += wide + self.gap

    def paint(self, pen: Pen) -> None:
        for child in self.children:
            child.paint(pen)

    def parts(self) -> Iterator[Box]:
        yield self
        for child in self.children:
            yield from child.parts()


@dataclass(slots=True, eq=False)
class Column(Row):
    gap: int = 3
    _tall: tuple[float, list[float]] = (-1.0, [])  # a width, and the heights then

    def width(self) -> float:
        return max(self._own_widths(), default=0.0)

    def _heights(self, width: float) -> list[float]:
        if self._tall[0] != width:
            self._tall = width, [child.height(width) for child in self.children]
        return self._tall[1]

    def height(self, width: float) -> float:
        return sum(self._heights(width)) + self.gap * max(0, len(self.children) - 1)

    def place(self, rect: QRectF) -> None:
        self.rect = rect
        y = rect.y()
        for child, tall in zip(self.children, self._heights(rect.width()), strict=True):
            child.place(QRectF(rect.x(), y, rect.width(), tall))
            y += tall + self.gap


@dataclass(slots=True, eq=False)
class TwoColumns(Column):
    """Columns of one width side by side; one below the other where the row is narrower than `least`."""

    gap: int = 10
    least: int = 520

    def _is_wide(self, width: float) -> bool:
        return width >= scaled(self.least)

    def _share(self, width: float) -> float:
        return (width - self.gap * (len(self.children) - 1)) / max(1, len(self.children))

    def height(self, width: float) -> float:
        if not self._is_wide(width):
            return Column.height(self, width)
        return max((child.height(self._share(width)) for child in self.children), default=0.0)

    def place(self, rect: QRectF) -> None:
        if not self._is_wide(rect.width()):
            Column.place(self, rect)
            return
        self.rect = rect
        share = self._share(rect.width())
        for number, child in enumerate(self.children):
            x = rect.x() + number * (share + self.gap)
            child.place(QRectF(x, rect.y(), share, child.height(share)))


@dataclass(slots=True, eq=False)
class Flow(Row):
    """Boxes side by side, in as many lines as there have to be; `is_at_end`: each line ends at the edge."""

    is_at_end: bool = False
    line_gap: int = 4

    def _lines(self, width: float) -> list[list[tuple[Box, float]]]:
        lines: list[list[tuple[Box, float]]] = [[]]
        x = 0.0
        for child, own in zip(self.children, self._own_widths(), strict=True):
            wide = min(own, width)
            if lines[-1] and x + wide > width:
                x = 0.0
                lines = [*lines, []]
            lines[-1].append((child, wide))
            x += wide + self.gap
        return lines

    def height(self, width: float) -> float:
        lines = self._lines(width)
        tall = sum(max((child.height(wide) for child, wide in line), default=0.0) for line in lines)
        return tall + self.line_gap * (len(lines) - 1)

    def place(self, rect: QRectF) -> None:
        self.rect = rect
        y = rect.y()
        for line in self._lines(rect.width()):
            tall = max((child.height(wide) for child, wide in line), default=0.0)
            used = sum(wide for _, wide in line) + self.gap * (len(line) - 1)
            x = rect.right() - used if self.is_at_end else rect.x()
            for child, wide in line:
                own = child.height(wide)
                child.place(QRectF(x, y + round((tall - own) / 2), wide, own))
                x += wide + self.gap
            y += tall + self.line_gap


@dataclass(slots=True, eq=False)
class RowWithEnd(Row):
    """What takes the room there is, and others at its end, or below it where it would be too narrow.

    `children` are these two, and perhaps a third that ends the first line always. `least` is the width below
    which a longer first one does not go for the others.
    """

    gap: int = 8
    least: int = 200

    def _places(self, width: float) -> list[QRectF]:
        first, others, *corner = self.children
        end = corner[0].width() if corner else 0.0
        end_height = corner[0].height(end) if corner else 0.0
        room = width - (end + self.gap if corner else 0)
        side = others.width()
        left = room - side - self.gap
        if left < self.least and left < first.width():
            own = first.height(room)
            above = max(own, end_height)
            below = others.height(width)
            places = [QRectF(0, (above - own) / 2, room, own), QRectF(0, above + 4, width, below)]
        else:
            own = first.height(left)
            side_height = others.height(side)
            above = max(own, side_height, end_height)
            places = [
                QRectF(0, round((above - own) / 2), left, own),
                QRectF(left + self.gap, round((above - side_height) / 2), side, side_height),
            ]
        return [*places, QRectF(width - end, (above - end_height) / 2, end, end_height)]

    def height(self, width: float) -> float:
        return max(place.bottom() for place in self._places(width))

    def place(self, rect: QRectF) -> None:
        self.rect = rect
        for child, place in zip(self.children, self._places(rect.width()), strict=False):
            child.place(place.translated(rect.topLeft()))


@dataclass(slots=True, eq=False)
class Frame(Box):
    """Room around one box, perhaps a rounded ground with an edge, or a width that its content has not."""

    content: Box
    pad: tuple[int, int, int, int] = (0, 0, 0, 0)  # begin, top, end, bottom
    fill: str = ""
    edge: str = ""
    edge_px: float = 1
    wide: float = 0  # pixels on screen
    radius: float = 12
    least: int = 0  # height that its content has at least

    def width(self) -> float:
        return self.wide or self.content.width() + self.pad[0] + self.pad[2]

    def height(self, width: float) -> float:
        begin, top, end, bottom = self.pad
        tall = self.content.height(width - begin - end)
        return (max(tall, scaled(self.least)) if self.least else tall) + top + bottom

    def place(self, rect: QRectF) -> None:
        self.rect = rect
        begin, top, end, bottom = self.pad
        self.content.place(rect.adjusted(begin, top, -end, -bottom))

    def paint(self, pen: Pen) -> None:
        if self.fill:
            pen.box(self.rect, self.fill, self.edge, self.radius, self.edge_px)
        self.content.paint(pen)

    def parts(self) -> Iterator[Box]:
        yield self
        yield from self.content.parts()


def link(name: str, action: Any, words: str, icon: str = "", *, label: str = "", tip: str = "") -> Button:
    text = Text(words, color="accent_text", weight=500)
    content = Row([Icon(icon, "accent_text", 14), text], 4) if icon else text
    return Button(name, action, content, label or words, tip=tip)


def push_button(
    name: str, action: Any, words: str, icon: str = "", *, tip: str = "", label: str = "",
    look: ButtonLook = "push", high: int = 0,
) -> Button:  # fmt: skip
    color = {"primary": "on_accent", "ghost": "muted"}.get(look, "text")
    text = Text(words, 12, color) if look == "ghost" else Text(words, 13, color, 500)
    sign = Icon(icon, "muted" if look == "push" else color, 14)
    return Button(
        name, action, Row([sign, text], 4) if icon else text, label or words, look, tip=tip, high=high
    )


def chip(name: str, action: Any, pill: Pill, tip: str, label: str = "") -> Button:
    return Button(name, action, pill, label or pill.words, "chip", tip=tip)


def disclosure_head(name: str, action: Any, title: str, note: str, color: str, *, is_open: bool) -> Button:
    """Return the heading that opens and closes what stands below it."""
    sign = Icon("chevron-down" if is_open else "chevron-right", "faint", 14)
    words = [Text(title, 13, color, 600, shrink=True), *([Text(note, 12, "faint")] if note else [])]
    state = f"{title}, {note}" if note else title
    return Button(name, action, Row([sign, *words], 6), state, "head", shrink=True)
