"""One slider from "keep more" to "send less": the profiles are its stops, and each can have own changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QAccessibleWidget, QSizePolicy, QWidget

from helix_desktop.context.policy import PROFILES, ContextPolicy
from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.help_link import HelpLink
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import column, row
from helix_desktop.ui.design.layout.responsive_row import ResponsiveRow
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.theme import Themed
from helix_desktop.ui.settings.policy.form import Profile, profiles_beside
from helix_desktop.words.policies import policy_name
from helix_desktop.words.translation import Translator

tr = Translator("Settings: Policy")

_KNOB, _STOP = 8.0, 3.5  # radius in pixels
_MARGIN = 24.0  # pixels from the ends of the widget to the first and last stop: room for their names
_BACK = (Qt.Key.Key_Down, Qt.Key.Key_PageDown)
_ON = (Qt.Key.Key_Up, Qt.Key.Key_PageUp)


class _SliderInterface(QAccessibleWidget):
    """A slider whose value is a text."""

    def __init__(self, track: StopTrack) -> None:
        super().__init__(track, QAccessible.Role.Slider)
        self._track = track

    def text(self, kind: QAccessible.Text) -> str:
        return self._track.value_text if kind == QAccessible.Text.Value else super().text(kind)


def _stop_x(widget: QWidget, stops: int, stop: float) -> float:
    """Return where a stop stands in a widget, in pixels; the first is where texts begin."""
    share = stop / max(1, stops - 1)
    if widget.isRightToLeft():
        share = 1 - share
    return _MARGIN + (widget.width() - 2 * _MARGIN) * share


class StopTrack(Themed, QWidget):
    """The line with its stops and its knob; arrow keys, Home, End, click and drag move the knob."""

    def __init__(self, select: Callable[[int], object]) -> None:
        super().__init__()
        self._select_stop = select
        self._stops, self._stop, self._is_changed = 1, 0, False
        self.value_text = ""
        self.setObjectName("policy_slider")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def make_accessible(self) -> QAccessibleWidget:
        return _SliderInterface(self)

    def set_stop(self, stops: int, stop: int, is_changed: bool, value_text: str) -> None:
        """Put the knob at a stop; it is hollow where numbers of the profile were changed, to either side."""
        is_other = self.value_text not in ("", value_text)
        self._stops, self._stop, self._is_changed, self.value_text = stops, stop, is_changed, value_text
        self.setAccessibleDescription(value_text)
        if is_other and self.hasFocus():
            announce(self, value_text)
        self.update()

    def x_of(self, stop: float) -> float:
        return _stop_x(self, self._stops, stop)

    def sizeHint(self) -> QSize:
        return QSize(320, scaled(26))

    def _select(self, stop: int) -> None:
        stop = min(max(stop, 0), self._stops - 1)
        if stop != self._stop or self._is_changed:
            self._select_stop(stop)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        left, right = Qt.Key.Key_Left, Qt.Key.Key_Right
        back, on = (right, left) if self.isRightToLeft() else (left, right)
        if event.key() in (back, *_BACK):
            self._select(self._stop - 1)
        elif event.key() in (on, *_ON):
            self._select(self._stop + 1)
        elif event.key() == Qt.Key.Key_Home:
            self._select(0)
        elif event.key() == Qt.Key.Key_End:
            self._select(self._stops - 1)
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._select_at(event.position().x())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._select_at(event.position().x())

    def _select_at(self, x: float) -> None:
        self._select(min(range(self._stops), key=lambda stop: abs(self.x_of(stop) - x)))

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter, y = self._theme, QPainter(self), self.height() / 2
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        knob = QPointF(self.x_of(self._stop), y)
        for color, right in ((theme.border_strong, self.x_of(self._stops - 1)), (theme.accent, knob.x())):
            painter.setPen(QPen(QColor(color), 4, c=Qt.PenCapStyle.RoundCap))
            painter.drawLine(QPointF(self.x_of(0), y), QPointF(right, y))
        painter.setPen(QPen(QColor(theme.surface), 1.5))
        for stop in range(self._stops):
            is_passed = stop <= self._stop
            painter.setBrush(QColor(theme.accent if is_passed else theme.border_strong))
            painter.drawEllipse(QPointF(self.x_of(stop), y), _STOP + 1, _STOP + 1)
        painter.setPen(QPen(QColor(theme.accent), 2.5))
        painter.setBrush(QColor(theme.surface if self._is_changed else theme.accent))
        painter.drawEllipse(knob, _KNOB, _KNOB)
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(theme.accent), 1.5))
            painter.drawEllipse(knob, _KNOB + 3.5, _KNOB + 3.5)


class _StopName(PushButton):
    """The name of a stop, for the mouse; to a screen reader a text, because the slider has the keyboard."""

    accessible_role = QAccessible.Role.StaticText

    def __init__(self, profile: Profile) -> None:
        super().__init__(profile.title, "link", name=f"profile:{profile.name}")
        self.setAccessibleName(profile.title)
        self.setAccessibleDescription(profile.description)
        self.setToolTip(profile.description)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)


class _StopNames(QWidget):
    """The names below the stops; in two rows where one is too narrow."""

    def __init__(self, select: Callable[[int], object]) -> None:
        super().__init__()
        self._select = select
        self.buttons = list[PushButton]()

    def set_names(self, profiles: Sequence[Profile]) -> None:
        for button in self.buttons:
            button.setParent(None)
            button.deleteLater()
        self.buttons = []
        for stop, profile in enumerate(profiles):
            button = _StopName(profile)
            button.setParent(self)
            button.clicked.connect(lambda _=False, stop=stop: self._select(stop))
            button.show()
            self.buttons.append(button)
        self._place()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self._place()
        return super().event(event)

    def minimumSizeHint(self) -> QSize:
        widths = sorted((button.sizeHint().width() for button in self.buttons), reverse=True)
        return QSize(sum(widths[:3]), self.sizeHint().height())

    def _place(self) -> None:
        places = [self._place_of(stop, button) for stop, button in enumerate(self.buttons)]
        overlaps = any(first.intersects(second) for first, second in pairwise(places))
        line = max((place.height() for place in places), default=0.0)
        for stop, (button, place) in enumerate(zip(self.buttons, places, strict=True)):
            place.moveTop(line * (stop % 2) if overlaps else 0.0)
            button.setGeometry(place.toRect())
        self.setFixedHeight(round(line * (2 if overlaps else 1)))

    def _place_of(self, stop: int, button: PushButton) -> QRectF:
        size = button.sizeHint()
        left = _stop_x(self, len(self.buttons), stop) - size.width() / 2
        left = max(0.0, min(left, self.width() - float(size.width())))
        return QRectF(left, 0, size.width(), size.height())


class PolicySlider(QWidget):
    profile_selected = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.track = StopTrack(self._on_selected)
        self.track.setAccessibleName(tr("Context policy, from keep more to send less"))
        self._names = _StopNames(self._on_selected)
        self._title, self._description = label("", "strong", wrap=True), label("", "faint", wrap=True)
        self._title.setObjectName("policy_title")
        self._stops: tuple[Profile, ...] = ()
        ends = row(label(tr("Keep more"), "muted"), None, label(tr("Send less"), "muted"))
        title = ResponsiveRow(self._title, [HelpLink("policy")], 160)
        parts = (ends, self.track, self._names, title, self._description)
        self.setLayout(column(*parts, gap=3))

    def show_policy(self, policy: ContextPolicy) -> None:
        """Show the profile of a policy, and how many numbers differ from it."""
        stops = profiles_beside(policy)[::-1]  # the profiles are in order, the one that spends least first
        if stops != self._stops:
            self._stops = stops
            self._names.set_names(stops)
        names = [profile.name for profile in stops]
        stop = names.index(policy.profile if policy.enabled else "off")
        profile, title = stops[stop], policy_name(policy)
        self._title.setText(title)
        self._description.setText(profile.description)
        is_changed = policy.enabled and policy != PROFILES[policy.profile]
        self.track.set_stop(len(stops), stop, is_changed, title)

    def _on_selected(self, stop: int) -> None:
        self.profile_selected.emit(self._stops[stop].name)
