"""Sentences with a link to each message that they come from at their end."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextCharFormat,
    QTextLayout,
    QTextOption,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from helix_desktop.context.summaries.handover import UNSUPPORTED
from helix_desktop.domain.events.summary import Bullet
from helix_desktop.domain.file_history.line_match import Span
from helix_desktop.ui.design.cards import Pill
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.style.theme import TextRole, Themed
from helix_desktop.ui.kit.intents import ShowEvent, perform
from helix_desktop.ui.kit.words import CODE_PAD_PX, StyledPart, format_range, formats, strip_markup
from helix_desktop.words.translation import Translator

tr = Translator("Timeline")

_INDENT = 16  # pixels from a bullet's dot to its words
_LINE_HEIGHT = 1.4  # height of a line of words, in font sizes


def source_pill(seq: int) -> Pill:
    pill = Pill("", icon_name="message-square", clickable=True)
    pill.setObjectName(f"source:{seq}")
    pill.setToolTip(tr("Show in chat"))
    pill.setAccessibleName(tr("Show in chat: e{event}", event=str(seq)))
    return pill


class BulletView(Themed, QWidget):
    """One sentence with links to the messages it comes from; without any it is flagged, if `is_flagged`.

    Of one with `marks`, as spans of its characters with single spaces, these are underlined, or struck out.
    """

    def __init__(
        self,
        bullet: Bullet,
        role: TextRole = "text",
        *,
        is_flagged: bool = True,
        marks: Sequence[Span] = (),
        is_struck_out: bool = False,
    ) -> None:
        super().__init__()
        # A sentence with its chips, in its own direction.
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self._role, self._is_struck_out = role, is_struck_out
        is_flagged = is_flagged and not bullet.sources
        # The chip says it in place of the words that an edited handover has in its text.
        text = bullet.text.removesuffix(UNSUPPORTED).rstrip() if is_flagged and not marks else bullet.text
        self._text, self._styles, self._marks = _without_markup(text, marks)
        self._layout = QTextLayout()
        self._size_cache = (-1, 0)  # width, height
        self._heights: dict[tuple[int, ...], int] = {}  # by the widths of the view and its chips
        self._chips: list[Pill] = []
        self._places: list[QPoint] = []  # of the chips, at the width that was asked for last
        for seq in bullet.sources:
            chip = source_pill(seq)
            chip.clicked.connect(lambda _=False, source=seq: perform(self, ShowEvent(source)))
            self._chips.append(chip)
        if is_flagged:
            flag = Pill(tr("No source"), "warn", "triangle-alert")
            flag.setToolTip(tr("The model named no source for this sentence"))
            self._chips.append(flag)
        for chip in self._chips:
            chip.setParent(self)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setAccessibleName(self._text)

    def apply_theme(self) -> None:
        super().apply_theme()
        self._size_cache = (-1, 0)
        self._heights.clear()
        self.updateGeometry()

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        # A layout asks for two widths in turn, many times: only what is painted has to be broken into lines.
        key = (width, *(chip.width() for chip in self._chips))
        if key not in self._heights:
            self._heights[key] = self._reflow(width)
        return self._heights[key]

    def sizeHint(self) -> QSize:
        return QSize(480, self.heightForWidth(480))

    def minimumSizeHint(self) -> QSize:
        return QSize(140, scaled(22))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._move_chips()

    def paintEvent(self, event: QPaintEvent) -> None:
        self._move_chips()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.faint))
        painter.drawEllipse(QPointF(5, scaled(12)), 2, 2)
        self._paint_code_backgrounds(painter)
        painter.setPen(QColor(getattr(self._theme, self._role)))
        self._layout.draw(painter, QPointF(_INDENT, 0))

    def _paint_code_backgrounds(self, painter: QPainter) -> None:
        painter.setBrush(QColor(self._theme.inline_code))
        for start, length, style in self._styles:
            for number in range(self._layout.lineCount() if style == "code" else 0):
                line = self._layout.lineAt(number)
                first, last = (
                    max(start, line.textStart()),
                    min(start + length, line.textStart() + line.textLength()),
                )
                if first < last:
                    left, right = _x(line.cursorToX(first)), _x(line.cursorToX(last))
                    behind = 0 if last == start + length else CODE_PAD_PX  # else there is room already
                    width = right - left + CODE_PAD_PX + behind
                    box = QRectF(_INDENT + left - CODE_PAD_PX, line.y() + 1, width, line.height() - 2)
                    painter.drawRoundedRect(box, 4, 4)

    def _reflow(self, width: int) -> int:
        if self._size_cache[0] == width:
            return self._size_cache[1]
        room, height = max(60, width - _INDENT), scaled(round(13 * _LINE_HEIGHT)) + 3
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self._layout.setText(self._text)
        self._layout.setFont(ui_font(13))
        self._layout.setTextOption(option)
        self._layout.setFormats(
            [part for style in self._styles for part in formats(*style, self._text)]
            + [_mark_format(span, self._is_struck_out) for span in self._marks]
        )
        self._layout.beginLayout()
        y, end = 0.0, 0.0
        while (line := self._layout.createLine()).isValid():
            line.setLineWidth(room)
            line.setPosition(QPointF(0, y + max(0.0, (height - line.height()) / 2)))
            y, end = y + height, line.naturalTextWidth()
        self._layout.endLayout()
        self._size_cache = (width, self._chip_rows(room, round(y) - height, round(end) + 8, height))
        return self._size_cache[1]

    def _chip_rows(self, available_width: int, y: int, x: int, height: int) -> int:
        self._places = []
        for chip in self._chips:
            if x + chip.width() > available_width and x > 0:
                x, y = 0, y + height + 2
            self._places.append(QPoint(_INDENT + x, y + (height - chip.height()) // 2))
            x += chip.width() + 4
        return y + height + 2

    def _move_chips(self) -> None:
        self._reflow(self.width())
        for chip, place in zip(self._chips, self._places, strict=True):
            chip.move(place)


def _without_markup(text: str, marks: Sequence[Span]) -> tuple[str, list[StyledPart], list[Span]]:
    """Return the text without the signs of code and emphasis, its styled parts, and the marks in it.

    Where only such signs differ, they stay.
    """
    text = " ".join(text.split())
    words, styles, places = strip_markup(text)
    spans = [(places[min(start, len(text))], places[min(end, len(text))]) for start, end in marks]
    spans = [(start, end) for start, end in spans if start < end]
    if marks and not spans:
        return text, [], list(marks)
    return words, styles, spans


def _mark_format(span: Span, is_struck_out: bool) -> QTextLayout.FormatRange:
    form = QTextCharFormat()
    form.setFontStrikeOut(is_struck_out)
    form.setFontUnderline(not is_struck_out)
    if not is_struck_out:
        form.setFontWeight(600)
    return format_range(span[0], span[1] - span[0], form)


def _x(position: object) -> float:
    # The binding gives the position alone, or with the cursor's place behind it.
    first = position[0] if isinstance(position, tuple) else position
    return first if isinstance(first, float) else 0.0
