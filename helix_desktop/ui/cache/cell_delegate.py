"""How a cell of the cache table is painted."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QHelpEvent, QPainter
from PySide6.QtWidgets import QAbstractItemView, QStyledItemDelegate, QStyleOptionViewItem, QToolTip

from helix_desktop.system.clock import ClockMs, wall_clock_ms
from helix_desktop.ui.cache.columns import COLUMNS, CellStyle
from helix_desktop.ui.cache.rows import CacheRow, CacheState, short_digest
from helix_desktop.ui.cache.state_labels import STATE_LABELS
from helix_desktop.ui.cache.table_model import CacheTableModel
from helix_desktop.ui.design.mirror import draw_pixmap, draw_text, mirror
from helix_desktop.ui.design.pill import Tone, paint_pill, tone_colors
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.style.icons import pixmap
from helix_desktop.ui.design.style.theme import LIGHT, Theme
from helix_desktop.words.translation import translate

PAD = 12  # pixels left and right of a cell's text
EDGE = 18  # pixels left of the first column's
_ICON = 12  # pixels of an icon behind a state
_PILL_PAD = 17  # pixels of a pill beside its text
_MAX_CACHED_TEXTS = 8_000
_VCENTER = Qt.AlignmentFlag.AlignVCenter
_LEFT, _RIGHT = int(Qt.AlignmentFlag.AlignLeft | _VCENTER), int(Qt.AlignmentFlag.AlignRight | _VCENTER)

STATE_TONES: dict[CacheState, Tone] = {
    "in_window": "ok",
    "pinned": "ok",
    "in_part": "ok",
    "marker": "accent",
    "excluded": "warn",
    "noted": "accent",
    "handed_over": "warn",
    "left_out": "warn",
    "stored": "neutral",
    "index": "neutral",
    "damaged": "error",
    "in_trash": "neutral",
}


def widest_state() -> int:
    """Return the pixels that the longest name of a state needs, with its pill."""
    metrics = QFontMetricsF(ui_font(11, 500))
    return (
        EDGE
        + _PILL_PAD
        + ceil(max(metrics.horizontalAdvance(translate(text)) for text in STATE_LABELS.values()))
    )


class CacheDelegate(QStyledItemDelegate):
    """Paints cells straight from their rows; the table paints backgrounds and lines, a whole row at once."""

    def __init__(
        self, model: CacheTableModel, parent: QObject | None = None, clock: ClockMs = wall_clock_ms
    ) -> None:
        super().__init__(parent)
        self._model, self._clock = model, clock
        self._elided: dict[tuple[str, CellStyle, int], str] = {}
        self._is_mirrored = False  # the cell that is being painted
        self.tint(LIGHT)

    def tint(self, theme: Theme) -> None:
        """Paint with these tokens, at the text size in force, from now on."""
        text, mono = ui_font(12), ui_font(12, is_code=True)
        faces: tuple[tuple[CellStyle, QFont, str], ...] = (
            ("text", text, theme.text),
            ("muted", text, theme.muted),
            ("number", text, theme.muted),
            ("path", mono, theme.text),
            ("digest", mono, theme.muted),
            ("mono-muted", mono, theme.muted),
        )
        self._styles = {style: (font, QFontMetricsF(font), QColor(color)) for style, font, color in faces}
        self._pill_font = ui_font(11, 500)
        self._pill_metrics = QFontMetricsF(self._pill_font)
        self._pill_colors = {state: tone_colors(theme, tone) for state, tone in STATE_TONES.items()}
        self._pill_height = scaled(20)
        self._pin_color, self._changed_color = theme.accent, theme.muted
        self._placeholder_color = QColor(theme.hover)
        self._elided.clear()

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Draw a cell."""
        rect: QRect = option.rect
        self._is_mirrored = option.direction == Qt.LayoutDirection.RightToLeft
        if not self._is_mirrored:
            self._paint_cell(painter, rect, index)  # hundreds at once: without saving what does not change
            return
        painter.save()
        mirror(painter, rect)
        self._paint_cell(painter, rect, index)
        painter.restore()

    def helpEvent(
        self,
        event: QHelpEvent,
        view: QAbstractItemView,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> bool:
        """Show a cell's tooltip, but none that repeats what the cell shows in full."""
        column, row = COLUMNS[index.column()], self._model.entry(index.row())
        text = column.text(row, self._clock()) if row is not None else ""
        room = option.rect.width() - 2 * PAD
        is_repeated = text == index.data(Qt.ItemDataRole.ToolTipRole)
        if is_repeated and self._elide(text, column.style, room) == text:
            QToolTip.hideText()
            return True
        return super().helpEvent(event, view, option, index)

    def _paint_cell(self, painter: QPainter, rect: QRect, index: QModelIndex | QPersistentModelIndex) -> None:
        column, row = COLUMNS[index.column()], self._model.entry(index.row())
        if row is None:
            self._placeholder(painter, rect, column.style, self._model.digest_at(index.row()))
            return
        text = column.text(row, self._clock())
        if column.style == "pill":
            room = rect.width() - EDGE - _PILL_PAD
            text = self._pill_metrics.elidedText(text, Qt.TextElideMode.ElideRight, room)
            width = self._pill_metrics.horizontalAdvance(text) + _PILL_PAD
            top = rect.top() + (rect.height() - self._pill_height) / 2
            box = QRectF(rect.left() + EDGE + 0.5, top, width, self._pill_height)
            paint_pill(painter, box, text, self._pill_colors[row.state], self._pill_font)
            place = QRect(int(box.right()) + 4, rect.center().y() - _ICON // 2, _ICON, _ICON)
            for name, color in self._icons(row):
                picture = pixmap(name, color, _ICON, painter.device().devicePixelRatioF())
                draw_pixmap(painter, place.x(), place.y(), picture)
                place.translate(_ICON + 2, 0)
        else:
            self._text(painter, rect, text, column.style)

    def _icons(self, row: CacheRow) -> Iterator[tuple[str, str]]:
        """Yield the icons behind a state, with their colors; the state's tooltip says what they mean."""
        if row.is_pinned:
            yield "pin", self._pin_color
        if row.changed_since:
            yield "diff", self._changed_color

    def _text(self, painter: QPainter, rect: QRect, text: str, style: CellStyle) -> None:
        font, _, color = self._styles[style]
        painter.setFont(font)
        painter.setPen(color)
        inner = rect.adjusted(PAD, 0, -PAD, 0)
        flags, words = _RIGHT if style == "number" else _LEFT, self._elide(text, style, inner.width())
        if self._is_mirrored:
            draw_text(painter, inner, flags, words)
        else:
            painter.drawText(inner, flags, words)

    def _elide(self, text: str, style: CellStyle, width: int) -> str:
        fitted = self._elided.get((text, style, width))
        if fitted is None:
            if len(self._elided) > _MAX_CACHED_TEXTS:
                self._elided.clear()
            # Of a path the end says most.
            elide = Qt.TextElideMode.ElideMiddle if style == "path" else Qt.TextElideMode.ElideRight
            fitted = self._elided[text, style, width] = self._styles[style][1].elidedText(text, elide, width)
        return fitted

    def _placeholder(self, painter: QPainter, rect: QRect, style: CellStyle, digest: str) -> None:
        if style == "digest":
            self._text(painter, rect, short_digest(digest), "mono-muted")
            return
        width = min(46, rect.width() - 2 * PAD)
        left = rect.right() - PAD - width if style == "number" else rect.left() + PAD
        painter.fillRect(QRect(left, rect.center().y() - 3, width, 6), self._placeholder_color)
