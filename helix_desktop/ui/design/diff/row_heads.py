"""The rows of a diff that are no lines: unchanged lines that can be opened, and the head of a hunk."""

from __future__ import annotations

from PySide6.QtCore import QObject, QPoint, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QApplication, QHBoxLayout, QWidget

from helix_desktop.domain.file_history.diff import FileDiff, Hunk
from helix_desktop.ui.design.buttons import EnterActivates, PushButton
from helix_desktop.ui.design.diff.rows import Stretch
from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.style.icons import pixmap
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import Themed, retint
from helix_desktop.words.translation import Translator

tr = Translator("Changes")

FOLD_HEIGHT, HEAD_HEIGHT = 24, 30  # pixels at 100 %
_ICON_PX, _PAD = 13, 10


class FoldRow(EnterActivates, Themed, QAbstractButton):
    """Unchanged lines that are not in sight; a click opens them."""

    def __init__(self, parent: QWidget, count: int) -> None:
        super().__init__(parent)
        self.setText(tr.plural(count, "%n unchanged line", "%n unchanged lines"))
        self.setToolTip(tr("Show unchanged lines"))
        self.setAccessibleName(self.text())
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the row."""
        theme, painter = self._theme, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), QColor(theme.hover if self.underMouse() else theme.no_line))
        if self.hasFocus():
            painter.setPen(QPen(QColor(theme.accent), 1.5))
            painter.drawRoundedRect(self.rect().adjusted(1, 1, -1, -1), 4, 4)
        side = scaled(_ICON_PX)
        top = (self.height() - side) // 2
        painter.drawPixmap(
            QPoint(scaled(_PAD), top), pixmap("ellipsis", theme.muted, side, self.devicePixelRatioF())
        )
        painter.setFont(ui_font(12))
        painter.setPen(QColor(theme.muted))
        room = self.rect().adjusted(scaled(_PAD) + side + 8, 0, -8, 0)
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, self.text())


class HunkHead(Themed, QWidget):
    """The row above a hunk: which lines it is about, and what can be done with it."""

    revert_requested = Signal()

    def __init__(self, parent: QWidget, number: int, hunk: Hunk) -> None:
        """`number` counts the hunks from 1."""
        super().__init__(parent)
        place = lines_of(hunk)
        self._place = TextLine(place, 12, role="muted")
        self.revert = PushButton(tr("Revert"), "link", "undo-2", px=13, name="revert-hunk")
        self.revert.setToolTip(tr("Revert this change"))
        self.revert.setAccessibleName(tr("Revert change {number}, {lines}", number=number, lines=place))
        self.revert.clicked.connect(self.revert_requested)
        row = QHBoxLayout(self)
        row.setContentsMargins(scaled(_PAD), 0, scaled(6), 0)
        row.addWidget(self._place, 1)
        row.addWidget(self.revert)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the ground."""
        QPainter(self).fillRect(self.rect(), QColor(self._theme.no_line))


def lines_of(hunk: Hunk) -> str:
    """Return which lines of the later content a hunk is about; of the former one if none is left."""
    changed = [line for line in hunk.lines if line.kind != "same"]
    later = [line.new for line in changed if line.new]
    numbers = later or [line.old for line in changed]
    first, last = min(numbers), max(numbers)
    if first == last:
        return tr("Line {number}", number=first) if later else tr("Removed line {number}", number=first)
    if later:
        return tr("Lines {first}–{last}", first=first, last=last)
    return tr("Removed lines {first}–{last}", first=first, last=last)


class RowHeads(QObject):
    """The widgets of the rows in sight that are no lines, as children of what they are drawn over."""

    fold_clicked = Signal(int)
    revert_clicked = Signal(int)

    def __init__(self, viewport: QWidget) -> None:
        super().__init__(viewport)
        self._viewport = viewport
        self._widgets: dict[tuple[str, int], QWidget] = {}

    def clear(self) -> None:
        """Take all away."""
        for widget in self._widgets.values():
            widget.hide()
            widget.deleteLater()
        self._widgets = {}

    def place(self, heads: list[tuple[Stretch, int, int]], diff: FileDiff, theme: Theme) -> None:
        """Show the rows of these stretches at these tops and heights in pixels, and no others."""
        in_sight = {(stretch.kind, stretch.hunk) for stretch, _, _ in heads}
        for key in self._widgets.keys() - in_sight:
            widget = self._widgets.pop(key)
            focused, parent = QApplication.focusWidget(), self._viewport.parentWidget()
            if (
                parent is not None
                and focused is not None
                and (focused is widget or widget.isAncestorOf(focused))
            ):
                parent.setFocus(Qt.FocusReason.OtherFocusReason)
            widget.hide()
            widget.deleteLater()
        for stretch, top, height in heads:
            key = (stretch.kind, stretch.hunk)
            widget = self._widgets.get(key) or self._make(stretch, diff, theme)
            self._widgets[key] = widget
            widget.setGeometry(0, top, self._viewport.width(), height)
            widget.show()

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme."""
        for widget in self._widgets.values():
            retint(widget, theme)

    def _make(self, stretch: Stretch, diff: FileDiff, theme: Theme) -> QWidget:
        hunk = stretch.hunk
        widget: QWidget
        if stretch.kind == "fold":
            fold = widget = FoldRow(self._viewport, len(stretch.rows))
            fold.clicked.connect(lambda: self.fold_clicked.emit(hunk))
        else:
            head = widget = HunkHead(self._viewport, hunk + 1, diff.hunks[hunk])
            head.revert_requested.connect(lambda: self.revert_clicked.emit(hunk))
        widget.setCursor(
            Qt.CursorShape.PointingHandCursor if stretch.kind == "fold" else Qt.CursorShape.ArrowCursor
        )
        retint(widget, theme)
        return widget
