"""How a cell of the cache table is painted."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from helix_desktop.ui.cache_browser.columns import COLUMNS, Look
from helix_desktop.ui.cache_browser.model import CacheModel
from helix_desktop.ui.cache_browser.rows import CacheState
from helix_desktop.ui.fonts import scaled, ui_font
from helix_desktop.ui.icons import pixmap
from helix_desktop.ui.pill import Tone, paint_pill, tone_colors
from helix_desktop.ui.theme import LIGHT, Theme
from helix_desktop.ui.times import Now, wall_clock

PAD = 12  # pixels left and right of a cell's text
EDGE = 18  # pixels left of the first column's
_PIN = 12  # pixels of the pin behind a state
_KEPT_TEXTS = 8_000
_VCENTER = Qt.AlignmentFlag.AlignVCenter
_LEFT, _RIGHT = Qt.AlignmentFlag.AlignLeft | _VCENTER, Qt.AlignmentFlag.AlignRight | _VCENTER

STATE_TONES: dict[CacheState, Tone] = {
    "in window": "ok",
    "pinned": "ok",
    "in part": "ok",
    "marker": "accent",
    "folded": "accent",
    "observed": "accent",
    "handed over": "warn",
    "left out": "warn",
    "stored": "neutral",
    "index": "neutral",
    "damaged": "error",
    "in the trash": "neutral",
}


class CacheDelegate(QStyledItemDelegate):
    """Paints cells straight from their rows; the table paints grounds and lines, a whole row at once."""

    def __init__(self, model: CacheModel, parent: QObject | None = None, now: Now = wall_clock) -> None:
        super().__init__(parent)
        self._entries, self._now = model, now
        self._fitted: dict[tuple[str, Look, int], str] = {}
        self.tint(LIGHT)

    def tint(self, theme: Theme) -> None:
        """Paint with these tokens, at the text size in force, from now on."""
        text, mono = ui_font(12), ui_font(12, code=True)
        faces: tuple[tuple[Look, QFont, str], ...] = (
            ("text", text, theme.text),
            ("muted", text, theme.muted),
            ("number", text, theme.muted),
            ("path", mono, theme.text),
            ("mono", mono, theme.text),
            ("mono-muted", mono, theme.muted),
        )
        self._faces = {look: (font, QFontMetricsF(font), QColor(ink)) for look, font, ink in faces}
        self._pill_font = ui_font(11, 500)
        self._pill_metrics = QFontMetricsF(self._pill_font)
        self._pills = {state: tone_colors(theme, tone) for state, tone in STATE_TONES.items()}
        self._pill_height = scaled(20)
        self._pin = theme.accent
        self._hollow = QColor(theme.hover)
        self._fitted.clear()

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Draw a cell."""
        rect: QRect = option.rect
        column, row = COLUMNS[index.column()], self._entries.entry(index.row())
        if row is None:
            self._placeholder(painter, rect, column.look, self._entries.digest_at(index.row()))
            return
        text = column.text(row, self._now())
        if column.look == "pill":
            width = self._pill_metrics.horizontalAdvance(text) + 17
            top = rect.top() + (rect.height() - self._pill_height) / 2
            box = QRectF(rect.left() + EDGE + 0.5, top, width, self._pill_height)
            paint_pill(painter, box, text, self._pills[row.state], self._pill_font)
            if row.kept:
                place = QRect(int(box.right()) + 4, rect.center().y() - _PIN // 2, _PIN, _PIN)
                painter.drawPixmap(
                    place, pixmap("pin", self._pin, _PIN, painter.device().devicePixelRatioF())
                )
        else:
            self._text(painter, rect, text, column.look)

    def _text(self, painter: QPainter, rect: QRect, text: str, look: Look) -> None:
        font, _, ink = self._faces[look]
        painter.setFont(font)
        painter.setPen(ink)
        inner = rect.adjusted(PAD, 0, -PAD, 0)
        painter.drawText(inner, _RIGHT if look == "number" else _LEFT, self._fit(text, look, inner.width()))

    def _fit(self, text: str, look: Look, width: int) -> str:
        fitted = self._fitted.get((text, look, width))
        if fitted is None:
            if len(self._fitted) > _KEPT_TEXTS:
                self._fitted.clear()
            # Of a path the end says most.
            elide = Qt.TextElideMode.ElideMiddle if look == "path" else Qt.TextElideMode.ElideRight
            fitted = self._fitted[text, look, width] = self._faces[look][1].elidedText(text, elide, width)
        return fitted

    def _placeholder(self, painter: QPainter, rect: QRect, look: Look, digest: str) -> None:
        if look == "mono":
            self._text(painter, rect, f"{digest[:8]} …", "mono-muted")
            return
        width = min(46, rect.width() - 2 * PAD)
        left = rect.right() - PAD - width if look == "number" else rect.left() + PAD
        painter.fillRect(QRect(left, rect.center().y() - 3, width, 6), self._hollow)
