"""Labels: texts of one line or several, and icons that are only looked at."""

from __future__ import annotations

import re
from collections.abc import Sequence

from PySide6.QtCore import QBasicTimer, QPointF, QRectF, QSize, Qt, QTimerEvent
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QFontMetrics,
    QFontMetricsF,
    QHideEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
    QTextLayout,
    QTextOption,
)
from PySide6.QtWidgets import QAbstractButton, QFrame, QLabel, QSizePolicy, QWidget

from helix_desktop.domain.text_format import title_number
from helix_desktop.ui.design.key_names import native_key
from helix_desktop.ui.design.safe_text import plain_tooltip
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.style.icons import pixmap
from helix_desktop.ui.design.style.theme import TextRole, Themed, is_motion_reduced, set_style_sheet
from helix_desktop.ui.design.text_direction import text_direction
from helix_desktop.words.numbers import keep_options, keep_units

_LONG_WORD = re.compile(r"[!-,.0-~]{25,}")  # ASCII without the signs after which Qt breaks a line anyway
_FEW_LETTERS_PX = 40  # a text that ends before that says nothing
_RUNNING_ICON = "loader-circle"
_TURN_MS = 80
_TURN_DEG = 30
_MAY_BREAK = "\N{ZERO WIDTH SPACE}"


def label(text: str, role: str = "", *, wrap: bool = False, name: str = "") -> QLabel:
    result = WrappedLabel(text) if wrap else QLabel(text)
    result.setObjectName(name)
    result.setTextFormat(Qt.TextFormat.PlainText)
    result.setProperty("role", role)
    return result


def show_text(part: QLabel | QAbstractButton, text: str) -> None:
    """Show a text in a label or button, which is hidden while it has none."""
    part.setText(text)
    part.setVisible(bool(text))


def align_as_code(words: QLabel) -> None:
    side = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignAbsolute
    words.setAlignment(side | Qt.AlignmentFlag.AlignVCenter)


def key_label(keys: str) -> QLabel:
    """Return a label of one shortcut, as the system writes it; `keys` is portable text."""
    return label(native_key(keys), "key")


def breakable(text: str) -> str:
    """Return a text that may be broken inside words that no line has room for."""
    return _LONG_WORD.sub(lambda word: _MAY_BREAK.join(word[0]), text)


class WrappedLabel(QLabel):
    """A label of several lines that also breaks words no line has room for, such as names of files."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._full_text = ""
        self.setWordWrap(True)
        self.setText(text)

    def text(self) -> str:
        return self._full_text

    def setText(self, text: str) -> None:
        self._full_text = text
        shown = self.shown_text(text)
        super().setText(shown)
        self.setAccessibleName(text if shown != text else "")

    def shown_text(self, text: str) -> str:
        """Return a text with the signs that say where its lines may break and where not."""
        shown = keep_units(breakable(text))
        if self.textInteractionFlags() & Qt.TextInteractionFlag.TextSelectableByMouse:
            return shown
        return keep_options(shown)  # copied, another hyphen would be no option

    def clear(self) -> None:
        self.setText("")

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the lines; Qt itself moves all but the last by a space where they run from right to left."""
        is_selectable = self.textInteractionFlags() & Qt.TextInteractionFlag.TextSelectableByMouse
        if is_selectable or text_direction(self._full_text) != Qt.LayoutDirection.RightToLeft:
            super().paintEvent(event)
            return
        QFrame.paintEvent(self, event)
        painter = QPainter(self)
        room = QRectF(self.contentsRect())
        painter.setPen(self.palette().color(self.foregroundRole()))
        words = self._lay_out(room.width())
        words.draw(painter, room.topLeft() + QPointF(0, (room.height() - words.boundingRect().height()) / 2))

    def _lay_out(self, width: float) -> QTextLayout:
        result = QTextLayout(super().text().replace("\n", "\N{LINE SEPARATOR}"), self.font())
        direction = Qt.LayoutDirection.RightToLeft
        is_centered = self.alignment() & Qt.AlignmentFlag.AlignHCenter
        option = QTextOption(Qt.AlignmentFlag.AlignHCenter if is_centered else Qt.AlignmentFlag.AlignRight)
        option.setTextDirection(direction)
        result.setTextOption(option)
        result.beginLayout()
        y = 0.0
        while (line := result.createLine()).isValid():
            line.setLineWidth(width)
            line.setPosition(QPointF(0, y))
            y += line.height()
        result.endLayout()
        return result


def elide_title(metrics: QFontMetrics | QFontMetricsF, title: str, room: float) -> str:
    """Return a title cut at its end to some pixels of room, its number kept: "Fix the… (2)"."""
    if metrics.horizontalAdvance(title) <= room:
        return title
    suffix = title_number(title)
    left = room - metrics.horizontalAdvance(suffix)
    return metrics.elidedText(title.removesuffix(suffix), Qt.TextElideMode.ElideRight, int(left)) + suffix


class ElidedLabel(QLabel):
    """A one-line label that shortens its text to the room it has.

    The tooltip has the whole text if it is shortened.
    """

    def __init__(self, text: str = "", role: str = "") -> None:
        super().__init__()
        self._full_text = ""
        self._fallbacks: tuple[str, ...] = ()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("role", role)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.set_full_text(text)

    def full_text(self) -> str:
        return self._full_text

    def set_full_text(self, text: str, *fallbacks: str) -> None:
        """Show a text; where it does not fit, the first shorter one that does, else its beginning."""
        self._full_text = text
        self._fallbacks = fallbacks
        self.setAccessibleName(text)
        self._shorten()

    def full_width(self) -> int:
        return self.fontMetrics().horizontalAdvance(self._full_text) + 2

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._shorten()

    def _shorten(self) -> None:
        metrics = self.fontMetrics()
        room = max(self.width(), 0)
        texts = (self._full_text, *self._fallbacks)
        fitting = (text for text in texts if metrics.horizontalAdvance(text) <= room)
        elided = next(fitting, "") or elide_title(metrics, texts[-1], room)
        self.setText(elided)
        self.setToolTip(plain_tooltip(self._full_text if elided != self._full_text else ""))


class TextLine(Themed, QWidget):
    """One line of text that elides where room ends.

    The tooltip has the whole text if it is elided, and the note if there is one.
    """

    accessible_role = QAccessible.Role.StaticText

    def __init__(
        self, text: str = "", px: int = 13, weight: int = 400, role: TextRole = "text", mono: bool = False
    ) -> None:
        super().__init__()
        self._role = role
        self.text = ""
        self._note = ""
        self._font_spec = (px, weight, mono)
        self._kept_texts: Sequence[str] = ()
        self.elide = Qt.TextElideMode.ElideMiddle if mono else Qt.TextElideMode.ElideRight  # of a path
        self.is_fixed_width = False  # never narrower than its text
        self.align = Qt.AlignmentFlag.AlignLeft
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.apply_theme()
        self.set_text(text)

    def set_text(self, text: str) -> None:
        if text == self.text and self.accessibleName() == text:
            return
        former_size = self.sizeHint()
        self.text = text
        self._full_size = QSize()
        self.setAccessibleName(text)
        self._update_tooltip()
        if self.sizeHint() != former_size:
            self.updateGeometry()
        self.update()

    def keep_room_for(self, texts: Sequence[str]) -> None:
        """Ask for the room of the widest of these texts, whichever is shown."""
        if texts != self._kept_texts:
            self._kept_texts = texts
            self._full_size = QSize()
            self.updateGeometry()

    def set_note(self, note: str) -> None:
        self._note = note
        self.setAccessibleDescription(note)
        self._update_tooltip()

    def set_role(self, role: TextRole) -> None:
        self._role = role
        self.update()

    def apply_theme(self) -> None:
        super().apply_theme()
        self._font = ui_font(*self._font_spec)
        self._metrics = QFontMetricsF(self._font)
        self._full_size = QSize()
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        if not self._full_size.isValid():  # measured once: layouts ask dozens of times for each change
            height = self._metrics.height()
            width = max(map(self._metrics.horizontalAdvance, (self.text, *self._kept_texts)))
            self._full_size = QSize(int(width) + 2, int(height) + 2)
        return self._full_size

    def minimumSizeHint(self) -> QSize:
        full_size = self.sizeHint()
        return full_size if self.is_fixed_width else QSize(min(24, full_size.width()), full_size.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._update_tooltip()
        super().resizeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setFont(self._font)
        painter.setPen(QColor(getattr(self._theme, self._role)))
        elided = self._metrics.elidedText(self.text, self.elide, self.width())
        if elided != self.text and self.width() < scaled(_FEW_LETTERS_PX):
            return
        painter.drawText(QRectF(self.rect()), Qt.AlignmentFlag.AlignVCenter | self.align, elided)

    def _update_tooltip(self) -> None:
        fits = self._metrics.horizontalAdvance(self.text) <= self.width() + 1
        self.setToolTip(plain_tooltip("\n".join(filter(None, ("" if fits else self.text, self._note)))))


class SelectableText(Themed, WrappedLabel):
    def __init__(
        self, text: str = "", px: int = 13, role: TextRole = "text", mono: bool = False, weight: int = 400
    ) -> None:
        super().__init__(text)
        if mono:
            align_as_code(self)
        self._px = px
        self._family = fonts.MONO_FAMILY if mono else fonts.UI_FAMILY
        self._weight = weight
        self.setProperty("role", role)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.apply_theme()

    def shown_text(self, text: str) -> str:
        return keep_units(text)

    def apply_theme(self) -> None:
        # The colors are the application's, by the role: hundreds of these would take long one by one.
        set_style_sheet(
            self,
            f"QLabel {{ font-family: '{self._family}'; font-size: {scaled(self._px)}px;"
            f" font-weight: {self._weight}; }}",
        )


class IconLabel(Themed, QLabel):
    """One tinted icon that is only looked at; the one for work that runs turns, unless motion is reduced."""

    def __init__(
        self, icon_name: str, *, px: int = 15, width_px: int = 0, color_token: str = "faint"
    ) -> None:
        """`px` is the edge, `width_px` how much of it is in sight (0: all), in pixels at 100 %.

        `color_token` is the name of a token.
        """
        super().__init__()
        self._width_px = width_px or px
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._icon_name = icon_name
        self._px = px
        self._color_token = color_token
        self._timer = QBasicTimer()
        self._angle = 0
        self.apply_theme()

    def show_icon(self, icon_name: str, color_token: str) -> None:
        self._icon_name = icon_name
        self._color_token = color_token
        self.apply_theme()
        self._turn_or_rest()

    def apply_theme(self) -> None:
        super().apply_theme()
        px = scaled(self._px)
        color = getattr(self._theme, self._color_token)
        self.setFixedSize(scaled(self._width_px), px)
        self.setPixmap(pixmap(self._icon_name, color, px, self.devicePixelRatioF()))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._turn_or_rest()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._timer.stop()

    def timerEvent(self, event: QTimerEvent) -> None:
        self._angle = (self._angle + _TURN_DEG) % 360
        self._turn_or_rest()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._angle:
            super().paintEvent(event)
            return
        painter = QPainter(self)
        middle = QRectF(self.rect()).center()
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.translate(middle)
        painter.rotate(self._angle)
        painter.translate(-middle)
        painter.drawPixmap(0, 0, self.pixmap())

    def _turn_or_rest(self) -> None:
        turns = self._icon_name == _RUNNING_ICON and self.isVisible() and not is_motion_reduced()
        if not turns:
            self._timer.stop()
            self._angle = 0
        elif not self._timer.isActive():
            self._timer.start(_TURN_MS, self)
