"""A panel over the window in which a few typed letters find a thing: arrows move, Enter goes, Esc leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from PySide6.QtCore import QEvent, QModelIndex, QObject, QRectF, Qt, QTimer
from PySide6.QtGui import QColor, QFocusEvent, QHideEvent, QKeyEvent, QPainter
from PySide6.QtWidgets import QApplication, QFrame, QGraphicsDropShadowEffect, QSizePolicy, QStyle, QWidget

from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.focus import BY_KEYBOARD, has_keyboard, refocus
from helix_desktop.ui.design.labels import key_label, label
from helix_desktop.ui.design.layout import FlowBox, column, pane, row
from helix_desktop.ui.design.safe_text import plain_tooltip
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.text_fields import SearchField
from helix_desktop.ui.kit.boxes import Box, Frame, Text, paint_box
from helix_desktop.ui.rows.choice_list import ChoiceList
from helix_desktop.words.translation import Translator

tr = Translator("Controls")

_TOP_PX = 64  # below the window's edge
_MARGIN_PX = 12  # at the left and at the right
_GAP_PX = 8  # between its parts
_HEADING_PX = 30
_DISMISS_EVENTS = {
    True: {QEvent.Type.FocusOut},
    False: {QEvent.Type.MouseButtonPress, QEvent.Type.WindowDeactivate},
}
"""Events that end the panel: of its search field, and of the window behind it."""


def key_hint(keys: str, meaning: str) -> QWidget:
    return pane(row(key_label(keys), label(meaning, "faint"), gap=6))


class Line(NamedTuple):
    """A line of a picker: what it stands for, and how it is listed and read."""

    value: Any
    words: str
    px: int  # of its height at 100 %
    tip: str = ""
    accessible_text: str = ""
    is_heading: bool = False  # which can't be chosen


def line(value: object, words: str, px: int, tip: Iterable[str], accessible: Iterable[str]) -> Line:
    """Return a line by the parts of its tooltip, and of what a screen reader says; some may be empty."""
    tooltip = plain_tooltip("\n".join(filter(None, tip)))
    read_aloud = ", ".join(filter(None, accessible))
    return Line(value, words, px, tooltip, read_aloud)


def heading(words: str, value: object = None, tip: str = "") -> Line:
    return Line(value, words, _HEADING_PX, plain_tooltip(tip), is_heading=True)


class PickerList(ChoiceList[Line]):
    """The lines of a picker; the keyboard stays where words are typed, and moves the choice from there."""

    def __init__(self, draw: Callable[[Line, float], Box]) -> None:
        """`draw` returns what stands in a line so wide."""
        super().__init__("")
        self._draw = draw
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def key_of(self, row: Line) -> str:
        return row.words

    def data_of(self, at: int, role: int) -> object:
        line = self.rows[at]
        if role == Qt.ItemDataRole.DisplayRole:
            return line.words
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return line.accessible_text or None
        return line.tip if role == Qt.ItemDataRole.ToolTipRole else None

    def flags_of(self, row: Line) -> Qt.ItemFlag:
        return Qt.ItemFlag.NoItemFlags if row.is_heading else super().flags_of(row)

    def height_of(self, row: Line) -> int:
        return row.px

    def paint_row(self, painter: QPainter, box: QRectF, at: int, state: QStyle.StateFlag) -> None:
        box = box.adjusted(0, 1, 0, -1)
        self.paint_ground(painter, box, state)
        paint_box(painter, box, self._theme, self._draw(self.rows[at], box.width()))

    @property
    def row(self) -> int:
        return self.currentIndex().row()

    def choose(self, row: int) -> None:
        self.setCurrentIndex(self.row_model.index(row))

    def move_choice(self, step: int) -> None:
        """Choose the next line (1) or the one before (-1); behind the last one comes the first."""
        count = len(self.rows)
        place = self.row
        for _ in range(count):
            place = (place + step) % count
            if not self.rows[place].is_heading:
                break
        else:
            return
        self.choose(place)
        if place and self.rows[place - 1].is_heading:
            self.scrollTo(self.row_model.index(place - 1))


def cast_shadow(popup: QWidget, blur: int, below: int, opacity: int) -> None:
    """Let a popup stand above the window; pixels, and an opacity up to 255."""
    shadow = QGraphicsDropShadowEffect(popup)
    shadow.setBlurRadius(blur)
    shadow.setOffset(0, below)
    shadow.setColor(QColor(0, 0, 0, opacity))  # a shadow is black in both themes
    popup.setGraphicsEffect(shadow)


class QuickPicker(QFrame):
    """The panel itself; what it offers, and where Enter goes, is said by those that are built on it."""

    wide_px = 560
    """Its width."""
    line_px = 34
    """The height of a line."""
    max_lines = 11
    """How many lines are visible at once."""
    _is_open = False  # Qt hides a panel while it is made

    def __init__(
        self,
        window: QWidget,
        name: str,
        placeholder: str,
        enter_hint: str,
        footer: Sequence[QWidget] = (),
        head: FlowBox | None = None,
    ) -> None:
        """Start hidden in a window.

        `enter_hint` says in a word what Enter does. `footer` stands at the right of the keys, `head` below
        the search field.
        """
        super().__init__(window)
        self._window = window
        self._previous_focus: QWidget | None = None
        self._is_by_keyboard = False
        self.setProperty("role", "popup")
        self.setAccessibleName(name)
        self.search = SearchField(placeholder)
        self.search.textChanged.connect(self._fill)
        self.list_view = PickerList(self.draw)
        self.list_view.setAccessibleName(name)
        self.list_view.clicked.connect(self._accept)
        self._empty = label("", "muted", wrap=True)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._empty.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)
        self.note = label("", "faint", wrap=True)
        self.note.hide()
        hints = (
            key_hint("↑ ↓", tr("move", "what the arrow keys do")),
            key_hint("Enter", enter_hint),
            key_hint("Esc", tr("close", "what the Esc key does")),
        )
        self._footer = FlowBox((*hints, *footer), right_from=len(hints))
        self._head = head
        above = [self.search] if head is None else [self.search, head]
        parts = (*above, self.list_view, self._empty, self.note, self._footer)
        self._boxes = column(*parts, margins=(_MARGIN_PX, 12, _MARGIN_PX, 10), gap=_GAP_PX)
        self.setLayout(self._boxes)
        cast_shadow(self, 36, 10, 70)
        self.hide()
        window.installEventFilter(self)
        self.search.installEventFilter(self)

    def set_empty_text(self, text: str) -> None:
        self._empty.setText(text)

    def find_lines(self, needle: str) -> Iterable[Line]:
        """Return what matches a search, in the order to list it."""
        raise NotImplementedError

    def draw(self, line: Line, width: float) -> Box:
        """Return what stands in a line so wide: here in a heading."""
        return Frame(Text(line.words, 11, "muted", 600), (12, 6, 12, 0))

    def initial_row(self, needle: str) -> int:
        return 0

    def accept(self, row: Any) -> None:
        raise NotImplementedError

    def _accept(self, index: QModelIndex) -> None:
        if (line := self.list_view.row_at(index)) is not None:
            self.accept(line.value)

    def open(self) -> None:
        if not self.isVisible():
            self._previous_focus = QApplication.focusWidget()
            self._is_by_keyboard = self._window.testAttribute(BY_KEYBOARD)
        self._is_open = True
        self.search.clear()
        self._fill("")
        self._position()
        self.show()
        self.raise_()
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        if self._is_open:
            self._is_open = False
            self.on_closed()

    def on_closed(self) -> None:
        """End what goes on while it is open."""

    def dismiss(self) -> None:
        before = self._previous_focus
        self._previous_focus = None
        self.hide()
        refocus(before, Qt.FocusReason.PopupFocusReason)
        self._window.setAttribute(BY_KEYBOARD, self._is_by_keyboard)  # Qt takes it away with the focus

    def refresh(self) -> None:
        """Update the list of what is offered; the chosen line stays chosen."""
        if not self.isVisible():
            return
        view = self.list_view
        before = view.current
        place = view.row
        scrolled = view.verticalScrollBar().value()
        was_moved = place != self.initial_row(self.search.text())
        self._fill(self.search.text())
        same = [at for at, line in enumerate(view.rows) if before is not None and line.words == before.words]
        if same and was_moved:
            view.choose(min(same, key=lambda at: abs(at - place)))
            view.verticalScrollBar().setValue(scrolled)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Leave when the user goes elsewhere; stay in the middle when the window changes its size."""
        kind = event.type()
        if not self.isVisible():
            return False
        if watched is self._window and kind == QEvent.Type.Resize:
            self._position()
        elif kind in _DISMISS_EVENTS[watched is self.search] and (
            watched is self._window or not (self.window().isActiveWindow() and has_keyboard(self))
        ):
            if isinstance(event, QFocusEvent) and event.reason() == Qt.FocusReason.OtherFocusReason:
                # Not the user: the window has shown something that was asked for before.
                QTimer.singleShot(0, self.search, self._take_focus_back)
            else:
                self.hide()
        return False

    def focusNextPrevChild(self, forward: bool) -> bool:
        controls = [self.search, *(button for button in self.findChildren(PushButton) if button.isVisible())]
        now = QApplication.focusWidget()
        at = next((at for at, control in enumerate(controls) if control is now), 0)
        reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
        controls[(at + (1 if forward else -1)) % len(controls)].setFocus(reason)
        return True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if key == Qt.Key.Key_Escape:
            self.dismiss()
        elif key in {Qt.Key.Key_Down, Qt.Key.Key_Up}:
            self.list_view.move_choice(1 if key == Qt.Key.Key_Down else -1)
        elif key in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self._accept(self.list_view.currentIndex())

    def _take_focus_back(self) -> None:
        if self.isVisible():
            self._previous_focus = QApplication.focusWidget()
            self.search.setFocus(Qt.FocusReason.OtherFocusReason)

    def _position(self, min_high: int = 0) -> None:
        """Stand in the middle, as high as the lines need; at least `min_high` pixels."""
        window = self._window
        wide = min(self.wide_px, window.width() - 40)
        for part in (self, self.search, self._footer):
            part.ensurePolished()  # else it is measured without its frame when it opens for the first time
        scale = fonts.scale(self.font())
        rows = self.list_view.rows
        line, limit = (round(self.line_px * scale * count) for count in (1, self.max_lines))
        inner = wide - 2 * _MARGIN_PX
        frame = self.search.sizeHint().height() + self._footer.heightForWidth(inner) + 2 * _GAP_PX
        for around in (self._boxes.contentsMargins(), self.contentsMargins()):
            frame += around.top() + around.bottom()
        if self._head is not None and not self._head.isHidden():
            frame += self._head.heightForWidth(inner) + _GAP_PX
        frame += 0 if self.note.isHidden() else self.note.heightForWidth(inner) + _GAP_PX
        max_height = window.height() - 140
        ends = accumulate(fonts.scaled(line.px) for line in rows[: 2 * self.max_lines])
        max_list_height = min(limit, max_height - frame)
        lines = max((end for end in ends if end <= max_list_height), default=line)  # no line is cut
        high = min(max_height, max(min_high, frame + lines))
        self.setGeometry((window.width() - wide) // 2, _TOP_PX, wide, high)

    def _fill(self, needle: str) -> None:
        lines = [*self.find_lines(needle)]
        self.list_view.set_rows(lines)
        self.list_view.setVisible(bool(lines))
        self._empty.setVisible(not lines)
        if self.isVisible():
            self._position(self.height())
        if lines:
            self.list_view.choose(self.initial_row(needle))
            self.list_view.scrollToTop()
