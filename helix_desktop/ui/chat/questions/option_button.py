"""One answer to choose from: its number, its label, and what it means."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy

from helix_desktop.domain.question import QuestionOption
from helix_desktop.ui.chat.items.painting import paint_box, paint_icon, paint_line
from helix_desktop.ui.chat.style import MEDIUM, SMALL, TINY, UI, ChatStyle
from helix_desktop.ui.design.buttons import EnterActivates
from helix_desktop.ui.design.labels import breakable
from helix_desktop.ui.design.mirror import draw_text, mirror
from helix_desktop.ui.design.safe_text import escape_invisible
from helix_desktop.words.translation import translate

_PAD, _BADGE, _GAP = 10.0, 20.0, 3.0  # pixels: around the texts, the number's edge, between the texts
_ENTER = {Qt.Key.Key_Return, Qt.Key.Key_Enter}
_LEAVE = {Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Left, Qt.Key.Key_Right}


class OptionButton(EnterActivates, QAbstractButton):
    """Wraps its texts to its width; checkable where several may be chosen."""

    def __init__(self, number: int, option: QuestionOption, style: ChatStyle, checkable: bool) -> None:
        """`number` is the key that chooses it, from 1."""
        super().__init__()
        self.label = option.label
        self._number, self._chat_style = number, style
        self._is_marked = False
        self._title = breakable(escape_invisible(translate(option.label)))
        self._description = breakable(escape_invisible(translate(option.description)))
        self.setObjectName(f"option:{number}")
        self.setAccessibleName(f"{number}. {escape_invisible(option.label)}")
        self.setAccessibleDescription(escape_invisible(option.description))
        self.setCheckable(checkable)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def set_style(self, style: ChatStyle) -> None:
        """Show it in another look."""
        self._chat_style = style
        self.updateGeometry()
        self.update()

    @property
    def is_chosen(self) -> bool:
        """Return True if it is checked, or marked by its number."""
        return self._is_marked or self.isChecked()

    def set_marked(self, is_marked: bool) -> None:
        """Mark it: Enter sends it, where one is chosen; check it where several are."""
        if self.isCheckable():
            self.setChecked(is_marked)
        else:
            self._is_marked = is_marked
            self.update()

    def sizeHint(self) -> QSize:
        """Return a size at which its texts are not wrapped much."""
        return QSize(320, self.heightForWidth(320))

    def minimumSizeHint(self) -> QSize:
        """Return a small size: the height follows from the width."""
        return QSize(80, round(self._chat_style.px(_BADGE + 2 * _PAD)))

    def hasHeightForWidth(self) -> bool:
        """Return True: its texts wrap."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Return the height that its texts need."""
        title, description = self._text_rects(float(width))
        bottom = description.bottom() if self._description else title.bottom()
        return round(bottom + self._chat_style.px(_PAD - 1))

    def _text_rects(self, width: float) -> tuple[QRectF, QRectF]:
        style = self._chat_style
        left, top = style.px(_PAD * 2 + _BADGE), style.px(_PAD - 1)
        room = max(20.0, width - left - style.px(_PAD))
        title = _wrapped(self._title, style.font(UI, MEDIUM), QRectF(left, top, room, 1e6))
        below = QRectF(left, title.bottom() + style.px(_GAP), room, 1e6)
        return title, _wrapped(self._description, style.font(SMALL), below)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Press it with Space, and with Enter where one is chosen; leave the other keys to the card."""
        key = Qt.Key(event.key())
        if key in _LEAVE or (self.isCheckable() and key in _ENTER):
            event.ignore()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint number, texts, and the ring of the keyboard."""
        style, theme = self._chat_style, self._chat_style.theme
        painter = QPainter(self)
        mirror(painter, self.rect())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        lit = self.is_chosen or self.isDown()
        fill = theme.accent_soft if lit else theme.hover if self.underMouse() else theme.surface
        border = theme.accent if lit or self.hasFocus() else theme.border_strong
        card = QRectF(self.rect())
        paint_box(painter, card, style.color(fill), style.color(border), 8)
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(style.color(theme.accent), 2))
            painter.drawRoundedRect(card.adjusted(1, 1, -1, -1), 7.5, 7.5)
        self._paint_number(painter)
        title, description = self._text_rects(card.width())
        painter.setFont(style.font(UI, MEDIUM))
        painter.setPen(style.color(theme.text))
        draw_text(painter, title, Qt.TextFlag.TextWordWrap, self._title)
        painter.setFont(style.font(SMALL))
        painter.setPen(style.color(theme.muted))
        draw_text(painter, description, Qt.TextFlag.TextWordWrap, self._description)

    def _paint_number(self, painter: QPainter) -> None:
        style, theme = self._chat_style, self._chat_style.theme
        side = style.px(_BADGE)
        badge = QRectF(style.px(_PAD), style.px(_PAD - 2), side, side)
        checked = self.is_chosen
        fill, border = (theme.accent, theme.accent) if checked else (theme.raised, theme.faint)
        paint_box(painter, badge, style.color(fill), style.color(border), 6)
        if checked:
            inset = side * 0.18
            paint_icon(painter, style, "check", theme.on_accent, badge.adjusted(inset, inset, -inset, -inset))
            return
        font = style.font(TINY, MEDIUM)
        wide = style.width(str(self._number), font)
        middle = QRectF(badge.center().x() - wide / 2, badge.y(), wide + 1, side)
        paint_line(painter, style, middle, str(self._number), font, theme.muted)


def _wrapped(text: str, font: QFont, room: QRectF) -> QRectF:
    """Return the place of a text that is wrapped to the width of a room."""
    if not text:
        return QRectF(room.topLeft(), room.topLeft())
    needed = QFontMetricsF(font).boundingRect(room, Qt.TextFlag.TextWordWrap, text)
    return QRectF(room.x(), room.y(), room.width(), needed.height())
