"""The tour: small callouts beside the parts of the window that they explain, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QApplication, QFrame, QWidget

from helix_desktop.domain.translatable_text import TranslatableText
from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.focus import refocus
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import column, row
from helix_desktop.ui.design.style.theme import LIGHT, Theme
from helix_desktop.ui.design.themed import Themed, retint
from helix_desktop.words.translation import Translator, translate

tr = Translator("Tour")

_WIDTH_PX, _GAP_PX, _EDGE_PX = 320, 8, 8
_FOLLOW_MS = 60  # after a change of the window, until its parts are laid out


class TourStop(msgspec.Struct, frozen=True):
    """What a callout says, and of what: `show` brings it into sight, `place` is where it is on the screen.

    `place` returns an empty rectangle where there is nothing to point at; the tour leaves that stop out.
    """

    name: str
    title: TranslatableText
    words: TranslatableText
    show: Callable[[], None]
    place: Callable[[], QRect]


class Callout(Themed, QFrame):
    """A title, a sentence, and buttons to go on or to end; Enter goes on, Esc ends."""

    next_requested = Signal()
    back_requested = Signal()
    close_requested = Signal()

    def __init__(self, window: QWidget) -> None:
        """Hidden, above all that the window shows."""
        super().__init__(window)
        self.setObjectName("tour_callout")
        self._parent, self.target = window, QRect()
        self._title, self._words = label("", "strong", wrap=True), label("", "muted", wrap=True)
        self._count = label("", "faint")
        self._next = PushButton(tr("Next"), "primary", name="tour_next")
        self._back = PushButton(tr("Back"), "", name="tour_back")
        close = PushButton(tr("Close tour"), "link", name="tour_close")
        self._next.clicked.connect(self.next_requested)
        self._back.clicked.connect(self.back_requested)
        close.clicked.connect(self.close_requested)
        buttons = row(self._count, None, close, self._back, self._next, gap=6)
        self.setLayout(column(self._title, self._words, 4, buttons, gap=5, margins=(16, 14, 14, 12)))
        self.hide()

    def show_stop(self, title: str, text: str, number: int, count: int) -> None:
        """Show a stop; `number` is counted from 1."""
        self._title.setText(title)
        self._words.setText(text)
        self._count.setText(tr("{number} of {count}", number=number, count=count))
        self._next.setText(tr("Done") if number == count else tr("Next"))
        self._back.setVisible(number > 1)
        self.setAccessibleName(title)
        self.setAccessibleDescription(text)

    def stand_next_to(self, target: QRect) -> None:
        """Stand beside a place of the window, in its coordinates."""
        self.target = target
        bounds = self._parent.rect().adjusted(_EDGE_PX, _EDGE_PX, -_EDGE_PX, -_EDGE_PX)
        width = min(max(_WIDTH_PX, self.minimumSizeHint().width()), bounds.width())
        layout = self.layout()
        height = layout.heightForWidth(width) if layout is not None else 0
        size = QSize(width, max(height, self.minimumSizeHint().height()))
        self.setGeometry(place_next_to(target, size, bounds))
        if self.isHidden():  # what was opened above it since stays above it
            self.raise_()
            self.show()

    def take_focus(self) -> None:
        """Give the keyboard to the button that goes on, and let a screen reader say what is new."""
        self._next.setFocus(Qt.FocusReason.OtherFocusReason)
        announce(self, f"{self._title.text()}. {self._words.text()}")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """End at Esc, go on at Enter."""
        if event.key() == Qt.Key.Key_Escape:
            self.close_requested.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.next_requested.emit()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the surface with an edge that stands out."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._theme.accent), 1.5))
        painter.setBrush(QColor(self._theme.surface))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 10, 10)


class TargetRing(Themed, QWidget):
    """A line around what a callout explains."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the line."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._theme.accent), 2))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 8, 8)


def place_next_to(target: QRect, size: QSize, bounds: QRect) -> QRect:
    """Return where something of a size stands: below, above, left or right of a target, inside the bounds.

    Where it fits on no side it stands on the one with the most room, and covers as little as it can.
    """
    # Toward the middle: of the gauge, it would hide the figures at the right that it speaks of.
    is_left = target.center().x() <= bounds.center().x()
    aligned = target.left() if is_left else target.right() + 1 - size.width()
    x = min(max(aligned, bounds.left()), bounds.right() + 1 - size.width())
    y = min(max(target.top(), bounds.top()), bounds.bottom() + 1 - size.height())
    sides = (
        (bounds.bottom() - target.bottom() - size.height(), QPoint(x, target.bottom() + 1 + _GAP_PX)),
        (target.top() - bounds.top() - size.height(), QPoint(x, target.top() - _GAP_PX - size.height())),
        (target.left() - bounds.left() - size.width(), QPoint(target.left() - _GAP_PX - size.width(), y)),
        (bounds.right() - target.right() - size.width(), QPoint(target.right() + 1 + _GAP_PX, y)),
    )
    fitting = next((corner for room, corner in sides if room >= _GAP_PX), None)
    corner = fitting if fitting is not None else max(sides, key=lambda side: side[0])[1]
    corner = QPoint(
        min(max(corner.x(), bounds.left()), bounds.right() + 1 - size.width()),
        min(max(corner.y(), bounds.top()), bounds.bottom() + 1 - size.height()),
    )
    return QRect(corner, size)


class Tour(QObject):
    """Goes from stop to stop in one window; it is over at its end, or when it is closed."""

    ended = Signal()

    def __init__(self, window: QWidget, stops: Sequence[TourStop], theme: Theme = LIGHT) -> None:
        """Nothing is shown yet."""
        super().__init__(window)
        self._window, self._all_stops = window, stops
        self._stops: list[TourStop] = []
        self._index = 0
        self._is_moving = False  # from one stop to another
        self.ring, self.callout = TargetRing(window), Callout(window)
        for part in (self.ring, self.callout):
            retint(part, theme)
        self.callout.next_requested.connect(lambda: self._go(self._index + 1))
        self.callout.back_requested.connect(lambda: self._go(self._index - 1))
        self.callout.close_requested.connect(self.end)
        self._follow_timer = QTimer(self, singleShot=True, interval=_FOLLOW_MS)
        self._follow_timer.timeout.connect(self._follow)
        self._focus_before: QWidget | None = None

    @property
    def stop(self) -> str:
        """The name of the stop on screen; empty when the tour does not run."""
        return self._stops[self._index].name if self._stops else ""

    def start(self) -> None:
        """Begin with the first stop that has something to point at."""
        self._focus_before = QApplication.focusWidget()
        self._stops = list(self._all_stops)
        self._window.installEventFilter(self)
        self._go(0)

    def end(self) -> None:
        """Take everything away, and give the keyboard back."""
        if not self._stops:
            return
        self._stops = []
        self._window.removeEventFilter(self)
        self._follow_timer.stop()
        self.ring.hide()
        self.callout.hide()
        refocus(self._focus_before)
        self.ended.emit()

    def on_page_shown(self) -> None:
        """End when the user turns to another page: what the callout says is not about that one."""
        if not self._is_moving:
            self._focus_before = None  # the keyboard is in that page
            self.end()

    def follow(self) -> None:
        """Look again, in a moment, where the place is: the window was laid out, scrolled or tinted again."""
        if self._stops:
            self._follow_timer.start()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the window's size, wait while a dialog is in front of it, and end at an Esc nobody takes."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() == Qt.Key.Key_Escape and not self.callout.isHidden():
                self._focus_before = None
                self.end()
                return True
        elif event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest, QEvent.Type.WindowUnblocked):
            self.follow()
        elif event.type() == QEvent.Type.WindowBlocked:
            self._follow()
        return False

    def _go(self, index: int) -> None:
        """Go to a stop; one without a place is left out, behind the last one the tour is over."""
        self._is_moving = True
        while index < len(self._stops):
            stop = self._stops[index]
            stop.show()
            QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)
            if not stop.place().isEmpty():
                break
            del self._stops[index]
        self._is_moving = False
        if index >= len(self._stops):
            self.end()
            return
        self._index = max(index, 0)
        stop = self._stops[self._index]
        self.callout.show_stop(
            translate(stop.title), translate(stop.words), self._index + 1, len(self._stops)
        )
        was_shown = not self.callout.isHidden()
        self._follow()
        if was_shown:
            self.callout.take_focus()
        self.follow()

    def _follow(self) -> None:
        if not self._stops:
            return
        if QApplication.activeModalWidget() is not None:  # a dialog is in front: it is answered first
            self.ring.hide()
            self.callout.hide()
            return
        was_shown = not self.callout.isHidden()
        self._show_at_place()
        if not was_shown:
            self.callout.take_focus()

    def _show_at_place(self) -> None:
        place = self._stops[self._index].place()
        if not place.isEmpty() and self.ring.isHidden():
            self.ring.raise_()
        self.ring.setVisible(not place.isEmpty())
        if place.isEmpty():  # its page or pane was left: the words stay where they were
            self.callout.stand_next_to(self.callout.target)
            return
        target = QRect(self._window.mapFromGlobal(place.topLeft()), place.size())
        self.ring.setGeometry(target.adjusted(-3, -3, 3, 3) & self._window.rect())  # whole on every side
        self.callout.stand_next_to(target)
