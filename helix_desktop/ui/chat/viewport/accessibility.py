"""What assistive technology finds in the conversation: the visible rows as a list, with text and buttons."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QAccessibleInterface, QFocusEvent, QKeyEvent, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QAccessibleWidget, QWidget

from helix_desktop.words.translation import Translator

tr = Translator("Chat")


class RowArea(QWidget):
    """The viewport of the conversation: a list of rows, in the order of the conversation."""

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(tr("Messages"))
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

    def __init__(self, row: QWidget, name: str, on_focus: Callable[[str], None]) -> None:
        super().__init__(row)
        self._row = row
        self._on_focus = on_focus
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
        self._on_focus(self.objectName())

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._row.update()


class _RowAreaInterface(QAccessibleWidget):
    """Lists the rows that are shown; Qt itself would list them as they were made, with those out of sight."""

    def __init__(self, area: RowArea) -> None:
        super().__init__(area, QAccessible.Role.List)
        self._area = area

    def childCount(self) -> int:
        """Return how many rows are in sight."""
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
