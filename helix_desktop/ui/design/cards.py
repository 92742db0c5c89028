"""Cards, pills and dots, headings that open what is below, and what stands where nothing is yet."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Literal, TypeAlias

from PySide6.QtCore import QCoreApplication, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QFont,
    QFontMetrics,
    QFontMetricsF,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QWhatsThisClickedEvent,
)
from PySide6.QtWidgets import QAbstractButton, QAccessibleWidget, QFrame, QSizePolicy, QWidget

from helix_desktop.ui.design.accessibility import DisclosureInterface
from helix_desktop.ui.design.buttons import EnterActivates, PushButton
from helix_desktop.ui.design.labels import IconLabel, SelectableText, show_text
from helix_desktop.ui.design.layout import column, row
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.style.icons import draw_chevron, pixmap
from helix_desktop.ui.design.style.theme import TextRole, Theme, Themed
from helix_desktop.words.translation import Translator

tr = Translator("Controls")

Tone: TypeAlias = Literal["neutral", "accent", "ok", "warn", "error"]
_PILL_ICON = 12
_DOT_PX = 6  # of the dot before a pill's text
PILL_DOT_ROOM = 10  # of this dot with the gap behind it


def tone_colors(theme: Theme, tone: Tone) -> tuple[str, str, str]:
    """Return a tone's text, fill and outline; no outline is the fill's own color."""
    if tone == "neutral":
        return theme.muted, theme.raised, theme.border
    color = theme.accent_text if tone == "accent" else str(getattr(theme, tone))
    fill = str(getattr(theme, f"{tone}_soft"))
    return color, fill, fill


def paint_pill(
    painter: QPainter,
    rect: QRectF,
    text: str,
    colors: tuple[str, str, str],
    font: QFont,
    left: float = 8,
    dot: str = "",
) -> None:
    """Paint a filled capsule with `text`, `left` pixels from its beginning, behind a dot of a color."""
    color, fill, outline = colors
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(outline), 1))
    painter.setBrush(QColor(fill))
    painter.drawRoundedRect(rect, rect.height() / 2, rect.height() / 2)
    if dot:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(dot))
        middle = QPointF(rect.left() + left + _DOT_PX / 2, rect.center().y())
        painter.drawEllipse(middle, _DOT_PX / 2, _DOT_PX / 2)
        left += PILL_DOT_ROOM
    painter.setFont(font)
    painter.setPen(QColor(color))
    at_begin = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
    painter.drawText(rect.adjusted(left, 0, 0, 0), at_begin, text)


class Pill(EnterActivates, Themed, QAbstractButton):
    """A capsule with a short text, or an icon alone; a button when `clickable`."""

    def __init__(
        self, text: str, tone: Tone = "neutral", icon_name: str = "", clickable: bool = False
    ) -> None:
        super().__init__()
        self._tone = tone
        self._icon_name = icon_name
        self._clickable = clickable
        self._font = ui_font(11, 500)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus if clickable else Qt.FocusPolicy.NoFocus)
        if clickable:
            self.setCursor(Qt.CursorShape.PointingHandCursor)
        else:
            self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.set_text(text)

    def make_accessible(self) -> QAccessibleWidget | None:
        return None if self._clickable else QAccessibleWidget(self, QAccessible.Role.StaticText)

    def set_text(self, text: str, tone: Tone | None = None) -> None:
        self._tone = tone or self._tone
        self.setText(text)
        if text or not self._icon_name:  # an icon alone keeps the name that it was given
            self.setAccessibleName(text)
        width = QFontMetricsF(self._font).horizontalAdvance(text) + 18
        icon_width = _PILL_ICON + 4 if text else _PILL_ICON - 6
        # Layouts ask for it again and again: to measure the text each time is most of what a long page costs.
        self._hint = QSize(int(width) + (icon_width if self._icon_name else 0), scaled(21))
        self.setFixedSize(self._hint)
        self.update()

    def apply_theme(self) -> None:
        super().apply_theme()
        self._font = ui_font(11, 500)
        self.set_text(self.text())

    def sizeHint(self) -> QSize:
        return self._hint

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        color, fill, outline = tone_colors(self._theme, self._tone)
        if self._clickable and (self.underMouse() or self.hasFocus()):
            outline = self._theme.accent
        body = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        left = 8 + (_PILL_ICON + 4 if self._icon_name else 0)
        paint_pill(painter, body, self.text(), (color, fill, outline), self._font, left)
        if self._icon_name:
            picture = pixmap(self._icon_name, color, _PILL_ICON, self.devicePixelRatioF())
            painter.drawPixmap(QPointF(8 if self.text() else 6, (self.height() - _PILL_ICON) // 2), picture)


class Dot(Themed, QWidget):
    def __init__(self, color_token: str, *, px: int = 7) -> None:
        super().__init__()
        self._color_token = color_token
        self.setFixedSize(px, px)

    def set_color_token(self, color_token: str) -> None:
        self._color_token = color_token
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(getattr(self._theme, self._color_token)))
        painter.drawEllipse(QRectF(self.rect()))


_SENTENCE_PX = 14  # the font at 100 %
_MIN_SENTENCE_PX = 200  # the least width of a sentence's lines at 100 %
_MAX_SENTENCE_PX = 400  # their greatest width at 100 %
_LINE_SLACK = 1.15  # times a line's share of the text: words do not break where a share ends


class ThemedBackground(Themed, QWidget):
    """A widget with a background of one color, perhaps below a line."""

    ground = "canvas"
    """The token of its color."""
    has_line = False

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(getattr(self._theme, self.ground)))
        if self.has_line:
            painter.fillRect(0, 0, self.width(), 1, QColor(self._theme.border))


class Card(QFrame):
    def __init__(self, margins: tuple[int, int, int, int], gap: int, role: str = "card") -> None:
        super().__init__()
        self.setProperty("role", role)
        self.body = column(margins=margins, gap=gap)
        self.setLayout(self.body)


class BalancedText(SelectableText):
    """A centered sentence whose lines are about as long as one another: no last word stands alone."""

    def __init__(self, text: str) -> None:
        super().__init__(text, _SENTENCE_PX, "muted")
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)

    def setText(self, text: str) -> None:
        super().setText(text)
        self._balance()

    def apply_theme(self) -> None:
        super().apply_theme()
        self._balance()

    def _balance(self) -> None:
        one_line = QFontMetricsF(ui_font(_SENTENCE_PX)).horizontalAdvance(self.text())
        lines = max(1, ceil(one_line / scaled(_MAX_SENTENCE_PX)))
        width = ceil(one_line / lines * _LINE_SLACK)
        self.setMaximumWidth(max(width, scaled(_MIN_SENTENCE_PX)))
        self.setMinimumWidth(min(width, _MIN_SENTENCE_PX))


class EmptyState(QWidget):
    """Fills an empty page: an icon, one sentence, one button, and perhaps a link to what else can be done."""

    button_clicked = Signal()
    link_clicked = Signal()

    def __init__(self, icon_name: str, sentence: str, button: str = "") -> None:
        super().__init__()
        self.sentence = BalancedText(sentence)
        self.button = PushButton(button, name="empty_action", on_click=self.button_clicked.emit)
        self._link = PushButton("", "link", name="empty_link", on_click=self.link_clicked.emit)
        self._link.hide()
        face = IconLabel(icon_name, px=32)
        line = row(None, self.sentence, None, gap=0)
        line.setStretch(1, 10)
        body = column(None, face, line, self.button, self._link, None, margins=(12, 24, 12, 24), gap=14)
        body.setStretch(0, 2)
        body.setStretch(5, 3)
        for part in (face, self.button, self._link):
            body.setAlignment(part, Qt.AlignmentFlag.AlignHCenter)
        self.setLayout(body)
        self.button.setVisible(bool(button))

    def set_content(self, sentence: str, button: str = "", link: str = "") -> None:
        self.sentence.setText(sentence)
        show_text(self.button, button)
        show_text(self._link, link)


_CHEVRON_PX = 14  # pixels of the chevron's edge
_NOTE_GAP = 8  # pixels from the title's end to the note
_CHEVRON_X = 0  # pixels; its icon has room around the chevron, where the focus ring is
_TITLE_GAP_PX = 6  # pixels


class DisclosureHead(EnterActivates, Themed, QAbstractButton):
    def __init__(self, title: str, note: str = "", role: TextRole = "text") -> None:
        super().__init__()
        self._note = note
        self._role = role
        self.setText(title)
        self.setAccessibleName(tr("{title}, {note}", title=title, note=note) if note else title)
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.apply_theme()

    def make_accessible(self) -> QAccessibleWidget:
        return DisclosureInterface(self)

    def apply_theme(self) -> None:
        super().apply_theme()
        self.setFixedHeight(scaled(26))

    def sizeHint(self) -> QSize:
        return QSize(240, scaled(26))

    def minimumSizeHint(self) -> QSize:
        return QSize(80, scaled(26))

    def full_text(self) -> str:
        return f"{self.text()} · {self._note}" if self._note else self.text()

    def full_width(self) -> int:
        title = QFontMetrics(ui_font(13, 600)).horizontalAdvance(self.text())
        return _title_x() + title + (_NOTE_GAP + QFontMetrics(ui_font(12)).horizontalAdvance(self._note))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.setToolTip(self.full_text() if self.full_width() > self.width() else "")

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.hasFocus():
            painter.setPen(QPen(QColor(self._theme.accent), 1.5))
            painter.drawRoundedRect(self.rect().adjusted(1, 1, -1, -1), 6, 6)
        color = self._theme.text if self.underMouse() else self._theme.faint
        side = scaled(_CHEVRON_PX)
        draw_chevron(
            painter, QPointF(_CHEVRON_X, (self.height() - side) // 2), color, side, is_open=self.isChecked()
        )
        room = self.rect().adjusted(_title_x(), 0, 0, 0)
        painter.setFont(ui_font(13, 600))
        painter.setPen(QColor(str(getattr(self._theme, self._role))))
        self._draw_shortened(painter, room, self.text())
        room.setLeft(room.left() + painter.fontMetrics().horizontalAdvance(self.text()) + _NOTE_GAP)
        painter.setFont(ui_font(12))
        painter.setPen(QColor(self._theme.faint))
        self._draw_shortened(painter, room, self._note)

    def _draw_shortened(self, painter: QPainter, room: QRect, text: str) -> None:
        fitting = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, max(room.width(), 0))
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, fitting)


def _title_x() -> int:
    return _CHEVRON_X + scaled(_CHEVRON_PX) + _TITLE_GAP_PX


class Disclosure(QWidget):
    """A heading with a body, which is built when it is first opened unless it is there."""

    def __init__(self, head: DisclosureHead, body: QWidget | Callable[[], QWidget]) -> None:
        super().__init__()
        self._build = body if not isinstance(body, QWidget) else lambda: body
        self._body: QWidget | None = None
        self.head = head
        if isinstance(body, QWidget):
            body.setParent(self)  # a search finds what is in it
            body.hide()
        self._column = column(head, gap=2)
        self.setLayout(self._column)
        head.toggled.connect(self._toggle)

    def _toggle(self, opened: bool) -> None:
        if self._body is None:
            self._body = self._build()
            self._column.addWidget(self._body)
        self._body.setVisible(opened)
        self.updateGeometry()


class HelpLink(QWidget):
    """Opens the guide at a topic.

    It sends Qt's event for such links to the main window, so a view needs no way to the guide. The window
    hides it once the user has followed the link, with what it explains: from then on the guide is in the Help
    menu.
    """

    def __init__(self, topic: str, *explanation: QWidget) -> None:
        super().__init__()
        self.topic = topic
        self.link = PushButton(tr("Guide"), "link", name=f"what_is:{topic}", on_click=self._send_request)
        self.setLayout(column(*explanation, row(self.link, None), gap=4))

    def _send_request(self) -> None:
        window = self.window()
        while (parent := window.parentWidget()) is not None:
            window = parent.window()
        QCoreApplication.sendEvent(window, QWhatsThisClickedEvent(self.topic))
