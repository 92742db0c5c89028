"""The scrubber: a handle on the chart that chooses the step whose window is looked at, or now."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSlider, QWidget

from helix_desktop.context.log.steps import Step
from helix_desktop.ui.design import accessibility
from helix_desktop.ui.design.focus import KEYBOARD_REASONS
from helix_desktop.ui.design.themed import Themed
from helix_desktop.words.steps import step_text
from helix_desktop.words.translation import Translator

tr = Translator("Timeline")

HEIGHT = 18  # pixels
_RADIUS = 6.0


class Scrubber(Themed, QSlider):
    """A slider over the steps, with now as its last value; the chart below it handles the mouse.

    Left and Right go by steps, with Shift, or PgUp and PgDn, by turns; Home to the first step, End and Esc
    to now; Enter to the step's place in the chat.
    """

    step_chosen = Signal(int)
    """The event of the step to look at; 0: now."""
    place_requested = Signal(int)
    """The event of the step that is to be shown in the chat; by Enter."""

    def __init__(self, parent: QWidget, x_of: Callable[[int], float]) -> None:
        """`x_of` returns where the event of a step stands in the parent, 0 for now."""
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._x_of = x_of
        self.steps: Sequence[Step] = ()
        self._has_ring = False
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(tr("Look at an earlier step"))
        self.setRange(0, 0)
        self._describe()

    @property
    def step(self) -> Step | None:
        """Return the step that is looked at; None: now."""
        return self.steps[self.value()] if self.value() < len(self.steps) else None

    def set_steps(self, steps: Sequence[Step]) -> None:
        """Take the steps of a session, oldest first; what is looked at stays."""
        at = self.step.seq if self.step is not None else 0
        self.steps = steps
        self.setRange(0, len(steps))
        self.look_at(at)
        self.setVisible(bool(steps))

    def look_at(self, seq: int) -> None:
        """Stand at the step of an event, or at now (0), without telling anybody."""
        place = bisect_left(self.steps, seq, key=lambda step: step.seq) if seq else len(self.steps)
        self.setValue(place)
        self._describe()
        self.update()

    def choose(self, seq: int) -> None:
        """Go to the step of an event, or to now (0), as the user does."""
        before = self.value()
        self.look_at(seq)
        if self.value() != before:
            self.step_chosen.emit(self.step.seq if self.step is not None else 0)

    def step_of(self, seq: int) -> Step | None:
        """Return the step whose answer is an event."""
        place = bisect_left(self.steps, seq, key=lambda step: step.seq)
        found = self.steps[place] if place < len(self.steps) else None
        return found if found is not None and found.seq == seq else None

    def step_before(self, seq: int) -> int:
        """Return the newest step at or before an event, by its own event; the first one before all."""
        place = bisect_left(self.steps, seq + 1, key=lambda step: step.seq) - 1
        return self.steps[max(0, place)].seq if self.steps else 0

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go by steps, by turns, to the first step or to now."""
        if not self.steps:
            event.ignore()
            return
        by_turn = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        places = {
            Qt.Key.Key_Left: self._turn_place(-1) if by_turn else self.value() - 1,
            Qt.Key.Key_Right: self._turn_place(1) if by_turn else self.value() + 1,
            Qt.Key.Key_PageDown: self._turn_place(-1),
            Qt.Key.Key_PageUp: self._turn_place(1),
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: len(self.steps),
        }
        key = Qt.Key(event.key())
        if key == Qt.Key.Key_Escape and self.step is not None:
            self.choose(0)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.place_requested.emit((self.step or self.steps[-1]).seq)
            return
        elif key not in places:
            event.ignore()
            return
        else:
            place = min(max(0, places[key]), len(self.steps))
            self.choose(self.steps[place].seq if place < len(self.steps) else 0)
        accessibility.announce(self, self.accessibleDescription())

    def _turn_place(self, direction: int) -> int:
        """Return the first step of this turn or the one before it (-1), or of the next one (1)."""
        here = self.value()
        turn = self.steps[here].turn if here < len(self.steps) else self.steps[-1].turn + 1
        if direction > 0:
            return self._first_of(turn + 1)
        first = self._first_of(turn)
        return first if first < here else self._first_of(self.steps[max(0, here - 1)].turn)

    def _first_of(self, turn: int) -> int:
        """Return the first step of a turn, or of the next one that has any; the end without one."""
        return bisect_left(self.steps, turn, key=lambda step: step.turn)

    def _describe(self) -> None:
        text = step_text(self.step) if self.step is not None else tr("Now")
        self.setAccessibleDescription(text)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show a ring to somebody who came with the keyboard."""
        super().focusInEvent(event)
        self._has_ring = event.reason() in KEYBOARD_REASONS
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Take the ring away."""
        super().focusOutEvent(event)
        self._has_ring = False
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the handle, with a ring while it has the keyboard."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        x = self._x_of(self.step.seq if self.step is not None else 0) - self.x()
        place, theme = QPointF(x, self.height() / 2), self._theme
        if self._has_ring:
            painter.setPen(QPen(QColor(theme.accent), 2))
            ring = QRectF(place.x() - _RADIUS - 2.5, place.y() - _RADIUS - 2.5, 17, 17)
            painter.drawEllipse(ring)
        painter.setPen(QPen(QColor(theme.accent), 2))
        painter.setBrush(QColor(theme.surface if self.step is None else theme.accent))
        painter.drawEllipse(place, _RADIUS - 1, _RADIUS - 1)
