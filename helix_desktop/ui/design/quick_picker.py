"""A panel over the window in which a few typed letters find a thing: arrows move, Enter goes, Esc leaves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

from PySide6.QtCore import QEvent, QModelIndex, QObject, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QFocusEvent, QFont, QKeyEvent, QPainter, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QGraphicsDropShadowEffect,
    QListView,
    QSizePolicy,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.fields import Index, SearchField
from helix_desktop.ui.design.focus import BY_KEYBOARD, has_keyboard, refocus
from helix_desktop.ui.design.labels import key_label, label
from helix_desktop.ui.design.layout import FlowBox, column, pane, row
from helix_desktop.ui.design.mirror import draw_text, mirror
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.theme import current_theme
from helix_desktop.words.translation import Translator

tr = Translator("Controls")

_TOP_PX = 64  # below the window's edge
_MARGIN_PX, _GAP_PX = 12, 8  # at the left and at the right; between its parts
_HEADING_PX = 30
_HEADING_ROLE = int(Qt.ItemDataRole.UserRole) + 10
_DISMISS_EVENTS = {
    True: {QEvent.Type.FocusOut},
    False: {QEvent.Type.MouseButtonPress, QEvent.Type.WindowDeactivate},
}
"""Events that end the panel: of its search field, and of the window behind it."""


def key_hint(keys: str, meaning: str) -> QWidget:
    return pane(row(key_label(keys), label(meaning, "faint"), gap=6))


def heading_item(text: str) -> QStandardItem:
    item = QStandardItem(text)
    item.setFlags(Qt.ItemFlag.NoItemFlags)
    item.setData(True, _HEADING_ROLE)
    return item


class LineDelegate(QStyledItemDelegate):
    """The chosen line marked, headings painted; what stands in lines is painted by those built on it."""

    def __init__(self, view: QListView, line_px: int) -> None:
        """`line_px` is the height of a line at 100 %."""
        super().__init__(view)
        self.view, self.line_px = view, line_px

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        high = _HEADING_PX if index.data(_HEADING_ROLE) else self.line_height(index)
        return QSize(100, fonts.scaled(high))

    def line_height(self, index: Index) -> int:
        """Return the height of a line that is no heading, in pixels at 100 %: one for all."""
        return self.line_px

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(option.rect).adjusted(0, 1, 0, -1)
        mirror(painter, box)
        theme, is_selected = current_theme(), option.state & QStyle.StateFlag.State_Selected
        if is_selected or option.state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.selection if is_selected else theme.hover))
            painter.drawRoundedRect(box, 9, 9)
        if index.data(_HEADING_ROLE):
            self.paint_heading(painter, box, index)
        else:
            self.paint_line(painter, box, index)
        painter.restore()

    def paint_heading(self, painter: QPainter, box: QRectF, index: Index) -> None:
        painter.setFont(fonts.sized(self.view.font(), 11, QFont.Weight.DemiBold))
        painter.setPen(QColor(current_theme().muted))
        draw_text(painter, box.adjusted(12, 6, -12, 0), Qt.AlignmentFlag.AlignVCenter, str(index.data()))

    def paint_line(self, painter: QPainter, box: QRectF, index: Index) -> None:
        raise NotImplementedError


class PickerList(QListView):
    """The lines of a picker; the keyboard stays where words are typed, and moves the choice from there."""

    def __init__(self) -> None:
        super().__init__()
        self.items = QStandardItemModel(self)
        self.setModel(self.items)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setMouseTracking(True)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)

    @property
    def row(self) -> int:
        """The chosen line; -1 for none."""
        return self.currentIndex().row()

    def choose(self, row: int) -> None:
        self.setCurrentIndex(self.items.index(row, 0))

    def move_choice(self, step: int) -> None:
        """Choose the next line (1) or the one before (-1); behind the last one comes the first."""
        count, place = self.items.rowCount(), self.row
        for _ in range(count):
            place = (place + step) % count
            if self.items.item(place).isSelectable():
                break
        else:
            return
        self.choose(place)
        if place and not self.items.item(place - 1).isSelectable():
            self.scrollTo(self.items.index(place - 1, 0))  # its heading


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

    def __init__(
        self,
        window: QWidget,
        name: str,
        placeholder: str,
        empty_text: str,
        enter_hint: str,
        max_lines: int,
        footer: Sequence[QWidget] = (),
        head: FlowBox | None = None,
    ) -> None:
        """Start hidden in a window. `empty_text` is shown when a search finds nothing.

        `enter_hint` says in a word what Enter does; `max_lines` are visible at once. `footer` stands at the
        right of the keys, `head` below the search field.
        """
        super().__init__(window)
        self._window, self._max_lines = window, max_lines
        self._previous_focus: QWidget | None = None
        self._is_by_keyboard = False
        self.setProperty("role", "popup")
        self.setAccessibleName(name)
        self.search = SearchField(placeholder)
        self.search.textChanged.connect(self._fill)
        self.list_view = PickerList()
        self.items = self.list_view.items
        self.list_view.setAccessibleName(name)
        self.list_view.clicked.connect(self.accept_item)
        self._empty = label(empty_text, "muted", wrap=True)
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

    def set_delegate(self, delegate: LineDelegate) -> None:
        self._delegate = delegate
        self.list_view.setItemDelegate(delegate)

    @property
    def empty_text(self) -> str:
        """Return what is shown instead of lines; empty while there are any."""
        return self._empty.text() if self._empty.isVisible() else ""

    def set_empty_text(self, text: str) -> None:
        """Say this where a search has found nothing."""
        self._empty.setText(text)

    def find_items(self, needle: str) -> Iterable[QStandardItem]:
        """Return what matches a search, in the order to list it."""
        raise NotImplementedError

    def initial_row(self, needle: str) -> int:
        return 0

    def accept_item(self, index: QModelIndex) -> None:
        raise NotImplementedError

    def open(self) -> None:
        """Appear over the window with an empty search."""
        if not self.isVisible():
            self._previous_focus = QApplication.focusWidget()
            self._is_by_keyboard = self._window.testAttribute(BY_KEYBOARD)
        self.search.clear()
        self._fill("")
        self._position()
        self.show()
        self.raise_()
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def dismiss(self) -> None:
        """Hide, and return the keyboard focus to the widget that had it."""
        before, self._previous_focus = self._previous_focus, None
        self.hide()
        refocus(before, Qt.FocusReason.PopupFocusReason)
        self._window.setAttribute(BY_KEYBOARD, self._is_by_keyboard)  # Qt takes it away with the focus

    def refresh(self) -> None:
        """Update the list of what is offered; the chosen line stays chosen."""
        if not self.isVisible():
            return
        before, scrolled = self.list_view.currentIndex(), self.list_view.verticalScrollBar().value()
        place, words = before.row(), before.data(Qt.ItemDataRole.DisplayRole)
        was_moved = place != self.initial_row(self.search.text())
        self._fill(self.search.text())
        same = self.items.findItems(words) if was_moved and words else []
        if same:
            near = min(same, key=lambda item: abs(item.row() - place))
            self.list_view.setCurrentIndex(near.index())
            self.list_view.verticalScrollBar().setValue(scrolled)

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
        elif key in {Qt.Key.Key_Return, Qt.Key.Key_Enter} and self.list_view.currentIndex().isValid():
            self.accept_item(self.list_view.currentIndex())

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
        scale, option = fonts.scale(self.font()), QStyleOptionViewItem()
        line, limit = (round(self._delegate.line_px * scale * count) for count in (1, self._max_lines))
        inner = wide - 2 * _MARGIN_PX
        frame = self.search.sizeHint().height() + self._footer.heightForWidth(inner) + 2 * _GAP_PX
        for around in (self._boxes.contentsMargins(), self.contentsMargins()):
            frame += around.top() + around.bottom()
        frame += 0 if self._head is None else self._head.heightForWidth(inner) + _GAP_PX
        frame += 0 if self.note.isHidden() else self.note.heightForWidth(inner) + _GAP_PX
        max_height = window.height() - 140
        ends = accumulate(
            self._delegate.sizeHint(option, self.items.index(place, 0)).height()
            for place in range(min(self.items.rowCount(), 2 * self._max_lines))
        )
        max_list_height = min(limit, max_height - frame)
        lines = max((end for end in ends if end <= max_list_height), default=line)  # no line is cut
        high = min(max_height, max(min_high, frame + lines))
        self.setGeometry((window.width() - wide) // 2, _TOP_PX, wide, high)

    def _fill(self, needle: str) -> None:
        self.items.clear()
        self.append_items(self.find_items(needle))
        if self.items.rowCount():
            self.list_view.choose(self.initial_row(needle))
            self.list_view.scrollToTop()

    def append_items(self, items: Iterable[QStandardItem]) -> None:
        """Add lines below the others; the panel grows for them, and never shrinks while it is open."""
        for item in items:
            self.items.appendRow(item)
        some = self.items.rowCount() > 0
        self.list_view.setVisible(some)
        self._empty.setVisible(not some)
        if self.isVisible():
            self._position(self.height())
