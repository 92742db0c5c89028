"""The light widgets that show the visible rows, and their recycling."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from PySide6.QtCore import QObject, QRect, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QAccessible, QAccessibleInterface, QFocusEvent, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QAccessibleWidget, QApplication, QWidget

from helix_desktop.ui.kit.boxes import PaintState
from helix_desktop.ui.rows.item import ListItem, PlacedRow

_BLEED = 6  # pixels on each side of a row, for rings and pills that reach over the column's edge


class RowWidget(QWidget):
    """Paints one item; the view gives it another one when its row scrolls away."""

    def __init__(self, parent: QWidget, pool: RowWidgetPool) -> None:
        super().__init__(parent)
        self._pool = pool
        self.index = -1
        self.item: ListItem | None = None
        self.focused_area = ""
        self._text: RowText | None = None
        self._buttons: dict[str, RowButton] = {}
        self._hosted: QWidget | None = None  # the item's own widget
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def bind(self, index: int, item: ListItem) -> None:
        if item is not self.item or index != self.index:
            same_row = self.item is not None and self.item.key == item.key
            self.index = index
            self.item = item
            self.setAccessibleName(item.accessible_name)
            self._host(item.widget)
            if not same_row or item.hit_area(self.focused_area) is None:
                self.focused_area = ""
            self.update()

    def _host(self, widget: QWidget | None) -> None:
        """Have an item's own widget in this row, or none: then the row only paints."""
        if widget is self._hosted:
            return
        if self._hosted is not None and self._hosted.parent() is self:
            self._hosted.hide()
        self._hosted = widget
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents, widget is None)
        if widget is not None:
            widget.setParent(self)
            widget.show()

    @property
    def stop_name(self) -> str:
        """The name of the place that has the keyboard, or had it last."""
        here = QApplication.focusWidget()
        return here.objectName() if here is not None and self._has_hosted_keyboard() else self.focused_area

    def _has_hosted_keyboard(self) -> bool:
        here = QApplication.focusWidget()
        return self._hosted is not None and here is not None and self._hosted.isAncestorOf(here)

    def place(self, x: float, y: float, item: ListItem) -> None:
        """Place the item's origin at a point of the viewport."""
        height = round(item.height + item.room_below) + 1
        rect = QRect(round(x) - _BLEED, round(y), round(item.width) + 2 * _BLEED, height)
        if rect.size() != self.size():
            self.update()
        self.setGeometry(rect)
        if self._hosted is not None:
            self._hosted.setGeometry(_BLEED, 0, round(item.width), round(item.height))
        self.show()
        self._place_children()

    def release(self) -> None:
        self.item = None
        self.index = -1
        self.focused_area = ""
        self._host(None)
        self._place_children()

    def make_accessible(self) -> QAccessibleWidget:
        QTimer.singleShot(0, self, self._place_children)
        return QAccessibleWidget(self, QAccessible.Role.ListItem)

    def text(self) -> str:
        """Return all text of the row, its name where it shows none."""
        return (self.item.accessible_text() if self.item is not None else "") or self.accessibleName()

    def has_keyboard(self) -> bool:
        has_button = any(button.hasFocus() for button in self._buttons.values())
        return self.hasFocus() or has_button or self._has_hosted_keyboard()

    def focus_area(self, name: str) -> None:
        hosted = self._hosted.findChild(QWidget, name) if self._hosted is not None else None
        if hosted is not None:
            hosted.setFocus(Qt.FocusReason.TabFocusReason)
            return
        self.focused_area = name
        self._place_children()
        self._buttons.get(name, self).setFocus(Qt.FocusReason.TabFocusReason)
        self.update()

    def _place_children(self) -> None:
        """Have a button for the place with the keyboard; text and all buttons while a screen reader runs.

        Widgets, because an interface made in Python can have neither text nor actions: see
        `ui.design.accessibility`.
        """
        active = QAccessible.isActive()
        if not (active or self.focused_area or self._buttons):
            return
        own = self.item is not None and self.item.widget is None
        areas = {area.name: area for area in self.item.hit_areas} if self.item is not None and own else {}
        if not active:
            areas = {name: area for name, area in areas.items() if name == self.focused_area}
        elif self._text is None:
            self._text = RowText(self, self.text)
        if self._text is not None:
            self._text.setVisible(self.item is not None and self.item.has_text)
            self._text.setGeometry(self.rect())
        for name in [name for name in self._buttons if name not in areas]:
            button = self._buttons.pop(name)
            if button.hasFocus():
                self.setFocus(Qt.FocusReason.OtherFocusReason)
            button.hide()
            button.deleteLater()
        for name, area in areas.items():
            if name not in self._buttons:
                button = self._buttons[name] = RowButton(self, name)
                button.clicked.connect(lambda _=False, name=name: self.trigger(name))
                button.show()
            self._buttons[name].setAccessibleName(area.label)
            self._buttons[name].setCheckable(area.is_checked is not None)
            self._buttons[name].setChecked(bool(area.is_checked))
            self._buttons[name].setGeometry(area.rect.translated(_BLEED, 0).toRect())

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.item is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.translate(_BLEED, 0)
        painter.setLayoutDirection(Qt.LayoutDirection.LayoutDirectionAuto)
        paint = self._pool.paint_state(self.index, self.item)
        paint.clip = event.rect().translated(-_BLEED, 0).toRectF()
        paint.focused = self.focused_area if self.has_keyboard() else ""
        try:
            self.item.paint(painter, paint)
        except Exception as error:  # noqa: BLE001 - Qt ends the process over what leaves a paint event
            self._pool.failed.emit(self.item.key, error)
        painter.end()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        area = self.item.hit_area(self.focused_area) if self.item is not None else None
        is_choice = area is not None and area.is_checked is not None
        key = event.key()
        if self.item is not None and is_choice and key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            area = self.item.hit_area(self.item.enter_area) or area
        if area is not None and key in (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._pool.activated.emit(self.index, area)
        elif is_choice and key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self._pool.focus_stepped.emit(key == Qt.Key.Key_Down)
        elif self.item is not None and area is not None and self.item.scroll_by_key(area, key):
            self.update()
        else:
            event.ignore()

    def trigger(self, name: str) -> None:
        area = self.item.hit_area(name) if self.item is not None else None
        if area is not None:
            self._pool.activated.emit(self.index, area)

    def focusNextPrevChild(self, forward: bool) -> bool:
        self._pool.focus_stepped.emit(forward)
        return True

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.update()


class RowWidgetPool(QObject):
    activated = Signal(int, object)
    """Index of a row, and the place in it that is to do what it does."""
    focus_stepped = Signal(bool)
    """The keyboard is to go to the next place, or, when False, to the one before."""
    failed = Signal(object, object)
    """Key of a row that can't be painted, and the exception."""
    focus_lost = Signal()
    """The row that had the keyboard is out of sight."""

    def __init__(self, viewport: RowArea) -> None:
        super().__init__(viewport)
        self._viewport = viewport
        self.paint_state: Callable[[int, ListItem], PaintState] = lambda *_: PaintState(QRectF())
        """How the row of an index looks at this moment."""
        self._free: list[RowWidget] = []
        self.visible: dict[Hashable, RowWidget] = {}
        viewport.rows = lambda: sorted(self.visible.values(), key=lambda widget: widget.index)

    def place(self, rows: list[tuple[PlacedRow, ListItem, float]], x: float) -> None:
        """Show these items; each comes with its place and the room above it."""
        keys = {item.key for _, item, _ in rows}
        for key in [key for key in self.visible if key not in keys]:
            self._recycle(key)
        for placed, item, gap in rows:
            widget = self.visible.get(item.key)
            if widget is None:
                widget = self._free.pop() if self._free else RowWidget(self._viewport, self)
                self.visible[item.key] = widget
            widget.bind(placed.row_index, item)
            widget.place(x, placed.y + gap, item)
        for widget in self._free:
            widget.hide()

    def update(self) -> None:
        for widget in self.visible.values():
            widget.update()

    def focused_widget(self) -> RowWidget | None:
        return next((widget for widget in self.visible.values() if widget.has_keyboard()), None)

    def _recycle(self, key: Hashable) -> None:
        widget = self.visible.pop(key)
        if widget.has_keyboard():
            self.focus_lost.emit()
        widget.release()
        self._free.append(widget)


class RowArea(QWidget):
    """The viewport of a list: its rows in order, under a name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.rows: Callable[[], Sequence[QWidget]] = tuple

    def make_accessible(self) -> QAccessibleWidget:
        return _RowAreaInterface(self)


class RowText(QWidget):
    """The text of a row, which the row paints: nothing is seen of this."""

    def __init__(self, row: QWidget, text: Callable[[], str]) -> None:
        super().__init__(row)
        self.text = text
        self.setObjectName("row_text")

    def make_accessible(self) -> QAccessibleWidget:
        return _RowTextInterface(self)


class RowButton(QAbstractButton):
    """A place of a row that can be pressed, which the row paints: it takes the keyboard, and no mouse."""

    def __init__(self, row: RowWidget, name: str) -> None:
        super().__init__(row)
        self._row = row
        self.setObjectName(name)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)  # Tab takes the row's own way
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Leave the painting to the row."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        event.ignore()

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        event.ignore()

    def focusNextPrevChild(self, forward: bool) -> bool:
        return self._row.focusNextPrevChild(forward)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._row.focused_area = self.objectName()
        self._row.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._row.update()


class _RowAreaInterface(QAccessibleWidget):
    """Lists the rows that are shown; Qt itself would list them as they were made, with those out of sight."""

    def __init__(self, area: RowArea) -> None:
        super().__init__(area, QAccessible.Role.List)
        self._area = area

    def childCount(self) -> int:
        return len(self._area.rows())

    def child(self, index: int) -> QAccessibleInterface | None:  # type: ignore[override]  # none is Qt's null
        rows = self._area.rows()
        return QAccessible.queryAccessibleInterface(rows[index]) if 0 <= index < len(rows) else None

    def indexOfChild(self, child: QAccessibleInterface) -> int:
        widget = child.object()
        return next((at for at, row in enumerate(self._area.rows()) if row is widget), -1)


class _RowTextInterface(QAccessibleWidget):
    """Reads the text when it is asked for: a row that is being written changes many times a second."""

    def __init__(self, widget: RowText) -> None:
        super().__init__(widget, QAccessible.Role.StaticText)
        self._text = widget.text

    def text(self, kind: QAccessible.Text) -> str:
        return self._text() if kind == QAccessible.Text.Name else super().text(kind)
