"""How a line of a diff is drawn: its background, numbers, sign, words that differ, and text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter

from helix_desktop.domain.file_history.diff import DiffLine
from helix_desktop.ui.design.diff.line_layouts import LineLayout
from helix_desktop.ui.design.diff.line_text import LAST_COLUMN
from helix_desktop.ui.design.diff.row_geometry import Pane
from helix_desktop.ui.design.diff.selection import END
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.words.file_diffs import missing_line_end_note
from helix_desktop.words.translation import Translator

tr = Translator("Changes")

SIGN_WIDTH = 20  # pixels at 100 %
_NUMBER_PAD = 8
_ON_HIT = "#1a1d24"  # text on the background of the current hit, in either theme
_RADIUS = 3.0


class LineMarks(NamedTuple):
    """Columns of a line that are selected, the hits of a search in it but the current one, and that one."""

    selected: tuple[int, int] | None = None
    hits: tuple[tuple[int, int], ...] = ()
    current: tuple[int, int] | None = None


class RowPainter:
    """Draws rows in the colors of a theme, at the text size in force."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self.font = ui_font(12, is_code=True)
        self._number_font = ui_font(11, is_code=True)
        self._note_font = ui_font(11)
        metrics = QFontMetricsF(self.font)
        self.line_height = round(metrics.lineSpacing()) + scaled(4)
        self.advance = metrics.horizontalAdvance("0")
        self._text_drop = (self.line_height - metrics.lineSpacing()) / 2

    def number_width(self, largest: int) -> float:
        """Return the width of a column of line numbers."""
        digits = max(3, len(str(largest)))
        return QFontMetricsF(self._number_font).horizontalAdvance("0") * digits + scaled(2 * _NUMBER_PAD)

    def background(self, kind: str) -> QColor:
        """Return the background of a kind of line."""
        theme = self._theme
        return QColor(
            {"added": theme.added_line, "removed": theme.removed_line}.get(kind, theme.code_surface)
        )

    @property
    def divider(self) -> QColor:
        """Return the color of the line between two sides."""
        return QColor(self._theme.border_strong)

    def paint_current(self, painter: QPainter, top: float, height: float) -> None:
        """Mark the row that the keyboard is on."""
        painter.fillRect(QRectF(0, top, scaled(3), height), QColor(self._theme.accent))

    def paint_nothing(self, painter: QPainter, pane: Pane, top: float, height: float) -> None:
        """Draw the place of a line that is on the other side only."""
        rect = QRectF(pane.left, top, pane.right - pane.left, height)
        painter.fillRect(rect, QColor(self._theme.no_line))

    def paint_line(
        self,
        painter: QPainter,
        pane: Pane,
        top: float,
        height: float,
        line: DiffLine,
        layout: LineLayout,
        scroll: float,
        marks: LineMarks,
        numbers: tuple[int, int],
    ) -> None:
        """Draw a line; `scroll` is how far its text is moved to the left, `numbers` stand before it.

        `height` is that of its row, which may have a longer line on its other side.
        """
        rect = QRectF(pane.left, top, pane.right - pane.left, height)
        if line.kind != "same":  # these stand on the background of all
            painter.fillRect(rect, self.background(line.kind))
        self._paint_numbers(painter, pane, top, line, numbers)
        room = QRectF(pane.text, top, pane.right - pane.text, height)
        painter.save()
        painter.setClipRect(room, Qt.ClipOperation.IntersectClip)
        x = pane.text - scroll
        word = self._theme.added_word if line.kind == "added" else self._theme.removed_word
        for places, color in (
            ([(span.start, span.end) for span in line.spans], word),
            (marks.hits, self._theme.warn_soft),
            ([marks.current] if marks.current else (), self._theme.seg_output),
            ([marks.selected] if marks.selected else (), self._theme.text_selection),
        ):
            if places:
                self._fill(painter, layout, x, room, places, color)
        plain = [(*place, self._theme.text) for place in (*marks.hits, marks.selected) if place]
        plain += [(*marks.current, _ON_HIT)] if marks.current else []
        painter.setPen(QColor(self._theme.text))
        layout.draw(painter, x, top + self._text_drop, (room.left(), room.right()), plain)
        last_top = top + (layout.row_count - 1) * self.line_height
        self._paint_note(painter, line, x + layout.last_width, last_top)
        painter.restore()

    def _paint_numbers(
        self, painter: QPainter, pane: Pane, top: float, line: DiffLine, numbers: tuple[int, int]
    ) -> None:
        theme = self._theme
        painter.setFont(self._number_font)
        painter.setPen(QColor(theme.muted if line.kind != "same" else theme.faint))
        sign_left = pane.text - scaled(SIGN_WIDTH)
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        for number, left, end in (
            (numbers[0], pane.first, pane.second if pane.second > pane.first else sign_left),
            (numbers[1], pane.second, sign_left),
        ):
            if number:
                room = QRectF(left, top, end - left - scaled(_NUMBER_PAD), self.line_height)
                painter.drawText(room, right, str(number))
        if line.kind == "same":
            return
        painter.setFont(self.font)
        painter.setPen(QColor(theme.ok if line.kind == "added" else theme.error))
        room = QRectF(sign_left, top, scaled(SIGN_WIDTH), self.line_height)
        painter.drawText(
            room, Qt.AlignmentFlag.AlignCenter, "+" if line.kind == "added" else "\N{MINUS SIGN}"
        )

    def _fill(
        self,
        painter: QPainter,
        layout: LineLayout,
        x: float,
        room: QRectF,
        spans: Iterable[tuple[int, int]],
        color: str,
    ) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(color))
        for start, end in spans:
            for row, left, right in layout.parts_of(start, end) if end > start else ():
                is_end = end >= END and row == layout.row_count - 1  # the line's end is selected, too
                begin, stop = x + left, x + right + (self.advance if is_end else 0.0)
                if stop > room.left() and begin < room.right() and (stop > begin or row == 0):
                    begin, stop = max(begin, room.left() - _RADIUS), min(stop, room.right() + _RADIUS)
                    top = room.top() + row * self.line_height + 1
                    box = QRectF(begin, top, max(stop - begin, 2.0), self.line_height - 2)
                    painter.drawRoundedRect(box, _RADIUS, _RADIUS)

    def _paint_note(self, painter: QPainter, line: DiffLine, x: float, top: float) -> None:
        note = ""
        if not line.has_line_end:
            note = missing_line_end_note()
        elif not line.text.isascii() and len(line.text) > LAST_COLUMN:
            note = tr.plural(len(line.text) - LAST_COLUMN, "%n more character", "%n more characters")
        if note:
            painter.setFont(self._note_font)
            painter.setPen(QColor(self._theme.muted))
            painter.drawText(
                QRectF(x + self.advance, top, 4_000, self.line_height),
                Qt.AlignmentFlag.AlignVCenter,
                note,
            )
