"""How a cell of the cache table is painted."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from helix_desktop.ui.cache_browser.columns import COLUMNS, Look
from helix_desktop.ui.cache_browser.model import ROW_ROLE
from helix_desktop.ui.cache_browser.rows import CacheRow, CacheState
from helix_desktop.ui.elements import Now, Tone, paint_pill, scaled, tone_colors, ui_font, wall_clock
from helix_desktop.ui.theme import LIGHT, Theme

PAD = 12  # pixels left and right of a cell's text
EDGE = 18  # pixels left of the first column's
_VCENTER = Qt.AlignmentFlag.AlignVCenter
_LEFT, _RIGHT = Qt.AlignmentFlag.AlignLeft | _VCENTER, Qt.AlignmentFlag.AlignRight | _VCENTER

STATE_TONES: dict[CacheState, Tone] = {
    "in window": "ok",
    "marker": "accent",
    "handed over": "warn",
    "stored": "neutral",
    "index": "neutral",
    "damaged": "error",
}


class CacheDelegate(QStyledItemDelegate):
    """Paints straight from the row: one question to the model per cell."""

    def __init__(self, parent: QObject | None = None, now: Now = wall_clock) -> None:
        super().__init__(parent)
        self._now = now
        self.hovered = -1
        self.tint(LIGHT)

    def tint(self, theme: Theme) -> None:
        """Paint with these tokens, at the text size in force, from now on."""
        text, mono = ui_font(12), ui_font(12, mono=True)
        faces: tuple[tuple[Look, QFont, str], ...] = (
            ("text", text, theme.text),
            ("muted", text, theme.muted),
            ("number", text, theme.muted),
            ("mono", mono, theme.text),
            ("mono-muted", mono, theme.muted),
        )
        self._faces = {look: (font, QFontMetricsF(font), QColor(ink)) for look, font, ink in faces}
        self._pill_font = ui_font(11, 500)
        self._pill_metrics = QFontMetricsF(self._pill_font)
        self._pills = {state: tone_colors(theme, tone) for state, tone in STATE_TONES.items()}
        self._line, self._accent = QPen(QColor(theme.border)), QColor(theme.accent)
        self._selection, self._hover = QColor(theme.selection), QColor(theme.raised)
        self._hollow = QColor(theme.hover)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Draw a cell."""
        painter.save()
        rect: QRect = option.rect
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        if chosen:
            painter.fillRect(rect, self._selection)
        elif index.row() == self.hovered:
            painter.fillRect(rect, self._hover)
        if chosen and index.column() == 0 and option.widget.hasFocus():
            painter.fillRect(QRect(rect.left(), rect.top(), 3, rect.height() - 1), self._accent)
        painter.setPen(self._line)
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        row = index.data(ROW_ROLE)
        column = COLUMNS[index.column()]
        if isinstance(row, CacheRow):
            self._cell(painter, rect, row, index.column())
        elif column.key == "digest":
            self._text(painter, rect, index.data(Qt.ItemDataRole.DisplayRole)[:8] + " …", "mono-muted")
        else:
            self._placeholder(painter, rect, column.look == "number")
        painter.restore()

    def _cell(self, painter: QPainter, rect: QRect, row: CacheRow, number: int) -> None:
        column = COLUMNS[number]
        text = column.text(row, self._now())
        if column.look != "pill":
            # Of a path the end says most.
            elide = Qt.TextElideMode.ElideMiddle if column.key == "target" else Qt.TextElideMode.ElideRight
            self._text(painter, rect, text, column.look, elide)
            return
        width = self._pill_metrics.horizontalAdvance(text) + 17
        height = scaled(20)
        box = QRectF(rect.left() + EDGE + 0.5, rect.top() + (rect.height() - height) / 2, width, height)
        paint_pill(painter, box, text, self._pills[row.state], self._pill_font)

    def _text(
        self,
        painter: QPainter,
        rect: QRect,
        text: str,
        look: Look,
        elide: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> None:
        font, metrics, ink = self._faces[look]
        inner = QRectF(rect.adjusted(PAD, 0, -PAD, 0))
        painter.setFont(font)
        painter.setPen(ink)
        if metrics.horizontalAdvance(text) > inner.width():
            text = metrics.elidedText(text, elide, inner.width())
        painter.drawText(inner, _RIGHT if look == "number" else _LEFT, text)

    def _placeholder(self, painter: QPainter, rect: QRect, right: bool) -> None:
        width = min(46, rect.width() - 2 * PAD)
        left = rect.right() - PAD - width if right else rect.left() + PAD
        painter.fillRect(QRect(left, rect.center().y() - 3, width, 6), self._hollow)
